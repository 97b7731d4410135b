"""Aggregates over runs, against rliable's numbers and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from reprise.findings.statistics import (
    area,
    difference_interval,
    forward_transfer,
    improvement_interval,
    improvement_p_value,
    iqm,
    iqm_interval,
    mean_std,
    probability_of_improvement,
    steps_to,
)

RLIABLE = json.loads((Path(__file__).parents[1] / "fixtures/rliable.json").read_text())


def strata(name: str) -> list[np.ndarray]:
    """One array of runs for each task, from rliable's runs x tasks."""
    return list(np.moveaxis(np.asarray(RLIABLE[name]), 1, 0))


def test_the_interquartile_mean_is_rliables() -> None:
    assert iqm(strata("better")) == pytest.approx(RLIABLE["iqm"], abs=1e-12)
    assert iqm(strata("curves")) == pytest.approx(RLIABLE["iqm_curve"], abs=1e-12)


def test_the_probability_of_improvement_is_rliables() -> None:
    found = probability_of_improvement(strata("better"), strata("worse"))
    assert found == pytest.approx(RLIABLE["improvement"], abs=1e-12)


def test_intervals_are_rliables_up_to_the_noise_of_resampling() -> None:
    rng = np.random.default_rng(0)
    alone = iqm_interval(strata("better"), rng, 5_000)
    pair = improvement_interval(strata("better"), strata("worse"), rng, 5_000)
    assert alone[1:] == pytest.approx(RLIABLE["iqm_interval"], abs=0.02)
    assert pair[1:] == pytest.approx(RLIABLE["improvement_interval"], abs=0.02)
    assert alone.low < alone.value < alone.high


def test_a_difference_is_averaged_over_tasks_whatever_their_numbers_of_runs() -> None:
    ours = [np.array([0.5, 0.7]), np.array([0.1, 0.2, 0.3, 0.2])]
    theirs = [np.array([0.2, 0.2]), np.array([0.4, 0.4])]
    found = difference_interval(ours, theirs, np.random.default_rng(0), 4_000)
    assert found.value == pytest.approx((0.4 - 0.2) / 2)
    rng = np.random.default_rng(1)
    draws = [
        np.mean([rng.choice(x, len(x)).mean() - rng.choice(y, len(y)).mean()
                 for x, y in zip(ours, theirs, strict=True)])
        for _ in range(4_000)
    ]  # fmt: skip
    assert found[1:] == pytest.approx(tuple(np.percentile(draws, (2.5, 97.5))), abs=0.01)


def test_a_p_value_counts_the_ways_in_which_runs_can_change_sides_within_their_task() -> None:
    high, low = np.array([5.0, 6.0, 7.0, 8.0]), np.array([1.0, 2.0, 3.0, 4.0])

    def p_value(runs: int, tasks: int) -> float:
        ours, theirs = [high[:runs]] * tasks, [low[:runs]] * tasks
        return improvement_p_value(ours, theirs, np.random.default_rng(0))

    by_hand = {(2, 1): 2 / 6, (3, 1): 2 / 20, (4, 1): 2 / 70, (2, 2): 2 / 6**2}
    for (runs, tasks), share in by_hand.items():
        assert p_value(runs, tasks) == pytest.approx(share, abs=0.015 if share > 0.1 else 0.009)
    mixed = [np.array([1.0, 4.0, 6.0]), np.array([2.0, 9.0])]
    other = [np.array([3.0, 5.0]), np.array([1.0, 7.0, 8.0])]
    assert improvement_p_value(mixed, mixed, np.random.default_rng(0)) == 1.0
    assert improvement_p_value(mixed, other, np.random.default_rng(0)) > 0.5


def test_the_same_generator_gives_the_same_interval_to_the_last_bit() -> None:
    once, twice, other = (
        iqm_interval(strata("better"), np.random.default_rng(seed), 100) for seed in (1, 1, 2)
    )
    assert once == twice
    assert once[1:] != other[1:]


def test_runs_are_redrawn_within_their_task() -> None:
    """Tasks differ, runs do not: without strata the interval would have a width."""
    found = iqm_interval([np.full(4, 0.0), np.full(4, 1.0)], np.random.default_rng(0), 50)
    assert found == (0.5, 0.5, 0.5)


def test_tasks_may_have_different_numbers_of_runs() -> None:
    ragged = [np.array([0.0, 0.2, 0.4]), np.array([1.0, 0.8])]
    assert iqm(ragged) == pytest.approx((0.2 + 0.4 + 0.8) / 3)
    found = iqm_interval(ragged, np.random.default_rng(0), 200)
    assert 0.0 <= found.low < found.high <= 1.0


def test_curves_get_an_interval_at_every_step() -> None:
    found = iqm_interval(strata("curves"), np.random.default_rng(0), 200)
    assert found.value.shape == found.low.shape == found.high.shape == (6,)
    assert (found.low <= found.high).all()


def test_one_run_of_a_task_has_no_interval() -> None:
    found = iqm_interval([np.array([0.3]), np.array([0.1, 0.5])], np.random.default_rng(0))
    assert found.value == pytest.approx(0.3)
    assert np.isnan([found.low, found.high]).all()


def test_mean_and_spread_are_over_runs() -> None:
    mean, std = mean_std(np.array([[0.0, 1.0], [1.0, 1.0]]))
    assert mean.tolist() == [0.5, 1.0]
    assert std.tolist() == [0.5, 0.0]


def test_steps_to_a_threshold() -> None:
    steps, values = np.array([10.0, 20.0, 30.0]), np.array([0.0, 0.9, 0.2])
    assert steps_to(steps, values, 0.9) == 20.0
    assert steps_to(steps, values, 0.95) is None
    assert steps_to(steps, np.full(3, np.nan), 0.5) is None


def test_the_area_under_a_curve_is_its_mean_height() -> None:
    steps = np.array([0.0, 10.0, 30.0])
    assert area(steps, np.array([0.0, 1.0, 1.0])) == pytest.approx((5 + 20) / 30)
    assert area(steps[:1], np.array([0.25])) == 0.25


def test_forward_transfer_is_the_share_of_what_was_left_to_gain() -> None:
    assert forward_transfer(0.75, 0.5) == 0.5
    assert forward_transfer(0.25, 0.5) == -0.5
    assert forward_transfer(1.0, 1.0) is None
