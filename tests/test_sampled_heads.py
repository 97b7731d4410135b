"""Fewer prior heads per transition: the same gradient on average, at less cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.agent import Agent, Proposals
from reprise.critic import HybridCritic, Targets, draw_heads
from reprise.errors import UserError
from reprise.methods.smec import smec
from reprise.networks import ensemble_values
from reprise.types import Spec, Transition
from stubs import agent_of, proposals, says, transition
from toys import batch, raw, same, small

KEY = jax.random.key(3)
HIDDEN = (8,)


def setting(*valid: bool) -> tuple[Agent, Transition, Proposals]:
    """Networks of random weights, a transition, and what everybody would do after it."""
    count = len(valid)
    critic = HybridCritic(hidden=HIDDEN).init(KEY, Spec(2, 1, count))
    target = HybridCritic(hidden=HIDDEN).init(jax.random.key(4), Spec(2, 1, count))
    actions = np.linspace(-0.8, 0.9, count)
    t = transition(says(list(actions), *valid), reward=0.3, terminated=0.0)
    return agent_of(critic, target), t, proposals([0.1, *actions], True, *valid)


def gradient(agent: Agent, t: Transition, targets: Targets) -> Any:
    return jax.grad(lambda critic: HybridCritic().loss(critic, t, targets, KEY))(agent.critic)


@pytest.mark.parametrize("valid", [(True,) * 4, (True, False, True, True)])
@pytest.mark.parametrize("drawn", [1, 2, 3])
def test_the_mean_over_all_draws_is_the_exact_gradient(drawn: int, valid: tuple[bool, ...]) -> None:
    agent, t, following = setting(*valid)
    exact, part = HybridCritic(), HybridCritic(heads_per_row=drawn)
    draws = jnp.array([(0, *some) for some in combinations(range(1, 5), drawn)])

    @jax.jit
    def both() -> tuple[Any, Any]:
        each = jax.vmap(lambda h: gradient(agent, t, part.sampled(agent, t, following, h)))(draws)
        mean = jax.tree.map(lambda x: x.mean(axis=0), each)
        return mean, gradient(agent, t, exact.targets(agent, t, following, KEY))

    mean, wanted = both()
    for one, other in zip(jax.tree.leaves(mean), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=1e-4)


def test_every_subset_of_the_priors_is_drawn_equally_often_and_head_0_always() -> None:
    keys = jax.random.split(KEY, 6_000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: draw_heads(key, 5, 2)))(keys))
    assert (drawn[:, 0] == 0).all()
    pairs = Counter(tuple(sorted(row)) for row in drawn[:, 1:].tolist())
    assert set(pairs) == set(combinations(range(1, 5), 2))
    assert all(abs(count - 1_000) < 150 for count in pairs.values())


def test_a_single_head_is_every_priors_equally_often() -> None:
    keys = jax.random.split(KEY, 6_000)
    drawn = np.asarray(jax.jit(jax.vmap(lambda key: draw_heads(key, 5, 1)))(keys))
    assert (drawn[:, 0] == 0).all()
    counts = Counter(drawn[:, 1].tolist())
    assert set(counts) == {1, 2, 3, 4}
    assert all(abs(count - 1_500) < 150 for count in counts.values())


def test_a_drawn_head_has_its_exact_target_and_the_others_have_no_weight() -> None:
    agent, t, following = setting(True, False, True, True)
    exact = HybridCritic().targets(agent, t, following, KEY)
    some = HybridCritic().sampled(agent, t, following, jnp.array([0, 2, 4]))
    np.testing.assert_allclose(some.weights, [1.0, 0.0, 0.0, 0.0, 2.0])
    np.testing.assert_allclose(some.values[jnp.array([0, 4])], exact.values[jnp.array([0, 4])])


@pytest.mark.parametrize(("priors", "drawn"), [(0, 1), (3, 3), (3, 7)])
def test_with_no_priors_or_all_heads_drawn_it_is_exact_bit_for_bit(priors: int, drawn: int) -> None:
    agent, t, following = setting(*(True,) * priors)
    exact = HybridCritic().targets(agent, t, following, KEY)
    assert same(HybridCritic(heads_per_row=drawn).targets(agent, t, following, KEY), exact)


def test_only_head_0_and_the_drawn_priors_pass_through_the_target_networks() -> None:
    agent, t, following = setting(*(True,) * 16)

    def flops(function: Any) -> float:
        return float(jax.jit(function).lower().cost_analysis()["flops"])

    one = flops(lambda: ensemble_values(agent.target, t.next_obs, following.actions[0]))
    sampled = flops(lambda: HybridCritic(heads_per_row=1).targets(agent, t, following, KEY))
    exact = flops(lambda: HybridCritic().targets(agent, t, following, KEY))
    assert exact > 16 * one
    assert sampled < 8 * one, "two passes, and the draw"


def test_an_update_ignores_what_an_invalid_prior_says() -> None:
    spec, rows = Spec(2, 1, 3), batch(Spec(2, 1, 3))
    critic = HybridCritic(heads_per_row=1)
    method = small(replace(smec(10, 1.0), critic=critic))
    results = []
    for noise in (0.3, -1.7):
        said = jax.tree.map(np.array, rows.next_advice)
        said.says.mean[:, 1], said.valid[:, 1] = noise, False
        agent = method.init(KEY, spec)
        results.append(method.update(agent, rows._replace(next_advice=said), raw(0), True))
    assert same(*results)
    agent, metrics = method.update(method.init(KEY, spec), rows, raw(0), True)
    assert np.isfinite(float(metrics["critic_loss"]))
    assert not same(agent, results[0][0]), "a valid prior's advice counts"


def test_fewer_than_one_head_is_refused() -> None:
    with pytest.raises(UserError, match="heads-per-row is 0; it must be positive"):
        HybridCritic(heads_per_row=0)
