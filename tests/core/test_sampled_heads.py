"""Fewer prior heads per transition: the same gradient on average, at less cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.core.agent import Agent, policy_ids, propose
from reprise.core.critic import HybridCritic
from reprise.core.method import Method
from reprise.core.turns import HeadIds, each_row, in_turns
from reprise.core.types import Spec, Transition
from reprise.core.values import Targets
from reprise.methods.cup import GuidedActor
from reprise.methods.multipolar import AggregatingActor
from reprise.methods.smec import smec
from stubs import agent_of, fixed
from toys import batch, raw, same, small, update

KEY = jax.random.key(3)
HIDDEN = (8,)
ROWS = 5
"""No multiple of any number of priors here."""


def setting(priors: int, *invalid: int) -> tuple[Agent, Transition]:
    """Networks of random weights, and rows in some of which some priors said nothing usable."""
    spec = Spec(2, 1, priors)
    critic = HybridCritic(hidden=HIDDEN).init(KEY, spec)
    target = HybridCritic(hidden=HIDDEN).init(jax.random.key(4), spec)
    rows = jax.tree.map(lambda column: jnp.asarray(column[:ROWS]), batch(spec))
    valid = np.ones((ROWS, priors), np.bool_)
    valid[1:3, list(invalid)] = False
    advice = rows.next_advice._replace(valid=jnp.asarray(valid))
    return agent_of(critic, target, fixed(0.1)), rows._replace(next_advice=advice)


def targets(
    critic: HybridCritic, agent: Agent, rows: Transition, head_ids: HeadIds | None = None
) -> Targets:
    """What every row teaches."""

    def one(priors: Any, t: Transition) -> Targets:
        following = propose(agent.actor, t.next_obs, t.next_advice, jnp.zeros((1, 1)))
        return critic.targets(agent, t, following.select(priors), KEY)

    return each_row(one, head_ids, rows)


def gradient(
    critic: HybridCritic, agent: Agent, rows: Transition, head_ids: HeadIds | None = None
) -> Any:
    taught = targets(critic, agent, rows, head_ids)._replace(heads=None)

    def loss(networks: Any) -> jax.Array:
        def one(priors: Any, t: Transition, y: Targets) -> jax.Array:
            heads = None if priors is None else policy_ids(priors)
            return critic.loss(networks, t, y._replace(heads=heads), KEY)

        return each_row(one, head_ids, rows, taught).mean()

    return jax.grad(loss)(agent.critic)


@pytest.mark.parametrize("invalid", [(), (1,), (0, 3)])
@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_the_mean_over_all_deals_is_the_exact_gradient(
    drawn: int, invalid: tuple[int, ...]
) -> None:
    agent, rows = setting(4, *invalid)
    some = HybridCritic(heads_per_row=drawn)

    @jax.jit
    def both() -> tuple[Any, Any]:
        deal = jax.vmap(lambda first: gradient(some, agent, rows, in_turns(4, drawn, first)))
        mean = jax.tree.map(lambda x: x.mean(axis=0), deal(jnp.arange(4)))
        return mean, gradient(HybridCritic(), agent, rows)

    mean, wanted = both()
    for one, other in zip(jax.tree.leaves(mean), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=1e-4)


def taught_by(priors: int, drawn: int, first: int) -> np.ndarray:
    """The priors whose heads each row teaches."""
    head_ids = in_turns(priors, drawn, jnp.int32(first))
    return np.asarray(each_row(lambda some, row: some, head_ids, jnp.arange(ROWS)))


@pytest.mark.parametrize("priors", [4, 7], ids=lambda k: f"{k} priors, {ROWS} rows")
@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_a_row_meets_every_prior_equally_often_and_a_batch_all_alike(
    drawn: int, priors: int
) -> None:
    deals = [taught_by(priors, drawn, k) for k in range(priors)]
    for deal in deals:
        assert deal.shape == (ROWS, drawn)
        assert all(len(set(row)) == drawn for row in deal.tolist())
        counts = np.bincount(deal.ravel(), minlength=priors)
        assert counts.max() - counts.min() <= 1
    for i in range(ROWS):
        met = Counter(int(k) for deal in deals for k in deal[i])
        assert met == dict.fromkeys(range(priors), drawn)


def test_whoever_comes_first_is_drawn_at_random() -> None:
    critic = HybridCritic(heads_per_row=1)
    drawn = jax.jit(jax.vmap(lambda key: critic.assign_heads(key, 4)[0, 0]))  # type: ignore[index]
    first = Counter(np.asarray(drawn(jax.random.split(KEY, 4_000))).tolist())
    assert set(first) == {0, 1, 2, 3}
    assert all(abs(count - 1_000) < 130 for count in first.values())


@pytest.mark.parametrize("priors", [2, 3, 4, 7])
def test_rows_are_computed_in_groups_and_come_back_in_order(priors: int) -> None:
    rows = jnp.arange(float(ROWS)), {"pair": jnp.arange(2.0 * ROWS).reshape(ROWS, 2)}
    head_ids = in_turns(priors, 1, jnp.int32(1))

    def one(some: jax.Array, number: jax.Array, more: dict[str, jax.Array]) -> Any:
        return number, more["pair"].sum(), some[0]

    number, total, prior = each_row(one, head_ids, *rows)
    np.testing.assert_array_equal(number, rows[0])
    np.testing.assert_array_equal(total, rows[1]["pair"].sum(axis=1))
    np.testing.assert_array_equal(prior, (1 + np.arange(ROWS)) % priors)


def test_a_dealt_head_has_its_exact_target_and_counts_for_those_that_were_not() -> None:
    agent, rows = setting(4, 2)
    part = HybridCritic(heads_per_row=2)
    exact = targets(part, agent, rows)
    some = targets(part, agent, rows, in_turns(4, 2, jnp.int32(1)))
    assert exact.heads is None and some.heads is not None
    np.testing.assert_array_equal(some.heads[0], [0, 2, 3])
    chosen = jax.tree.map(lambda x: jnp.take_along_axis(x, some.heads, axis=1), exact[:2])
    np.testing.assert_allclose(some.values, chosen[0], rtol=1e-5)
    np.testing.assert_array_equal(some.weights, chosen[1] * jnp.array([[1.0, 2.0, 2.0]]))
    assert (np.asarray(some.weights) == 0.0).any(), "an invalid prior uses up its turn"


@pytest.mark.parametrize(("priors", "drawn"), [(0, 1), (3, 3), (3, 7), (3, None)])
def test_with_no_priors_or_all_heads_nothing_is_dealt(priors: int, drawn: int | None) -> None:
    assert HybridCritic(heads_per_row=drawn).assign_heads(KEY, priors) is None


def test_only_head_0_and_the_dealt_priors_pass_through_the_target_networks() -> None:
    agent, rows = setting(12)
    critic = HybridCritic(heads_per_row=1)

    def flops(what: Transition, head_ids: HeadIds | None = None) -> float:
        lowered = jax.jit(partial(targets, critic, agent)).lower(what, head_ids)
        return float(lowered.cost_analysis()["flops"])

    everybody, nobody = flops(rows), flops(setting(0)[1])
    one = flops(rows, critic.assign_heads(KEY, 12))
    assert everybody > 9 * nobody
    assert one < 4 * nobody, "two passes"


def test_an_update_ignores_what_an_invalid_prior_says() -> None:
    spec, rows = Spec(2, 1, 3), batch(Spec(2, 1, 3))
    critic = HybridCritic(heads_per_row=1)
    method = small(replace(smec(10, 1.0), critic=critic))
    results = []
    for noise in (0.3, -1.7):
        said = jax.tree.map(np.array, rows.next_advice)
        said.says.mean[:, 1], said.valid[:, 1] = noise, False
        agent = method.init(KEY, spec)
        results.append(update(method, agent, rows._replace(next_advice=said), raw(0), True))
    assert same(*results)
    agent, metrics = update(method, method.init(KEY, spec), rows, raw(0), True)
    assert np.isfinite(float(metrics["critic_loss"]))
    assert not same(agent, results[0][0]), "a valid prior's advice counts"


def learned(method: Method, priors: int) -> Agent:
    """After one update."""
    spec = Spec(2, 1, priors)
    return update(method, method.init(KEY, spec), batch(spec), raw(0), True)[0]


def test_priors_that_are_sampled_can_be_dealt() -> None:
    modes = small(replace(smec(10, 1.0), critic=HybridCritic(heads_per_row=1)))
    found = learned(replace(modes, stochastic_priors=True), 3)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(found))
    assert not same(found.critic, learned(modes, 3).critic)


def test_with_an_actor_that_needs_all_priors_it_is_refused_in_one_line() -> None:
    for actor in (AggregatingActor(), GuidedActor()):
        with pytest.raises(UserError, match="heads-per-row does nothing with ") as caught:
            Method(HybridCritic(heads_per_row=1), actor)
        assert "\n" not in str(caught.value)
        assert Method(HybridCritic(), actor).actor is actor


def test_fewer_than_one_head_is_refused() -> None:
    with pytest.raises(UserError, match="heads-per-row is 0; it must be positive"):
        HybridCritic(heads_per_row=0)
