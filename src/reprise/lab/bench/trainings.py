"""Whole training steps per second: act, update, environment, priors, replay."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from reprise.boundary.errors import UserError
from reprise.lab.bench.lineup import lineup
from reprise.lab.bench.machine import peak_memory
from reprise.lab.bench.timing import Speed, Tick, Turn, in_turns, unheard
from reprise.methods import Preset, Setup, prepare
from reprise.priors import Priors, repeated
from reprise.tasks import Task
from reprise.training.loop import Progress, train
from reprise.training.schedule import Schedule


def brief(setup: Setup, steps: int) -> Schedule:
    """A schedule that reports every `steps` steps, and has its warm-up before the first report."""
    quick: Any = {"warmup": steps // 2, "learning_starts": min(steps // 2, setup.schedule.batch)}
    silent: Any = {"log_every": steps, "evaluate_every": 0, "checkpoint_every": steps}
    return replace(setup.schedule, **quick, **silent)


class Match(NamedTuple):
    """Where trainings compete, and how."""

    task: Task
    priors: Priors
    """Repeated where there are too few of them."""
    preset: Preset
    counts: Sequence[int]
    heads_per_row: int
    steps: int
    """Per turn."""


def speeds(match: Match, rounds: int, tick: Tick = unheard) -> dict[str, Speed]:
    """Seconds per training step of everybody in the lineup, in turns."""
    task, preset, steps = match.task, match.preset, match.steps
    schedule = brief(prepare("smec", task, preset), steps)
    options: Any = {"steps": steps * (rounds + 1), "schedule": schedule}
    contestants: dict[str, Turn] = {}
    for name, entry in lineup(task, preset, match.counts, match.heads_per_row).items():
        old = Priors(repeated(match.priors, entry.priors))
        contestants[name] = follow(train(entry.method, task, old, **options), steps)
    return in_turns(contestants, rounds, tick=tick)


def follow(reports: Iterator[Progress], steps: int) -> Turn:
    """A contestant that trains until its next report."""

    def turn() -> int:
        next(reports)
        return steps

    return turn


def two_at_once(options: list[str]) -> dict[str, float]:
    """Steps per second of Scratch in one process, and of two processes together.

    Each is a `reprise bench` of its own that measures nothing but trainings.
    """
    command = [sys.executable, "-m", "reprise", "bench", "--parts", "steps", "--json", *options]
    found = {str(count): sum(_together(command, count)) for count in (1, 2)}
    return {"one": found["1"], "two": found["2"], "rss_mb": peak_memory(children=True)}


def _together(command: list[str], count: int) -> list[float]:
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) for _ in range(count)]
    answers = [process.communicate() for process in started]
    for process, (_, said) in zip(started, answers, strict=True):
        if process.returncode:
            raise UserError(f"a training of its own failed: {said.strip().splitlines()[-1:]}")
    return [float(json.loads(out)["steps_per_second"]["scratch"]) for out, _ in answers]
