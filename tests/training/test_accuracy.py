"""The critic against what really comes: exact where a closed form exists, and never in the way."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from cutting import Enough, cut_at
from digest import digest
from reprise.boundary.errors import UserError
from reprise.core.critic import HybridCritic, SoftCritic
from reprise.core.method import Method
from reprise.core.types import Advice, Gaussian
from reprise.methods.smec import no_truncation, smec
from reprise.priors import Priors, resolve, save
from reprise.runs.execute import execute
from reprise.runs.recipe import Run
from reprise.tasks import Task, find
from reprise.training import value_accuracy as module
from reprise.training.evaluate import Stage
from reprise.training.state import Loop, begin
from reprise.training.value_accuracy import (
    Moments,
    Start,
    accuracy,
    moments,
    monte_carlo,
    rollout_length,
)
from toys import BRISK, Line, leaves, line, outputs, policy, priors, small

TWO = priors(2)


def standing(method: Method, task: Task, old: Priors = TWO) -> Loop:
    """A run that has just begun an episode."""
    loop = begin(method, task.open(), old, BRISK, steps=10, seed=0)
    loop.obs = loop.arena.reset(3)
    said, valid = old(loop.obs[None], 1)
    loop.advice = Advice(Gaussian(said.mean[0], said.log_std[0]), valid[0])
    return loop


def claiming(loop: Loop, *claims: float) -> Loop:
    """Heads that say the same everywhere."""
    weights = [jnp.zeros_like(twin.body.layers[-1].weight) for twin in loop.agent.target]
    biases = jnp.tile(jnp.array(claims, jnp.float32), (2, 1))
    loop.agent = replace(loop.agent, target=outputs(loop.agent.target, weights, biases))
    return loop


def errors(method: Method, task: Task, *claims: float) -> np.ndarray:
    loop = claiming(standing(method, task), *claims)
    return np.array([r.estimate - r.realized for r in accuracy(loop, method, task, TWO, 0)])


# --- values in closed form ---


def test_a_critic_that_is_right_has_no_error_at_either_discount() -> None:
    """Reward 1 for ever is worth 1 / (1 - discount), whatever the time limit."""
    for method in (small(smec(20, 1.0)), small(no_truncation(20, 1.0))):
        worth = 1.0 / (1.0 - np.asarray(method.critic.discounts(3), np.float64))
        found = errors(method, line(5, reward=1.0), *worth)
        np.testing.assert_array_less(np.abs(found), 1.1 * module.TAIL * worth)


def test_a_head_with_the_wrong_discount_is_noticed() -> None:
    """The claims of gbar, judged at gamma, and the other way round."""
    short, long = small(smec(20, 1.0)), small(no_truncation(20, 1.0))
    gamma, gbar = 1.0 / (1.0 - 0.99), 1.0 / (1.0 - 1e-4 ** (1 / 20))
    assert (errors(short, line(reward=1.0), gamma, gamma, gamma)[1:] > 90).all()
    assert (errors(long, line(reward=1.0), gamma, gbar, gbar)[1:] < -90).all()


def test_a_termination_ends_the_return_and_a_time_limit_does_not() -> None:
    """Toward the origin by 0.2 a step, earning 1 - |x| / 2, until |x| < 0.1."""
    task, left = line(2, ends=True), np.full(1, -1.0, np.float32)
    arena = task.open()
    start = Start(arena.reset(0), arena.snapshot() or {})
    x, wanted, weight, steps = float(start.obs[0]), 0.0, 1.0, 0
    while abs(x) >= 0.1:
        x -= 0.2
        wanted, weight, steps = wanted + weight * (1 - abs(x) / 2), 0.9 * weight, steps + 1
    arena.step(left)
    found = monte_carlo(arena, start, lambda obs: left, 0.9, 1_000)
    assert found.steps == steps > 2
    assert found.value == pytest.approx(wanted, rel=1e-5)
    assert monte_carlo(arena, start, lambda obs: left, 0.9, 1).value == pytest.approx(
        1 - (float(start.obs[0]) - 0.2) / 2, rel=1e-5
    )


def test_a_simulator_that_gives_up_stops_the_rollout_and_nothing_else() -> None:
    arena = line(reward=float("nan")).open()
    start = Start(arena.reset(0), arena.snapshot() or {})
    found = monte_carlo(arena, start, lambda obs: np.zeros(1, np.float32), 0.9, 9)
    assert np.isnan(found.value) and found.steps == 0


def test_the_rewards_that_a_rollout_leaves_out_hardly_weigh() -> None:
    for discount in (0.5, 0.83, 0.99):
        assert (
            discount ** rollout_length(discount)
            <= module.TAIL
            < discount ** (rollout_length(discount) - 1)
        )


def test_meta_world_goes_on_beyond_its_time_limit() -> None:
    pytest.importorskip("metaworld")
    arena = find("metaworld/reach").open()
    start = Start(arena.reset(0), {})
    still = np.zeros(4, np.float32)
    cuts = [arena.step(still).truncated for _ in range(499)]
    start = Start(start.obs, arena.snapshot() or {})
    found = monte_carlo(arena, start, lambda obs: still, 0.99, 20)
    arena.close()
    assert not any(cuts) and found.steps == 20 and found.value > 0


# --- whose value is compared ---


def test_each_policy_acts_alone_and_the_estimate_is_the_planners() -> None:
    method, task = small(smec(20, 1.0)), line()
    loop = claiming(standing(method, task), 1.0, 2.0, 3.0)
    rows = accuracy(loop, method, task, TWO, 0)
    assert [row.policy for row in rows] == [0, 1, 2]
    assert [row.estimate for row in rows] == [1.0, 2.0, 3.0]
    start = Start(loop.obs, loop.arena.snapshot() or {})
    for row in rows[1:]:
        acts = TWO.alone(row.policy - 1)
        wanted = monte_carlo(
            task.open(), start, lambda obs, acts=acts: acts(obs[None])[0], row.discount, row.steps
        )
        assert row.realized == wanted.value


def test_the_larger_twin_at_the_target_is_what_the_planner_believes() -> None:
    method, task = small(smec(20, 1.0)), line()
    loop = claiming(standing(method, task), 1.0, 2.0, 3.0)
    low = jnp.array([[1.0, 2.0, 3.0], [4.0, 0.0, 3.5]])
    weights = [twin.body.layers[-1].weight for twin in loop.agent.target]
    twins = outputs(loop.agent.target, weights, low)
    loop.agent = replace(loop.agent, target=twins)
    assert [r.estimate for r in accuracy(loop, method, task, TWO, 0)] == [4.0, 2.0, 3.5]


def test_one_head_is_compared_with_the_task_policy_alone() -> None:
    method, task = small(replace(smec(20, 1.0), critic=SoftCritic())), line()
    rows = accuracy(standing(method, task), method, task, TWO, 0)
    assert [(row.policy, round(row.discount, 6)) for row in rows] == [(0, 0.99)]


def test_a_prior_that_says_nothing_has_no_value() -> None:
    method, task = small(smec(20, 1.0)), line()
    loop = standing(method, task)
    loop.advice.valid[0] = False
    assert [row.policy for row in accuracy(loop, method, task, TWO, 0)] == [0, 2]
    broken = replace(policy("p1", 1), biases=(np.full(8, np.inf, np.float32), np.zeros(2)))  # type: ignore[arg-type]
    rows = accuracy(loop, method, task, Priors([policy("p0", 0), broken]), 0)
    assert np.isnan(rows[1].realized) and rows[1].steps == 0


def test_the_task_policy_is_sampled_and_the_same_seed_gives_the_same_return() -> None:
    method, task = small(smec(20, 1.0)), line()
    loop = standing(method, task)
    one, two, other = (accuracy(loop, method, task, TWO, seed)[0] for seed in (0, 0, 1))
    assert one == two
    assert one.realized != other.realized
    once = replace(method, stochastic_priors=True)
    fixed, drawn = accuracy(loop, method, task, TWO, 0), accuracy(loop, once, task, TWO, 0)
    assert fixed[0].realized == drawn[0].realized and fixed[1].realized != drawn[1].realized


# --- in a run ---

OFTEN = replace(BRISK, value_states=4)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("priors")
    for i, name in enumerate(("left", "right")):
        save(folder / name, policy(name, i))
    return folder


def recipe(old: Path, schedule: Any = OFTEN) -> Run:
    records = resolve([str(old)]).records
    return Run("smec", small(smec(7, 1.0)), "toy/line", records, 4, 300, "small", schedule)


def play(run: Run, folder: Path, task: Task | None = None, **options: Any) -> None:
    execute(run, task or line(30), folder, tensorboard=False, **options)


@pytest.fixture(scope="module")
def compared(old: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared") / "run"
    play(recipe(old), folder)
    return folder


def test_training_is_the_same_to_the_last_bit_with_and_without(
    old: Path, compared: Path, tmp_path: Path
) -> None:
    play(recipe(old, BRISK), tmp_path / "run")
    assert digest(tmp_path / "run") == digest(compared)
    assert not (tmp_path / "run/values.csv").exists()


def test_looking_leaves_a_run_as_it_is() -> None:
    method, task = small(smec(20, 1.0)), line()
    loop = standing(method, task)
    before, knowledge = loop.arena.snapshot() or {}, leaves(loop.agent)
    accuracy(loop, method, task, TWO, 0)
    after = loop.arena.snapshot() or {}
    assert before.keys() == after.keys()
    assert all(before[name].tobytes() == after[name].tobytes() for name in before)
    assert all((a == b).all() for a, b in zip(knowledge, leaves(loop.agent), strict=True))
    assert not loop.faults.any


def test_a_stage_of_ones_own_stays_open_and_gives_the_same() -> None:
    method, task = small(smec(20, 1.0)), line()
    loop, stage = standing(method, task), Stage(task)
    rows = [accuracy(loop, method, where, TWO, 0) for where in (task, stage, stage)]
    assert rows[0] == rows[1] == rows[2]
    (kept,) = stage.arenas(1)
    assert stage.arenas(1) == [kept]
    stage.close()


def test_every_interval_has_its_states_and_every_state_all_heads(compared: Path) -> None:
    with (compared / "values.csv").open() as file:
        rows = list(csv.DictReader(file))
    steps = [int(row["step"]) for row in rows]
    wanted = sorted(s for i in range(3) for s in moments(4, OFTEN, i) if s >= 30)  # first update
    assert steps == [step for step in wanted for _ in range(3)]
    assert [row["policy"] for row in rows] == ["task", "left", "right"] * len(wanted)
    assert {row["policy"]: row["discount"] for row in rows} == {
        "task": "0.99", "left": f"{HybridCritic(horizon=7).gbar:.6g}",
        "right": f"{HybridCritic(horizon=7).gbar:.6g}",
    }  # fmt: skip
    assert all(step in Moments(4, OFTEN) for step in wanted)
    assert not any(step in Moments(4, BRISK) for step in wanted)


@pytest.mark.parametrize("step", [50, 150, 237])
def test_a_run_that_died_continues_to_the_same_comparisons(
    step: int, old: Path, compared: Path, tmp_path: Path
) -> None:
    with pytest.raises(Enough):
        play(recipe(old), tmp_path / "run", listener=cut_at(step))
    play(recipe(old), tmp_path / "run")
    assert (tmp_path / "run/values.csv").read_bytes() == (compared / "values.csv").read_bytes()
    assert digest(tmp_path / "run") == digest(compared)


class Secretive(Line):
    """Its state is in an object that nobody knows."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = object()


def test_what_cannot_be_captured_is_refused_before_anything_is_written(
    old: Path, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=r"'toy/line' .* value-states must be 0"):
        play(recipe(old), tmp_path / "run", Task("toy/line", 30, Secretive))
    assert not (tmp_path / "run").exists()


def test_more_states_than_steps_are_refused() -> None:
    with pytest.raises(UserError, match=r"value-states is 101; it must be at most evaluate-every"):
        replace(BRISK, value_states=101)
