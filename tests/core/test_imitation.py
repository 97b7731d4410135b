"""The task policy is drawn to what was done in the best episodes, where that is worth more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.core.method import Method
from reprise.core.types import Spec, Transition
from stubs import agent_of, fixed, formula
from toys import batch, update

SPEC = Spec(2, 1, 0)
HERE = 0.2
"""What the task policy would do, before tanh."""


def rows(actions: list[float], best: list[bool]) -> Transition:
    like, states = batch(SPEC, len(actions)), jnp.ones((len(actions), 2))
    done = jnp.array(actions, jnp.float32)[:, None]
    return like._replace(action=done, best=jnp.array(best), obs=states)


def pull(actions: list[float], best: list[bool], strength: float = 2.0) -> Any:
    """The loss and its slope for a policy at HERE; Q is 10 a for one twin, 20 a for the other."""
    method, actor = Method(imitation=strength), fixed(HERE)
    critics = tuple(formula(lambda s, a, k=k: k * a)[0] for k in (10.0, 20.0))
    agent, data = agent_of(critics, actor=actor), rows(actions, best)
    return jax.value_and_grad(lambda policy: method._imitate(policy, agent, data))(actor)


def test_only_rows_of_the_best_that_are_worth_more_count() -> None:
    own = np.tanh(HERE)
    actions, best = [0.9, 0.9, 0.1, -0.5], [True, False, True, True]
    loss, slope = pull(actions, best)
    # Alone the first: the second is not of the best, the others are worth less than its own.
    size = 10.0 * own  # the smaller twin at its own action, in every row
    assert float(loss) == pytest.approx(2.0 * size * (own - 0.9) ** 2 / 4, rel=1e-5)
    assert float(slope.mean[0]) < 0.0, "a larger action costs less"
    assert float(slope.log_std[0]) == 0.0, "the mode is drawn, not its spread"


def test_nothing_is_imitated_where_everything_done_is_worth_less() -> None:
    loss, slope = pull([0.1, -0.9], [True, True])
    assert float(loss) == 0.0 and not np.asarray(slope.mean).any()


def test_the_pull_grows_with_its_strength_and_is_absent_without() -> None:
    one, two = (float(pull([0.9], [True], strength)[0]) for strength in (1.0, 2.0))
    assert two == pytest.approx(2 * one)
    with pytest.raises(UserError, match="imitation is -1"):
        Method(imitation=-1.0)


def test_a_batch_that_nobody_marked_is_learned_from_as_before() -> None:
    plain, eager = Method(), Method(imitation=0.4)
    data = batch(SPEC)
    agents = [m.init(jax.random.key(0), SPEC) for m in (plain, eager)]
    key = np.asarray(jax.random.key_data(jax.random.key(1)))
    after = [update(m, a, data, key, True)[0] for m, a in zip((plain, eager), agents, strict=True)]
    for one, other in zip(*map(jax.tree.leaves, after), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)
    marked = replace(eager)
    agent = marked.init(jax.random.key(0), SPEC)
    told = update(marked, agent, data._replace(best=np.ones(16, np.bool_)), key, True)[0]
    assert not np.allclose(told.actor.body.layers[-1].weight, after[0].actor.body.layers[-1].weight)
