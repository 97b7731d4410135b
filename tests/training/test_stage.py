"""Evaluations on arenas that stay open: the same episodes, without building a simulator anew."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from reprise.tasks import Arena, Task, find
from reprise.training.evaluate import Evaluation, Stage, evaluate
from reprise.training.value_accuracy import Rollout, Start, captured, monte_carlo
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


@pytest.mark.parametrize("name", ["pointmaze/u", "metaworld/push-wall", "antmaze/u"])
def test_a_used_arena_earns_the_same_from_a_captured_state_and_plays_on_as_before(
    name: str,
) -> None:
    task = replace(find(name), horizon=40)
    training, stage, rng = task.open(), Stage(task), np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (40, training.action_dim)).astype(np.float32)

    def stand(seed: int, steps: int) -> Start:
        obs = training.reset(seed)
        for action in actions[:steps]:
            obs = training.step(action).obs
        return Start(obs, captured(training))

    def earned(arena: Arena, start: Start) -> tuple[Rollout, list[bytes]]:
        arena.reset(0)
        seen = list[bytes]()

        def act(obs: np.ndarray) -> np.ndarray:
            seen.append(obs.tobytes())
            return actions[len(seen)]

        return monte_carlo(arena, start, act, 0.9, 20), seen

    def play(where: Task | Stage) -> Evaluation:
        return evaluate(lambda obs: np.tile(actions[0], (len(obs), 1)), where, [1, 2])

    starts = [stand(3, 25), stand(4, 10)]
    used = [earned(stage.arenas(1)[0], start) for start in starts]
    new = [earned(task.open(), start) for start in starts]
    assert used == new and used[0] != used[1]
    np.testing.assert_array_equal(play(stage), play(task))
    assert used == [earned(stage.arenas(1)[0], start) for start in starts]
    stage.close()
    training.close()


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
