"""AC-Teach: methods.md section 4.2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from reprise.core.agent import Agent, Plan
from reprise.core.method import Method
from reprise.core.types import Spec, Transition
from reprise.core.values import Targets
from reprise.methods.ac_teach import MixtureCritic, PosteriorActor, Thompson, thompson
from reprise.methods.ac_teach import ac_teach as published
from reprise.methods.posterior import PosteriorNetwork, draws, identity, spread
from stubs import agent_of, counted, fixed, formula, proposals, says, scene, transition
from toys import act, batch, blank_plan, raw, same, small, update

KEY = jax.random.key(0)
SPEC = Spec(2, 1, 1)
DROPOUT = replace(MixtureCritic(), keep=0.9)
POSTERIORS = pytest.mark.parametrize("critic", [MixtureCritic(), DROPOUT], ids=["heads", "masks"])


def method(critic: MixtureCritic) -> Method:
    return small(replace(published(), critic=critic, actor_delay=1))


# --- commitment ---


def attempts(planner: Thompson, gap: float, limit: int = 200) -> int:
    """At which attempt of a challenger that is `gap` better the policy in control gives way."""
    values = jnp.array([[-1.0, gap - 1.0], [1.0, gap + 1.0]])  # N(0, 1) and N(gap, 1)
    plan = blank_plan(SPEC).switch(jnp.int32(0), 0)
    sure = planner.confidence(values, jnp.int32(1), jnp.int32(0), jnp.float32(0.1))
    challenge = jax.jit(lambda plan: planner.commit(plan, jnp.int32(1), sure, jnp.ones(2, bool)))
    for attempt in range(1, limit):
        plan = challenge(plan)
        if int(plan.policy) == 1:
            assert int(plan.refused) == 0
            return attempt
        assert int(plan.refused) == attempt
    return limit


def test_a_a_slightly_better_challenger_is_refused_eight_times() -> None:
    assert attempts(Thompson(), 0.2) == 9
    assert attempts(Thompson(release_sign=True), 0.2) == 31


def test_a_the_confidence_is_that_the_new_one_is_better() -> None:
    values = jnp.array([[-1.0, -0.8], [1.0, 1.2]])
    old, new, noise = jnp.int32(0), jnp.int32(1), jnp.float32(0.1)
    p = float(Thompson().confidence(values, new, old, noise))
    assert p == pytest.approx(norm.cdf(0.2 / np.sqrt(2.1)), rel=1e-5)
    assert p == pytest.approx(0.555, abs=1e-3)
    released = Thompson(release_sign=True).confidence(values, new, old, noise)
    assert float(released) == pytest.approx(1.0 - p, rel=1e-5)


def test_a_a_clearly_better_challenger_takes_over_at_once() -> None:
    assert attempts(Thompson(), 3.0) == 1


def test_b_a_worse_challenger_waits_until_the_threshold_has_fallen_below_its_chance() -> None:
    p = norm.cdf(-1.0 / np.sqrt(2.1))
    refusals = int(np.ceil(np.log(p / 0.6) / np.log(0.99)))
    assert refusals > 50
    assert attempts(Thompson(), -1.0) == 1 + refusals


def test_f_an_episode_ends_the_commitment_and_its_count() -> None:
    plan = blank_plan(SPEC).switch(jnp.int32(0), 0)._replace(refused=jnp.int32(5))
    fresh = jax.tree.map(jnp.asarray, plan.begin())
    assert int(fresh.refused) == 0
    # Nobody is in control: the challenger need not be better.
    worse = Thompson().commit(fresh, jnp.int32(1), jnp.float32(0.0), jnp.ones(2, bool))
    assert int(worse.policy) == 1


def test_whoever_has_nothing_usable_to_say_loses_control_and_is_not_drawn() -> None:
    plan = blank_plan(SPEC).switch(jnp.int32(1), 0)
    silent = jnp.array([True, False])
    lost = Thompson().commit(plan, jnp.int32(0), jnp.float32(0.0), silent)
    assert int(lost.policy) == 0
    values = jnp.array([[0.0, 9.0], [0.0, 9.0]])
    assert {int(thompson(values, silent, jax.random.key(n))) for n in range(5)} == {0}


class Belief(eqx.Module):
    """A posterior written by hand: N(0, 1) of an action below 0, N(gap, 1) of another."""

    level: jax.Array
    variance: jax.Array
    gap: jax.Array

    def draw(self, obs: jax.Array, action: jax.Array, masks: int, key: jax.Array) -> jax.Array:
        around = jnp.where(action[0] < 0.0, 0.0, self.gap) + self.level
        return around + jnp.tile(jnp.array([-1.0, 1.0]), masks // 2)


def belief(gap: float, variance: float = 1.0) -> Agent:
    """Whoever asks the larger twin, or the target networks, hears the opposite."""
    twins = (0.0, gap), (9.0, -gap)
    known = [(jnp.float32(level), jnp.float32(variance), jnp.float32(gap)) for level, gap in twins]
    online = tuple(Belief(*each) for each in known)
    return agent_of(online, tuple(replace(twin, gap=-twin.gap) for twin in online))


def refusals(planner: Thompson, gap: float, variance: float = 1.0) -> list[int]:
    """The count of refusals after each step until the challenger takes over, through `select`."""
    agent, plan = belief(gap, variance), blank_plan(SPEC).switch(jnp.int32(0), 0)
    step = jax.jit(lambda plan, key: planner.select(agent, plan, scene([-0.5, 0.5]), key).tick())
    counts: list[int] = []
    for n in range(200):
        plan = step(plan, jax.random.key(n))
        if int(plan.policy) == 1:
            return counts
        counts.append(int(plan.refused))
    raise AssertionError("nobody ever took over")


@pytest.mark.parametrize(
    ("release_sign", "variance", "patience"), [(False, 1.0, 8), (True, 1.0, 30), (False, 40.0, 12)]
)
def test_a_a_whole_decision_refuses_as_often_and_counts_only_refusals(
    release_sign: bool, variance: float, patience: int
) -> None:
    # Targets that vary more make the same gap less certain: Phi(0.2 / sqrt(2 + 40 / 10)).
    p = norm.cdf(0.2 / np.sqrt(2.0 + variance / 10.0))
    p = 1.0 - p if release_sign else p
    assert 0.6 * 0.99**patience < p < 0.6 * 0.99 ** (patience - 1)
    counts = refusals(Thompson(release_sign=release_sign), 0.2, variance)
    assert counts[-1] == patience
    moves = np.diff([0, *counts])
    # A draw that is won by the policy in control is no refusal: its chance is a quarter.
    assert set(moves.tolist()) == {0, 1}


def test_who_acts_first_is_drawn_from_the_posterior_not_the_best_mean() -> None:
    # One draw each, +-1 and 0.2 +-1: the better one loses where it draws low and the other high.
    agent, plan = belief(0.2), blank_plan(SPEC)
    select = jax.jit(jax.vmap(lambda k: Thompson().select(agent, plan, scene([-0.5, 0.5]), k)))
    chosen = np.asarray(select(jax.random.split(KEY, 4_000)).policy)
    assert chosen.mean() == pytest.approx(0.75, abs=0.03)


def test_each_policy_is_drawn_independently() -> None:
    # Rows (0, 1) and (1, 0). Drawn together, each would win half the time; drawn apart, the
    # second wins only if the draws are 0 and 1.
    values = jnp.array([[0.0, 1.0], [1.0, 0.0]])
    pick = jax.jit(jax.vmap(lambda k: thompson(values, jnp.ones(2, bool), k)))
    assert float(pick(jax.random.split(KEY, 4_000)).mean()) == pytest.approx(0.25, abs=0.03)


# --- the target ---


def test_d_the_target_follows_the_policy_that_the_online_critic_prefers() -> None:
    # Q = 1 at the actor's action 0.1, 5 at the teacher's 0.5; the target network says ten times it.
    online, slow = (
        formula(lambda s, a: 10.0 * a, 0.0, 3.0),
        formula(lambda s, a: 100.0 * a, 0.0, 3.0),
    )
    agent = agent_of(online, slow, log_alpha=jnp.log(2.0))
    t = transition(says([0.5]), reward=1.0, terminated=0.0)
    following = proposals([0.1, 0.5])._replace(log_prob=jnp.float32(-0.7))
    critic = MixtureCritic(discount=0.9)
    assert float(critic.targets(agent, t, following, KEY).values[0]) == pytest.approx(
        1.0 + 0.9 * 50.0
    )
    done = t._replace(terminated=jnp.float32(1.0))
    assert float(critic.targets(agent, done, following, KEY).values[0]) == pytest.approx(1.0)
    silent = following._replace(valid=jnp.array([True, False]))
    assert float(critic.targets(agent, t, silent, KEY).values[0]) == pytest.approx(1.0 + 0.9 * 10.0)


def test_d_the_entropy_bonus_is_the_task_policys_alone() -> None:
    agent = agent_of(formula(lambda s, a: 10.0 * a), log_alpha=jnp.log(2.0))
    t = transition(says([0.5]), reward=0.0, terminated=0.0)
    critic = MixtureCritic(discount=1.0 - 1e-6, entropy_backup=True)
    for teacher, expected in ((0.5, 5.0), (0.05, 1.0 + 2.0 * 0.7)):
        following = proposals([0.1, teacher])._replace(log_prob=jnp.float32(-0.7))
        assert float(critic.targets(agent, t, following, KEY).values[0]) == pytest.approx(
            expected, rel=1e-4
        )


# --- the posterior ---


def network(critic: MixtureCritic) -> Any:
    found = replace(critic, hidden=(16, 16)).init(KEY, SPEC)
    assert all(isinstance(twin, PosteriorNetwork) for twin in found)
    return found


def test_the_target_network_has_no_dropout_and_the_posterior_has() -> None:
    net = network(DROPOUT)
    obs, action = jnp.ones(2), jnp.ones(1)
    judged = DROPOUT.judge(net, obs, action[None])
    plain = jnp.stack([twin.body(jnp.ones(3)) for twin in net])
    np.testing.assert_allclose(judged, plain, rtol=1e-6)
    masked = draws(net, obs, action, 50, KEY)
    assert masked.shape == (50,)
    assert float(masked.std()) > 0.0
    assert not same(masked, draws(net, obs, action, 50, jax.random.key(1)))


def test_the_heads_are_the_posterior_and_their_mean_the_value() -> None:
    net = network(MixtureCritic())
    obs, action = jnp.ones(2), jnp.ones(1)
    heads = jnp.stack([twin.body(jnp.ones(3)) for twin in net])
    assert heads.shape == (2, 5)
    np.testing.assert_allclose(draws(net, obs, action, 50, KEY), heads.min(axis=0), rtol=1e-6)
    judged = MixtureCritic().judge(net, obs, action[None])
    np.testing.assert_allclose(judged[:, 0], heads.mean(axis=1), rtol=1e-6)


@POSTERIORS
def test_the_actor_is_improved_on_the_mean_of_the_posterior_of_the_smaller_twin(
    critic: MixtureCritic,
) -> None:
    net, actor = network(critic), fixed(0.3)
    agent, t = agent_of(net, actor=actor, log_alpha=jnp.log(0.5)), transition(says([0.5]))
    noise = jnp.array([0.7])
    value, log_prob = PosteriorActor().loss(actor, agent, t, noise, KEY)
    action, expected_log_prob = actor(t.obs, t.advice).at(noise)
    posterior = draws(net, t.obs, action, 5, KEY)
    assert posterior.shape == (5,)
    assert float(value) == pytest.approx(
        float(0.5 * expected_log_prob - posterior.mean()), rel=1e-5
    )
    assert float(log_prob) == float(expected_log_prob)


def some(n: int) -> Transition:
    return jax.tree.map(lambda x: jnp.asarray(x[n]), batch(SPEC, 400))


def test_a_head_learns_from_its_own_share_of_the_transitions_and_always_the_same() -> None:
    rows = batch(SPEC, 400)
    seen = jax.vmap(lambda t: jax.random.bernoulli(identity(t), 0.8, (5,)))(rows)
    again = jax.vmap(lambda t: jax.random.bernoulli(identity(t), 0.8, (5,)))(rows)
    assert same(seen, again)
    np.testing.assert_allclose(seen.mean(axis=0), 0.8, atol=0.06)
    assert (np.asarray(seen).std(axis=1) > 0).mean() > 0.5, "heads see different transitions"
    other = identity(some(0)._replace(action=some(0).action + 1e-6))
    assert not same(jax.random.key_data(identity(some(0))), jax.random.key_data(other))


def test_the_loss_of_the_heads_is_the_square_of_the_errors_they_see() -> None:
    net, critic = network(MixtureCritic()), MixtureCritic()
    targets = counted(*[2.0] * 5)
    masks = [np.asarray(jax.random.bernoulli(identity(some(n)), 0.8, (5,))) for n in range(8)]
    assert not all(mask.all() for mask in masks)
    for n, mask in enumerate(masks):
        t = some(n)
        heads = jnp.stack([twin.body(jnp.concatenate([t.obs, t.action])) for twin in net])
        by_hand = 0.5 * (np.asarray(heads - 2.0) ** 2 * mask).sum() / 5
        found = critic.loss(net, t, targets, KEY)
        assert float(found) == pytest.approx(by_hand, rel=1e-5)


def test_the_loss_under_dropout_is_the_alpha_divergence_at_the_scale_of_the_targets() -> None:
    net = tuple(replace(twin, variance=jnp.float32(4.0)) for twin in network(DROPOUT))
    t = some(0)
    values = jnp.stack([twin.draw(t.obs, t.action, 5, KEY) for twin in net])
    by_hand = 0.0
    for twin in np.asarray(values):
        by_hand += (
            -np.log(sum(np.exp(-0.5 * 10.0 / 2 * ((3.0 - q) / 2.0) ** 2) for q in twin)) / 0.5
        )
    found = DROPOUT.loss(net, t, counted(3.0), KEY)
    assert float(found) == pytest.approx(by_hand, rel=1e-4)


def test_the_running_variance_follows_the_targets_and_never_vanishes() -> None:
    net = network(MixtureCritic())
    values = jnp.array([[0.0], [20.0]])  # their variance is 100
    targets = Targets(values, jnp.ones((2, 1)))
    follow = jax.jit(lambda net: MixtureCritic().calibrate(net, targets))
    first = follow(net)
    assert float(spread(first)) == pytest.approx(1.0 + 0.01 * 99.0, rel=1e-5)
    for _ in range(1_000):
        net = follow(net)
    assert float(spread(net)) == pytest.approx(100.0, rel=1e-2)
    assert float(spread([replace(twin, variance=jnp.zeros(())) for twin in net])) > 0.0


def learn_bandit(critic: MixtureCritic, seeds: int) -> list[Agent]:
    """One state that ends at once; only actions in [-1, -0.2] were ever tried."""
    n, chosen = 64, method(critic)
    actions = np.linspace(-1.0, -0.2, n, dtype=np.float32)[:, None]
    state, silence = np.zeros((n, 2), np.float32), batch(Spec(2, 1, 0), n).advice
    rewards = np.sin(3.0 * actions[:, 0])
    ends = np.ones(n, np.float32)
    rows = Transition(state, silence, np.zeros(n, np.int32), actions, rewards, ends, state, silence)  # type: ignore[arg-type]
    chosen = replace(chosen, learning_rate=3e-3)

    @jax.jit
    def learned(agent: Agent, key: jax.Array) -> Agent:
        def step(agent: Agent, key: jax.Array) -> Any:
            return update(chosen, agent, rows, key, False)[0], None

        return jax.lax.scan(step, agent, jax.random.split(key, 600))[0]

    keys = [jax.random.key(seed) for seed in range(seeds)]
    return [learned(chosen.init(key, Spec(2, 1, 0)), key) for key in keys]


@POSTERIORS
def test_e_the_posterior_is_wider_where_nothing_was_seen(critic: MixtureCritic) -> None:
    actions = np.linspace(-1.0, 1.0, 21, dtype=np.float32)[:, None]
    seen, unseen = actions[:, 0] < -0.2, actions[:, 0] > 0.5
    ask = jax.jit(jax.vmap(lambda net, a: draws(net, jnp.zeros(2), a, 50, KEY), in_axes=(None, 0)))
    wider = []
    for agent in learn_bandit(critic, seeds=5):
        values = np.asarray(ask(agent.critic, actions))
        spread = values.var(axis=1)
        wider.append(spread[unseen].mean() / np.median(spread[seen]))
        fit = values.mean(axis=1)[seen] - np.sin(3.0 * actions[seen, 0])
        assert np.abs(fit).mean() < 0.15
    # The heads say so in every seed by orders of magnitude. Dropout does not: its variance is also
    # large at the border of what was seen, hence the median; by the mean it fails in some seeds.
    least, typical = (100.0, 100.0) if critic.keep is None else (0.5, 2.0)
    assert min(wider) > least and np.median(wider) > typical, wider


# --- behavior ---


def test_it_asks_the_online_posterior_and_notes_its_means() -> None:
    net = network(MixtureCritic())
    agent = agent_of(net, jax.tree.map(lambda x: x + 1.0, net))
    plan = Thompson().select(agent, blank_plan(SPEC), scene([0.2, -0.4]), KEY)
    by_hand = [draws(net, jnp.zeros(2), jnp.array([a]), 5, KEY).mean() for a in (0.2, -0.4)]
    np.testing.assert_allclose(plan.score, by_hand, rtol=1e-5)


def test_c_without_teachers_it_behaves_as_its_task_policy() -> None:
    alone, spec = method(MixtureCritic()), Spec(2, 1, 0)
    agent = alone.init(KEY, spec)
    plan, silence = Plan.start(spec).begin(), batch(spec).advice
    pure = replace(alone, planner=Method().planner)
    for n in range(3):
        obs, said = batch(spec).obs[n], jax.tree.map(lambda x, n=n: x[n], silence)
        plan, action = act(alone, agent, plan, obs, said, raw(n))
        _, own = act(pure, agent, plan, obs, said, raw(n))
        assert int(plan.policy) == 0
        np.testing.assert_array_equal(action, own)
