"""Learning curves of a suite: several seeds as one curve, several tasks as one curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd

from reprise.findings import statistics
from reprise.findings.gathered import Gathered, judged_by
from reprise.pages.chart import Chart, Line, Lines, Numbers, Panel, Table
from reprise.pages.palette import run_colors
from reprise.pages.suite import references

POINTS = 41
"""Places along training at which runs of different tasks are brought together."""
REPS = 400
"""Resamples of the interval around an interquartile mean: many curves, each at every step."""
SEED = 0


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


def paint(found: Gathered) -> dict[str, str]:
    """One color for each line of the suite, in the order of its cells."""
    return run_colors([str(label) for label in found.cells["label"]])


def kind(found: Gathered) -> str:
    """What the lines of a suite differ in."""
    return "method" if found.cells["label"].eq(found.cells["method"]).all() else "setting"


def bundles(found: Gathered, measure: str = "") -> list[Bundle]:
    """Finished runs, or while there is none all that have begun, up to where the last one is.

    `measure` is a column of evaluations; without it, what each task is judged by.
    """
    complete = set(found.cells.loc[found.cells["state"] == "complete", "cell"])
    budget = dict(zip(found.cells["cell"], found.cells["steps"], strict=True))
    result: list[Bundle] = []
    for (task, label), rows in found.curves.groupby(["task", "label"], sort=False):
        column = measure or judged_by(found.curves, str(task))
        known = rows.dropna(subset=[column])
        over = known[known["cell"].isin(complete)]
        table = (over if len(over) else known).pivot_table(
            index="step", columns="cell", values=column, sort=True
        )
        shared = table.dropna()
        if len(shared):
            steps, runs = shared.index.to_numpy(np.float64), shared.to_numpy(np.float64).T
            last = max(float(budget[cell]) for cell in shared.columns)
            result.append(Bundle(str(task), str(label), steps, runs, last, bool(len(over))))
    return result


def spread(bundle: Bundle, name: str, color: str) -> Line:
    """Mean and standard deviation, as in the paper."""
    mean, std = statistics.mean_std(bundle.runs)
    return Line(name, color, bundle.steps, mean, mean - std, mean + std)


def middle(bundle: Bundle, name: str, color: str) -> Line:
    """The interquartile mean with its bootstrap interval."""
    return _middle([bundle.runs], bundle.steps, name, color)


def _middle(strata: Sequence[Numbers], x: Numbers, name: str, color: str) -> Line:
    rng = np.random.default_rng(SEED)
    value, low, high = statistics.iqm_interval(strata, rng, REPS)
    return Line(name, color, x, np.asarray(value), np.asarray(low), np.asarray(high))


def together(some: Sequence[Bundle]) -> list[Together]:
    """Each line over the tasks that every line has begun, up to where all of them are."""
    labels = list(dict.fromkeys(bundle.label for bundle in some))
    tasks = {label: {b.task for b in some if b.label == label} for label in labels}
    shared = set.intersection(*tasks.values()) if tasks else set[str]()
    result: list[Together] = []
    for label in labels:
        own = [b for b in some if b.label == label and b.task in shared]
        first = max((b.steps[0] / b.budget for b in own), default=1.0)
        last = min((b.steps[-1] / b.budget for b in own), default=0.0)
        x = np.linspace(0.0, 1.0, POINTS)
        x = x[(x >= first - 1e-9) & (x <= last + 1e-9)]
        if len(own) and len(x):
            result.append(Together(label, x, [_at(bundle, x) for bundle in own]))
    return result


def _at(bundle: Bundle, x: Numbers) -> Numbers:
    return np.stack([np.interp(x * bundle.budget, bundle.steps, run) for run in bundle.runs])


def panel(found: Gathered) -> Panel | None:
    """Curves of all tasks together and of each task, by mean or by interquartile mean."""
    some, ink = bundles(found), paint(found)
    if not some:
        return None
    judged = [b for b in some if judged_by(found.curves, b.task) == "success_any"]
    everyone = together(judged)
    several = bool(everyone) and len(everyone[0].strata) > 1
    views = {
        MEAN: [spread(b, b.label, ink[b.label]) for b in some],
        MIDDLE: [middle(b, b.label, ink[b.label]) for b in some],
    }
    whole = {
        MEAN: [_mean(t, ink[t.label]) for t in everyone],
        MIDDLE: [_middle(t.strata, t.x, t.label, ink[t.label]) for t in everyone],
    }
    beside = {b.task: references.lines(b.task, b.budget) for b in judged} if _main(found) else {}
    charts: dict[str, tuple[Chart, ...]] = {
        name: (*([_aggregate(whole[name], everyone)] if several else []),
               *by_task(some, lines, {bundle.task for bundle in judged}, beside))
        for name, lines in views.items()
    }  # fmt: skip
    tables = (_table_by_task(some, views),)
    if several:
        tables += (_table_of_all(everyone, whole),)
    caption = f"{CAPTION} {references.CAPTION}" if any(beside.values()) else CAPTION
    return Panel("learning", "Learning curves", caption, charts, tables)


def _main(found: Gathered) -> bool:
    """Whether this is about the paper's tasks, and not about settings of one method."""
    return references.SUITE in str(found.suite["name"]).split(", ")


MEAN, MIDDLE = "Mean ± standard deviation", "Interquartile mean, 95 % interval"
CAPTION = (
    "Success of the task policy on its own, without priors, in evaluations during training. Each "
    "curve is over the seeds whose runs are complete or, as long as there are none, over all that "
    "have begun, up to the step that all of them have reached. The band is one standard deviation "
    "over runs on either side, as in the paper, cut off at 0 and 100 %; or it is the 95 % interval "
    f"of the interquartile mean, from {REPS} stratified bootstrap resamples of the runs."
)


def _mean(one: Together, color: str) -> Line:
    mean, std = statistics.mean_std(one.whole)
    return Line(one.label, color, one.x, mean, mean - std, mean + std)


def _aggregate(lines: Sequence[Line], everyone: Sequence[Together]) -> Lines:
    runs = _runs([len(one.whole) for one in everyone])
    title = f"{len(everyone[0].strata)} tasks together, {runs}"
    return Lines(title, tuple(lines), along="share of training")


def _runs(counts: Sequence[int]) -> str:
    """How many runs are behind a curve."""
    low, high = min(counts), max(counts)
    return f"{low} run{'s' * (low != 1)} each" if low == high else f"{low} to {high} runs each"


def by_task(
    some: Sequence[Bundle],
    lines: Sequence[Line],
    shares: set[str],
    beside: Mapping[str, Sequence[Line]] = MappingProxyType({}),
) -> list[Lines]:
    """A chart for each task; on those in `shares` success was measured, on others the return.

    `beside` are further lines by task, which are not of this suite.
    """
    pairs = list(zip(some, lines, strict=True))
    result: list[Lines] = []
    for task in dict.fromkeys(bundle.task for bundle in some):
        share = task in shares
        own = [(bundle, line) for bundle, line in pairs if bundle.task == task]
        title = f"{task}, {_runs([len(bundle.runs) for bundle, _ in own])}"
        upward = "success" if share else "return per episode"
        lines_of_task = (*(line for _, line in own), *beside.get(task, ()))
        result.append(Lines(title, lines_of_task, upward=upward, share=share))
    return result


def _table_by_task(some: Sequence[Bundle], views: dict[str, list[Line]]) -> Table:
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


def _table_of_all(everyone: Sequence[Together], views: dict[str, list[Line]]) -> Table:
    """One row per line and share of training."""
    mean, iqm = views.values()
    parts = [
        _columns(a, b).assign(label=one.label, tasks=len(one.strata), runs=len(one.whole))
        for one, a, b in zip(everyone, mean, iqm, strict=True)
    ]
    table = pd.concat(parts, ignore_index=True).rename(columns={"x": "share_of_training"})
    columns = ["label", "tasks", "runs", "share_of_training", *STATISTICS]
    return Table("curves-all-tasks", "All tasks together", table[columns])
