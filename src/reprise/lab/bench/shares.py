"""Where the time of a training goes: every part is watched from outside while a run is played."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from reprise.core.agent import Decision
from reprise.core.method import Method
from reprise.core.replay import ReplayBuffer
from reprise.lab.bench.timing import Clock
from reprise.methods import Preset, prepare
from reprise.priors import Priors
from reprise.runs import checkpoint, execute
from reprise.runs.recipe import Run
from reprise.runs.recorder import Recorder
from reprise.tasks import Arena, Task
from reprise.training.state import Loop

WATCHED: tuple[tuple[Any, str, str], ...] = (
    (Method, "act", "act"),
    (Decision, "read", "act"),
    (Priors, "__call__", "advice"),
    (Arena, "step", "step"),
    (Arena, "reset", "step"),
    (ReplayBuffer, "add", "replay"),
    (ReplayBuffer, "sample", "replay"),
    (Method, "update", "update"),
    (Loop, "note_losses", "update"),
    (execute, "zero_shot", "zero_shot"),
    (execute, "judge", "evaluate"),
    (Recorder, "progress", "log"),
    (Recorder, "evaluation", "log"),
    (checkpoint, "save", "checkpoint"),
)
"""(owner, name, the share it counts for). What is called inside another counts for the outer."""


class Stopwatch:
    """Sums up the time inside what it watches."""

    def __init__(self, clock: Clock = time.perf_counter) -> None:
        self.clock, self.seconds, self._inside = clock, dict[str, float](), False

    def watch(self, function: Callable[..., Any], share: str) -> Callable[..., Any]:
        """The same function, timed unless something timed called it."""

        def timed(*args: Any, **options: Any) -> Any:
            if self._inside:
                return function(*args, **options)
            self._inside, began = True, self.clock()
            try:
                return function(*args, **options)
            finally:
                self._inside = False
                spent = self.clock() - began
                self.seconds[share] = self.seconds.get(share, 0.0) + spent

        return timed


@contextmanager
def watching(stopwatch: Stopwatch) -> Generator[None]:
    """While this lasts, the parts of a run are timed."""
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in WATCHED]
    try:
        for (owner, name, share), (*_, original) in zip(WATCHED, originals, strict=True):
            setattr(owner, name, stopwatch.watch(original, share))
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def shares(
    task: Task, priors: Priors, preset: Preset, *, steps: int, folder: Path
) -> dict[str, float]:
    """The shares of a SMEC run with evaluations and a checkpoint, after one that compiles.

    What a run does once before it begins, the priors' zero-shot episodes, is left out.
    """
    setup = prepare("smec", task, preset)
    early: Any = dict.fromkeys(("warmup", "learning_starts"), min(steps // 4, setup.schedule.batch))
    intervals: Any = dict.fromkeys(("log_every", "evaluate_every"), steps // 2)
    rare: Any = {"checkpoint_every": steps // 2 * 2, "evaluation_episodes": 1}
    schedule = replace(setup.schedule, **early, **intervals, **rare)
    run = Run("smec", setup.method, task.id, priors.records, 0, steps, preset, schedule)
    execute.execute(run, task, folder / "first", tensorboard=False)
    stopwatch = Stopwatch()
    with watching(stopwatch):
        began = stopwatch.clock()
        execute.execute(run, task, folder / "second", tensorboard=False)
        whole = stopwatch.clock() - began - stopwatch.seconds.pop("zero_shot", 0.0)
    found = {share: spent / whole for share, spent in stopwatch.seconds.items()}
    return found | {"other": 1.0 - sum(found.values())}
