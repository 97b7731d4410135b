"""SMEC: the tests S1 to S10 of methods.md section 2.1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.core import networks
from reprise.core.agent import Agent, Plan, Proposals
from reprise.core.critic import Critic, HybridCritic, SoftCritic
from reprise.core.method import Method
from reprise.core.networks import ensemble_values, mapped_over
from reprise.core.planner import Scene, TaskPolicy, Uniform, ValueGuided, best, ucb_bonus
from reprise.core.types import Advice, Spec, Transition
from reprise.lab.theory import tabular
from reprise.lab.theory.tabular import Mdp
from reprise.methods.smec import no_truncation, no_ucb, random, single_value, smec
from reprise.training.loop import RewardSignWarning, train
from reprise.training.randomness import Chances
from stubs import GivenQ, counted
from tables import A, S, TableQ, world
from toys import (
    BRISK,
    act,
    batch,
    blank_plan,
    line,
    priors,
    raw,
    reporting,
    same,
    small,
    update,
    with_output,
)

K = 3
KEY = jax.random.key(0)


def agent_with(target: Any) -> Agent:
    return Agent(None, target, target, jnp.zeros(()), (), ((), (), ()), jnp.zeros((), jnp.int32))


def everybody(actions: jax.Array) -> Proposals:
    """These actions, all of them usable."""
    return Proposals(actions, jnp.zeros(()), jnp.ones(len(actions), bool))


def worth(values: jax.Array) -> Scene:
    """A state in which these are the values (samples, twins, policies)."""
    policies = values.shape[2]
    return Scene(jnp.zeros(2), everybody(jnp.zeros((policies, 1))), lambda n: values[:n])


def one_hot(i: int, n: int) -> jax.Array:
    return jnp.zeros(n).at[i].set(1.0)


def backup(critic: Critic, table: jax.Array, mdp: Mdp, policies: np.ndarray) -> jax.Array:
    """Every (s, a)'s expected target, through the critic's own `targets`."""
    agent = agent_with((TableQ(table), TableQ(table)))

    def target(reward: jax.Array, following: jax.Array, actions: jax.Array) -> jax.Array:
        silence = Advice.of(jnp.zeros((K, A)), jnp.zeros((K, A)))
        zero = jnp.zeros(())
        t = Transition(
            following, silence, jnp.int32(0), jnp.zeros(A), reward, zero, following, silence
        )
        return critic.targets(agent, t, everybody(actions), KEY).values

    states, own = jnp.eye(S), jnp.asarray(policies.swapaxes(0, 1), jnp.float32)
    over_next = jax.vmap(target, in_axes=(None, 0, 0))
    targets = jax.vmap(jax.vmap(lambda r: over_next(r, states, own)))(
        jnp.asarray(mdp.r, jnp.float32)
    )
    return jnp.einsum("saxh,sax->sah", targets, jnp.asarray(mdp.P, jnp.float32))


@pytest.mark.parametrize("seed", range(3))
def test_s1_each_head_converges_to_its_own_policy_at_its_own_discount(seed: int) -> None:
    mdp, policies = world(seed, 1 + K)
    critic = HybridCritic(horizon=6, discount=0.9)
    table = jnp.zeros((S, A, 1 + K))
    step = jax.jit(lambda table: backup(critic, table, mdp, policies))
    for _ in range(200):
        table = step(table)
    for head, policy in enumerate(policies):
        discount = 0.9 if head == 0 else 1e-4 ** (1 / 6)
        exact = tabular.action_values(mdp, policy, discount)
        np.testing.assert_allclose(table[:, :, head], exact, atol=2e-4)


def test_gbar_is_epsilon_to_the_one_over_h() -> None:
    assert HybridCritic(horizon=50).gbar == pytest.approx(0.83176, abs=1e-5)
    assert HybridCritic(horizon=70).gbar == pytest.approx(0.87671, abs=1e-5)
    assert HybridCritic(horizon=None).gbar == 0.99


class SlopeQ(GivenQ):
    """Head i says slope_i times the action, plus a level."""

    slope: jax.Array
    level: jax.Array

    def __call__(self, obs: jax.Array, action: jax.Array) -> jax.Array:
        return self.slope * action[0] + self.level


def slopes(*twins: tuple[list[float], float]) -> tuple[SlopeQ, ...]:
    return tuple(SlopeQ(jnp.array(slope), jnp.array([level])) for slope, level in twins)


def one_transition(reward: float, count: int) -> Transition:
    t = jax.tree.map(lambda x: jnp.asarray(x[0]), batch(Spec(2, 1, count)))
    return t._replace(reward=jnp.float32(reward))


def test_s2_each_head_is_asked_about_its_own_policys_action() -> None:
    target = slopes(([2.0, 3.0, 5.0], 0.0), ([2.0, 3.0, 5.0], 0.0))
    own = jnp.array([[0.1], [0.2], [-0.4]])
    critic = HybridCritic(horizon=10, discount=0.9)
    found = critic.targets(agent_with(target), one_transition(1.0, 2), everybody(own), KEY).values
    gbar = 1e-4**0.1
    expected = [1 + 0.9 * 2 * 0.1, 1 + gbar * 3 * 0.2, 1 - gbar * 5 * 0.4]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_crowd_of_priors_is_judged_as_a_few_of_them_are(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, critic = Spec(2, 1, 20), HybridCritic(hidden=(8,))
    agent = agent_with(critic.init(KEY, spec))
    own = jnp.linspace(-0.9, 0.9, spec.policies)[:, None]
    told = agent, one_transition(1.0, spec.priors), everybody(own), KEY
    assert mapped_over(spec.policies) is not jax.vmap
    crowd, shape = critic.targets(*told), jax.make_jaxpr(lambda *t: critic.targets(*t))(*told)
    assert "scan" in str(shape), "one by one"
    monkeypatch.setattr(networks, "CROWD", spec.policies)
    few, shape = critic.targets(*told), jax.make_jaxpr(lambda *t: critic.targets(*t))(*told)
    assert "scan" not in str(shape), "at once"
    np.testing.assert_allclose(crowd.values, few.values, rtol=1e-5)
    assert len(np.unique(np.asarray(few.values))) == spec.policies


def test_s3_targets_take_the_smaller_twin_and_selection_the_larger() -> None:
    target = slopes(([0.0, 0.0], 1.0), ([0.0, 0.0], 4.0))
    actions = jnp.zeros((2, 1))
    critic = HybridCritic(horizon=10, discount=0.5)
    found = critic.targets(
        agent_with(target), one_transition(0.0, 1), everybody(actions), KEY
    ).values
    assert found[0] == pytest.approx(0.5 * 1.0)
    values = critic.judge(target, jnp.zeros(2), actions)
    plan = Plan.start(Spec(2, 1, 1))
    choice = ValueGuided(10).choose(plan, worth(values[None]), jax.random.key(0))
    np.testing.assert_allclose(choice.score, [4.0, 4.0])


def test_selection_judges_with_the_target_networks() -> None:
    method = small(smec(5, 0.0))
    spec = Spec(2, 1, 2)
    agent = method.init(jax.random.key(0), spec)
    louder = jax.tree.map(lambda x: x + 1.0, agent.target)
    obs, said = (
        np.ones(2, np.float32),
        Advice.of(np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32)),
    )
    plan = Plan.start(spec).begin()
    same_target, _ = act(method, replace(agent, critic=louder), plan, obs, said, raw(0))
    other_target, _ = act(method, replace(agent, target=louder), plan, obs, said, raw(0))
    reference, _ = act(method, agent, plan, obs, said, raw(0))
    np.testing.assert_array_equal(same_target.score, reference.score)
    assert (np.asarray(other_target.score) != np.asarray(reference.score)).all()


def test_the_task_policy_is_judged_by_the_mean_over_its_samples() -> None:
    values = jnp.arange(6.0).reshape(3, 2, 1)  # samples, twins, policies
    choice = ValueGuided(10, samples=3).choose(
        Plan.start(Spec(2, 1, 0)), worth(values), jax.random.key(0)
    )
    np.testing.assert_allclose(choice.score, [(1 + 3 + 5) / 3])


def test_s4_a_reset_brings_a_fresh_selection_and_restarts_the_clock() -> None:
    # Episodes of 37 steps, h = 10: selections at 0, 10, 20, 30 of every episode.
    schedule = reporting(37 * 3, warmup=0, learning_starts=10_000)
    *_, last = train(small(smec(10, 1.0)), line(37), priors(2), steps=111, schedule=schedule)
    clocks = [(s.episode, s.clock) for s in last.selections]
    assert clocks == [(e, c) for e in range(3) for c in (0, 10, 20, 30)]
    assert [s.previous for s in last.selections if s.clock == 0] == [3, 3, 3]


def test_s4_the_clock_counts_from_the_reset_also_when_the_warm_up_ends_in_an_episode() -> None:
    schedule = reporting(40, warmup=13, learning_starts=10_000)
    *_, last = train(small(smec(10, 1.0)), line(40), priors(2), steps=40, schedule=schedule)
    assert [s.clock for s in last.selections] == [13, 20, 30]


def test_s5_the_ucb_bonus_of_the_worked_example() -> None:
    plan = Plan.start(Spec(2, 1, 1))
    plan = plan._replace(
        policy=jnp.int32(0),
        chosen=jnp.array([10, 90]),
        switched=jnp.array([[5, 0], [0, 0], [0, 0]]),
    )
    assert ucb_bonus(plan, 10.0)[0] == pytest.approx(5.943, abs=1e-3)


def test_s5_untried_policies_come_first_each_once_and_in_random_order() -> None:
    def order(seed: int) -> list[int]:
        plan, chosen = blank_plan(Spec(2, 1, 4)), []
        for n in range(5):
            key = jax.random.fold_in(jax.random.key(seed), n)
            values = jnp.array([9.0, 0.0, 5.0, -3.0, 1.0])[None, None]
            choice = ValueGuided(1, ucb=1.0).choose(plan, worth(values), key)
            plan = plan.switch(choice.policy, 1)
            chosen.append(int(choice.policy))
        return chosen

    orders = [order(seed) for seed in range(8)]
    assert all(sorted(o) == [0, 1, 2, 3, 4] for o in orders)
    assert len({tuple(o) for o in orders}) > 1


def test_s5_the_bonus_is_absent_not_zero_times_infinity_when_c_is_zero() -> None:
    values = jnp.array([1.0, 2.0])[None, None]
    choice = ValueGuided(1, ucb=0.0).choose(
        Plan.start(Spec(2, 1, 1)), worth(values), jax.random.key(0)
    )
    assert int(choice.policy) == 1
    assert np.isfinite(choice.bonus).all()


def greedy(scores: np.ndarray) -> np.ndarray:
    """The planner's own choice in every state."""
    plan = Plan.start(Spec(2, 1, scores.shape[1] - 1))
    choose = ValueGuided(1).choose

    def pick(row: jax.Array) -> jax.Array:
        return choose(plan, worth(row[None, None]), jax.random.key(0)).policy

    return np.asarray(jax.vmap(pick)(jnp.asarray(scores)))


@pytest.mark.parametrize("seed", range(20))
def test_s6_a_prior_is_never_preferred_to_an_optimal_task_policy(seed: int) -> None:
    mdp, policies = world(seed, 1 + K)
    optimal = tabular.optimal_policy(mdp, 0.95)
    scores = [tabular.values(mdp, optimal, 0.95)]
    scores += [tabular.values(mdp, prior, 0.7) for prior in policies[1:]]
    assert (greedy(np.stack(scores, axis=1)) == 0).all()


@pytest.mark.parametrize("seed", range(20))
def test_s7_switching_is_worth_at_least_the_best_score_in_every_state(seed: int) -> None:
    mdp, policies = world(seed, 1 + K)
    gamma, gbar, h = 0.95, 0.7, 3
    scores = [tabular.values(mdp, policies[0], gamma)]
    scores += [tabular.values(mdp, prior, gbar) for prior in policies[1:]]
    table = np.stack(scores, axis=1)
    worth = tabular.switching_value(mdp, policies, greedy(table), gamma, h)
    assert (worth >= table.max(axis=1) - 1e-5).all()


@pytest.mark.parametrize("seed", range(20))
def test_with_full_horizons_no_bonus_and_no_commitment_it_is_policy_improvement(seed: int) -> None:
    mdp, policies = world(seed, 1 + K)
    table = np.stack([tabular.values(mdp, policy, 0.95) for policy in policies], axis=1)
    chosen = greedy(table)
    np.testing.assert_array_equal(chosen, table.argmax(axis=1))
    acting = policies[chosen, np.arange(S)]
    improved = tabular.values(mdp, acting, 0.95)
    assert (improved >= table.max(axis=1) - 1e-5).all()
    switching = tabular.switching_value(mdp, policies, chosen, 0.95, 1)
    np.testing.assert_allclose(improved, switching, rtol=1e-9)


@pytest.mark.parametrize("steps", [200])
def test_s8_without_priors_smec_is_scratch_bit_for_bit(steps: int) -> None:
    def final(method: Method) -> Agent:
        *_, last = train(small(method), line(), steps=steps, seed=5, schedule=BRISK)
        return last.agent

    assert same(final(smec(10, 1.0)), final(Method()))


def test_s9_the_choice_follows_the_state_in_which_it_is_made() -> None:
    class StateQ(GivenQ):
        """Policy 0 is good where obs[0] > 0, policy 1 where it is not."""

        sign: jax.Array

        def __call__(self, obs: jax.Array, action: jax.Array) -> jax.Array:
            return jnp.stack([obs[0], -obs[0]])

    method = small(smec(1, 0.0))
    agent = method.init(jax.random.key(0), Spec(2, 1, 1))
    agent = replace(agent, target=(StateQ(jnp.zeros(1)),) * 2)
    said = Advice.of(np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32))
    plan = Plan.start(Spec(2, 1, 1)).begin()
    chosen = []
    for x in (1.0, -1.0, 1.0):
        plan, _ = act(method, agent, plan, np.array([x, 0.0], np.float32), said, raw(0))
        chosen.append(int(plan.policy))
    assert chosen == [0, 1, 0]


def negative(bound: float) -> Any:
    method = replace(small(smec(10, 1.0)), reward_lower_bound=bound)
    return train(method, line(30, reward=-1.0), priors(1), steps=60, schedule=BRISK)


def test_s10_the_first_reward_below_the_bound_warns_once() -> None:
    with pytest.warns(RewardSignWarning, match="reward -1 is below") as caught:
        list(negative(0.0))
    assert len(caught) == 1


def test_s10_a_declared_bound_or_no_priors_do_not_warn() -> None:
    list(negative(-1.0))
    list(train(small(smec(10, 1.0)), line(30, reward=-1.0), steps=60, schedule=BRISK))


def test_s10_the_declared_bound_corrects_the_choice() -> None:
    # pi earns -0.5 a step (V = -50 at gamma = .99), the prior -1 (V = -5.9 at gbar = .8318).
    gamma, gbar = 0.99, HybridCritic(horizon=50).gbar
    levels = jnp.array([-0.5 / (1 - gamma), -1.0 / (1 - gbar)])
    target = (SlopeQ(jnp.zeros(2), levels),) * 2
    said = Advice.of(np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32))
    plan, obs = Plan.start(Spec(2, 1, 1)).begin(), np.zeros(2, np.float32)
    chosen = {}
    for bound in (0.0, -1.0):
        method = replace(small(smec(50, 0.0)), reward_lower_bound=bound)
        agent = replace(method.init(jax.random.key(0), Spec(2, 1, 1)), target=target)
        after, _ = act(method, agent, plan, obs, said, raw(0))
        chosen[bound] = int(after.policy)
    assert chosen == {0.0: 1, -1.0: 0}


def test_the_loss_is_half_the_sum_of_squares_over_heads_and_twins() -> None:
    critics = slopes(([1.0, 2.0, 3.0], 0.0), ([0.0, 0.0, 0.0], 1.0))
    t = one_transition(0.0, 2)._replace(action=jnp.array([2.0]))
    found = HybridCritic().loss(critics, t, counted(1.0, 1.0, 1.0), KEY)  # type: ignore[arg-type]
    by_hand = 0.5 * ((2 - 1) ** 2 + (4 - 1) ** 2 + (6 - 1) ** 2 + 0.0)
    assert float(found) == pytest.approx(by_hand)


@pytest.mark.parametrize("stochastic", [False, True])
def test_each_policy_is_judged_at_its_own_draws_and_one_that_does_not_vary_once(
    stochastic: bool,
) -> None:
    spec, seen = Spec(2, 1, 3), list[Any]()
    method = replace(small(smec(10, 1.0)), stochastic_priors=stochastic)
    agent, t = method.init(KEY, spec), jax.tree.map(lambda x: x[0], batch(spec))

    class Spy(TaskPolicy):
        def select(self, agent: Agent, plan: Plan, scene: Scene, key: jax.Array) -> Plan:
            seen.append((scene.judge(6), scene.proposals.actions))
            return super().select(agent, plan, scene, key)

    chance = Chances(method, spec, 1, 0).decision(0)
    watched = replace(method, planner=Spy())
    with jax.disable_jit():
        watched.act(agent, Plan.start(spec).begin(), t.obs, t.advice, chance)
    values, actions = seen[0]
    assert values.shape == (6, 2, 4)
    np.testing.assert_allclose(
        values[0], method.critic.judge(agent.target, t.obs, actions), rtol=1e-5
    )
    draws = [len({*np.asarray(values[:, 0, policy]).tolist()}) for policy in range(4)]
    assert draws == ([6] * 4 if stochastic else [6, 1, 1, 1])
    # The task policy's further draws are judged by head 0.
    extra = jax.random.normal(chance.keys[0], (5, *chance.noise.shape))
    own = [agent.actor(t.obs, t.advice).at(z[0])[0] for z in extra]
    wanted = [ensemble_values(agent.target, t.obs, action)[:, 0] for action in own]
    np.testing.assert_allclose(values[1:, :, 0], jnp.stack(wanted), rtol=1e-5)


def test_one_head_judges_everybody_in_the_single_value_ablation() -> None:
    critics = slopes(([2.0], 0.0), ([4.0], 0.0))
    values = SoftCritic().judge(critics, jnp.zeros(2), jnp.array([[1.0], [3.0]]))  # type: ignore[arg-type]
    np.testing.assert_allclose(values, [[2.0, 6.0], [4.0, 12.0]])


def test_each_ablation_takes_one_part_from_smec_and_leaves_the_others() -> None:
    whole = smec(7, 3.0)
    one_head, full, silent = (f(7, 3.0) for f in (single_value, no_truncation, no_ucb))
    assert one_head == replace(whole, critic=one_head.critic)
    assert one_head.critic.heads(Spec(2, 1, 3)) == 1
    assert full == replace(whole, critic=full.critic)
    np.testing.assert_array_equal(full.critic.discounts(4), np.full(4, 0.99, np.float32))
    assert full.critic.heads(Spec(2, 1, 3)) == 4
    assert silent == replace(whole, planner=silent.planner)
    assert silent.planner == ValueGuided(commit=7, ucb=0.0)
    assert random(7, 3.0).planner == Uniform(commit=7)


@pytest.mark.parametrize("stochastic", [False, True])
def test_a_prior_is_sampled_when_it_acts_and_in_its_target_or_in_neither(stochastic: bool) -> None:
    method = replace(small(smec(10, 1.0)), stochastic_priors=stochastic)
    spec = Spec(2, 1, 1)
    agent = method.init(jax.random.key(0), spec)
    wide = Advice.of(np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32))
    plan = Plan.start(spec).begin()._replace(policy=np.int32(1), remaining=np.int32(5))
    obs = np.ones(2, np.float32)
    actions = [float(act(method, agent, plan, obs, wide, raw(n))[1][0]) for n in range(4)]
    assert (len(set(actions)) > 1) == stochastic

    def critic_loss(key: int) -> float:
        fresh = method.init(jax.random.key(0), spec)
        # Only the priors' draws may differ: the actor is all but deterministic.
        last = fresh.actor.body.layers[-1]
        actor = with_output(fresh.actor, last.weight * 0, jnp.array([0.3, -20.0]))
        rows = batch(spec)
        rows = rows._replace(
            next_advice=rows.next_advice._replace(
                says=jax.tree.map(np.zeros_like, rows.next_advice.says)
            )
        )
        _, metrics = update(method, replace(fresh, actor=actor), rows, raw(key), False)
        return float(metrics["critic_loss"])

    assert (critic_loss(1) == pytest.approx(critic_loss(2), rel=1e-3)) != stochastic


def test_ties_are_broken_at_random_but_reproducibly() -> None:
    scores, everybody = jnp.array([1.0, 1.0, 0.0]), jnp.ones(3, bool)
    picks = [int(best(scores, everybody, jax.random.key(n))) for n in range(20)]
    assert set(picks) == {0, 1}
    assert picks == [int(best(scores, everybody, jax.random.key(n))) for n in range(20)]
