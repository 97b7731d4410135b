"""Tiny MDPs whose values are known in closed form: every method's critic must find them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.core.agent import Agent
from reprise.core.critic import HybridCritic
from reprise.core.method import Method
from reprise.core.networks import ensemble_values
from reprise.core.types import Advice, Gaussian, Spec, Transition
from reprise.methods import ABLATIONS, METHODS
from reprise.methods.mamba import BaselineCritic
from toys import update

GAMMA, ADVISED = 0.5, (0.5, -0.5)
ROWS, UPDATES = 32, 700
SPEC = Spec(obs=1, action=1, priors=2)
EACH = pytest.mark.parametrize("name", METHODS | ABLATIONS)

Mdp = Callable[[np.ndarray, np.ndarray], tuple[Any, Any, Any]]
"""(state -1, 0 or 1, action) -> reward, whether it ends, next state"""

MDPS: dict[str, tuple[tuple[float, ...], Mdp]] = {
    "constant reward": ((0.0,), lambda s, a: (1.0, False, s)),
    "observation": ((-1.0, 1.0), lambda s, a: (s, True, s)),
    "discounting": ((0.0, 1.0), lambda s, a: (s, s == 1.0, 1.0)),
    "action": ((0.0,), lambda s, a: (a, True, s)),
    "observation and action": ((-1.0, 1.0), lambda s, a: (s * a, True, s)),
    "action one step later": ((0.0, 1.0), lambda s, a: (s * a, s == 1.0, 1.0)),
}
"""Where they start, and what happens."""


def transitions(starts: tuple[float, ...], mdp: Mdp) -> Transition:
    """Every state with actions from all over the box."""
    s = np.resize(np.array(starts, np.float32), ROWS)
    a = np.resize(np.linspace(-0.95, 0.95, ROWS // len(starts), dtype=np.float32), ROWS)
    a = np.sort(a) if len(starts) > 1 else a
    reward, ends, following = (np.broadcast_to(x, ROWS).astype(np.float32) for x in mdp(s, a))
    mean = np.broadcast_to(np.arctanh(np.array(ADVISED, np.float32))[None, :, None], (ROWS, 2, 1))
    said = Advice(Gaussian(mean, np.full_like(mean, -3.0)), np.ones((ROWS, 2), bool))  # type: ignore[arg-type]
    who = np.zeros(ROWS, np.int32)
    return Transition(s[:, None], said, who, a[:, None], reward, ends, following[:, None], said)  # type: ignore[arg-type]


ALL = {name: transitions(*recipe) for name, recipe in MDPS.items()}


class Learned(NamedTuple):
    """What a method says about the transitions it learned from."""

    values: np.ndarray
    """(rows, twins, heads)"""
    modes: np.ndarray
    """The task policy's actions."""
    later: np.ndarray
    """Its sampled actions in state 1."""


def build(name: str) -> Method:
    method = (METHODS | ABLATIONS)[name].build(6, 1.0)
    critic = replace(method.critic, hidden=(32,), layer_norm=False, discount=GAMMA)
    actor = replace(method.actor, hidden=(16,)).after_warmup(0)
    # No planner has a part in this: methods that differ in nothing else share a compilation.
    return Method(critic, actor, learning_rate=1e-2, smoothing=0.1)


def learned(name: str) -> dict[str, Learned]:
    return run(build(name))


@cache
def run(method: Method) -> dict[str, Learned]:
    """All the MDPs at once, in one compilation."""
    start = method.init(jax.random.key(0), SPEC)

    def one(rows: Transition) -> Learned:
        def step(agent: Agent, key: jax.Array) -> Any:
            return update(method, agent, rows, key, True)[0], None

        agent, _ = jax.lax.scan(step, start, jax.random.split(jax.random.key(1), UPDATES))
        values = jax.vmap(lambda s, a: ensemble_values(agent.critic, s, a))(rows.obs, rows.action)
        modes = jax.vmap(lambda s, said: agent.actor(s, said).mode())(rows.obs, rows.advice)
        said = jax.tree.map(lambda x: x[0], rows.advice)
        sample = jax.vmap(lambda k: agent.actor(jnp.ones(1), said).sample(k)[0])
        return Learned(values, modes, sample(jax.random.split(jax.random.key(2), 500)))

    stacked = jax.tree.map(lambda *x: np.stack(x), *ALL.values())
    quick = {"xla_backend_optimization_level": 0}  # compiling takes longer than learning
    found = jax.jit(jax.vmap(one), compiler_options=quick)(stacked)
    return {
        name: jax.tree.map(lambda x, i=i: np.asarray(x[i]), found) for i, name in enumerate(ALL)
    }


def discounts(name: str) -> np.ndarray:
    """The discount of each head."""
    critic = build(name).critic
    return np.asarray(critic.discounts(critic.heads(SPEC)) if many(critic) else [GAMMA])


def many(critic: Any) -> bool:
    """Whether the heads are policies."""
    return isinstance(critic, HybridCritic | BaselineCritic)


def check(
    name: str, mdp: str, expected: Callable[[np.ndarray, np.ndarray, np.ndarray], Any]
) -> None:
    """Every head of both twins, at every state and action, against expected(s, a, discount)."""
    rows, found = ALL[mdp], learned(name)[mdp].values
    s, a = (np.asarray(x)[:, 0, None, None] for x in (rows.obs, rows.action))
    wanted = expected(s, a, discounts(name)[None, None])
    assert found.shape[2] == len(discounts(name))
    np.testing.assert_allclose(found, np.broadcast_to(wanted, found.shape), atol=0.1)


@EACH
def test_a_constant_reward_is_worth_one_over_one_minus_the_discount(name: str) -> None:
    check(name, "constant reward", lambda s, a, gamma: 1.0 / (1.0 - gamma))


@EACH
def test_a_reward_that_depends_on_the_state_is_told_apart(name: str) -> None:
    check(name, "observation", lambda s, a, gamma: s)


@EACH
def test_a_reward_one_step_later_is_discounted_once(name: str) -> None:
    check(name, "discounting", lambda s, a, gamma: np.where(s == 1.0, 1.0, gamma))


@EACH
def test_a_reward_that_depends_on_the_action_is_found_and_sought(name: str) -> None:
    check(name, "action", lambda s, a, gamma: a)
    assert (learned(name)["action"].modes > 0.3).all()


@EACH
def test_a_reward_that_depends_on_both_is_found_and_sought(name: str) -> None:
    check(name, "observation and action", lambda s, a, gamma: s * a)
    state = np.asarray(ALL["observation and action"].obs)
    assert (learned(name)["observation and action"].modes * state > 0.3).all()


FOLLOWED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mamba": lambda own: 0.1 * max(ADVISED) + 0.9 * own,
    "ac-teach": lambda own: np.maximum(own, max(ADVISED)),
}
"""What head 0 expects of the next state, given the task policy's actions there; else: they."""


@EACH
def test_the_next_action_is_the_one_that_the_methods_target_says(name: str) -> None:
    mdp = "action one step later"
    found = learned(name)[mdp]
    first = np.asarray(ALL[mdp].obs)[:, 0] == 0.0
    own = FOLLOWED.get(name, lambda own: own)(found.later).mean()
    heads = len(discounts(name))
    followed = np.array([own, *ADVISED])[:heads]
    stays = np.asarray(build(name).critic.staying(heads))
    followed = stays * followed + (1.0 - stays) * own  # after a handback the task policy goes on
    wanted = np.broadcast_to(discounts(name) * followed, found.values[first].shape)
    np.testing.assert_allclose(found.values[first], wanted, atol=0.1)
