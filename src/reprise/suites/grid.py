"""Cells by the dozen: variants of methods, on tasks, for seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from reprise.core.method import Method
from reprise.methods import Setup, prepare
from reprise.runs.recipe import Run
from reprise.suites.suite import EVERYTHING, NOBODY, Cell, Choice, Library, Scale, family
from reprise.tasks import Task, find
from reprise.training.schedule import Schedule

Tune = Callable[[Method, Task], Method]
STEPS, HIDDEN = 300, (16, 16)
TINY = Schedule(
    warmup=100, learning_starts=50, batch=16, log_every=50, evaluate_every=150,
    evaluation_episodes=1, checkpoint_every=50,
)  # fmt: skip
PRIORS = {
    "pointmaze": Library("zoo:pointmaze", ("zoo:pointmaze",)),
    "antmaze": Library("zoo:antmaze", ("zoo:antmaze",)),
    "metaworld": Library("set1", ("zoo:set1",)),
}
"""The priors of each family's downstream tasks."""


def untouched(method: Method, task: Task) -> Method:
    """The method as it is prepared for the task."""
    return method


class Variant(NamedTuple):
    """A line of a figure: a method, what is changed in it, and which priors it has."""

    label: str
    method: str
    tune: Tune = untouched
    library: Library | None = None
    """None: those of the task's family."""

    def priors(self, task: str) -> Library:
        """What it reuses on a task."""
        usual = NOBODY if self.method == "scratch" else PRIORS.get(family(task), NOBODY)
        return usual if self.library is None else self.library


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
        planner=method.planner.sized(HIDDEN),
    )
    held = replace(TINY, action_repeat=setup.schedule.action_repeat)
    return Setup(tiny, held, STEPS)
