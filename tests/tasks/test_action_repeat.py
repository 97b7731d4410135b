"""Actions that are held for several steps, and several updates in one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from reprise.boundary.errors import UserError
from reprise.methods import prepare
from reprise.methods.smec import smec
from reprise.tasks import Task, find
from reprise.training.evaluate import evaluate
from reprise.training.loop import Progress, train
from reprise.training.schedule import Schedule
from toys import line, priors, reporting, small


class Counter(gym.Env[np.ndarray, np.ndarray]):
    """Earns 1, 2, 3, ...; succeeds at one step and may end at another; counts its bumps."""

    def __init__(self, success: int = 5, end: int = 100):
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
        self.clock, self.seen, self.success, self.end = 0, list[float](), success, end

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.clock = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: np.ndarray) -> Any:
        self.clock += 1
        self.seen.append(float(action[0]))
        obs, over = np.full(1, self.clock, np.float32), self.clock == self.end
        return (
            obs,
            float(self.clock),
            over,
            False,
            {"success": self.clock == self.success, "bumps": 1},
        )


def counter(horizon: int = 10, repeat: int = 3, **options: Any) -> Task:
    task = Task("toy/counter", horizon, lambda: Counter(**options), mishaps=("bumps",))
    return task.repeated(repeat)


def test_an_action_is_held_rewards_add_up_and_any_success_counts() -> None:
    arena = counter().open()
    arena.reset(0)
    steps = [arena.step(np.array([action], np.float32)) for action in (0.1, 0.2, 0.3, 0.4)]
    assert [float(step.reward) for step in steps] == [6.0, 15.0, 24.0, 10.0]
    assert [step.success for step in steps] == [0.0, 1.0, 0.0, 0.0]
    assert [step.truncated for step in steps] == [False, False, False, True]
    assert [step.mishaps for step in steps] == [(3,), (3,), (3,), (1,)]
    env: Any = arena._env
    np.testing.assert_allclose(env.seen, [0.1] * 3 + [0.2] * 3 + [0.3] * 3 + [0.4])
    assert steps[1].obs[0] == 6.0


def test_nothing_happens_after_a_termination() -> None:
    arena = counter(end=4).open()
    arena.reset(0)
    arena.step(np.zeros(1, np.float32))
    last = arena.step(np.zeros(1, np.float32))
    assert (last.terminated, float(last.reward)) == (True, 4.0)


def test_h_counts_decisions_and_evaluation_counts_steps() -> None:
    task = find("metaworld/push-wall")
    assert (task.h, task.repeated(2).h, task.repeated(2).decisions) == (50, 25, 250)
    found = evaluate(lambda obs: np.zeros((len(obs), 1)), counter(), [0, 1])
    assert found.first_success_step == 6.0  # the end of the second decision
    assert found.return_mean == sum(range(1, 11))


def learn(**options: Any) -> list[Progress]:
    schedule = replace(reporting(120, warmup=20, learning_starts=20), log_every=40, **options)
    method = small(smec(5, 1.0))
    return list(train(method, line(30), priors(2), steps=120, schedule=schedule))


def test_a_run_counts_environment_steps_whatever_is_held() -> None:
    reports = learn(action_repeat=2)
    assert [progress.step for progress in reports] == [40, 80, 120]
    loop = reports[-1].loop
    assert loop.replay.added == 60
    assert loop.updates == 100
    assert reports[-1].metrics["episodes"] == 4


@pytest.mark.parametrize(("rate", "updates"), [(0.5, 50), (1.0, 100), (2.0, 200), (1.5, 150)])
def test_updates_per_step(rate: float, updates: int) -> None:
    *_, last = learn(updates_per_step=rate)
    assert last.loop.updates == updates
    assert np.isfinite(last.metrics["actor_loss"]), "also losses of an earlier update of a step"


def test_schedules_that_cannot_be_held_are_said_in_one_line() -> None:
    with pytest.raises(UserError, match="log-every is 1001; not a multiple of action-repeat 2"):
        Schedule(action_repeat=2, log_every=1_001)
    with pytest.raises(UserError, match="updates-per-step is 0"):
        Schedule(updates_per_step=0.0)
    with pytest.raises(UserError, match="success-share is 1"):
        Schedule(success_share=1.0)


def test_what_follows_from_a_held_action_follows() -> None:
    task = find("metaworld/push-wall")
    once, twice = (prepare("smec", task, action_repeat=n) for n in (1, 2))
    assert (once.method.critic.reward_range, twice.method.critic.reward_range) == ((0, 10), (0, 20))
    assert twice.method.critic.discount == pytest.approx(once.method.critic.discount**2)
    assert (once.method.planner.commit, twice.method.planner.commit) == (50, 25)  # type: ignore[attr-defined]
    maze = prepare("smec", find("antmaze/u"), action_repeat=2)
    assert maze.method.critic.reward_range == (0.0, 100.0)  # it comes once
