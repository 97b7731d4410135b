"""What each method costs relative to Scratch: eight methods, in turns, in one process.

    python benchmarks/cost.py --results results/cost.csv

Every round gives each method the same few steps, one after the other, so that a busy machine slows
all of them; processor time is counted, and every ratio is taken within its round. `training` is the
whole loop: priors, decision, simulator, buffer, update. `cycle` is a decision and an update alone.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("NPROC", "1")

import jax
import numpy as np
import tyro

from reprise.core.method import Method
from reprise.core.types import Spec
from reprise.methods import METHODS, prepare
from reprise.priors import Card, Policy, Priors, resolve
from reprise.tasks import Task, find
from reprise.training.loop import train
from reprise.training.randomness import Chances
from reprise.training.schedule import Schedule

PAPER = {
    "scratch": 1.00, "multipolar": 1.26, "ac-teach": 1.28, "cup": 1.30, "skills": 2.29,
    "qmp": 1.20, "smec": 1.25,
}  # fmt: skip
"""Wall-clock hours over Scratch's on BoxClose, from the paper's cost table; it lacks MAMBA."""
BEFORE = 1
"""Rounds that are not counted."""
WARMUP = 200


@dataclass(frozen=True)
class Options:
    """What to measure."""

    results: Path = Path("results/cost.csv")
    settings: tuple[str, ...] = ("maze", "arm")
    """maze: pointmaze/two, small preset, 4 priors; arm: metaworld/box-close, paper preset, 3."""
    methods: tuple[str, ...] = tuple(METHODS)
    """Scratch must be among them."""
    rounds: int = 9
    steps: int = 10
    """Steps that a method takes before it is the next one's turn."""


class Setting(NamedTuple):
    """A task, its networks and its priors."""

    task: Task
    preset: Any
    priors: Priors


def setting(name: str) -> Setting:
    """One of the two that are measured."""
    if name == "maze":
        return Setting(find("pointmaze/two"), "small", resolve(["zoo:pointmaze"]))
    old = Priors([network(f"prior{i}", 39, 4, (400, 400, 400), i) for i in range(3)])
    return Setting(find("metaworld/box-close"), "paper", old)


def network(name: str, obs: int, action: int, hidden: tuple[int, ...], seed: int) -> Policy:
    """A policy of the paper's size: what it says does not change what it costs."""
    rng, sizes = np.random.default_rng(seed), (obs, *hidden, 2 * action)
    weights = tuple(
        (rng.normal(size=pair) / np.sqrt(pair[0])).astype(np.float32) for pair in pairwise(sizes)
    )
    biases = tuple(np.zeros(size, np.float32) for size in sizes[1:])
    return Policy(
        Card(obs, action, (-1.0,) * action, (1.0,) * action, hidden, name), weights, biases
    )


class Contestant:
    """One method in the middle of a training."""

    def __init__(self, name: str, where: Setting, steps: int):
        self.name, self.steps = name, steps
        setup = prepare(name, where.task, where.preset)
        # CUP is Scratch before its start, most of a run after it.
        self.method: Method = replace(setup.method, actor=setup.method.actor.after_warmup(0))
        quiet = {"evaluate_every": 0, "checkpoint_every": steps, "log_every": steps}
        schedule = Schedule(warmup=WARMUP, learning_starts=WARMUP, capacity=20_000, **quiet)
        old = Priors() if name == "scratch" else where.priors
        self.reports = train(self.method, where.task, old, steps=10**6, schedule=schedule)
        while next(self.reports).step < WARMUP + 3 * steps:  # everything is compiled by then
            pass
        self.agent: Any = None

    def training(self) -> None:
        """Some steps of the loop."""
        self.loop = next(self.reports).loop

    def cycle(self) -> None:
        """As many decisions and updates, on one batch of the loop's buffer."""
        if self.agent is None:
            # Copies, because an update donates the agent that it is given.
            self.agent = jax.tree.map(lambda x: x.copy(), self.loop.flat)
            self.plan, self.batch = self.loop.plan, self.loop.replay.sample(128)
            self.drawn = self.method.planner.draw(self.loop.replay, 128, (0, 0))
            arena, old = self.loop.arena, len(self.loop.advice.valid)
            spec = Spec(arena.obs_dim, arena.action_dim, old)
            self.chances = Chances(self.method, spec, 128, 0)
        loop = self.loop
        for i in range(self.steps):
            self.plan, action = self.method.act(
                self.agent, self.plan, loop.obs, loop.advice, self.chances.decision(0)
            )
            action.block_until_ready()
            improve = i % self.method.actor_delay == 0
            self.agent, losses = self.method.update(
                self.agent, self.batch, self.chances.update(0), improve, self.drawn
            )
            jax.block_until_ready(losses)


def seconds(work: Callable[[], None]) -> float:
    """Processor time of some work."""
    began = time.process_time()
    work()
    return time.process_time() - began


def measure(where: Setting, options: Options) -> Iterator[dict[str, object]]:
    """One row per method and kind."""
    field: list[Contestant] = []
    for name in options.methods:
        field.append(Contestant(name, where, options.steps))
        print(f"{where.task.id}: {name} is ready", file=sys.stderr, flush=True)
    times: dict[tuple[str, str], list[float]] = {}
    for turn in range(BEFORE + options.rounds):
        for kind in ("training", "cycle"):
            for one in field:
                spent = seconds(getattr(one, kind))
                if turn >= BEFORE:
                    times.setdefault((one.name, kind), []).append(spent)
        print(f"{where.task.id}: round {turn - BEFORE + 1}", file=sys.stderr, flush=True)
    for (name, kind), spent in times.items():
        ratio = np.divide(spent, times["scratch", kind])
        low, middle, high = np.quantile(ratio, (0.25, 0.5, 0.75))
        yield {
            "task": where.task.id,
            "preset": where.preset,
            "priors": len(where.priors),
            "kind": kind,
            "method": name,
            "ms": round(1e3 * float(np.median(spent)) / options.steps, 3),
            "ratio": round(float(middle), 3),
            "ratio_q25": round(float(low), 3),
            "ratio_q75": round(float(high), 3),
            "paper": PAPER.get(name, ""),
            "rounds": options.rounds,
            "steps": options.steps,
        }


def main(options: Options) -> None:
    rows: list[dict[str, object]] = []
    options.results.parent.mkdir(parents=True, exist_ok=True)
    for name in options.settings:
        rows += measure(setting(name), options)
        with options.results.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
    for row in rows:
        print(*row.values(), flush=True)


if __name__ == "__main__":
    main(tyro.cli(Options))
