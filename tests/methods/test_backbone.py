"""SAC, the backbone of every method: methods.md section 1.6."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.core.agent import Proposals
from reprise.core.critic import SoftCritic
from reprise.core.method import Method
from reprise.core.types import Advice, Gaussian, Spec, Transition
from reprise.training.loop import train
from toys import (
    BRISK,
    batch,
    leaves,
    line,
    outputs,
    raw,
    reporting,
    same,
    small,
    update,
    with_output,
)

SPEC = Spec(obs=2, action=1, priors=0)


def test_the_squashed_density_integrates_to_one() -> None:
    policy = Gaussian(jnp.array([0.4]), jnp.array([-0.3]))
    # Change variables back: draw the density at given actions instead of at samples.
    actions = np.linspace(-1 + 1e-5, 1 - 1e-5, 40_001)
    raws = np.arctanh(actions)
    noise = (raws - 0.4) / np.exp(-0.3)
    key = jax.random.key(0)
    sampled, log_prob = jax.vmap(policy.sample)(jax.random.split(key, 20_000))
    density = np.exp(-0.5 * noise**2 + 0.3 - 0.5 * np.log(2 * np.pi)) / (1 - actions**2)
    assert np.trapezoid(density, actions) == pytest.approx(1.0, abs=1e-3)
    at_samples = np.interp(np.asarray(sampled[:, 0]), actions, density)
    np.testing.assert_allclose(np.exp(log_prob), at_samples, rtol=2e-2)


@pytest.mark.parametrize("raw_action", [-12.0, 0.0, 12.0])
def test_the_log_density_stays_finite_far_out(raw_action: float) -> None:
    policy = Gaussian(jnp.array([raw_action]), jnp.array([-5.0]))
    _, log_prob = policy.sample(jax.random.key(1))
    assert np.isfinite(log_prob)


def fixed_point(method: Method, reward: float, terminated: float, rounds: int = 1_500) -> float:
    """What head 0 converges to on one state whose every step looks the same."""
    agent = method.init(jax.random.key(0), SPEC)
    n = 8
    silence = Advice.of(np.zeros((n, 0, 1), np.float32), np.zeros((n, 0, 1), np.float32))
    state = np.tile(np.array([1.0, 0.0], np.float32), (n, 1))
    actions = np.linspace(-0.9, 0.9, n, dtype=np.float32)[:, None]
    full = np.full(n, reward, np.float32), np.full(n, terminated, np.float32)
    rows = Transition(state, silence, np.zeros(n, np.int32), actions, *full, state, silence)
    for step in range(rounds):
        agent, _ = update(method, agent, rows, raw(step), step % 2 == 0)
    return float(np.mean(method.value(agent, state, actions)))


def quick(discount: float) -> Method:
    critic = SoftCritic(discount=discount, hidden=(16,), layer_norm=False)
    return small(Method(critic=critic, learning_rate=1e-2, smoothing=0.1))


def test_the_value_beyond_a_time_limit_exists() -> None:
    assert fixed_point(quick(0.9), reward=1.0, terminated=0.0) == pytest.approx(10.0, rel=0.05)


def test_nothing_comes_after_a_termination() -> None:
    assert fixed_point(quick(0.9), reward=1.0, terminated=1.0) == pytest.approx(1.0, rel=0.05)


def test_the_loop_marks_a_time_limit_as_no_termination_and_an_arrival_as_one() -> None:
    for ends, expected in ((False, 0.0), (True, 1.0)):
        *_, last = train(small(Method()), line(30, ends=ends), steps=120, schedule=BRISK)
        rows = last.loop.replay.rows(0, 120)
        assert rows.terminated.max() == expected


@pytest.mark.parametrize("updates", [1, 2, 5, 6])
def test_actor_and_temperature_learn_at_every_second_update(updates: int) -> None:
    method = small(Method())
    agent = method.init(jax.random.key(0), SPEC)
    targets = [leaves(agent.target)[0]]
    for step in range(updates):
        improve = step % method.actor_delay == 0
        agent, _ = update(method, agent, batch(SPEC), raw(step), improve)
        targets.append(leaves(agent.target)[0])
    counts = [int(state[0].count) for state in agent.optim]
    assert counts == [updates, ceil(updates / 2), ceil(updates / 2)]
    assert all((a != b).any() for a, b in pairwise(targets))


def told(critic: SoftCritic, values: tuple[float, ...], reward: float = 0.0) -> np.ndarray:
    """The target if the twins of the next state's value were these."""
    method = small(Method(critic=critic))
    agent = method.init(jax.random.key(0), SPEC)
    weights = [jnp.zeros_like(twin.body.layers[-1].weight) for twin in agent.target]
    target = outputs(agent.target, weights, jnp.array(values)[:, None])
    agent = replace(agent, target=target)
    t = jax.tree.map(lambda x: x[0], batch(SPEC))._replace(reward=jnp.float32(reward))
    following = Proposals(jnp.zeros((1, 1)), jnp.float32(0.5), jnp.ones(1, bool))
    return np.asarray(method.critic.targets(agent, t, following, jax.random.key(0)).values)


def test_the_target_trusts_the_smaller_of_the_twins() -> None:
    assert told(SoftCritic(discount=0.5), (3.0, 5.0), reward=1.0) == pytest.approx(2.5)


def test_the_entropy_bonus_enters_the_target_only_if_asked_for() -> None:
    plain = told(SoftCritic(discount=0.5), (3.0, 5.0))
    soft = told(SoftCritic(discount=0.5, entropy_backup=True), (3.0, 5.0))
    # alpha = 1 at the start and log pi = 0.5
    assert soft - plain == pytest.approx(-0.25)


def test_the_temperature_rises_when_the_policy_is_too_sure() -> None:
    method = small(Method(learning_rate=1e-2))
    agent = method.init(jax.random.key(0), SPEC)
    narrow = agent.actor.body.layers[-1]
    actor = with_output(agent.actor, narrow.weight, narrow.bias.at[1].set(-8.0))
    sure, _ = update(method, replace(agent, actor=actor), batch(SPEC), raw(0), True)
    unsure, _ = update(method, method.init(jax.random.key(0), SPEC), batch(SPEC), raw(0), True)
    assert float(sure.log_alpha) > 0.0 > float(unsure.log_alpha)


def test_the_actor_moves_toward_what_the_smaller_critic_likes() -> None:
    *_, last = train(
        small(Method(learning_rate=3e-3)), line(30), steps=1_500, seed=1,
        schedule=reporting(500, warmup=300, learning_starts=200, batch=64),
    )  # fmt: skip
    obs = np.array([[1.2, 1.0], [-1.2, 1.0]], np.float32)
    silence = Advice.of(np.zeros((2, 0, 1), np.float32), np.zeros((2, 0, 1), np.float32))
    right, left = small(Method()).mode(last.agent.actor, obs, silence)[:, 0]
    assert right < 0.0 < left


def test_the_same_seed_gives_the_same_bits_and_another_does_not() -> None:
    def final(seed: int) -> object:
        *_, last = train(small(Method()), line(), steps=100, seed=seed, schedule=BRISK)
        return last.agent

    assert same(final(3), final(3))
    assert not same(final(3), final(4))
