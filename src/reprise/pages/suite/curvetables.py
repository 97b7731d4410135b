"""Several runs at the same steps, and their curves as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from reprise.pages.chart import Line, Numbers, Table


class Bundle(NamedTuple):
    """The runs of one line on one task, at the same steps."""

    task: str
    label: str
    steps: Numbers
    runs: Numbers
    """One row per run."""
    budget: float
    complete: bool
    """Whether every run came to its end: others may be drawn, but not compared."""


class Together(NamedTuple):
    """One line of the suite over all its tasks, along shares of training."""

    label: str
    x: Numbers
    strata: list[Numbers]

    @property
    def whole(self) -> Numbers:
        """All runs of all tasks."""
        return np.concatenate(self.strata)


def by_task(some: Sequence[Bundle], views: dict[str, list[Line]]) -> Table:
    """One row per task, line and step."""
    mean, iqm = views.values()
    parts = [
        _columns(a, b).assign(task=bundle.task, label=bundle.label, runs=len(bundle.runs))
        for bundle, a, b in zip(some, mean, iqm, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True).rename(columns={"x": "step"})
    return Table("curves", "Each task", table[["task", "label", "runs", "step", *STATISTICS]])


STATISTICS = ("mean", "std", "iqm", "iqm_low", "iqm_high")


def _columns(mean: Line, iqm: Line) -> pd.DataFrame:
    assert mean.high is not None
    std = mean.high - mean.y
    values = (mean.y, std, iqm.y, iqm.low, iqm.high)
    return pd.DataFrame({"x": mean.x, **dict(zip(STATISTICS, values, strict=True))})


def all_tasks(everyone: Sequence[Together], views: dict[str, list[Line]]) -> Table:
    """One row per line and share of training."""
    mean, iqm = views.values()
    parts = [
        _columns(a, b).assign(label=one.label, tasks=len(one.strata), runs=len(one.whole))
        for one, a, b in zip(everyone, mean, iqm, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True).rename(columns={"x": "share_of_training"})
    columns = ["label", "tasks", "runs", "share_of_training", *STATISTICS]
    return Table("curves-all-tasks", "All tasks together", table[columns])
