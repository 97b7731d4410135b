"""One battery that every method and ablation must pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from reprise.boundary import arrays
from reprise.boundary.errors import UserError
from reprise.core import windows
from reprise.core.agent import Agent, Plan
from reprise.core.compiled import OPTIONS, compiled
from reprise.core.method import Method
from reprise.core.types import Advice, Gaussian, Spec
from reprise.core.values import Categorical
from reprise.methods import ABLATIONS, METHODS
from reprise.priors import Foreign, Priors
from reprise.runs import checkpoint, recipe
from reprise.runs.judge import judge
from reprise.training.loop import Progress, Training, train
from reprise.training.randomness import columns_read
from toys import BRISK, act, line, priors, raw, same, small, update

PLAIN = {"plain smec": METHODS["smec"], "plain scratch": METHODS["scratch"]}
"""Scalar values and targets of several steps; the others are as the small preset has them."""
ROWS = METHODS | ABLATIONS | PLAIN
ALL = pytest.mark.parametrize("name", list(ROWS))
SPEC = Spec(obs=2, action=1, priors=3)
STEPS, CUTS = 150, (47, 100)
SAME_AGENT = [*ABLATIONS, "smec", "qmp", "cup", "mamba"]
"""Methods that are Scratch without priors, in every array that they learn."""
SAME_POLICY = ["multipolar", "skills"]
"""Methods that learn something besides, which without priors has no influence."""


def build(name: str) -> Method:
    """A named method with tiny networks; whatever begins late begins in the middle of a run."""
    method = small(ROWS[name].build(10, 1.0))
    method = replace(method, actor=method.actor.after_warmup(20))
    if name in PLAIN:
        return replace(method, critic=replace(method.critic, n_step=2, other_n_step=3))
    critic = replace(
        method.critic, values=Categorical(16), other_values=Categorical(16), bounded=True,
        reward_range=(0.0, 1.0),
    )  # fmt: skip
    return replace(
        method, critic=critic, imitation=0.4, planner=method.planner.with_correction(1.0)
    )


SCHEDULE = replace(BRISK, success_share=0.5, updates_per_step=1.5)
UPDATES = sum(SCHEDULE.updates(step) for step in range(STEPS))


def play(method: Method, library: Priors, checkpoints: Path | None = None) -> Progress:
    with Training(method, line(30), library, steps=STEPS, seed=2, schedule=SCHEDULE) as training:
        if checkpoints:
            assert checkpoint.load(checkpoints, training.loop, pytest.fail) is not None
        *_, last = training.reports()
    return last


class Straight(NamedTuple):
    """An undisturbed run, its checkpoints, and the compilations at its last reports."""

    last: Progress
    folder: Path
    compiled: list[tuple[int, int]]


def compilations() -> tuple[int, int]:
    updates = [compiled(Method._update, library) for library in OPTIONS]
    return Method.act._cache_size(), sum(update._cache_size() for update in updates)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Straight]:
    """One run per method that all tests share: compiling is what costs time here."""

    @cache
    def run(name: str) -> Straight:
        folder, compiled = tmp_path_factory.mktemp("runs"), []
        options: Any = {"steps": STEPS, "seed": 2, "schedule": SCHEDULE}
        with Training(build(name), line(30), priors(3), **options) as training:
            training.stops = (*CUTS, 149)
            for progress in training.reports():
                if progress.step in CUTS:
                    checkpoint.save(folder / str(progress.step), progress.loop, {})
                if progress.step >= 100:
                    compiled.append(compilations())
        return Straight(progress, folder, compiled)

    return run


Runs = Callable[[str], Straight]


@ALL
def test_it_acts_within_bounds_and_learns_without_nan(name: str, straight: Runs) -> None:
    last = straight(name).last
    rows = last.loop.replay.rows(0, STEPS)
    assert (abs(rows.action) <= 1.0).all()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(last.agent))
    assert last.loop.updates == UPDATES == 180
    assert all(np.isfinite(v) for k, v in last.metrics.items() if k.endswith("loss"))


@ALL
def test_it_compiles_once_per_shape_and_never_again(name: str, straight: Runs) -> None:
    counts = straight(name).compiled
    assert len(counts) > 2
    assert counts[0] == counts[-1]


@ALL
def test_the_same_seed_gives_the_same_bits(name: str, straight: Runs) -> None:
    assert same(play(build(name), priors(3)).agent, straight(name).last.agent)


@ALL
def test_it_survives_a_round_trip_through_json(name: str, tmp_path: Path) -> None:
    method = build(name)
    run = recipe.Run(name, method, "toy/line", seed=3, steps=10)
    (tmp_path / "run.json").write_text(json.dumps(recipe.dump(run)))
    again = recipe.load(tmp_path / "run.json")
    assert again == run
    assert again.id == run.id
    assert replace(again, seed=4).id != run.id


@ALL
def test_its_knowledge_survives_a_round_trip_through_safetensors(name: str, straight: Runs) -> None:
    agent = straight(name).last.agent
    data = arrays.pack(arrays.named(agent))
    fresh = build(name).init(jax.random.key(9), SPEC)
    loaded = arrays.fill(fresh, arrays.unpack(data, "test"), "test")
    assert same(loaded, agent)
    assert not same(fresh, agent)


@ALL
@pytest.mark.parametrize("cut", CUTS)
def test_it_continues_exactly_from_the_middle_of_an_episode(
    name: str, cut: int, straight: Runs
) -> None:
    whole = straight(name)
    resumed = play(build(name), priors(3), whole.folder / str(cut))
    assert same(resumed.agent, whole.last.agent)
    assert same(resumed.loop.plan, whole.last.loop.plan)
    assert same(resumed.loop.replay.rows(0, STEPS), whole.last.loop.replay.rows(0, STEPS))
    assert resumed.metrics == pytest.approx(whole.last.metrics, nan_ok=True)


@pytest.fixture(scope="module")
def alone() -> Callable[[str], Progress]:
    """A run without priors; actors learn at every update, which saves a compilation."""
    return cache(lambda name: play(replace(build(name), actor_delay=1), priors(0)))


@pytest.mark.parametrize("name", SAME_AGENT)
def test_without_priors_it_is_scratch_bit_for_bit(name: str, alone: Any) -> None:
    assert same(alone(name).agent, alone("scratch").agent)


@pytest.mark.parametrize("name", SAME_POLICY)
def test_without_priors_it_learns_what_scratch_does_bit_for_bit(name: str, alone: Any) -> None:
    mine, its = alone(name).agent, alone("scratch").agent
    assert same(mine.actor.body, its.actor.body)
    assert same((mine.critic, mine.target, mine.log_alpha), (its.critic, its.target, its.log_alpha))


def test_without_priors_ac_teach_behaves_as_its_task_policy(alone: Any) -> None:
    assert set(alone("ac-teach").loop.replay.rows(40, STEPS).source.tolist()) == {0}


def test_every_method_says_what_becomes_of_it_without_priors() -> None:
    assert {*SAME_AGENT, *SAME_POLICY, "ac-teach", "scratch"} == set(ROWS) - set(PLAIN)
    assert same(
        play(build("plain smec"), priors(0)).agent, play(build("plain scratch"), priors(0)).agent
    )


def mute() -> Priors:
    """Three priors of which the second never says anything usable."""
    first, second, third = priors(3).policies
    broken = Foreign(second.card, lambda obs: np.full((len(obs), 1), np.nan))
    return Priors([first, broken, third])


@ALL
def test_a_prior_with_nothing_usable_to_say_is_never_chosen(name: str) -> None:
    last = play(build(name), mute())
    rows = last.loop.replay.rows(0, STEPS)
    assert not rows.advice.valid[:, 1].any() and rows.advice.valid[:, 0].all()
    assert 2 not in rows.source
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(last.agent))


@ALL
def test_a_policy_that_is_a_whole_network_is_evaluated_without_asking_priors(
    name: str, straight: Runs
) -> None:
    asked: list[int] = []

    def spy(obs: np.ndarray) -> np.ndarray:
        asked.append(len(obs))
        return np.zeros((len(obs), 1), np.float32)

    spies = [Foreign(policy.card, spy) for policy in priors(3).policies]
    method, agent = build(name), straight(name).last.agent
    found = judge(method, agent, Priors(spies), line(30), [0, 1])
    assert np.isfinite(found.return_mean)
    assert bool(asked) == (name == "multipolar") == (method.actor.export(agent.actor) is None)


@pytest.mark.parametrize("steps", [1, 3])
@ALL
def test_an_update_depends_on_nothing_that_is_not_sampled(
    name: str, steps: int, straight: Runs
) -> None:
    method, loop = build(name), straight(name).last.loop
    rows = loop.replay.rows(STEPS - BRISK.batch, STEPS)
    if steps > 1 and method.critic.heads_are_policies:
        other = 1 if getattr(method.critic, "handback", False) else steps
        critic = replace(method.critic, n_step=steps, other_n_step=other)
        numbers = np.arange(STEPS - BRISK.batch, STEPS)
        followed = windows.ahead(loop.replay, numbers, steps, other)
        method, rows = replace(method, critic=critic), rows._replace(ahead=followed)
    drawn = method.planner.draw(loop.replay, BRISK.batch, (0, 0))
    wanted = columns_read(method, jax.tree.map(lambda column: column[0], rows._replace(ahead=None)))
    wanted = wanted._replace(ahead=jax.tree.map(lambda column: True, rows.ahead))

    def spoil(column: np.ndarray, kept: bool) -> np.ndarray:
        if kept:
            return column
        # NaN spreads through any arithmetic; whole numbers and truth values become others.
        return np.full_like(column, np.nan) if column.dtype.kind == "f" else 1 - column

    spoiled = jax.tree.map(spoil, rows, wanted)
    assert not same(spoiled, rows)
    results = []
    for batch in (rows, spoiled):
        agent = jax.tree.map(jax.numpy.array, loop.agent)
        results.append(update(method, agent, batch, raw(0), True, drawn))
    assert same(*results)


def test_a_sample_carries_only_the_advice_that_the_method_reads() -> None:
    def width(method: Method) -> int:
        *_, last = train(method, line(30), priors(3), steps=5, schedule=BRISK)
        return sum(table.shape[1] for table in last.loop.replay.sample(4).tables)

    bare = width(build("scratch"))
    noisy = replace(build("smec"), stochastic_priors=True)
    assert width(build("smec")) == bare + 3 + 3, "actions and validity in s'"
    assert width(noisy) == bare + 3 + 3 + 3, "and deviations"
    assert width(build("cup")) == bare + 2 * (3 + 3 + 3), "all of it in s and s'"


def garbled(say: Advice, noise: float) -> Advice:
    """The same advice, but for the second prior, who is not valid and says something else."""
    mean, log_std = np.array(say.says.mean), np.array(say.says.log_std)
    mean[..., 1, :], log_std[..., 1, :] = noise, -noise
    valid = np.array(say.valid)
    valid[..., 1] = False
    return Advice(Gaussian(mean, log_std), valid)  # type: ignore[arg-type]


@ALL
def test_what_an_invalid_prior_says_changes_nothing(name: str, straight: Runs) -> None:
    method, loop = build(name), straight(name).last.loop
    rows = loop.replay.rows(STEPS - BRISK.batch, STEPS)
    drawn = method.planner.draw(loop.replay, BRISK.batch, (0, 0))
    if drawn:  # windows hold validity, not advice
        drawn.valid[:, 1] = drawn.next_valid[:, 1] = False
    results = []
    for noise in (0.3, -1.7):
        agent = jax.tree.map(jax.numpy.array, loop.agent)
        here, there = garbled(rows.advice, noise), garbled(rows.next_advice, noise)
        batch = rows._replace(advice=here, next_advice=there)
        agent, _ = update(method, agent, batch, raw(0), True, drawn)
        say = jax.tree.map(lambda x: x[0], here)
        plan, action = act(method, agent, Plan.start(SPEC).begin(), rows.obs[0], say, raw(1))
        results.append((agent, plan.policy, action))
        assert int(plan.policy) != 2
    assert same(*results)


@ALL
def test_acting_cannot_alter_knowledge_nor_learning_intention(name: str, straight: Runs) -> None:
    method, loop = build(name), straight(name).last.loop
    agent = method.init(jax.random.key(0), SPEC)
    before = [np.array(leaf) for leaf in jax.tree.leaves(agent)]
    rows = loop.replay.rows(STEPS - BRISK.batch, STEPS)
    say = jax.tree.map(lambda x: x[0], rows.advice)
    result = act(method, agent, Plan.start(SPEC).begin(), rows.obs[0], say, raw(0))
    assert not any(isinstance(part, Agent) for part in result)
    assert same(before, jax.tree.leaves(agent))
    drawn = method.planner.draw(loop.replay, BRISK.batch, (0, 0))
    learned, metrics = update(method, agent, rows, raw(1), True, drawn)
    assert isinstance(learned, Agent)
    assert set(metrics) == {"critic_loss", "actor_loss", "alpha", "entropy"}


def test_a_file_of_another_method_is_refused_with_what_differs() -> None:
    data = arrays.pack(arrays.named(build("plain scratch").init(jax.random.key(0), SPEC)))
    wider = build("plain smec").init(jax.random.key(0), SPEC)
    with pytest.raises(UserError, match=r"layers\.2\.\w+ is float32\((16, 1|1,)\), expected"):
        arrays.fill(wider, arrays.unpack(data, "x"), "x")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"surprise": 1}, "unknown field .* 'surprise'"),
        ({"seed": "seven"}, "seed is 'seven', expected int"),
        ({"seed": True}, "seed is True, expected int"),
        ({"method": {"kind": "os.system"}}, "unknown kind .* 'os.system'"),
        ({"priors": "all"}, "priors is 'all', expected a list"),
        ({"schema": 99}, "schema 1"),
    ],
)
def test_an_unknown_name_in_a_recipe_is_an_error_in_one_line(
    damage: Any, message: str, tmp_path: Path
) -> None:
    record = recipe.dump(recipe.Run("smec", build("smec"), "toy/line")) | damage
    with pytest.raises(UserError, match=message) as caught:
        (tmp_path / "run.json").write_text(json.dumps(record))
        recipe.load(tmp_path / "run.json")
    assert "\n" not in str(caught.value)


def test_equal_fields_of_different_classes_are_different_methods() -> None:
    ids = {recipe.Run(name, build(name), "toy/line").id for name in ROWS}
    assert len(ids) == len(ROWS)
