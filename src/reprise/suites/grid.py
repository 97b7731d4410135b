"""Cells by the dozen: variants of methods, on tasks, for seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from reprise.core.method import Method
from reprise.methods import Setup, prepare
from reprise.priors.shipped import SETS
from reprise.runs.recipe import Run
from reprise.suites.suite import EVERYTHING, NOBODY, Cell, Choice, Library, Scale
from reprise.tasks import Task, find
from reprise.training.schedule import Schedule

Tune = Callable[[Method, Task], Method]
STEPS, HIDDEN = 300, (16, 16)
TINY = Schedule(
    warmup=100, learning_starts=50, batch=16, log_every=50, evaluate_every=150,
    evaluation_episodes=1, checkpoint_every=50,
)  # fmt: skip


def untouched(method: Method, task: Task) -> Method:
    """The method as it is prepared for the task."""
    return method


class Variant(NamedTuple):
    """A line of a figure: a method, what is changed in it, and which priors it has."""

    label: str
    method: str
    tune: Tune = untouched
    library: Library | None = None
    """None: those of the task."""

    def priors(self, task: str) -> Library:
        """What it reuses on a task."""
        if self.library is not None:
            return self.library
        return NOBODY if self.method == "scratch" else usual(task)


def usual(task: str) -> Library:
    """The priors that a task comes with; a set of the paper's goes by its number."""
    refs = find(task).priors
    names = (ref.removeprefix("zoo:") for ref in refs)
    label = " ".join(n if n in SETS else ref for n, ref in zip(names, refs, strict=True))
    return Library(label, refs) if refs else NOBODY


def plain(*methods: str) -> list[Variant]:
    """Methods as they are."""
    return [Variant(name, name) for name in methods]


def grid(
    variants: Sequence[Variant], tasks: Sequence[str], scale: Scale, choice: Choice = EVERYTHING
) -> list[Cell]:
    """Every variant on the tasks chosen, or that the scale affords; one seed before the next."""
    tasks = choice.tasks or scale.pick(tasks)
    seeds = {task: choice.seeds or scale.budget(task).seeds for task in tasks}
    return [
        cell(variant, task, seed, scale)
        for seed in range(max(seeds.values()))
        for task in tasks
        if seed < seeds[task]
        for variant in variants
    ]


def cell(variant: Variant, task: str, seed: int, scale: Scale, **changes: Any) -> Cell:
    """One run of a variant; `changes` are other fields of its cell."""
    found = find(task)
    # The point mazes are ours: the paper has no budget for them.
    preset = scale.preset if scale.budget(task) is scale.dear else "small"
    setup = prepare(variant.method, found, preset)
    held = found.repeated(setup.schedule.action_repeat)
    setup = setup._replace(method=variant.tune(setup.method, held))
    setup = shrunk(setup) if scale.tiny else setup
    run = Run(
        variant.method, setup.method, task, (), seed, setup.steps, preset, setup.schedule
    )  # fmt: skip
    return replace(Cell(variant.label, run, variant.priors(task)), **changes)


def shrunk(setup: Setup) -> Setup:
    """Tiny networks and a few hundred steps."""
    method = setup.method
    tiny = replace(
        method,
        critic=replace(method.critic, hidden=HIDDEN),
        actor=replace(method.actor, hidden=HIDDEN).after_warmup(TINY.warmup),
        planner=method.planner.with_hidden(HIDDEN),
    )
    held = replace(TINY, action_repeat=setup.schedule.action_repeat)
    return Setup(tiny, held, STEPS)
