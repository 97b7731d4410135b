"""MultiPolar: methods.md section 5.2."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from reprise.boundary.errors import UserError
from reprise.core.actor import SoftActor, soft_loss
from reprise.core.agent import Agent, flat_adam
from reprise.core.layers import GaussianPolicy
from reprise.core.method import Method
from reprise.core.types import Spec
from reprise.methods.multipolar import AggregatingActor, AggregatingPolicy, multipolar
from reprise.priors import load, resolve
from reprise.runs.judge import save_actor, task_policy
from reprise.runs.recipe import Run
from stubs import agent_of, formula, says, transition
from toys import batch, priors, raw, same, small, update

SPEC = Spec(2, 1, 2)
KEY = jax.random.key(0)
NOISE = jnp.array([0.4])


def built(spec: Spec = SPEC, **options: Any) -> AggregatingPolicy:
    return AggregatingActor(hidden=(8,), **options).init(jax.random.key(3), spec)


def without_residual(policy: AggregatingPolicy, log_std: float = -10.0) -> AggregatingPolicy:
    """F = 0 and all but deterministic."""
    last = policy.body.layers[-1]
    half = last.bias.size // 2
    bias = jnp.concatenate([jnp.zeros(half), jnp.full(half, log_std)])
    return eqx.tree_at(
        lambda p: (p.body.layers[-1].weight, p.body.layers[-1].bias),
        policy,
        (last.weight * 0, bias),
    )


def test_a_without_a_residual_it_is_the_mean_of_the_sources() -> None:
    policy, heard = without_residual(built()), says([0.6, -0.2])
    np.testing.assert_allclose(policy(jnp.ones(2), heard).mode(), np.tanh([0.2]), rtol=1e-5)
    sampled = policy(jnp.ones(2), heard).sample(KEY)[0]
    np.testing.assert_allclose(sampled, np.tanh([0.2]), atol=1e-3)


def test_a_run_starts_from_the_aggregate() -> None:
    policy, heard = built(), says([0.6, -0.2])
    for obs in np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32):
        np.testing.assert_allclose(policy(jnp.asarray(obs), heard).mean, [0.2], atol=0.05)
    assert same(policy.scale, jnp.ones((2, 1)))


def test_with_atanh_a_single_source_is_reproduced() -> None:
    policy = without_residual(built(Spec(2, 1, 1), inverse_tanh=True))
    np.testing.assert_allclose(policy(jnp.ones(2), says([0.6])).mode(), [0.6], rtol=1e-5)
    saturated = policy(jnp.ones(2), says([1.0 - 1e-6])).mode()
    np.testing.assert_allclose(saturated, [0.999], rtol=1e-5)


def test_the_mean_is_over_the_sources_that_said_something() -> None:
    policy = without_residual(built())
    for valid, expected in (((True, False), 0.6), ((False, True), -0.2), ((False, False), 0.0)):
        heard = says([0.6, -0.2], *valid)
        np.testing.assert_allclose(policy(jnp.ones(2), heard).mean, [expected], atol=1e-6)


def test_b_the_scales_learn_and_the_sources_do_not() -> None:
    library = priors(2)
    before = [np.copy(w) for p in library.policies for w in p.weights]  # type: ignore[union-attr]
    method, spec = small(multipolar()), Spec(2, 1, 2)
    agent = method.init(jax.random.key(0), spec)
    rows = batch(spec)
    rows = rows._replace(advice=library(np.asarray(rows.obs), 1))
    agent, _ = update(method, agent, rows, raw(0), True)
    assert (np.asarray(agent.actor.scale) != 1.0).all()
    assert same(before, [w for p in library.policies for w in p.weights])  # type: ignore[union-attr]


def test_b_the_gradient_ends_at_the_sources() -> None:
    agent, policy = agent_of(formula(lambda s, a: 3.0 * a)), built()
    t = transition(says([0.6, -0.2]))

    def loss(policy: AggregatingPolicy, mean: jax.Array) -> jax.Array:
        said = says([0.6, -0.2])
        heard = said._replace(says=said.says._replace(mean=mean))
        return soft_loss(policy(t.obs, heard), agent, t, NOISE)[0]

    mine, theirs = jax.jit(jax.grad(loss, argnums=(0, 1)))(policy, jnp.array([[0.7], [-0.2]]))
    assert (np.asarray(mine.scale) != 0.0).all()
    assert same(theirs, jnp.zeros((2, 1)))
    # What learns is W and one network of the usual size: no source is inside the actor.
    plain = SoftActor(hidden=(8,)).init(KEY, SPEC)
    shapes = [leaf.shape for leaf in jax.tree.leaves(policy)]
    assert sorted(shapes) == sorted([(2, 1), *(leaf.shape for leaf in jax.tree.leaves(plain))])


def test_c_silent_sources_make_it_sac_and_leave_the_scales_alone() -> None:
    policy = built()
    plain = GaussianPolicy(policy.body)
    critic = formula(lambda s, a: s[:1] * a)
    agent, t = agent_of(critic, actor=policy), transition(says([0.0, 0.0]))
    losses = [
        jax.value_and_grad(lambda a: soft_loss(a(t.obs, t.advice), agent, t, NOISE)[0])(actor)
        for actor in (policy, plain)
    ]
    (mine, my_slope), (sacs, its_slope) = losses
    assert float(mine) == float(sacs)
    assert same(my_slope.body, its_slope.body)
    assert same(my_slope.scale, jnp.zeros((2, 1)))


def test_d_the_source_that_is_right_gets_the_larger_scale() -> None:
    target = formula(lambda s, a: -10.0 * (a - jnp.tanh(0.9)) ** 2)
    agent = agent_of(target, actor=None, log_alpha=jnp.log(0.01))
    t, adam = transition(says([0.9, -0.9])), optax.adam(0.01)

    @jax.jit
    def learned(policy: AggregatingPolicy) -> AggregatingPolicy:
        def step(carry: Any, key: jax.Array) -> Any:
            actor, state = carry
            noise = jax.random.normal(key, (1,))
            grads = jax.grad(lambda a: soft_loss(a(t.obs, t.advice), agent, t, noise)[0])(actor)
            updates, state = adam.update(grads, state)
            return (optax.apply_updates(actor, updates), state), None

        start: Any = policy
        carry = (policy, adam.init(start))
        return jax.lax.scan(step, carry, jax.random.split(KEY, 200))[0][0]

    first, second = np.asarray(learned(built()).scale)[:, 0]
    assert first > 1.0 > second


def test_e_the_target_hears_the_sources_in_the_next_state() -> None:
    method = Method(actor=AggregatingActor(hidden=(8,)), actor_delay=1)
    fresh = method.init(jax.random.key(0), SPEC)
    action_value = formula(lambda s, a: a)
    actor = without_residual(fresh.actor)
    states = [flat_adam(3e-4).init(part) for part in (action_value, actor, fresh.log_alpha)]  # type: ignore[arg-type]
    copy = jax.tree.map(jnp.copy, action_value)
    agent = replace(fresh, critic=action_value, target=copy, actor=actor, optim=tuple(states))
    t = transition(says([0.8, 0.4]), reward=1.0, action=[0.0], terminated=0.0)
    t = t._replace(next_advice=says([-0.5, -0.3]))
    rows = jax.tree.map(lambda x: np.asarray(x)[None], t)
    _, metrics = update(method, agent, rows, raw(0), False)
    wanted = 1.0 + 0.99 * np.tanh(-0.4)
    assert float(metrics["critic_loss"]) == pytest.approx(2 * 0.5 * wanted**2, rel=1e-3)


def recipe(method: Method) -> Run:
    return Run("multipolar", method, "toy/line", steps=10)


def test_it_acts_with_its_priors_when_it_is_evaluated() -> None:
    method, library = small(multipolar()), priors(2)
    agent = method.init(jax.random.key(0), SPEC)
    obs = np.random.default_rng(0).normal(size=(4, 2)).astype(np.float32)
    found = task_policy(method, without_residual(agent.actor), library)(obs)
    advised = np.tanh(library(obs, 1).says.mean).mean(axis=1)
    np.testing.assert_allclose(found, np.tanh(advised), rtol=1e-4)


def test_a_policy_that_needs_its_priors_is_not_saved_as_one_that_does_not(tmp_path: Path) -> None:
    method = small(multipolar())
    save_actor(tmp_path / "policy", method.init(KEY, SPEC), recipe(method), None)
    assert [path.name for path in (tmp_path / "policy").iterdir()] == ["note.txt"]
    note = (tmp_path / "policy/note.txt").read_text()
    assert "priors" in note and note.count("\n") == 1
    with pytest.raises(UserError, match=r"note\.txt|policy\.json"):
        resolve([f"run:{tmp_path}"])


def test_without_priors_it_is_an_ordinary_network_also_on_disk(tmp_path: Path) -> None:
    method, spec = small(multipolar()), Spec(2, 1, 0)
    agent = method.init(KEY, spec)
    plain = SoftActor(hidden=(16, 16)).init(jax.random.split(KEY, 3)[0], spec)
    assert same(agent.actor.body, plain.body)
    save_actor(tmp_path / "policy", agent, recipe(method), None)
    obs = np.ones((1, 2), np.float32)
    silence = priors(0)(obs, 1)
    saved = load(tmp_path / "policy")(obs).mean
    np.testing.assert_allclose(
        saved, agent.actor(obs[0], jax.tree.map(lambda x: x[0], silence)).mean[None], rtol=1e-5
    )


def test_an_agent_of_two_priors_has_a_scale_for_each() -> None:
    agent: Agent = small(multipolar()).init(KEY, Spec(2, 3, 2))
    assert agent.actor.scale.shape == (2, 3)
