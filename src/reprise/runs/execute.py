"""One run in one folder: started, continued exactly, or found complete."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reprise.priors import Faults, Priors
from reprise.runs import checkpoint
from reprise.runs.folder import Manifest, claimed, environment, now, refuse_foreign, settle_recipe
from reprise.runs.judge import EVALUATION, judge, save_actor, zero_shot
from reprise.runs.recipe import Run, library
from reprise.runs.recorder import Recorder
from reprise.runs.signals import stop_signals
from reprise.tasks import Task
from reprise.training import cores
from reprise.training.evaluate import Evaluation, Stage, episode_seeds
from reprise.training.loop import Progress, Training
from reprise.training.state import Loop
from reprise.training.value_accuracy import Moments, accuracy, captured


class Outcome(NamedTuple):
    """How a run ended."""

    folder: Path
    steps: int
    evaluation: Evaluation | None
    seconds: float
    interrupted: int | None
    """The signal that stopped it, if one did."""


class Listener(NamedTuple):
    """Who wants to hear of a run while it runs."""

    progress: Callable[[Progress, float], None] = lambda progress, speed: None
    evaluation: Callable[[int, Evaluation], None] = lambda step, evaluation: None
    warning: Callable[[str], None] = lambda text: print(f"warning: {text}", file=sys.stderr)


def execute(
    run: Run,
    task: Task,
    folder: Path,
    *,
    priors: Priors | None = None,
    listener: Listener | None = None,
    tensorboard: bool = True,
) -> Outcome:
    """Run a recipe in a folder: begin it, or continue it exactly where it stopped.

    Whoever has the recipe's priors in hand gives them, so that no factory runs twice.
    """
    listener, priors = listener or Listener(), library(run) if priors is None else priors
    task = task.repeated(run.schedule.action_repeat)
    _fit(priors, task, run)  # before anything is written
    refuse_foreign(folder)
    with claimed(folder):
        settle_recipe(run, folder)
        manifest = Manifest(folder)
        if manifest.complete:
            return Outcome(folder, run.steps, None, float(manifest.record["seconds"]), None)
        manifest.note(**environment(), state="running")
        try:
            with closing(Stage(task)) as stage:
                if "zero_shot" not in manifest.record:
                    manifest.note(zero_shot=zero_shot(priors, stage, run.seed))
                session = (run, task, folder, priors, stage, manifest, listener, tensorboard)
                return _Session(*session).play()
        except BaseException:
            manifest.note(state="failed", ended=now())
            raise


def _fit(priors: Priors, task: Task, run: Run) -> None:
    """The task can be played, every prior speaks its sizes, and what is asked for can be done."""
    arena = task.open()
    priors.fit(arena.obs_dim, arena.action_dim, task.id)
    if run.schedule.value_states:
        arena.reset(0)
        captured(arena)
    arena.close()


@dataclass
class _Session:
    """The one place where a run's training, tables and checkpoints meet."""

    run: Run
    task: Task
    folder: Path
    priors: Priors
    stage: Stage
    manifest: Manifest
    listener: Listener
    tensorboard: bool
    aside: set[int] = field(default_factory=set[int])
    last: Evaluation | None = None
    best: float = -np.inf
    began: float = 0.0

    def play(self) -> Outcome:
        """From wherever the run stands to its end, or to the first signal."""
        run = self.run
        self.began = time.perf_counter() - float(self.manifest.record.get("seconds", 0.0))
        with Training(
            run.method, self.task, self.priors, steps=run.steps, seed=run.seed,
            schedule=run.schedule,
        ) as training, stop_signals(training.report_soon) as caught:  # fmt: skip
            step = self._follow(training, caught)
        seconds = time.perf_counter() - self.began
        state = "interrupted" if caught else "complete"
        self.manifest.note(state=state, ended=now(), seconds=round(seconds, 1))
        return Outcome(self.folder, step, self.last, seconds, caught[0] if caught else None)

    def _follow(self, training: Training, caught: list[int]) -> int:
        """Record every report of a training; the step at which it stopped."""
        step, before, clock = self.run.steps, 0, None
        training.stops = Moments(self.run.seed, self.run.schedule)
        with cores.claimed() as core, closing(self._restored(training.loop)) as recorder:
            for progress in training.reports():
                core.settle()
                step, moment = progress.step, time.perf_counter()
                speed = (step - before) / (moment - clock) if clock else 0.0
                if progress.scheduled:
                    before, clock = step, moment
                self._report(progress, recorder, speed, bool(caught))
                if caught:
                    break
        return step

    def _restored(self, loop: Loop) -> Recorder:
        """Take up the newest checkpoint, if there is one, and the tables as they were then."""
        (self.folder / "checkpoints").mkdir(exist_ok=True)
        warn = self.listener.warning
        state = checkpoint.load(self.folder / "checkpoints", loop, warn, tidy=True)
        recorder = Recorder(self.folder, self.run, loop, self.tensorboard)
        if state is None or "tables" not in state:  # none yet, or saved outside of a run
            recorder.restart()
        else:
            recorder.rewind(state["tables"], over=loop.step >= self.run.steps)
        if state is None:
            return recorder
        self.aside = set(loop.faults.set_aside)
        best = state.get("best")
        self.best = best if best is not None else -np.inf
        if not state["exact"]:
            warn("this environment's state cannot be captured: resuming with a new episode")
        return recorder

    def _report(self, progress: Progress, recorder: Recorder, speed: float, stopping: bool) -> None:
        schedule, step = self.run.schedule, progress.step
        last = step >= self.run.steps
        recorder.progress(progress, speed)
        self.listener.progress(progress, speed)
        self._announce(progress.loop.faults)
        run, where = self.run, self.stage
        if progress.loop.updates and step in Moments(run.seed, schedule):
            recorder.values(accuracy(progress.loop, run.method, where, self.priors, run.seed))
        due = progress.scheduled and schedule.evaluate_every and not step % schedule.evaluate_every
        lasting = self.best
        if due or (last and progress.scheduled):
            self._evaluate(progress, recorder)
            lasting = self.best if due else lasting  # a longer run is not evaluated at this end
        if last:  # before the checkpoint that says the run is over
            save_actor(self.folder / "policy", progress.agent, self.run, self.last)
        if stopping or last or (progress.scheduled and not step % schedule.checkpoint_every):
            best = float(lasting) if np.isfinite(lasting) else None
            extra = {"tables": recorder.settle(), "best": best}
            checkpoint.save(self.folder / "checkpoints", progress.loop, extra)
            self.manifest.note(seconds=round(time.perf_counter() - self.began, 1))

    def _announce(self, faults: Faults) -> None:
        """Say which priors have been set aside since the last report, and keep the count."""
        for place in set(faults.set_aside) - self.aside:
            self.listener.warning(
                f"prior {self.priors.names[place]!r} is set aside after {faults.faults[place]} "
                f"faults (it {faults.last[place]}); the run goes on without it"
            )
        self.aside = set(faults.set_aside)
        if faults.any and faults.table(self.priors.names) != self.manifest.record.get("faults"):
            self.manifest.note(faults=faults.table(self.priors.names))

    def _evaluate(self, progress: Progress, recorder: Recorder) -> None:
        run = self.run
        count = run.schedule.evaluation_episodes
        seeds = episode_seeds(run.seed, EVALUATION, progress.step, count)
        self.last = judge(run.method, progress.agent, self.priors, self.stage, seeds)
        recorder.evaluation(progress.step, self.last)
        self.listener.evaluation(progress.step, self.last)
        # Returns break ties, and rank the tasks that have no notion of success.
        score = 1e9 * float(np.nan_to_num(self.last.success_any)) + self.last.return_mean
        if score > self.best:
            self.best = score
            save_actor(self.folder / "checkpoints" / "best", progress.agent, run, self.last)
