"""The Learner, in the habits of Stable-Baselines3."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import reprise
from reprise import Learner
from reprise.boundary.errors import UserError
from toys import BRISK, same, small


def brisk(learner: Learner) -> Learner:
    """The same learner with tiny networks and a quick schedule."""
    learner.run = replace(learner.run, method=small(learner.run.method), schedule=BRISK)
    return learner


def maze(seed: int = 1) -> Learner:
    return brisk(Learner("smec", "pointmaze/u", priors="zoo:pointmaze", seed=seed))


@pytest.fixture(scope="module")
def learned() -> Learner:
    return maze().learn(200)


def test_learning_in_two_parts_is_learning_in_one(learned: Learner) -> None:
    parts = maze().learn(130).learn(70)
    assert parts.num_timesteps == learned.num_timesteps == 200
    assert same(parts._require().agent, learned._require().agent)


def test_a_loaded_learner_predicts_the_same_and_goes_on_the_same(
    learned: Learner, tmp_path: Path
) -> None:
    half = maze().learn(130)
    half.save(tmp_path / "half")
    again = Learner.load(tmp_path / "half")
    obs = np.array([0.3, -0.2, 0.0, 0.1])
    np.testing.assert_array_equal(again.predict(obs)[0], half.predict(obs)[0])
    assert again.num_timesteps == 130
    assert same(again.learn(70)._require().agent, learned._require().agent)


def test_a_saved_policy_is_a_prior_for_the_next_task(learned: Learner, tmp_path: Path) -> None:
    learned.save(tmp_path / "run")
    library = reprise.priors([f"run:{tmp_path / 'run'}"])
    assert library.names == ("u",)
    obs = np.array([[0.3, -0.2, 0.0, 0.1]], np.float32)
    alone = library.alone(0)(obs)
    np.testing.assert_allclose(alone, learned.predict(obs)[0], atol=1e-5)


def test_predictions_live_in_the_box_of_the_environment() -> None:
    learner = brisk(Learner("scratch", gym.make("Pendulum-v1"))).learn(60)
    assert learner.task.id == "gym/Pendulum-v1"
    one, state = learner.predict(np.array([1.0, 0.0, 0.5]))
    many, _ = learner.predict(np.random.default_rng(0).normal(size=(50, 3)), deterministic=False)
    assert state is None
    assert one.shape == (1,)
    assert many.shape == (50, 1)
    assert (abs(many) <= 2.0).all()
    assert abs(many).max() > 1.0  # rescaled, not left in [-1, 1]


def test_an_observation_of_another_shape_is_one_line(learned: Learner) -> None:
    with pytest.raises(UserError, match=r"shape \(3,\); task 'pointmaze/u' has \(4,\)"):
        learned.predict(np.zeros(3))


def test_nothing_learned_is_nothing_to_predict() -> None:
    with pytest.raises(UserError, match="call learn"):
        maze().predict(np.zeros(4))


def test_evaluation_is_the_task_policy_alone_and_repeats(learned: Learner) -> None:
    one, two = learned.evaluate(episodes=3), learned.evaluate(episodes=3)
    assert one == pytest.approx(two, nan_ok=True, abs=0.0, rel=0.0)
    assert one.episodes == 3
    assert 0.0 <= one.success_any <= 1.0
