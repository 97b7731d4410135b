"""What several runs say together: aggregates with intervals, all from one explicit generator.

Scores come as strata, one array per task with its runs along the first axis: tasks may have
different numbers of runs, as in a suite that is not finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Scores = NDArray[np.float64]
REPS = 2_000
SHUFFLES = 10_000
BATCH = 200
"""Resamples at a time: bounds the memory, not the result."""


class Estimate(NamedTuple):
    """A number, or one per step of a curve, and the interval of 95 % around it."""

    value: Any
    low: Any
    high: Any


def mean_std(scores: Scores) -> tuple[Any, Any]:
    """The paper's summary: mean and standard deviation over runs."""
    return scores.mean(axis=0), scores.std(axis=0)


def iqm(strata: Sequence[Scores]) -> Any:
    """The interquartile mean over all runs of all tasks: the middle half, averaged."""
    return _middle(*strata, axis=0)


def _middle(*samples: Scores, axis: int) -> Any:
    return stats.trim_mean(np.concatenate(samples, axis), 0.25, axis=axis)


def iqm_interval(strata: Sequence[Scores], rng: np.random.Generator, reps: int = REPS) -> Estimate:
    """The interquartile mean with its stratified bootstrap interval: runs redrawn task by task."""
    return Estimate(iqm(strata), *_interval(strata, _middle, rng, reps))


def probability_of_improvement(ours: Sequence[Scores], theirs: Sequence[Scores]) -> float:
    """How likely a run of ours beats one of theirs on a task drawn at random; ties count half."""
    return float(_wins(*ours, *theirs, axis=0))


def improvement_interval(
    ours: Sequence[Scores], theirs: Sequence[Scores], rng: np.random.Generator, reps: int = REPS
) -> Estimate:
    """The probability of improvement with its stratified bootstrap interval."""
    value = probability_of_improvement(ours, theirs)
    return Estimate(value, *map(float, _interval([*ours, *theirs], _wins, rng, reps)))


def difference_interval(
    ours: Sequence[Scores], theirs: Sequence[Scores], rng: np.random.Generator, reps: int = REPS
) -> Estimate:
    """Ours minus theirs, averaged over tasks, with its stratified bootstrap interval."""
    value = float(_difference(*ours, *theirs, axis=0))
    return Estimate(value, *map(float, _interval([*ours, *theirs], _difference, rng, reps)))


def improvement_p_value(
    ours: Sequence[Scores], theirs: Sequence[Scores], rng: np.random.Generator, reps: int = SHUFFLES
) -> float:
    """How often runs that change sides at random, task by task, are as far from an even match."""
    pooled = [np.concatenate(pair) for pair in zip(ours, theirs, strict=True)]
    mixed = [rng.permuted(np.tile(runs, (reps, 1)), axis=1) for runs in pooled]
    first = [runs[:, : len(own)] for runs, own in zip(mixed, ours, strict=True)]
    second = [runs[:, len(own) :] for runs, own in zip(mixed, ours, strict=True)]
    seen = abs(probability_of_improvement(ours, theirs) - 0.5)
    # What was seen is itself one of the shuffles, so that no p-value is zero.
    as_far = np.abs(_wins(*first, *second, axis=1) - 0.5) >= seen - 1e-9
    return float((1 + as_far.sum()) / (1 + reps))


def _wins(*samples: Scores, axis: int) -> Any:
    """The first half of the samples against the second, task by task."""
    return np.mean([_beats(*pair, axis) for pair in _opponents(samples)], axis=0)


def _difference(*samples: Scores, axis: int) -> Any:
    """How much higher the first half of the samples is than the second, task by task."""
    return np.mean([x.mean(axis) - y.mean(axis) for x, y in _opponents(samples)], axis=0)


def _opponents(samples: Sequence[Scores]) -> list[tuple[Scores, Scores]]:
    half = len(samples) // 2
    return list(zip(samples[:half], samples[half:], strict=True))


def _beats(x: Scores, y: Scores, axis: int) -> Any:
    """Mann and Whitney's U over the number of pairs."""
    x, y = np.moveaxis(x, axis, -1)[..., :, None], np.moveaxis(y, axis, -1)[..., None, :]
    return ((x > y) + 0.5 * (x == y)).mean(axis=(-2, -1))


def _interval(
    strata: Sequence[Scores], statistic: Any, rng: np.random.Generator, reps: int
) -> tuple[Any, Any]:
    """Percentile interval; not a number where some task has one run, which says nothing of it."""
    if min(len(runs) for runs in strata) < 2:
        blank = np.full_like(statistic(*strata, axis=0), np.nan)
        return blank, blank
    found = stats.bootstrap(
        tuple(strata), statistic, n_resamples=reps, batch=BATCH, axis=0, vectorized=True,
        method="percentile", rng=rng,
    )  # fmt: skip
    return found.confidence_interval.low, found.confidence_interval.high


def steps_to(steps: Scores, values: Scores, threshold: float) -> float | None:
    """Sample efficiency: the first step at which a curve reaches a threshold, if it ever does."""
    reached = steps[values >= threshold]
    return float(reached[0]) if reached.size else None


def area(steps: Scores, values: Scores) -> float:
    """The mean height of a curve, by trapezoids; a single point is its own height."""
    if len(steps) == 1:
        return float(values[0])
    return float(np.trapezoid(values, steps) / (steps[-1] - steps[0]))


def forward_transfer(reusing: float, scratch: float) -> float | None:
    """(AUC - AUC of Scratch) / (1 - AUC of Scratch); nothing is left to gain where that is 1."""
    return (reusing - scratch) / (1.0 - scratch) if scratch < 1.0 else None
