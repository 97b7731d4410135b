"""Updates without an environment: rows from a buffer, one gradient step, its losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np

from reprise.core.compiled import FlatAgent
from reprise.core.method import Method
from reprise.core.replay import ReplayBuffer
from reprise.core.types import Advice, Place, Spec, Transition
from reprise.lab.bench.lineup import Entry, lineup
from reprise.methods import Preset, prepare
from reprise.tasks import Task
from reprise.training.randomness import Chances, columns_read

ROWS = 4_096
"""Transitions in the buffer that batches are drawn from."""


class Workload(NamedTuple):
    """The task whose sizes are learned with, at which preset, and how long a turn is."""

    task: Task
    preset: Preset
    updates: int
    """Updates per turn."""

    def spec(self, priors: int) -> Spec:
        """The sizes of its networks."""
        arena = self.task.open()
        arena.close()
        return Spec(arena.obs_dim, arena.action_dim, priors)


class Learning:
    """Somebody who learns from random transitions; called, it plays a turn."""

    def __init__(self, method: Method, spec: Spec, batch: int, updates: int) -> None:
        self.method, self.batch, self.updates, self.done = method, batch, updates, 0
        self.agent = FlatAgent.of(method.init(jax.random.key(0), spec))
        self.replay = filled(spec, method)
        self.chances = Chances(method, spec, batch, 1)

    def __call__(self) -> int:
        """One turn; as in training, each update is waited for."""
        for _ in range(self.updates):
            improve = self.done % self.method.actor_delay == 0
            rows, chance = self.replay.sample(self.batch), self.chances.update(self.done)
            self.agent, metrics = self.method.update(self.agent, rows, chance, improve)
            jax.block_until_ready(metrics)
            self.done += 1
        return self.updates

    def flops(self) -> float:
        """Floating-point operations of an update, as XLA counts them before it optimizes."""

        def count(improve: bool) -> float:
            rows, chance = self.replay.sample(self.batch), self.chances.update(0)
            update: Any = jax.jit(self.method.update, static_argnums=3)
            lowered = update.lower(self.agent, rows, chance, improve)
            return float(lowered.cost_analysis()["flops"])

        with_actor, without = count(True), count(False)
        return without + (with_actor - without) / self.method.actor_delay


def learners(
    work: Workload, counts: Sequence[int], heads_per_row: int, *, every_update: bool = False
) -> dict[str, Learning]:
    """Scratch, and SMEC with each number of priors, with all heads and with sampled ones.

    With `every_update` also Scratch whose actor learns at each one, as Stable-Baselines3's does.
    """
    entries = lineup(work.task, work.preset, counts, heads_per_row)
    if every_update:
        eager = replace(entries["scratch"].method, actor_delay=1)
        entries["scratch-every-update"] = Entry(eager, 0)
    batch = prepare("scratch", work.task, work.preset).schedule.batch
    return {
        name: Learning(method, work.spec(priors), batch, work.updates)
        for name, (method, priors) in entries.items()
    }


def filled(spec: Spec, method: Method) -> ReplayBuffer:
    """A buffer of random transitions for the method to learn from."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=(ROWS, *shape)).astype(np.float32)

    def advice() -> Advice:
        shape = spec.priors, spec.action
        return Advice.of(normal(*shape), normal(*shape))

    zeros = np.zeros(ROWS, np.float32)
    place: Any = Place(np.zeros(ROWS, np.int32), np.zeros(ROWS, np.bool_))  # pyright: ignore
    before: Any = (normal(spec.obs), advice(), np.zeros(ROWS, np.int32))
    after: Any = (np.tanh(normal(spec.action)), normal(), zeros, normal(spec.obs), advice())
    rows = Transition(*before, *after, place=place)
    row: Transition = jax.tree.map(lambda column: column[0], rows)
    replay = ReplayBuffer(ROWS, row, 0, columns_read(method, row))
    replay.put(0, rows)
    return replay
