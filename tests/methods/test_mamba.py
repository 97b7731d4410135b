"""MAMBA, the off-policy counterpart: methods.md section 5.3, variant B."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.core.agent import Plan, Proposals
from reprise.core.critic import SoftCritic
from reprise.core.types import Spec
from reprise.lab.theory import tabular
from reprise.lab.theory.tabular import Mdp
from reprise.methods.mamba import BaselineCritic, RollInOut, mamba
from reprise.training.loop import train
from stubs import agent_of, formula, proposals, says, scene, transition
from tables import A, S, TableQ, world
from toys import blank_plan, line, outputs, priors, reporting, small

K = 2
KEY = jax.random.key(0)


def greedy_backup(mix: float, mdp: Mdp, oracles: np.ndarray) -> Any:
    """One round of every (s, a)'s expected target, the task policy greedy for head 0."""
    critic = BaselineCritic(mix=mix, discount=0.9)
    own = jnp.asarray(oracles.swapaxes(0, 1), jnp.float32)

    @jax.jit
    def backup(table: jax.Array) -> jax.Array:
        agent = agent_of((TableQ(table), TableQ(table)))
        greedy = jax.nn.one_hot(table[:, :, 0].argmax(axis=1), A)[:, None]

        def target(reward: jax.Array, following: jax.Array, actions: jax.Array) -> jax.Array:
            t = transition(says([0.0] * K), terminated=0.0)
            t = t._replace(reward=reward, next_obs=following)
            everybody = Proposals(actions, jnp.zeros(()), jnp.ones(1 + K, bool))
            return critic.targets(agent, t, everybody, KEY).values

        actions = jnp.concatenate([greedy, own], axis=1)
        over_next = jax.vmap(target, in_axes=(None, 0, 0))
        rewards = jnp.asarray(mdp.r, jnp.float32)
        targets = jax.vmap(jax.vmap(lambda r: over_next(r, jnp.eye(S), actions)))(rewards)
        return jnp.einsum("saxh,sax->sah", targets, jnp.asarray(mdp.P, jnp.float32))

    return backup


@pytest.mark.parametrize(("seed", "mix"), [(0, 0.0), (1, 0.5), (2, 0.9), (3, 1.0)])
def test_a_the_greedy_policy_beats_its_own_value_which_beats_every_oracle(
    seed: int, mix: float
) -> None:
    mdp, oracles = world(seed, K)
    backup, table = greedy_backup(mix, mdp, oracles), jnp.zeros((S, A, 1 + K))
    for _ in range(200):
        table = backup(table)
    exact = np.stack([tabular.values(mdp, oracle, 0.9) for oracle in oracles])
    for k, oracle in enumerate(oracles):
        by_head = (np.asarray(table[:, :, 1 + k]) * oracle).sum(axis=1)
        np.testing.assert_allclose(by_head, exact[k], atol=1e-3)
    q = np.asarray(table[:, :, 0])
    attained = tabular.values(mdp, tabular.one_hot(q.argmax(axis=1), A), 0.9)
    assert (attained >= q.max(axis=1) - 1e-3).all()
    assert (q.max(axis=1) >= exact.max(axis=0) - 1e-3).all()
    assert (q.max(axis=1) > exact.max(axis=0) + 1e-2).any()


def heads(*values: float) -> Any:
    """Twins whose heads say these numbers; the second twin one more."""
    numbers = jnp.array(values, jnp.float32)
    return formula(lambda s, a: numbers + a[0], 0.0, 1.0)


def y(critic: Any, target: Any, actions: list[float], *valid: bool, **fields: Any) -> np.ndarray:
    t = transition(
        says([0.0] * (len(actions) - 1)), **({"reward": 1.0, "terminated": 0.0} | fields)
    )
    agent = agent_of(target)
    found = critic.targets(agent, t, proposals(actions, *valid), KEY)
    return np.asarray(found.values)


def test_the_targets_are_the_written_ones() -> None:
    critic = BaselineCritic(discount=0.5, mix=0.9)
    found = y(critic, heads(3.0, 5.0, 7.0), [0.1, 0.2, -0.3])
    f = max(5.2, 6.7)
    expected = [1 + 0.5 * (0.1 * f + 0.9 * 3.1), 1 + 0.5 * 5.2, 1 + 0.5 * 6.7]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(
        y(critic, heads(3.0, 5.0, 7.0), [0.1, 0.2, -0.3], terminated=1.0), [1.0, 1.0, 1.0]
    )


def test_b_with_lambda_one_head_0_learns_what_sac_does() -> None:
    mine = y(BaselineCritic(mix=1.0), heads(3.0, 5.0, 7.0), [0.1, 0.2, -0.3])
    sacs = y(SoftCritic(), heads(3.0), [0.1, 0.2, -0.3])
    assert mine[0] == sacs[0]


def test_b_with_lambda_one_head_0_has_the_gradient_that_sac_gives_it() -> None:
    # The same trunk below both: MAMBA's head 0 is SAC's only one.
    spec, soft = Spec(2, 1, 2), {"entropy_backup": True, "hidden": (8,)}
    mine, sacs = BaselineCritic(mix=1.0, **soft), SoftCritic(**soft)
    online, slow = (mine.init(jax.random.key(n), spec) for n in (1, 2))

    def first(twins: Any) -> Any:
        weights = [last(net).weight[:, :1] for net in twins]
        return outputs(twins, weights, [last(net).bias[:1] for net in twins])

    t = transition(says([0.4, -0.3]), reward=1.0, terminated=0.0)
    following = proposals([0.1, 0.4, -0.3])._replace(log_prob=jnp.float32(-0.7))

    @partial(jax.jit, static_argnums=0)
    def slope(critic: Any, net: Any, target: Any) -> Any:
        targets = critic.targets(agent_of(net, target), t, following, KEY)
        return jax.grad(lambda net: critic.loss(net, t, targets, KEY))(net)

    slopes = slope(mine, online, slow), slope(sacs, first(online), first(slow))
    for whole, part in zip(*(map(last, each) for each in slopes), strict=True):
        np.testing.assert_allclose(whole.weight[:, :1], part.weight, rtol=1e-5)
        np.testing.assert_allclose(whole.bias[..., :1], part.bias, rtol=1e-5)
        assert (np.asarray(part.bias) != 0.0).all()


def last(network: Any) -> Any:
    """Its last layer."""
    return network.body.layers[-1]


def test_the_entropy_bonus_is_weighted_by_lambda_as_the_rest_of_the_task_policys_value() -> None:
    t = transition(says([0.2]), reward=1.0, terminated=0.0)
    following = proposals([0.1, 0.2])._replace(log_prob=jnp.float32(-0.7))
    agent = agent_of(heads(3.0, 5.0), log_alpha=jnp.log(2.0))
    for mix in (0.0, 0.9):
        critic = BaselineCritic(mix=mix, discount=0.5, entropy_backup=True)
        expected = 1 + 0.5 * ((1 - mix) * 5.2 + mix * (3.1 + 2.0 * 0.7))
        found = critic.targets(agent, t, following, KEY).values
        np.testing.assert_allclose(found, [expected, 1 + 0.5 * 5.2], rtol=1e-5)


def test_c_with_lambda_zero_head_0_does_not_depend_on_the_task_policy() -> None:
    critic = BaselineCritic(mix=0.0)
    one = y(critic, heads(3.0, 5.0, 7.0), [0.1, 0.2, -0.3])
    two = y(critic, heads(-9.0, 5.0, 7.0), [0.8, 0.2, -0.3])
    np.testing.assert_array_equal(one, two)


def test_d_unrolled_head_0_is_the_baseline_plus_the_lambda_advantage() -> None:
    rng, mix, gamma, length = np.random.default_rng(0), 0.7, 0.9, 12
    critic = BaselineCritic(mix=mix, discount=gamma)
    rewards, oracles = rng.uniform(size=length), rng.uniform(0, 5, (length + 1, 2))
    f = oracles.max(axis=1)
    # A network that reads its values out of the observation: head 0, then the oracles.
    readout = formula(lambda s, a: s)
    agent, following = agent_of(readout), proposals([0.0, 0.0, 0.0])
    target = jax.jit(lambda t: critic.targets(agent, t, following, KEY).values[0])
    q = f[-1]
    unrolled = []
    for n in reversed(range(length)):
        said = np.array([q, *oracles[n + 1]])
        t = transition(says([0.0, 0.0]), reward=rewards[n], terminated=0.0, next_obs=said)
        q = float(target(t))
        unrolled.append(q)
    errors = rewards + gamma * f[1:] - f[:-1]
    for n, q in zip(reversed(range(length)), unrolled, strict=True):
        weights = (mix * gamma) ** np.arange(length - n)
        assert q == pytest.approx(f[n] + np.dot(weights, errors[n:]), rel=1e-6)


def test_only_oracles_with_something_usable_to_say_are_the_baseline() -> None:
    critic, target, actions = BaselineCritic(discount=0.5, mix=0.5), heads(3.0, 5.0, 7.0), [0.0] * 3
    assert y(critic, target, actions, True, True, False)[0] == pytest.approx(1 + 0.5 * (1.5 + 2.5))
    assert y(critic, target, actions, True, False, False)[0] == pytest.approx(1 + 0.5 * 3.0)


def in_episode(number: int, steps: int, clock: int = 0) -> Plan:
    counts = {"episode": jnp.int32(number), "steps": jnp.int32(steps), "clock": jnp.int32(clock)}
    return blank_plan(Spec(2, 1, 3))._replace(**counts)


def test_e_the_roll_in_is_geometric_with_the_mean_length_of_the_episodes_so_far() -> None:
    keys = jax.random.split(jax.random.key(0), 4_000)
    roll_in = jax.jit(jax.vmap(RollInOut().roll_in, in_axes=(None, 0)))
    drawn = np.asarray(roll_in(in_episode(4, 60), keys))  # three episodes of 20 steps on average
    assert drawn.min() == 1
    assert drawn.mean() == pytest.approx(20.0, rel=0.06)
    for t in range(1, 100):
        assert (drawn <= t).mean() == pytest.approx(1.0 - (1.0 - 1 / 20) ** t, abs=0.03)
    # Also where the random warm-up ends in the middle of an episode.
    inside = np.asarray(roll_in(in_episode(4, 67, clock=7), keys))
    np.testing.assert_array_equal(inside, drawn)
    assert (np.asarray(roll_in(in_episode(3, 60), keys)) > 1e8).all()


def test_e_the_roll_in_is_counted_from_the_reset() -> None:
    nobody = in_episode(4, 67, clock=7)
    seen = scene([0.0] * 4)
    roll_out = jax.jit(lambda key: RollInOut().select(None, nobody, seen, key))  # type: ignore[arg-type]
    for n in range(6):
        key = jax.random.key(n)
        left = int(RollInOut().roll_in(nobody, jax.random.split(key)[0])) - 7
        plan = roll_out(key)
        assert (int(plan.policy) > 0) == (left <= 0)
        assert left <= 0 or int(plan.remaining) == left


def test_e_every_usable_oracle_is_as_likely_to_roll_out() -> None:
    plan = in_episode(4, 60, clock=5)._replace(policy=jnp.int32(0), remaining=jnp.int32(0))

    def rolls_out(valid: jax.Array, key: jax.Array) -> jax.Array:
        seen = scene([0.0] * 4)
        seen = seen._replace(proposals=seen.proposals._replace(valid=valid))
        return RollInOut().select(None, plan, seen, key).policy  # type: ignore[arg-type]

    select = jax.jit(jax.vmap(rolls_out, in_axes=(None, 0)))
    keys = jax.random.split(jax.random.key(1), 3_000)
    shares = np.bincount(select(jnp.ones(4, bool), keys), minlength=4) / 3_000
    np.testing.assert_allclose(shares, [0, 1 / 3, 1 / 3, 1 / 3], atol=0.03)
    some = np.bincount(select(jnp.array([True, False, True, True]), keys), minlength=4) / 3_000
    np.testing.assert_allclose(some, [0, 0, 0.5, 0.5], atol=0.03)
    assert set(select(jnp.array([True, False, False, False]), keys).tolist()) == {0}


def test_e_the_task_policy_rolls_in_and_an_oracle_never_gives_back() -> None:
    schedule = reporting(1_000, warmup=0, learning_starts=10_000)
    *_, last = train(small(mamba()), line(25), priors(3), steps=1_000, schedule=schedule)
    rows = last.loop.replay.rows(0, 1_000).source.reshape(40, 25)
    assert (rows[0::2] == 0).all(), "odd episodes are the task policy's"
    assert (rows[1::2, 0] == 0).all(), "nobody rolls out before one step of roll-in"
    rolled = [row for row in rows[1::2] if row.any()]
    assert len(rolled) > 8
    for row in rolled:
        start = int(np.flatnonzero(row)[0])
        assert len(set(row[start:].tolist())) == 1
    assert {int(row[-1]) for row in rolled} == {1, 2, 3}


def test_lambda_must_be_a_share() -> None:
    with pytest.raises(UserError, match=r"mix is 1\.5"):
        BaselineCritic(mix=1.5)
