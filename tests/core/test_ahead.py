"""Targets of several steps: only of who acted, only as long as the same policy kept control."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.core import windows
from reprise.core.agent import Proposals
from reprise.core.critic import Critic, HybridCritic, SoftCritic
from reprise.core.replay import ReplayBuffer
from reprise.core.types import Advice, Ahead, Place, Spec, Transition
from reprise.methods.ac_teach import MixtureCritic
from reprise.methods.mamba import BaselineCritic
from reprise.methods.smec import smec
from reprise.training.loop import train
from stubs import agent_of, formula
from toys import BRISK, batch, line, priors, reporting, small

KEY = jax.random.key(0)


def log(*selections: tuple[int, int, bool]) -> ReplayBuffer:
    """Rows of selections (who, for how many steps, whether the episode ended with them)."""
    spec = Spec(2, 1, 2)
    like = jax.tree.map(lambda x: np.asarray(x)[0], batch(spec))
    buffer = ReplayBuffer(1_000, like._replace(place=Place.of(0, False)), 0)
    for source, steps, over in selections:
        for held in range(steps):
            number = np.float32(buffer.added)
            last = over and held == steps - 1
            buffer.add(
                like._replace(
                    source=np.int32(source),
                    reward=number,
                    terminated=np.float32(last),
                    next_obs=np.full(2, number, np.float32),
                    place=Place.of(held, last),
                )
            )
    return buffer


LOG = [(0, 5, False), (0, 3, True), (2, 6, False), (-1, 4, False), (1, 4, True), (1, 2, False)]
UNBROKEN = [(0, 8, True), *LOG[2:]]
"""The same, where a policy that is selected again keeps control."""


def test_what_followed_is_what_a_loop_over_the_rows_finds() -> None:
    buffer, own, other = log(*LOG), 3, 5
    start = np.arange(buffer.added)
    found = windows.ahead(buffer, start, own, other)
    ends = np.cumsum([steps for _, steps, _ in UNBROKEN])
    for i in start:
        which = int(np.searchsorted(ends, i, side="right"))
        source = UNBROKEN[which][0]
        limit = {0: own, -1: 1}.get(source, other)
        steps = min(limit, int(ends[which]) - int(i))
        assert found.steps[i] == steps
        wanted = np.zeros(max(own, other), np.float32)
        wanted[:steps] = np.arange(i, i + steps)
        np.testing.assert_array_equal(found.rewards[i], wanted)
        assert found.obs[i, 0] == i + steps - 1
        assert bool(found.terminated[i]) == (UNBROKEN[which][2] and i + steps == ends[which])


def ahead(rewards: list[float], ended: float = 0.0) -> Ahead:
    """So many steps, and a state (7, 7) after them."""
    padded = jnp.array([*rewards, 0.0, 0.0], jnp.float32)
    silence = Advice.of(jnp.zeros((2, 1)), jnp.zeros((2, 1)))
    count, over = jnp.int32(len(rewards)), jnp.float32(ended)
    return Ahead(padded, count, over, jnp.full(2, 7.0), silence)


def told(critic: Critic, source: int, then: Ahead) -> tuple[np.ndarray, np.ndarray]:
    """The targets of one step, and those that look ahead, of values 10 s + a + head."""
    heads = 3 if not isinstance(critic, SoftCritic) else 1
    numbers = jnp.arange(heads, dtype=jnp.float32)
    agent = agent_of(formula(lambda s, a: 10.0 * s[0] + a[0] + numbers))
    t: Transition = jax.tree.map(lambda x: jnp.asarray(np.asarray(x)[0]), batch(Spec(2, 1, 2)))
    t = t._replace(source=jnp.int32(source), ahead=then, reward=then.rewards[0])
    here = Proposals(jnp.array([[0.1], [0.2], [0.3]]), jnp.zeros(()), jnp.ones(3, bool))
    there = Proposals(jnp.array([[0.4], [0.5], [0.6]]), jnp.zeros(()), jnp.ones(3, bool))
    once = critic.targets(agent, t, here, KEY)
    return np.asarray(once.values), np.asarray(critic.look_ahead(agent, t, once, there, KEY).values)


@pytest.mark.parametrize("source", [0, 1, 2])
def test_the_head_of_who_acted_gets_k_rewards_and_the_value_after_them(source: int) -> None:
    critic = HybridCritic(horizon=6, discount=0.9, n_step=3, other_n_step=3)
    once, far = told(critic, source, ahead([1.0, 2.0, 4.0]))
    discount = 0.9 if source == 0 else critic.gbar
    value = 70.0 + (0.4, 0.5, 0.6)[source] + source
    wanted = 1.0 + discount * 2.0 + discount**2 * 4.0 + discount**3 * value
    assert far[source] == pytest.approx(wanted, rel=1e-5)
    others = [head for head in range(3) if head != source]
    np.testing.assert_array_equal(far[others], once[others])


def test_nothing_comes_after_a_termination_and_a_random_row_teaches_one_step() -> None:
    critic = HybridCritic(horizon=6, discount=0.9, n_step=3)
    _, far = told(critic, 0, ahead([1.0, 2.0], ended=1.0))
    assert far[0] == pytest.approx(1.0 + 0.9 * 2.0)
    for source in (-1, 1, 2):  # priors look one step ahead here
        once, far = told(critic, source, ahead([1.0]))
        np.testing.assert_array_equal(far, once)


def test_one_step_ahead_is_the_target_of_one_step_in_the_state_it_led_to() -> None:
    critic, then = SoftCritic(discount=0.9), ahead([3.0])
    _, far = told(critic, 0, then)
    assert far[0] == pytest.approx(3.0 + 0.9 * (70.0 + 0.4))
    once, far = told(critic, 2, then)  # a prior acted: the only head is not its own
    np.testing.assert_array_equal(far, once)


def test_mambas_head_0_mixes_where_it_bootstraps() -> None:
    critic = BaselineCritic(discount=0.9, mix=0.5)
    _, far = told(critic, 0, ahead([1.0, 2.0]))
    mixed = 0.5 * (70.0 + 0.6 + 2.0) + 0.5 * (70.0 + 0.4)
    assert far[0] == pytest.approx(1.0 + 0.9 * 2.0 + 0.81 * mixed)


def test_a_posterior_has_no_head_for_who_acted() -> None:
    with pytest.raises(UserError, match="n-step must be 1"):
        MixtureCritic(n_step=3)


def test_a_run_may_look_ahead_and_else_nothing_is_looked_up(monkeypatch: Any) -> None:
    looked: list[int] = []
    spy = windows.ahead

    def ahead(*told: Any) -> Any:
        looked.append(1)
        return spy(*told)

    monkeypatch.setattr(windows, "ahead", ahead)
    near = small(smec(5, 1.0))
    far = replace(near, critic=replace(near.critic, n_step=3, other_n_step=5))
    schedule = reporting(90, warmup=20, learning_starts=20)
    losses = [
        [
            p.metrics["critic_loss"]
            for p in train(m, line(25), priors(2), steps=90, schedule=schedule)
        ]
        for m in (near, far)
    ]
    assert np.isfinite(losses).all() and losses[0] != losses[1]
    assert len(looked) == 90 - 20
    assert BRISK.batch == 16
