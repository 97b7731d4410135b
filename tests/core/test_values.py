"""How values are represented, which are possible, and the one Bellman backup."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.boundary.errors import UserError
from reprise.core.agent import with_bounds
from reprise.core.critic import HybridCritic, SoftCritic
from reprise.core.method import Method
from reprise.core.networks import Ensemble
from reprise.core.types import Spec
from reprise.core.values import EDGE, Bounds, Categorical, Scalar, backup, possible
from reprise.methods import METHODS, prepare
from reprise.methods.ac_teach import MixtureCritic
from reprise.methods.smec import smec
from reprise.tasks import find
from reprise.training.loop import train
from reprise.training.state import Extremes
from toys import batch, line, priors, raw, reporting, same, small, update

RANGES = [(0.0, 100.0), (-100.0, 1_000.0), (-1_600.0, 0.0), (-3.0, 2.0)]


def bounds(low: float, high: float, heads: int = 1) -> Bounds:
    return Bounds(jnp.full(heads, low), jnp.full(heads, high))


def logits(histogram: jax.Array) -> jax.Array:
    """Outputs that say this histogram."""
    return jnp.log(jnp.maximum(histogram, 1e-30))


@pytest.mark.parametrize("bins", [32, 64, 101])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_the_mean_of_a_targets_histogram_is_the_target(low: float, high: float, bins: int) -> None:
    histogram, limits = Categorical(bins), bounds(low, high, 501)
    targets = jnp.linspace(low, high, 501)
    said = histogram.histogram(targets, limits)
    np.testing.assert_allclose(said.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(
        histogram.read(logits(said), limits), targets, atol=5e-4 * (high - low)
    )


def test_hl_gauss_is_the_mass_of_a_bell_curve_in_each_bin() -> None:
    rng = np.random.default_rng(0)
    said = Categorical(26).histogram(jnp.array([7.3]), bounds(0.0, 19.0))[0]
    # 20 bins from 0 to 19 and three beyond either end: bin i is around i - 3.
    draws = rng.normal(7.3, 0.75, 400_000)
    counted, _ = np.histogram(draws, np.arange(27) - EDGE - 0.5)
    np.testing.assert_allclose(said, counted / len(draws), atol=3e-3)


def numbers(most: float) -> st.SearchStrategy[float]:
    """Not so small that JAX takes them for 0."""
    return st.floats(-most, most, allow_subnormal=False, width=32)


@given(numbers(500.0), numbers(500.0), numbers(2_000.0))
@settings(max_examples=60, deadline=None)
def test_no_output_is_read_as_an_impossible_value(one: float, other: float, target: float) -> None:
    low, high = sorted((one, other + 1e-2))
    if not low < high:
        return
    histogram, limits = Categorical(16), bounds(low, high)
    rng = np.random.default_rng(0)
    outputs = [rng.normal(0.0, 20.0, (1, 16)), np.eye(16)[[0]] * 99, np.eye(16)[[-1]] * 99]
    outputs.append(logits(histogram.histogram(jnp.array([target]), limits)))
    read = np.array([histogram.read(jnp.asarray(x, jnp.float32), limits) for x in outputs])
    assert (read >= np.float32(low)).all() and (read <= np.float32(high)).all()
    slack = 1e-2 * max(abs(low), abs(high))
    assert float(read[-1, 0]) == pytest.approx(np.clip(target, low, high), abs=slack)


def test_what_is_possible_follows_from_the_rewards() -> None:
    each = jnp.array([0.99, 0.5])
    dense = possible((-1.0, 10.0), False, each)
    np.testing.assert_allclose(dense.low, [-100.0, -2.0], rtol=1e-4)
    np.testing.assert_allclose(dense.high, [1_000.0, 20.0], rtol=1e-4)
    once = possible((5.0, 100.0), True, each)  # an episode may also end with nothing
    np.testing.assert_allclose(once, [[0.0, 0.0], [100.0, 100.0]])


@given(st.integers(0, 2**31))
@settings(max_examples=20, deadline=None)
def test_the_backup_is_r_plus_discounted_next_values_unless_it_ended(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reward, ended = float(rng.normal()), float(rng.integers(2))
    discounts, following = rng.uniform(0, 1, 3), rng.normal(size=3)
    found = backup(*map(jnp.float32, (reward, discounts, ended, following)))
    for i in range(3):
        wanted = reward + (0.0 if ended else discounts[i] * following[i])
        assert float(found[i]) == pytest.approx(wanted, abs=1e-5)


def louder(critics: Ensemble, times: float) -> Ensemble:
    """The same networks with larger weights, and so larger outputs."""
    loud = jax.tree.map(lambda x: x * times, critics)
    return tuple(replace(net, bounds=own.bounds) for net, own in zip(loud, critics, strict=True))


BOUNDED: dict[str, Any] = {"bounded": True, "reward_range": (0.0, 10.0), "hidden": (16,)}


@pytest.mark.parametrize("values", [Scalar(), Categorical(32)])
def test_targets_stay_within_the_bounds_of_their_head(values: Any) -> None:
    """Networks that promise far too much must not pass it on."""
    critic = HybridCritic(horizon=5, other_values=values, values=values, **BOUNDED)
    method, spec = Method(critic=critic), Spec(2, 1, 3)
    agent, rows = method.init(jax.random.key(0), spec), batch(spec)
    rows = rows._replace(reward=np.full(16, 10.0, np.float32))
    wild = jax.tree.map(lambda x: x * 50.0, agent.target)
    wild = tuple(
        replace(net, bounds=own.bounds) for net, own in zip(wild, agent.target, strict=True)
    )
    agent = replace(agent, target=wild)
    seen: list[np.ndarray] = []
    spy = critic.targets

    def targets(*told: Any) -> Any:
        found = spy(*told)
        jax.debug.callback(lambda x: seen.append(np.asarray(x)), found.values)
        return found

    object.__setattr__(critic, "targets", targets)
    with jax.disable_jit():
        update(method, agent, rows, raw(0), False)
    found = np.concatenate([np.atleast_2d(x) for x in seen])
    high = np.array([10 / 0.01, *[10 / (1 - critic.gbar)] * 3])
    assert found.shape[1] == 4
    assert (found <= high[None] * 1.0001).all() and (found >= -1e-3).all()
    assert (found > 0.5 * high[None]).any(), "the networks did promise too much"


def test_nobody_learns_the_bounds() -> None:
    method, spec = Method(critic=SoftCritic(values=Categorical(16), **BOUNDED)), Spec(2, 1, 0)
    agent = method.init(jax.random.key(0), spec)
    before = jax.tree.map(np.array, agent.critic[0].bounds)
    for n in range(5):
        agent, _ = update(method, agent, batch(spec), raw(n), True)
    assert same(agent.critic[1].bounds, before) and same(agent.target[0].bounds, before)


def test_what_cannot_be_combined_is_said_in_one_line() -> None:
    for wrong, said in (
        ({"bounded": True, "entropy_backup": True}, "entropy-backup"),
        ({"values": Categorical()}, "need bounds"),
        ({"other_values": Categorical()}, "need bounds"),
        ({"reward_range": (1.0, 1.0)}, "reward-range"),
    ):
        with pytest.raises(UserError, match=said):
            SoftCritic(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="at least 8"):
        Categorical(7)
    with pytest.raises(UserError, match="dropout needs scalar"):
        MixtureCritic(keep=0.9, values=Categorical(), **BOUNDED)


def test_unknown_returns_widen_the_bounds_as_they_are_seen() -> None:
    seen = Extremes(np.array([0.9, 0.5]))
    for reward in (1.0, 1.0, -4.0):
        seen.note(reward, over=False)
    running = [[1.0, 1.9, -2.29], [1.0, 1.5, -3.25]]
    np.testing.assert_allclose(seen.low, np.minimum(0, running).min(axis=1))
    np.testing.assert_allclose(seen.high, np.max(running, axis=1))
    assert seen.grown
    limits = seen.bounds()
    assert not seen.grown
    np.testing.assert_allclose(limits.high, seen.high + 0.25 * (seen.high - seen.low), rtol=1e-4)
    seen.note(0.0, over=True)
    np.testing.assert_array_equal(seen.running, 0.0)


def test_a_run_whose_rewards_nobody_knows_ends_within_what_it_saw() -> None:
    histograms = Categorical(16)
    critic: dict[str, Any] = {"bounded": True, "values": histograms, "other_values": histograms}
    method = small(smec(5, 1.0))
    method = replace(method, critic=replace(method.critic, **critic))
    schedule = reporting(120, warmup=20, learning_starts=20)
    *_, last = train(method, line(25), priors(2), steps=120, schedule=schedule)
    extremes, (net, _) = last.loop.extremes, last.agent.critic
    assert extremes and net.bounds
    assert (np.asarray(net.bounds.high) >= 0.99 * extremes.high).all()
    assert (extremes.high > 1.0).all()
    assert same(last.agent.target[0].bounds, net.bounds)


def test_other_bounds_are_those_of_every_network() -> None:
    method = Method(critic=SoftCritic(values=Categorical(16), **BOUNDED))
    agent = method.init(jax.random.key(0), Spec(2, 1, 0))
    wider = with_bounds(agent, bounds(-5.0, 77.0))
    for net in (*wider.critic, *wider.target):
        assert net.bounds and float(net.bounds.high[0]) == 77.0
    assert agent.critic[0].bounds and float(agent.critic[0].bounds.high[0]) > 900.0


@pytest.mark.parametrize("name", METHODS)
def test_presets_give_every_method_the_same_values_and_the_paper_its_own(name: str) -> None:
    task = find("metaworld/push-wall")
    mine, reference = prepare(name, task).method, prepare("scratch", task).method
    for part in ("values", "bounded", "reward_range", "reward_once", "discount", "layer_norm"):
        assert getattr(mine.critic, part) == getattr(reference.critic, part)
    assert (mine.imitation, mine.learning_rate) == (reference.imitation, reference.learning_rate)
    assert prepare(name, task).schedule == prepare("scratch", task).schedule
    paper = prepare(name, task, "paper")
    assert (paper.method.critic.values, paper.method.critic.bounded) == (Scalar(), False)
    assert (paper.method.imitation, paper.schedule.success_share) == (0.0, 0.0)
    assert (paper.schedule.action_repeat, paper.method.critic.discount) == (1, 0.99)


def test_the_planner_never_sees_an_impossible_value() -> None:
    critic = HybridCritic(horizon=5, values=Categorical(16), **BOUNDED)
    spec = Spec(2, 1, 3)
    # Scalar heads that say thousands where 12 is possible.
    loud, limits = louder(critic.init(jax.random.key(0), spec), 1e4), critic.bounds(spec)
    assert limits
    rows, actions = batch(spec), jnp.linspace(-1.0, 1.0, 4)[:, None]
    values = np.stack([critic.judge(loud, obs, actions) for obs in rows.obs])
    assert (values <= np.asarray(limits.high)).all() and (values >= 0.0).all()
    assert (values[:, :, 1:] == np.asarray(limits.high)[1:]).any()
