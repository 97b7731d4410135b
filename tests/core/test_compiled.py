"""An agent that is passed as the list of its arrays is the same agent; what is random in a step."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from reprise.core.agent import Agent, Plan
from reprise.core.compiled import OPTIONS, FlatAgent, compiled, faster, understood
from reprise.core.method import Method, Metrics
from reprise.core.types import Spec
from reprise.methods.smec import smec
from reprise.training.keys import Keys, Noise
from reprise.training.randomness import Chances
from toys import act, batch, same, small

SPEC = Spec(2, 1, 3)
METHOD = small(smec(10, 1.0))
ROWS = batch(SPEC)
CHANCES = Chances(METHOD, SPEC, len(ROWS.reward), 0)
DECISION, LESSON = CHANCES.decision(0), CHANCES.update(0)


def test_what_was_taken_apart_is_put_together_again() -> None:
    agent = METHOD.init(jax.random.key(0), SPEC)
    assert jax.tree.structure(FlatAgent.of(agent).whole()) == jax.tree.structure(agent)
    assert same(FlatAgent.of(agent).whole(), agent)


def test_a_flat_agent_learns_and_decides_as_any_other() -> None:
    told = jax.tree.map(lambda x: x[0], ROWS)
    wanted, losses = METHOD.update(METHOD.init(jax.random.key(0), SPEC), ROWS, LESSON, True)
    flat = FlatAgent.of(METHOD.init(jax.random.key(0), SPEC))
    after, found = METHOD.update(flat, ROWS, LESSON, True)
    assert after.tree is flat.tree, "a later call recognizes it by this"
    assert same((after.whole(), found), (wanted, losses))
    plan, situation = Plan.start(SPEC).begin(), (told.obs, told.advice, DECISION)
    assert same(METHOD.act(after, plan, *situation), METHOD.act(wanted, plan, *situation))


def test_an_update_within_a_compiled_function_learns_the_same_but_for_rounding() -> None:
    def learn() -> tuple[Agent, Metrics]:
        return METHOD.update(METHOD.init(jax.random.key(0), SPEC), ROWS, LESSON, True)

    start, chance = METHOD.init(jax.random.key(0), SPEC), LESSON
    inside = jax.jit(lambda agent: METHOD.update(agent, ROWS, chance, True))(start)
    for one, other in zip(*map(jax.tree.leaves, (inside, learn())), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


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
    scores = [act(m, agent, plan, told.obs, told.advice, key)[0].score for m in (METHOD, loud)]
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
    assert faster((*method.actor.hidden, *method.critic.hidden)) == library


def test_either_library_learns_the_same_but_for_rounding() -> None:
    results = []
    for library in OPTIONS:
        agent = METHOD.init(jax.random.key(0), SPEC)
        results.append(compiled(Method._update, library)(METHOD, agent, ROWS, LESSON, True, ())[1])
    one, two = results
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_allclose(one[name], two[name], rtol=1e-4)


def test_an_option_that_xla_does_not_know_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(understood(*option) for option in OPTIONS["eigen"].items())
    monkeypatch.setitem(OPTIONS, "future", {"xla_cpu_no_such_option": 1})
    assert not understood("xla_cpu_no_such_option", 1)
    agent, future = METHOD.init(jax.random.key(0), SPEC), compiled(Method._update, "future")
    _, losses = future(METHOD, agent, ROWS, LESSON, True, ())
    assert np.isfinite(float(losses["critic_loss"]))
