"""An agent that is passed as the list of its arrays is the same agent."""

from __future__ import annotations

from dataclasses import replace

import jax

from reprise.agent import Plan
from reprise.keys import Keys
from reprise.method import DECIDING, LEARNING
from reprise.methods.smec import smec
from reprise.sealed import Sealed
from reprise.types import Spec
from toys import batch, same, small

SPEC = Spec(2, 1, 3)
METHOD = small(smec(10, 1.0))
KEYS = Keys(0, DECIDING + LEARNING)(0)


def test_what_was_taken_apart_is_put_together_again() -> None:
    agent = METHOD.init(jax.random.key(0), SPEC)
    assert jax.tree.structure(Sealed.of(agent).open()) == jax.tree.structure(agent)
    assert same(Sealed.of(agent).open(), agent)


def test_it_learns_and_decides_as_the_method_says() -> None:
    rows, told = batch(SPEC), jax.tree.map(lambda x: x[0], batch(SPEC))
    learn = jax.jit(METHOD.learn, static_argnums=3)
    wanted, losses = learn(METHOD.init(jax.random.key(0), SPEC), rows, KEYS[DECIDING:], True)
    sealed = Sealed.of(METHOD.init(jax.random.key(0), SPEC))
    after, found = sealed.update(METHOD, rows, KEYS[DECIDING:], True)
    assert after.tree is sealed.tree, "a later call recognizes it by this"
    assert same((after.open(), found), (wanted, losses))
    plan, situation = Plan.start(SPEC).begin(), (told.obs, told.advice, KEYS[:DECIDING])
    decided = jax.jit(METHOD.decide)(wanted, plan, *situation)
    assert same(after.act(METHOD, plan, *situation), decided)


def test_keys_depend_on_the_seed_and_the_step_alone() -> None:
    again, other = Keys(0, 7), Keys(1, 7)
    far = again(5_000).copy()
    assert (again(3) == Keys(0, 7)(3)).all()
    assert (again(5_000) == far).all()
    assert (again(3) != other(3)).any()
    assert again(3).shape == (7, 2)
    assert len({tuple(key) for step in range(3) for key in again(step).tolist()}) == 21


def test_sampled_priors_have_noise_of_their_own() -> None:
    told = jax.tree.map(lambda x: x[0], batch(SPEC))
    plan, keys = Plan.start(SPEC).begin(), KEYS[:DECIDING]
    agent = METHOD.init(jax.random.key(0), SPEC)
    loud = replace(METHOD, stochastic_priors=True)
    scores = [jax.jit(m.decide)(agent, plan, told.obs, told.advice, keys) for m in (METHOD, loud)]
    assert not same(scores[0][0].score, scores[1][0].score)
