"""Who acts, for how long, and how it is counted: facts that hold for any numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.core.agent import Plan, Proposals
from reprise.core.critic import SoftCritic
from reprise.core.method import Method
from reprise.core.planner import (
    Choice,
    Scene,
    TaskPolicy,
    Uniform,
    ValueGuided,
    renew_every,
    ucb_bonus,
)
from reprise.core.types import Spec
from reprise.methods.smec import smec
from reprise.training.loop import train
from toys import blank_plan, line, priors, reporting, small


def scene(*valid: bool) -> Scene:
    """Three policies, of which some have nothing usable to say."""
    heard = jnp.array(valid or (True, True, True))
    proposals = Proposals(jnp.zeros((3, 1)), jnp.zeros(()), heard)
    return Scene(jnp.zeros(2), proposals, lambda samples: jnp.zeros((samples, 2, 3)))


@given(commit=st.integers(1, 9), lengths=st.lists(st.integers(1, 25), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_a_commitment_lasts_h_steps_unless_the_episode_ends(
    commit: int, lengths: list[int]
) -> None:
    plan, count = Plan.start(Spec(2, 1, 2)), 0

    def choose() -> Choice:
        blank = jnp.zeros(3)
        return Choice(jnp.int32(1), blank, blank)

    step = jax.jit(lambda plan: renew_every(commit, plan, scene(), choose).tick())
    for length in lengths:
        plan = plan.begin()
        for t in range(length):
            before = int(np.asarray(plan.chosen).sum())
            plan = step(plan)
            chosen = int(np.asarray(plan.chosen).sum()) - before
            assert chosen == (1 if t % commit == 0 else 0)
            count += chosen
    assert int(np.asarray(plan.switched).sum()) == count
    assert int(plan.episode) == len(lengths)


@given(
    chosen=st.lists(st.integers(0, 50), min_size=3, max_size=3),
    row=st.lists(st.integers(0, 50), min_size=3, max_size=3),
    c=st.floats(0.1, 50.0),
)
@settings(max_examples=60, deadline=None)
def test_the_bonus_equals_the_formula_by_hand(chosen: list[int], row: list[int], c: float) -> None:
    plan = blank_plan(Spec(2, 1, 2))
    switched = plan.switched.at[1].set(jnp.array(row))
    plan = plan._replace(policy=jnp.int32(1), chosen=jnp.array(chosen), switched=switched)
    for i, found in enumerate(np.asarray(ucb_bonus(plan, c))):
        visits = chosen[i] + row[i]
        if visits == 0:
            assert found == np.inf
        else:
            by_hand = c * np.sqrt(np.log(2 * max(sum(chosen), 1)) / visits)
            assert found == pytest.approx(by_hand, rel=1e-5)


def test_counts_of_a_run_add_up_to_its_selections_with_a_row_for_the_start() -> None:
    schedule = reporting(200, warmup=0, learning_starts=10_000)
    *_, last = train(small(smec(10, 1.0)), line(25), priors(3), steps=200, schedule=schedule)
    plan = last.loop.plan
    by_hand = np.zeros((5, 4), int)
    for selection in last.selections:
        by_hand[selection.previous, selection.chosen] += 1
    np.testing.assert_array_equal(plan.switched, by_hand)
    np.testing.assert_array_equal(plan.chosen, by_hand.sum(axis=0))
    assert by_hand[4].sum() == 8  # one start per episode
    assert by_hand.sum() == 8 * 3


def test_the_random_warm_up_makes_no_selections_and_no_counts() -> None:
    schedule = reporting(100, warmup=100, learning_starts=10_000)
    *_, last = train(small(smec(10, 1.0)), line(25), priors(2), steps=100, schedule=schedule)
    assert last.selections == ()
    assert int(np.asarray(last.loop.plan.chosen).sum()) == 0
    assert set(last.loop.replay.rows(0, 100).source.tolist()) == {-1}


def test_the_task_policy_planner_leaves_control_to_the_task_policy() -> None:
    schedule = reporting(60, warmup=0, learning_starts=10_000)
    method = small(Method(planner=TaskPolicy()))
    *_, last = train(method, line(25), priors(2), steps=60, schedule=schedule)
    assert set(last.loop.replay.rows(0, 60).source.tolist()) == {0}
    assert last.selections == ()


def test_the_uniform_planner_gives_everybody_about_the_same_share() -> None:
    schedule = reporting(1_500, warmup=0, learning_starts=10_000)
    method = small(Method(critic=SoftCritic(), planner=Uniform(commit=2)))
    *_, last = train(method, line(50), priors(2), steps=1_500, schedule=schedule)
    shares = np.bincount(last.loop.replay.rows(0, 1_500).source, minlength=3) / 1_500
    assert (abs(shares - 1 / 3) < 0.06).all()


def test_who_is_recorded_as_acting_is_who_chose_the_action() -> None:
    schedule = reporting(120, warmup=0, learning_starts=10_000)
    library = priors(3)
    *_, last = train(small(smec(10, 1.0)), line(30), library, steps=120, schedule=schedule)
    rows = last.loop.replay.rows(0, 120)
    assert len(set(rows.source.tolist())) > 2
    for obs, source, action in zip(rows.obs, rows.source, rows.action, strict=True):
        if source > 0:
            advised = np.tanh(library.policies[source - 1](obs[None]).mean)[0]
            np.testing.assert_allclose(action, advised, atol=1e-5)


def test_a_policy_with_nothing_usable_to_say_is_never_chosen_and_loses_control() -> None:
    plan = jax.tree.map(jnp.asarray, Plan.start(Spec(2, 1, 2)).begin())
    guided = ValueGuided(commit=5, ucb=1.0)
    for planner in (guided, ValueGuided(commit=5), Uniform(commit=5)):
        picks = {
            int(planner.select(None, plan, scene(True, False, True), jax.random.key(n)).policy)  # type: ignore[arg-type]
            for n in range(30)
        }
        assert picks == {0, 2}
        held = plan._replace(policy=np.int32(1), remaining=np.int32(4), clock=np.int32(1))
        kept = planner.select(None, held, scene(), jax.random.key(0))  # type: ignore[arg-type]
        lost = planner.select(None, held, scene(True, False, True), jax.random.key(0))  # type: ignore[arg-type]
        assert int(kept.policy) == 1
        assert int(lost.policy) != 1 and int(lost.remaining) == 4
