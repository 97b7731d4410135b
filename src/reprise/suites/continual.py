"""Continual learning: each task is learned anew, reusing every policy learned before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import jax

from reprise.boundary.errors import UserError
from reprise.core.types import Spec
from reprise.runs.recipe import Run
from reprise.suites.grid import Variant, cell
from reprise.suites.suite import NOBODY, Cell, Library, Scale
from reprise.tasks import find

EARLIER = Library("earlier tasks")


def sequence(
    tasks: Sequence[str], scale: Scale, seeds: Iterable[int], method: str = "smec"
) -> list[Cell]:
    """A row of tasks for each seed, beside the same tasks without reuse.

    Nothing but policies passes from task to task: networks, buffer, temperature and counts are new.
    """
    if method == "scratch":
        raise UserError("method is 'scratch'; it reuses nothing: choose another --method")
    reusing, scratch = Variant(method, method, library=EARLIER), Variant("scratch", "scratch")
    sizes = _common_sizes(tasks)
    if len(tasks) > 2:  # what the second has learned, with a prior, is the third's
        _require_export(cell(reusing, tasks[0], 0, scale).run, sizes)
    cells: list[Cell] = []
    for seed in seeds:
        before: tuple[str, ...] = ()
        for task in tasks:
            first = {} if before else {"library": NOBODY}
            grown = cell(reusing, task, seed, scale, needs=before, **first)
            cells += [grown, cell(scratch, task, seed, scale)]
            before = (*before, grown.name)
    return cells


def _common_sizes(tasks: Sequence[str]) -> Spec:
    """Of all tasks, with one prior: a policy of one must be able to act in the next."""
    sizes = {task: _sizes(task) for task in tasks}
    (first, wanted), *others = sizes.items()
    for task, found in others:
        if found != wanted:
            raise UserError(
                f"task {task!r} has {found.obs} observations and {found.action} actions, {first!r} "
                f"has {wanted.obs} and {wanted.action}; a row needs tasks of the same sizes"
            )
    return wanted


def _sizes(task: str) -> Spec:
    arena = find(task).open()
    arena.close()
    return Spec(arena.obs_dim, arena.action_dim, priors=1)


def _require_export(run: Run, sizes: Spec) -> None:
    """What was learned with a prior can become one; tried with the smallest network there is."""
    actor = replace(run.method.actor, hidden=(1,))
    if actor.export(actor.init(jax.random.key(0), sizes)) is None:
        raise UserError(
            f"method is {run.name!r}; its policies act only together with their priors, so they "
            "cannot become priors: choose another --method, or at most two tasks"
        )
