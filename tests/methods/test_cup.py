"""CUP: methods.md section 5.1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.core.actor import SoftActor
from reprise.core.agent import Agent
from reprise.core.method import Method
from reprise.core.networks import ensemble_values
from reprise.core.types import Gaussian, Spec, Transition
from reprise.methods import prepare
from reprise.methods.cup import GuidedActor, cup, mean_kl, released_kl
from reprise.tasks import Task
from reprise.training.loop import train
from stubs import agent_of, fixed, formula, says, transition
from toys import batch, line, priors, raw, reporting, same, small, update

NOW = GuidedActor(start=0)
KEY = jax.random.key(0)
NOISE = jnp.array([0.4])
COOL = jnp.log(0.01)
"""A temperature at which values, not entropies, decide who guides."""
FIXED = Gaussian(jnp.zeros(1), jnp.full(1, -3.0))


def near(best: float, scale: float = 1.0) -> Any:
    return formula(lambda s, a: -scale * (a - best) ** 2, 0.0, -0.5)


def gradient(rule: Any, agent: Agent, t: Transition) -> Any:
    return jax.grad(lambda actor: rule.loss(actor, agent, t, NOISE, KEY)[0])(agent.actor)


def test_a_where_every_source_looks_worse_the_gradient_is_sacs() -> None:
    agent, t = agent_of(near(0.0), actor=fixed(0.0)), transition(says([0.9, -0.9]))
    guided, plain = gradient(NOW, agent, t), gradient(SoftActor(), agent, t)
    jax.tree.map(np.testing.assert_array_equal, guided, plain)


def test_b_a_better_source_pulls_the_mean_toward_it() -> None:
    # Values far from 0: the cap is a share of them.
    value = formula(lambda s, a: 50.0 - (a - 0.8) ** 2)
    agent, t = agent_of(value, actor=fixed(0.0), log_alpha=COOL), transition(says([0.8, -0.9]))
    guided, plain = gradient(NOW, agent, t), gradient(SoftActor(), agent, t)
    assert guided.mean[0] < plain.mean[0] < 0.0  # descending raises the mean


@pytest.mark.parametrize(
    ("values", "guide", "weight"),
    [
        ([100.0, 101.0, 99.0], 1, 0.3),  # the advantage of 1 is capped at 0.003 * 100
        ([100.0, 100.1, 99.0], 1, 0.1),
        ([-100.0, -99.0, -99.5], 1, 0.3),
        ([5.0, 4.0, 3.0], 0, 0.0),
        ([5.0, -np.inf, 6.0], 2, 0.015),
    ],
)
def test_c_the_weight_is_the_advantage_capped_by_a_share_of_the_value(
    values: list[float], guide: int, weight: float
) -> None:
    found = GuidedActor().guidance(jnp.array(values))
    assert int(found[0]) == guide
    assert float(found[1]) == pytest.approx(weight, rel=1e-4)


def soft_values(agent: Agent, t: Transition) -> jax.Array:
    return NOW.soft_values(agent, t, t.advice.says, KEY)


def test_d_values_times_c_give_weights_times_c() -> None:
    t = transition(says([0.8, -0.9]))
    one = agent_of(near(0.8), actor=fixed(0.0), log_alpha=COOL)
    ten = agent_of(near(0.8, 10.0), actor=fixed(0.0), log_alpha=COOL + jnp.log(10.0))
    louder = tuple(replace(q, level=10.0 * q.level) for q in near(0.8, 10.0))
    ten = replace(ten, target=louder)
    weights = [NOW.guidance(soft_values(agent, t))[1] for agent in (one, ten)]
    assert float(weights[0]) > 0.0
    assert float(weights[1]) == pytest.approx(10.0 * float(weights[0]), rel=1e-4)


def test_the_soft_value_is_a_mean_over_samples_of_the_larger_target_twin_and_the_entropy() -> None:
    t, actor = transition(says([0.8, -0.9], log_std=-1.0)), fixed(0.2, -0.7)
    target = near(0.3)
    agent = agent_of(near(-5.0), target, actor, log_alpha=jnp.log(0.5))
    found = soft_values(agent, t)
    everybody = jax.tree.map(
        lambda x, y: np.concatenate([x[None], y]), actor(t.obs, t.advice), t.advice.says
    )
    total = np.zeros(3)
    for k in jax.random.split(KEY, 3):
        actions, log_prob = everybody.sample(k)
        for v in range(3):
            twins = [float(-((actions[v, 0] - 0.3) ** 2)) + level for level in (0.0, -0.5)]
            total[v] += max(twins) - 0.5 * float(log_prob[v])
    np.testing.assert_allclose(found, total / 3, rtol=1e-4)


def test_no_gradient_flows_but_through_the_policy_in_the_divergence() -> None:
    value = formula(lambda s, a: 50.0 - (a - 0.8) ** 2)
    t, actor = transition(says([0.8], log_std=-1.5)), fixed(0.1, -1.0)
    agent = agent_of(value, actor=actor, log_alpha=COOL)
    found = jax.grad(lambda actor: NOW.pull(actor(t.obs, t.advice), agent, t, KEY))(actor)
    weight = NOW.guidance(soft_values(agent, t))[1]
    source = jax.tree.map(lambda x: x[0], t.advice.says)
    alone = jax.grad(lambda actor: mean_kl(actor(t.obs, t.advice), source))(actor)
    by_hand = jax.tree.map(lambda g: 30.0 / 2 * weight * g, alone)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), found, by_hand)
    assert float(weight) > 0.0


def test_the_released_division_by_the_candidates_can_be_left_out() -> None:
    value = formula(lambda s, a: 50.0 - (a - 0.8) ** 2)
    agent, t = agent_of(value, actor=fixed(0.1), log_alpha=COOL), transition(says([0.8, 0.1, 0.2]))
    whole = replace(NOW, per_candidate=False)
    ratio = whole.pull(FIXED, agent, t, KEY) / NOW.pull(FIXED, agent, t, KEY)
    assert float(ratio) == pytest.approx(4.0, rel=1e-5)


def test_a_source_with_nothing_usable_to_say_does_not_guide() -> None:
    value = formula(lambda s, a: 50.0 - (a - 0.8) ** 2)
    agent = agent_of(value, actor=fixed(0.0), log_alpha=COOL)
    for valid, expected in (((True, True), 1), ((False, True), 2), ((False, False), 0)):
        t = transition(says([0.8, 0.5], *valid))
        assert int(NOW.guidance(soft_values(agent, t))[0]) == expected


def test_e_before_its_start_it_is_scratch_bit_for_bit_and_after_it_is_not() -> None:
    spec = Spec(2, 1, 3)

    def learned(method: Method) -> Agent:
        agent = small(method).init(jax.random.key(0), spec)
        for n in range(3):
            agent, _ = update(small(method).at(n), agent, batch(spec), raw(n), True)
        return agent

    scratch = learned(Method())
    assert same(learned(cup()), scratch)
    pulled = learned(replace(cup(), actor=GuidedActor(start=2)))
    assert same(pulled.critic, scratch.critic)  # two equal actor updates before it
    assert not same(pulled.actor, scratch.actor)


def test_e_a_run_is_scratchs_until_the_update_at_which_the_pull_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules: list[type] = []

    def learn(self: Method, agent: Any, *rest: Any) -> Any:
        rules.append(type(self.actor))
        return agent, {}

    monkeypatch.setattr(Method, "update", learn)
    method = small(replace(cup(), actor=GuidedActor(start=10)))
    list(train(method, line(30), priors(3), steps=45, schedule=reporting(45, warmup=45)))
    assert rules == [SoftActor] * 10 + [GuidedActor] * 5  # learning starts at step 30


def test_e_the_start_follows_the_warm_up_of_the_preset() -> None:
    task = Task("some/task", 500, lambda: None)  # type: ignore[arg-type, return-value]
    starts = []
    for preset in ("paper", "small"):
        actor = prepare("cup", task, preset).method.actor
        assert isinstance(actor, GuidedActor)
        starts.append(actor.start)
    assert starts == [100_000, 20_000]


def test_f_the_divergence_is_zero_for_equals_and_right_for_others() -> None:
    p = Gaussian(jnp.array([0.3, -0.2]), jnp.array([-1.0, 0.1]))
    other = Gaussian(jnp.array([0.5, 0.4]), jnp.array([-0.5, -0.2]))
    assert float(mean_kl(p, p)) == pytest.approx(0.0, abs=1e-7)
    x = np.linspace(-12.0, 12.0, 200_001)
    total = 0.0
    for i in range(2):
        a, b = [
            -0.5 * ((x - g.mean[i]) / np.exp(g.log_std[i])) ** 2
            - g.log_std[i]
            - 0.5 * np.log(2 * np.pi)
            for g in (p, other)
        ]
        total += np.trapezoid(np.exp(a) * (a - b), x)
    assert float(mean_kl(p, other)) == pytest.approx(total / 2, rel=1e-4)
    assert float(mean_kl(other, p)) != pytest.approx(total / 2, rel=1e-2)


def test_the_released_divergence_is_the_released_formula() -> None:
    p, q = (
        Gaussian(jnp.array([0.3]), jnp.array([-1.0])),
        Gaussian(jnp.array([0.9]), jnp.array([-0.4])),
    )
    gap = np.tanh(0.3) - np.tanh(0.9)
    by_hand = 0.5 * ((-0.4 + 1.0) + (np.exp(-1.0) + gap**2) / np.exp(-0.4) - 1.0)
    assert float(released_kl(p, q)) == pytest.approx(by_hand, rel=1e-5)
    value = formula(lambda s, a: 50.0 - (a - 0.8) ** 2)
    agent, t = agent_of(value, actor=fixed(0.0), log_alpha=COOL), transition(says([0.8]))
    other = replace(NOW, released_kl=True)
    assert float(other.pull(FIXED, agent, t, KEY)) != pytest.approx(
        float(NOW.pull(FIXED, agent, t, KEY))
    )


def test_a_deterministic_source_has_a_finite_pull() -> None:
    value = formula(lambda s, a: 50.0 - (a - 0.8) ** 2)
    agent, t = (
        agent_of(value, actor=fixed(0.0), log_alpha=COOL),
        transition(says([0.8], log_std=-10.0)),
    )
    floored = transition(says([0.8], log_std=-2.0))
    assert float(NOW.pull(FIXED, agent, t, KEY)) == float(NOW.pull(FIXED, agent, floored, KEY))


def test_the_stub_says_what_its_formula_says() -> None:
    values = ensemble_values(near(0.5), jnp.zeros(2), jnp.array([0.0]))
    np.testing.assert_allclose(values, [[-0.25], [-0.75]])
