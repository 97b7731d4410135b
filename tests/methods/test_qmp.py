"""QMP: methods.md section 4.1."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.core.agent import Plan
from reprise.core.critic import HybridCritic
from reprise.core.method import Method
from reprise.core.planner import ValueGuided
from reprise.core.types import Spec
from reprise.lab.theory import tabular
from reprise.lab.theory.tabular import Mdp
from reprise.methods.qmp import QSwitch, q, qmp
from stubs import FormulaQ, agent_of, formula, scene
from toys import act, batch, blank_plan, raw, same, small, update

SPEC = Spec(2, 1, 2)


def chosen(critic: Any, target: Any, *actions: float) -> Plan:
    plan = blank_plan(Spec(2, 1, len(actions) - 1))
    agent = agent_of(critic, target)
    return QSwitch().select(agent, plan, scene(actions), jax.random.key(0))


def near(best: float) -> FormulaQ:
    return formula(lambda s, a: -((a - best) ** 2))


def test_a_the_proposal_nearest_to_the_best_action_is_executed() -> None:
    plan = chosen(near(0.7), near(0.7), 0.0, -1.0, 0.6)
    assert int(plan.policy) == 2
    np.testing.assert_allclose(plan.score, [-0.49, -2.89, -0.01], rtol=1e-5)


def test_it_asks_the_online_networks_not_the_targets() -> None:
    assert int(chosen(near(0.7), near(-0.9), 0.0, -1.0, 0.6).policy) == 2


class Slope(eqx.Module):
    """A slope times the action."""

    slope: jax.Array

    def __call__(self, obs: jax.Array, action: jax.Array) -> jax.Array:
        return self.slope * action


def test_the_smaller_twin_decides() -> None:
    # Alone, one twin would take 0.9 and the other -0.9; their minimum is -|a|.
    twins = Slope(jnp.array([1.0])), Slope(jnp.array([-1.0]))
    assert int(chosen(twins, twins, 0.9, -0.9, 0.1).policy) == 2


def test_b_what_is_executed_is_never_worse_than_what_the_task_policy_would_do() -> None:
    mixture, alone = small(qmp()), small(Method())
    agent = mixture.init(jax.random.key(0), SPEC)
    rows = batch(SPEC, 200, seed=1)
    keys = jax.random.split(jax.random.key(1), 200)
    plan = Plan.start(SPEC).begin()
    _, executed = jax.vmap(lambda o, a, k: act(mixture, agent, plan, o, a, k))(
        rows.obs, rows.advice, keys
    )
    _, own = jax.vmap(lambda o, a, k: act(alone, agent, plan, o, a, k))(rows.obs, rows.advice, keys)
    judge = jax.vmap(lambda o, a: q(agent, o, a))
    better, worse = judge(rows.obs, executed), judge(rows.obs, own)
    assert (better >= worse).all()
    assert (better > worse).mean() > 0.2


def test_c_one_update_is_sacs() -> None:
    def learned(method: Method) -> object:
        agent = method.init(jax.random.key(0), SPEC)
        return update(method, agent, batch(SPEC), raw(0), True)[0]

    assert same(learned(small(qmp())), learned(small(Method())))


PUSHES = 4


def pushing() -> Mdp:
    """Pushing four times in a row pays 1; not pushing pays 0.05 and undoes the pushes."""
    P, r = np.zeros((PUSHES, 2, PUSHES)), np.zeros((PUSHES, 2))
    P[:, 0, 0], r[:, 0] = 1.0, 0.05
    P[np.arange(PUSHES), 1, (np.arange(PUSHES) + 1) % PUSHES] = 1.0
    r[-1, 1] = 1.0
    return Mdp(P, r)


@pytest.mark.parametrize(("goes_on", "mixture"), [(False, 0), (True, 1)])
def test_e_a_prior_that_must_be_kept_is_used_only_if_the_task_policy_would_go_on(
    goes_on: bool, mixture: int
) -> None:
    mdp, gamma, gbar = pushing(), 0.9, 0.8
    task = tabular.one_hot(np.array([0] + [int(goes_on)] * 3), 2)
    prior = tabular.one_hot(np.ones(PUSHES, int), 2)
    table = jnp.asarray(tabular.action_values(mdp, task, gamma), jnp.float32)
    # Actions as numbers: -1 does not push, 1 does.
    exact = formula(lambda s, a: jnp.where(a < 0, table[0, 0], table[0, 1]))
    assert int(chosen(exact, exact, -1.0, 1.0).policy) == mixture
    # SMEC judges the prior as one that keeps control, and uses it in both cases.
    heads = tabular.values(mdp, task, gamma)[0], tabular.values(mdp, prior, gbar)[0]
    values = jnp.asarray(heads, jnp.float32)[None, None]
    guided = scene([0.0, 0.0])._replace(judge=lambda n: values)
    choice = ValueGuided(PUSHES).choose(blank_plan(Spec(2, 1, 1)), guided, jax.random.key(0))
    assert int(choice.policy) == 1
    assert HybridCritic(horizon=PUSHES, epsilon=gbar**PUSHES).gbar == pytest.approx(gbar)


def test_only_a_change_of_control_is_a_selection() -> None:
    agent, plan = agent_of(near(0.7)), blank_plan(SPEC)
    step = jax.jit(lambda plan, actions: QSwitch().select(
        agent, plan, scene([0.0, -1.0, 0.6])._replace(proposals=actions), jax.random.key(0)
    ).tick())  # fmt: skip
    counts = []
    for actions in ([0.0, -1.0, 0.6], [0.1, -1.0, 0.6], [0.7, -1.0, 0.6]):
        plan = step(plan, scene(actions).proposals)
        counts.append((int(plan.policy), int(plan.chosen.sum()), int(plan.held)))
    assert counts == [(2, 1, 1), (2, 1, 2), (0, 2, 1)]
