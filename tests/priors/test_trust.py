"""Weaning that can be undone: a task policy that does not keep its promises is believed less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.core.agent import MEMORY, Agent, Plan
from reprise.core.method import Method
from reprise.core.planner import Scene, TaskPolicy, ValueGuided
from reprise.core.types import Spec
from reprise.methods import ABLATIONS, METHODS, prepare
from reprise.methods.smec import smec
from reprise.tasks import find
from reprise.training.loop import Training
from stubs import proposals
from toys import blank_plan, line, priors, reporting, small, with_output

GAMMA, SPEC = 0.9, Spec(2, 1, 1)
INWARD, OUTWARD = -3.0, 3.0
"""Means of the task policy's action: to the origin, where all is earned, and away from it."""


def playing(planner: ValueGuided, values: Any, rewards: list[float]) -> Plan:
    """The task policy earns these rewards; values are those of it and of one prior."""
    plan, scene = (
        blank_plan(SPEC).begin(),
        Scene(jnp.zeros(2), proposals([0.0, 0.0]), lambda n: values),
    )
    plan = jax.tree.map(jnp.asarray, plan)
    for reward in rewards:
        plan = planner.select(Agent(*[None] * 7), plan, scene, jax.random.key(0)).tick()  # type: ignore[arg-type]
        plan = jax.tree.map(jnp.asarray, plan.earn(reward, GAMMA))
    return plan


def test_what_was_promised_is_compared_with_what_came_step_by_step() -> None:
    values = jnp.array([[[10.0, 1.0]]])
    plan = playing(ValueGuided(commit=3), values, [1.0, 2.0, 4.0, 7.0])
    # Judged at steps 0 and 3: 10 then, 10 left after three steps, and three rewards between.
    owed, earned = 10.0 - GAMMA**3 * 10.0, 1.0 + GAMMA * 2.0 + GAMMA**2 * 4.0
    assert float(plan.promised) == pytest.approx(MEMORY * owed, rel=1e-5)
    assert float(plan.kept) == pytest.approx(MEMORY * earned, rel=1e-5)
    assert float(plan.earned) == pytest.approx(7.0)
    assert float(plan.due) == pytest.approx(GAMMA)
    assert float(plan.trust) == 1.0  # it earned more than it had promised


def test_what_is_promised_at_a_termination_is_owed_whole() -> None:
    values = jnp.array([[[10.0, 1.0]]])
    plan = playing(ValueGuided(commit=3), values, [0.0, 2.0]).settle(0.0, True)
    assert float(plan.promised) == pytest.approx(MEMORY * 10.0)
    assert float(plan.kept) == pytest.approx(MEMORY * GAMMA * 2.0)
    assert float(plan.trust) == pytest.approx(0.18, abs=1e-3)


def test_a_priors_time_in_control_says_nothing_of_the_task_policy() -> None:
    plan = playing(ValueGuided(commit=2), jnp.array([[[1.0, 10.0]]]), [5.0] * 7)
    assert (float(plan.promised), float(plan.kept), float(plan.trust)) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("correction", "chosen"), [(0.0, 0), (0.5, 0), (1.0, 1)])
def test_doubt_takes_a_part_of_the_value_away(correction: float, chosen: int) -> None:
    values = jnp.array([[[10.0, 4.0]]])
    plan = blank_plan(SPEC)._replace(promised=jnp.float32(10.0), kept=jnp.float32(1.0))
    scene = Scene(jnp.zeros(2), proposals([0.0, 0.0]), lambda n: values)
    choice = ValueGuided(correction=correction).choose(plan, scene, jax.random.key(0))
    assert int(choice.policy) == chosen
    np.testing.assert_array_equal(choice.score, [10.0, 4.0])  # what is recorded is what it says


def test_a_value_below_zero_does_not_gain_by_doubt() -> None:
    plan = blank_plan(SPEC)._replace(promised=jnp.float32(10.0), kept=jnp.float32(0.0))
    scene = Scene(jnp.zeros(2), proposals([0.0, 0.0]), lambda n: jnp.array([[[-5.0, -1.0]]]))
    choice = ValueGuided(correction=1.0).choose(plan, scene, jax.random.key(0))
    assert int(choice.policy) == 1


def test_only_planners_that_weigh_promises_doubt_them() -> None:
    with pytest.raises(UserError, match=r"correction is 1\.5"):
        ValueGuided(correction=1.5)
    assert TaskPolicy().with_correction(1.0) == TaskPolicy()
    for name in METHODS | ABLATIONS:
        planner = prepare(name, find("pointmaze/medium")).method.planner
        assert getattr(planner, "correction", 0.0) == 0.0
    paper = prepare("smec", find("pointmaze/medium"), "paper").method.planner
    assert isinstance(paper, ValueGuided) and paper.correction == 0.0


def saying(agent: Agent, *values: float) -> Agent:
    """The same agent, whose heads say these values everywhere."""
    width = agent.target[0].body.layers[-1].weight.shape

    def fixed(nets: Any) -> Any:
        # An array for each: update donates its input and one buffer cannot be donated twice.
        return tuple(with_output(n, jnp.zeros(width), jnp.array(values)) for n in nets)

    return replace(agent, critic=fixed(agent.critic), target=fixed(agent.target))


def going(agent: Agent, mean: float) -> Agent:
    """The same agent, whose task policy does the same everywhere."""
    weight = jnp.zeros(agent.actor.body.layers[-1].weight.shape)
    actor = with_output(agent.actor, weight, jnp.array([mean, -2.0]))
    return replace(agent, actor=actor)


@pytest.mark.parametrize("correction", [0.0, 1.0])
def test_priors_come_back_when_the_task_policy_breaks(correction: float) -> None:
    """Its values stay as they were: only what it earns says that something is wrong."""
    method: Method = replace(small(smec(10, 0.0)), learning_rate=1e-9)
    method = replace(method, planner=method.planner.with_correction(correction))

    schedule = replace(reporting(3_000, warmup=0, learning_starts=2_999), log_every=300)
    shares: list[float] = []
    with Training(method, line(30), priors(1), steps=3_000, schedule=schedule) as training:
        training.loop.agent = going(saying(training.loop.agent, 20.0, 5.0), INWARD)
        for progress in training.reports():
            shares.append(float(progress.use[1]))
            if progress.step == 1_500:
                training.loop.agent = going(progress.agent, OUTWARD)
    assert max(shares[:5]) == 0.0, "nobody doubts a policy that keeps its promises"
    after = float(np.mean(shares[-3:]))
    assert after > 0.8 if correction else after == 0.0


def test_the_agent_of_this_test_says_what_it_is_to_say() -> None:
    agent = small(smec(10, 0.0)).init(jax.random.key(0), SPEC)
    told = saying(agent, 20.0, 5.0)
    net = told.target[0]
    said = net(jnp.ones(2), jnp.ones(1))
    np.testing.assert_allclose(said, [20.0, 5.0])
    assert eqx.tree_equal(net.body.layers[0], agent.target[0].body.layers[0])
