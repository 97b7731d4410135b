"""Continual learning: each task is learned anew, reusing every policy learned before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reprise.errors import UserError
from reprise.suites.grid import Variant, cell
from reprise.suites.suite import NOBODY, Cell, Library, Scale

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
    cells: list[Cell] = []
    for seed in seeds:
        before: tuple[str, ...] = ()
        for task in tasks:
            first = {} if before else {"library": NOBODY}
            grown = cell(reusing, task, seed, scale, needs=before, **first)
            cells += [grown, cell(scratch, task, seed, scale)]
            before = (*before, grown.name)
    return cells
