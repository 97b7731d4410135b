"""Are the values right: what critics promise beside what comes of it, where that is recorded."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.findings.tables import numbers
from reprise.pages.canvas import policy_label
from reprise.pages.chart import Line, Lines, Numbers, Panel, Table
from reprise.pages.palette import INK, TASK
from reprise.pages.suite.use import name_of, paint, shown

PROMISED, REALIZED = "promised at episode starts", "realized"
STAGES = 20
"""Points along training to which comparisons are rounded: each state is compared only once."""


def panel(found: Gathered) -> Panel | None:
    """At episode starts for the task policy, and from visited states for every head."""
    charts = [*_starts(found)]
    tables: list[Table] = []
    if charts:
        keys = ["task", "label", "step"]
        columns = ["value_start", "return_discounted"]
        means = found.curves.groupby(keys, sort=False)[columns].mean().dropna().reset_index()
        tables.append(Table("promises", "At the start of evaluation episodes", means))
    compared = _compared(found)
    if len(compared):
        charts += _heads(compared, found)
        tables.append(Table("value-accuracy", "From visited states", compared))
    if not charts:
        return None
    return Panel("values", "Are the values right?", CAPTION, {"": tuple(charts)}, tuple(tables))


CAPTION = (
    "The critic's promise (solid) beside the discounted return that came of it (dashed), means "
    "over seeds: a promise above the return is over-estimation. At episode starts the task policy "
    "is judged; where runs recorded values.csv, every head is, by its own discount, from states "
    "that training visited. In the table, the error is the mean distance of the two, state by "
    "state: means of both may agree where no single promise is right."
)
UPWARD = "discounted return"


def _starts(found: Gathered) -> list[Lines]:
    rows = found.curves.dropna(subset=["value_start", "return_discounted"])
    pairs = shown(rows) if len(rows) else []
    charts: list[Lines] = []
    for task, label in pairs:
        own = rows[(rows["task"] == task) & (rows["label"] == label)]
        mean = own.groupby("step")[["value_start", "return_discounted"]].mean()
        x, claimed, came = mean.index.to_numpy(np.float64), *mean.to_numpy(np.float64).T
        lines = (Line(PROMISED, TASK, x, claimed), Line(REALIZED, INK, x, came, dashed=True))
        title = f"{name_of(task, label, pairs)}, episode starts"
        charts.append(Lines(title, lines, upward=UPWARD, share=False))
    return charts


def _compared(found: Gathered) -> pd.DataFrame:
    """Means of each policy's estimate, return and error at each stage, over seeds and states."""
    budget = dict(zip(found.cells["cell"], found.cells["steps"], strict=True))
    steps = np.array([float(budget[cell]) for cell in found.values["cell"]])
    width = np.maximum(1.0, steps / STAGES)
    staged = found.values.assign(step=np.ceil(numbers(found.values, "step") / width) * width)
    keys, columns = ["task", "label", "method", "policy", "step"], ["estimate", "realized", "error"]
    off = staged.assign(error=_off(staged))
    return off.groupby(keys, sort=False)[columns].mean().reset_index()


def _heads(compared: pd.DataFrame, found: Gathered) -> list[Lines]:
    """A chart for each head: its promise in its policy's color."""
    ink, pairs = paint(found), shown(compared)
    charts: list[Lines] = []
    for (task, label, policy), rows in compared.groupby(["task", "label", "policy"], sort=False):
        if (task, label) not in pairs:
            continue
        x, claimed, came = rows[["step", "estimate", "realized"]].to_numpy(np.float64).T
        lines = (Line(str(policy), ink.get(str(policy), INK), x, claimed),
                 Line(REALIZED, INK, x, came, dashed=True))  # fmt: skip
        title = f"{task}: {policy_label(str(policy))} of {label}"
        charts.append(Lines(title, lines, upward=UPWARD, share=False))
    return charts


def relative_errors(found: Gathered) -> dict[str, dict[str, Numbers]]:
    """By line and task, for each complete run: the error of the priors' heads over the returns."""
    done = found.cells.loc[found.cells["state"].eq("complete"), "cell"]
    priors = found.values[found.values["cell"].isin(done) & ~found.values["policy"].eq("task")]
    known = priors.dropna(subset=["estimate", "realized"])
    # Each state by itself: too high here and too low there is not right on average.
    sizes = known.assign(off=_off(known), size=known["realized"].abs())
    sums = sizes.groupby(["label", "task", "cell"], sort=False)[["off", "size"]].sum()
    sums = sums[sums["size"] > 0]
    errors: dict[str, dict[str, Numbers]] = {}
    for (label, task), runs in (sums["off"] / sums["size"]).groupby(["label", "task"], sort=False):
        errors.setdefault(str(label), {})[str(task)] = runs.to_numpy(np.float64)
    return errors


def _off(values: pd.DataFrame) -> pd.Series:
    return (values["estimate"] - values["realized"]).abs()
