"""An agent that is passed as the list of its arrays is the same agent."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from reprise.core.agent import Plan
from reprise.core.types import Spec
from reprise.methods.smec import smec
from reprise.training.compiled import OPTIONS, Sealed, compiled, understood, updater
from reprise.training.keys import Keys, Noise
from reprise.training.randomness import Chances
from toys import batch, same, small

SPEC = Spec(2, 1, 3)
METHOD = small(smec(10, 1.0))
ROWS = batch(SPEC)
CHANCES = Chances(METHOD, SPEC, len(ROWS.reward), 0)
DECISION, LESSON = CHANCES.decision(0), CHANCES.update(0)


def test_what_was_taken_apart_is_put_together_again() -> None:
    agent = METHOD.init(jax.random.key(0), SPEC)
    assert jax.tree.structure(Sealed.of(agent).open()) == jax.tree.structure(agent)
    assert same(Sealed.of(agent).open(), agent)


def test_it_learns_and_decides_as_the_method_says() -> None:
    told = jax.tree.map(lambda x: x[0], ROWS)
    learn = jax.jit(METHOD.learn, static_argnums=3, compiler_options=OPTIONS["ynnpack"])
    wanted, losses = learn(METHOD.init(jax.random.key(0), SPEC), ROWS, LESSON, True)
    sealed = Sealed.of(METHOD.init(jax.random.key(0), SPEC))
    after, found = sealed.update(METHOD, ROWS, LESSON, True)
    assert after.tree is sealed.tree, "a later call recognizes it by this"
    assert same((after.open(), found), (wanted, losses))
    plan, situation = Plan.start(SPEC).begin(), (told.obs, told.advice, DECISION)
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
    told = jax.tree.map(lambda x: x[0], ROWS)
    plan, key = Plan.start(SPEC).begin(), jax.random.key(3)
    agent = METHOD.init(jax.random.key(0), SPEC)
    loud = replace(METHOD, stochastic_priors=True)
    chances = Chances(loud, SPEC, 8, 0)
    deciding, learning = chances.decision(0)[0], chances.update(0)[0]
    assert deciding.shape == (4, 1) and learning.shape == (2, 8, 4, 1)
    scores = [m.act(agent, plan, told.obs, told.advice, key)[0].score for m in (METHOD, loud)]
    assert not same(scores[0][1:], scores[1][1:])


def test_noise_depends_on_the_seed_and_the_step_alone() -> None:
    shapes = (1, 4), (2, 128, 1, 4)
    again, other = Noise(0, *shapes), Noise(1, *shapes)
    far = [part.copy() for part in again(5_000)]
    assert [part.shape for part in again(3)] == [*shapes]
    assert same(again(3), Noise(0, *shapes)(3))
    assert same(again(5_000), far)
    assert not same(again(3), again(4)) and not same(again(3), other(3))
    many = np.concatenate([again(step)[1].ravel() for step in range(200)])
    assert abs(many.mean()) < 0.01 and abs(many.std() - 1.0) < 0.01


@pytest.mark.parametrize(
    ("hidden", "library"),
    [((256, 256), "ynnpack"), ((400,) * 3, "eigen"), ((16, 16), "ynnpack"), ((200,), "eigen")],
)
def test_widths_that_fill_no_whole_tiles_are_multiplied_by_the_other_library(
    hidden: tuple[int, ...], library: str
) -> None:
    method = replace(METHOD, critic=replace(METHOD.critic, hidden=hidden))
    assert updater(method) is compiled(library)


def test_either_library_learns_the_same_but_for_rounding() -> None:
    results = []
    for library in OPTIONS:
        sealed = Sealed.of(METHOD.init(jax.random.key(0), SPEC))
        results.append(compiled(library)(sealed, METHOD, ROWS, LESSON, True)[1])
    one, two = results
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-4)


def test_an_option_that_xla_does_not_know_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(understood(*option) for option in OPTIONS["eigen"].items())
    monkeypatch.setitem(OPTIONS, "future", {"xla_cpu_no_such_option": 1})
    assert not understood("xla_cpu_no_such_option", 1)
    sealed = Sealed.of(METHOD.init(jax.random.key(0), SPEC))
    _, losses = compiled("future")(sealed, METHOD, ROWS, LESSON, True)
    assert np.isfinite(float(losses["critic_loss"]))
