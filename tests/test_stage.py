"""Evaluations on arenas that stay open: the same episodes, without building a simulator anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reprise.evaluate import Stage, evaluate
from reprise.tasks import Task, find
from toys import line


class Counted:
    """How often a task was opened, and how many of its environments are open."""

    def __init__(self, task: Task):
        self.opened = self.closed = 0
        self.task = replace(task, make=lambda: self._make(task))

    def _make(self, task: Task) -> gym.Env[Any, Any]:
        env, count = task.make(), self
        close = env.close
        self.opened += 1

        def closing() -> None:
            count.closed += 1
            close()

        env.close = closing
        return env


@pytest.mark.parametrize("name", ["pointmaze/u", "metaworld/push-wall", "antmaze/u"])
def test_a_used_arena_plays_the_same_episodes_as_a_new_one(name: str) -> None:
    task = replace(find(name), horizon=40)
    arena = task.open()
    rows = np.random.default_rng(0).normal(0.0, 0.3, (arena.obs_dim, arena.action_dim))
    arena.close()

    def policy(obs: np.ndarray) -> np.ndarray:
        return np.tanh(obs @ rows).astype(np.float32)

    stage = Stage(task)
    evaluate(policy, stage, [7, 8])
    used, new = evaluate(policy, stage, [1, 2]), evaluate(policy, task, [1, 2])
    np.testing.assert_array_equal(used, new)
    stage.close()


def test_a_stage_opens_an_arena_once_and_closes_it_when_told() -> None:
    counted = Counted(line())
    stage = Stage(counted.task)
    for seeds in ([1, 2], [3, 4, 5], [6]):
        evaluate(lambda obs: obs[:, :1], stage, seeds)
    assert (counted.opened, counted.closed) == (3, 0)
    stage.close()
    assert (counted.opened, counted.closed) == (3, 3)


def test_a_task_without_a_stage_is_closed_after_each_evaluation() -> None:
    counted = Counted(line())
    evaluate(lambda obs: obs[:, :1], counted.task, [1, 2])
    assert (counted.opened, counted.closed) == (2, 2)
