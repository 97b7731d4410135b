"""Which run of a suite to make next, so that its tables tell as much as they can at any time.

First one seed of everything; then further seeds, of those tasks before all others on which it is
open who is better: where the interval of a difference to the suite's first line includes zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from reprise.findings import statistics
from reprise.findings.gathered import Gathered, complete, judged_by
from reprise.findings.tables import numbers
from reprise.suites.launch import Job, Order
from reprise.suites.suite import Suite

Heights = dict[str, list[float]]
"""Of each line's curves on a task, one number per complete run."""
SEED = 0
ENOUGH = 2
"""Runs of a line from which there is an interval."""


class Standing(NamedTuple):
    """How far the comparison on a task has come; the open and the close ones sort first."""

    settled: bool
    gap: float
    """Between the first line and the one closest to it, as a share of the larger height."""


UNKNOWN = Standing(settled=False, gap=0.0)


def order(suite: Suite, found: Callable[[], Gathered]) -> Order:
    """The runs that wait, the most telling first, by what has been found until then."""
    cells = {cell.name: cell for cell in suite.cells}
    lines = list(dict.fromkeys(cell.label for cell in suite.cells))
    first = {}
    for cell in suite.cells:
        first[cell.run.task] = min(cell.run.seed, first.get(cell.run.task, cell.run.seed))

    def arrange(waiting: Sequence[Job]) -> Sequence[Job]:
        if len(waiting) < 2:
            return waiting
        stand = {task: standing(one, lines) for task, one in heights(found()).items()}

        def rank(job: Job) -> tuple[Any, ...]:
            run = cells[job.name].run
            known = stand.get(run.task, UNKNOWN)
            if run.seed == first[run.task]:
                return (0,)
            return (1, known.settled, run.seed, known.gap)

        return sorted(waiting, key=rank)

    return arrange


def heights(found: Gathered) -> dict[str, Heights]:
    """The mean height of each complete run's curve, by task and line."""
    over = complete(found)
    curves = found.curves[found.curves["cell"].isin(over)]
    result: dict[str, Heights] = {}
    for (task, label, _), rows in curves.groupby(["task", "label", "cell"], sort=False):
        column = judged_by(found.curves, str(task))
        height = statistics.area(numbers(rows, "step"), numbers(rows, column))
        result.setdefault(str(task), {}).setdefault(str(label), []).append(height)
    return result


def standing(heights: Heights, lines: Sequence[str]) -> Standing:
    """Whether each line's difference to the first one is known to be above or below zero."""
    ours, *others = (np.asarray(heights.get(line, ())) for line in lines)
    if not others or min(map(len, (ours, *others))) == 0:
        return UNKNOWN
    gaps = [_gap(ours, theirs) for theirs in others]
    return Standing(all(_clear(ours, theirs) for theirs in others), min(gaps))


def _gap(ours: statistics.Scores, theirs: statistics.Scores) -> float:
    largest = max(abs(ours).mean(), abs(theirs).mean())
    return float(abs(ours.mean() - theirs.mean()) / largest) if largest else 0.0


def _clear(ours: statistics.Scores, theirs: statistics.Scores) -> bool:
    if min(len(ours), len(theirs)) < ENOUGH:
        return False
    rng = np.random.default_rng(SEED)
    interval = statistics.difference_interval([ours], [theirs], rng)
    return not interval.low <= 0.0 <= interval.high
