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

from reprise.core.agent import Agent, in_turns
from reprise.core.critic import HybridCritic
from reprise.core.method import Method
from reprise.core.types import Spec, Transition
from reprise.core.values import Targets
from reprise.io.errors import UserError
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


Ids = jax.Array | None


def targets(critic: HybridCritic, agent: Agent, rows: Transition, ids: Ids = None) -> Targets:
    """What every row teaches, to all heads or to those that are assigned to it."""
    method = Method(critic)

    def one(t: Transition, mine: Ids) -> Targets:
        following = method._following(agent, t, mine, jnp.zeros((1, 1)))
        return critic.targets(agent, t, following, KEY)

    return jax.vmap(one)(rows, ids)


def gradient(critic: HybridCritic, agent: Agent, rows: Transition, ids: Ids = None) -> Any:
    taught = targets(critic, agent, rows, ids)

    def loss(networks: Any) -> jax.Array:
        return jax.vmap(lambda t, y: critic.loss(networks, t, y, KEY))(rows, taught).mean()

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
        deal = jax.vmap(lambda first: gradient(some, agent, rows, in_turns(ROWS, drawn, 4, first)))
        mean = jax.tree.map(lambda x: x.mean(axis=0), deal(jnp.arange(4)))
        return mean, gradient(HybridCritic(), agent, rows)

    mean, wanted = both()
    for one, other in zip(jax.tree.leaves(mean), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("priors", [4, 7], ids=lambda k: f"{k} priors, {ROWS} rows")
@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_a_row_meets_every_prior_equally_often_and_a_batch_all_alike(
    drawn: int, priors: int
) -> None:
    deals = [np.asarray(in_turns(ROWS, drawn, priors, jnp.int32(k))) for k in range(priors)]
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
    deal = jax.jit(jax.vmap(lambda key: critic.assign_heads(ROWS, 4, key)[0, 0]))  # type: ignore[index]
    first = Counter(np.asarray(deal(jax.random.split(KEY, 4_000))).tolist())
    assert set(first) == {0, 1, 2, 3}
    assert all(abs(count - 1_000) < 130 for count in first.values())


def test_a_row_asks_the_priors_that_are_assigned_to_it_alone() -> None:
    agent, rows = setting(4, 2)
    method, t = Method(HybridCritic(heads_per_row=3)), jax.tree.map(lambda x: x[1], rows)
    ids, noise = in_turns(ROWS, 3, 4, jnp.int32(1))[1], jnp.zeros((1, 1))
    asked, everybody = (method._following(agent, t, who, noise) for who in (ids, None))
    assert asked.ids is not None and everybody.ids is None
    np.testing.assert_array_equal(asked.ids, [0, *(1 + np.asarray(ids))])
    np.testing.assert_array_equal(asked.actions, everybody.actions[asked.ids])
    np.testing.assert_array_equal(asked.valid, everybody.valid[asked.ids])
    assert same(asked, everybody.select(ids))


def test_a_dealt_head_has_its_exact_target_and_counts_for_those_that_were_not() -> None:
    agent, rows = setting(4, 2)
    part = HybridCritic(heads_per_row=2)
    ids = in_turns(ROWS, 2, 4, jnp.int32(1))
    exact, some = targets(part, agent, rows), targets(part, agent, rows, ids)
    assert exact.heads is None and some.heads is not None
    np.testing.assert_array_equal(some.heads[0], [0, 2, 3])
    chosen = jax.tree.map(lambda x: jnp.take_along_axis(x, some.heads, axis=1), exact[:2])
    np.testing.assert_allclose(some.values, chosen[0], rtol=1e-5)
    np.testing.assert_array_equal(some.weights, chosen[1] * jnp.array([[1.0, 2.0, 2.0]]))
    assert (np.asarray(some.weights) == 0.0).any(), "an invalid prior uses up its turn"


@pytest.mark.parametrize(("priors", "drawn"), [(0, 1), (3, 3), (3, 7), (3, None)])
def test_with_no_priors_or_all_heads_nothing_is_dealt(priors: int, drawn: int | None) -> None:
    assert HybridCritic(heads_per_row=drawn).assign_heads(ROWS, priors, KEY) is None


def test_only_head_0_and_the_dealt_priors_pass_through_the_target_networks() -> None:
    agent, rows = setting(12)
    critic = HybridCritic(heads_per_row=1)

    def flops(what: Transition, ids: Ids = None) -> float:
        lowered: Any = jax.jit(partial(targets, critic, agent)).lower(what, ids)
        return float(lowered.cost_analysis()["flops"])

    ids = critic.assign_heads(ROWS, 12, KEY)
    everybody, nobody, one = flops(rows), flops(setting(0)[1]), flops(rows, ids)
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
