"""A prior judged by what follows it, too: U = r + gamma [p U(s', mu) + (1 - p) V(s', pi)]."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.core.agent import Proposals
from reprise.core.critic import Critic, HybridCritic
from reprise.core.types import Spec, Transition
from reprise.methods import prepare
from reprise.methods.smec import handback
from reprise.tasks import Step, find
from reprise.training.value_accuracy import Start, handed_over, monte_carlo
from stubs import agent_of, formula, proposals, says, transition
from toys import Line, line

KEY = jax.random.key(0)
GAMMA, SPELL = 0.9, 2
P = 1.0 - 1.0 / SPELL
CRITIC = HybridCritic(horizon=SPELL, discount=GAMMA, handback=True, reward_range=(-1.0, 2.0))


def target(critic: Critic, t: Transition, values: Any, priors: Any = None) -> np.ndarray:
    """What the heads should say if they say `values` everywhere, at actions 0.1, 0.2 and 0.3."""
    numbers = jnp.asarray(values, jnp.float32)
    agent = agent_of(formula(lambda s, a: numbers + 0.0 * a[0]))
    following: Proposals = proposals([0.1, 0.2, 0.3]).select(priors)
    return np.asarray(critic.targets(agent, t, following, KEY).values)


def step(reward: float, ended: float = 0.0) -> Transition:
    return transition(says([0.2, 0.3]), reward=reward, terminated=ended)


def test_the_task_policy_goes_on_where_a_prior_stops() -> None:
    V, *U = values = (3.0, 5.0, -2.0)
    r = 0.25
    wanted = [r + GAMMA * V, *(r + GAMMA * (P * u + (1.0 - P) * V) for u in U)]
    np.testing.assert_allclose(target(CRITIC, step(r), values), wanted, rtol=1e-6)
    np.testing.assert_allclose(target(CRITIC, step(r, ended=1.0), values), r)


def test_one_head_per_row_has_the_same_target() -> None:
    values, t = (3.0, 5.0, -2.0), step(0.25)
    whole = target(CRITIC, t, values)
    for prior in (0, 1):
        alone = target(CRITIC, t, values, jnp.array([prior]))
        np.testing.assert_allclose(alone, whole[[0, 1 + prior]], rtol=1e-6)


@pytest.mark.parametrize("b", [-7.0, 4.0])
def test_a_constant_added_to_every_reward_changes_no_comparison(b: float) -> None:
    """All heads move by b / (1 - gamma): those of the paper's rule do not."""
    values, moved = np.array([3.0, 5.0, -2.0]), b / (1.0 - GAMMA)
    before, after = target(CRITIC, step(0.5), values), target(CRITIC, step(0.5 + b), values + moved)
    np.testing.assert_allclose(after - before, moved, rtol=1e-4)
    paper = replace(CRITIC, handback=False)
    floors = b / (1.0 - np.asarray(paper.discounts(3)))
    after = target(paper, step(0.5 + b), values + floors)
    np.testing.assert_allclose(after - target(paper, step(0.5), values), floors, rtol=1e-4)
    assert np.ptp(floors) > abs(b), "so the paper's comparison depends on b"


def test_who_is_worth_the_same_as_the_task_policy_stays_so() -> None:
    """Where a prior does what the task policy does, U = V: nobody gains by a switch."""
    V = 0.25 / (1.0 - GAMMA)
    np.testing.assert_allclose(target(CRITIC, step(0.25), (V, V, V)), V, rtol=1e-6)


def test_all_heads_have_the_bounds_of_the_long_horizon() -> None:
    critic = replace(CRITIC, bounded=True)
    bounds = critic.bounds(Spec(2, 1, 2))
    assert bounds is not None
    np.testing.assert_allclose(bounds.high, 2.0 / (1.0 - GAMMA), rtol=1e-6)
    np.testing.assert_allclose(bounds.low, -1.0 / (1.0 - GAMMA), rtol=1e-6)


def test_a_declared_lower_bound_takes_the_same_off_everybody() -> None:
    np.testing.assert_allclose(CRITIC.discounts(3), GAMMA)
    paper = replace(CRITIC, handback=False)
    np.testing.assert_allclose(paper.discounts(3), [GAMMA, paper.gbar, paper.gbar], rtol=1e-6)


def test_the_return_it_is_compared_with_hands_control_back() -> None:
    """Reward 1 while the prior acts, 3 from then on: r + keep gamma U + (1 - keep) gamma V."""
    keep, start = 0.7, Start(np.zeros(1, np.float32), {})
    worth = (1.0 + GAMMA * (1.0 - keep) * 3.0 / (1.0 - GAMMA)) / (1.0 - GAMMA * keep)
    rng = np.random.default_rng(0)
    found: list[float] = []
    for _ in range(2_000):
        act = handed_over(lambda obs: np.ones(1), lambda obs: np.full(1, 3.0), keep, rng)
        found.append(monte_carlo(Paid(), start, act, GAMMA, 200).value)
    assert np.mean(found) == pytest.approx(worth, rel=0.02)
    alone = lambda obs: obs  # noqa: E731
    assert handed_over(alone, alone, 1.0, rng) is alone


class Paid(Line):
    """The reward is the action."""

    def restore(self, snapshot: Any) -> None:
        pass

    def step(self, action: np.ndarray) -> Step:
        return Step(np.zeros(1, np.float32), float(action[0]), False, False, 0.0)


def test_several_steps_of_a_prior_are_refused_and_the_preset_knows() -> None:
    with pytest.raises(UserError, match="other-n-step must be 1"):
        replace(CRITIC, other_n_step=2)
    critic = prepare("smec/handback", line(20)).method.critic
    assert isinstance(critic, HybridCritic) and critic.handback and critic.other_n_step == 1
    task = find("antmaze/u")
    judged = handback(task.h).critic
    assert isinstance(judged, HybridCritic)
    assert 1.0 / (1.0 - judged.stay) == pytest.approx(task.h), "the mean of a spell is h"


def test_small_judges_by_handback_and_paper_never_does() -> None:
    task = find("antmaze/u")
    for name, small, paper in (
        ("smec", True, False),
        ("smec/myopic", False, False),
        ("smec/handback", True, True),
        ("smec/no-ucb", True, False),
    ):
        found = [prepare(name, task, preset).method.critic for preset in ("small", "paper")]
        assert [critic.handback for critic in found] == [small, paper], name  # pyright: ignore
    maze = prepare("smec", find("pointmaze/s")).method.critic
    assert isinstance(maze, HybridCritic) and not maze.handback
