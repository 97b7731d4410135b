"""Tasks in a row: one curve through all of them, and how much reuse added to each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reprise.atlas import curves
from reprise.atlas.chart import Bars, Group, Line, Lines, Numbers, Panel, Table
from reprise.atlas.curvetables import Bundle
from reprise.gather import Gathered, forward_transfers
from reprise.report.palette import INK
from reprise.report.tables import numbers


def panel(found: Gathered) -> Panel | None:
    """Tasks in a row: one curve through all of them, and what reuse added."""
    if not found.cells["needs"].astype(bool).any() or found.curves.empty:
        return None
    table = forward_transfers(found.curves, found.cells)
    ink = curves.paint(found)
    row = list(dict.fromkeys(str(task) for task in found.cells["task"]))
    some = {(b.label, b.task): b for b in curves.bundles(found)}
    begins = np.cumsum([0.0, *(_budget(found, task) for task in row)])
    lines = tuple(_through(label, row, begins, some, ink[label]) for label in ink)
    charts: list[Lines | Bars] = [
        Lines("One task after another: " + ", ".join(row), lines,
              "training step since the first task began", marks=tuple(begins[1:-1]))
    ]  # fmt: skip
    if len(table):
        charts.append(_gains(table, row, ink))
    tables = (Table("forward-transfer", "Forward transfer", table),) if len(table) else ()
    return Panel("continual", "Tasks in a row", CONTINUAL, {"": tuple(charts)}, tables)


CONTINUAL = (
    "Each task is learned by a new agent whose priors are the policies of all tasks before it; "
    "Scratch learns the same task alone. Forward transfer is (area - area of Scratch) / (1 - area "
    "of Scratch), where the area is the mean height of the success curve: 0 is no help, 100 % all "
    "there was to gain. Its bars are means and standard deviations over seeds."
)


def _budget(found: Gathered, task: str) -> float:
    return float(found.cells.loc[found.cells["task"] == task, "steps"].max())


def _through(
    label: str, row: Sequence[str], begins: Numbers, some: dict[Any, Bundle], color: str
) -> Line:
    """A line's curves one behind the other, with gaps where a task is missing or ends."""
    parts = [(some[label, t], begin) for t, begin in zip(row, begins, strict=False)
             if (label, t) in some]  # fmt: skip
    lines = [curves.spread(bundle, label, color) for bundle, _ in parts]
    gap, shift = np.array([np.nan]), [begin for _, begin in parts]
    x = [np.append(line.x + begin, gap) for line, begin in zip(lines, shift, strict=True)]
    y, low, high = (
        np.concatenate([np.append(getattr(line, field), gap) for line in lines] or [gap])
        for field in ("y", "low", "high")
    )
    return Line(label, color, np.concatenate(x or [gap]), y, low, high)


def _gains(table: pd.DataFrame, row: Sequence[str], ink: dict[str, str]) -> Bars:
    groups: list[Group] = []
    for label, own in table.groupby("method", sort=False):
        by_task = {str(task): numbers(rows, "transfer") for task, rows in own.groupby("task")}
        known = {task: values[~np.isnan(values)] for task, values in by_task.items()}
        blank = np.array([np.nan])
        filled = [known[t] if t in known and len(known[t]) else blank for t in row]
        mean, std = np.array([v.mean() for v in filled]), np.array([v.std() for v in filled])
        groups.append(Group(str(label), ink.get(str(label), INK), mean, std))
    return Bars("Forward transfer", tuple(row), tuple(groups), "forward transfer")
