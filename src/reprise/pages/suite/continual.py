"""Tasks in a row: one curve through all of them, and how much reuse added to each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reprise.findings.gather import forward_transfers
from reprise.findings.gathered import Gathered, within
from reprise.findings.tables import numbers
from reprise.pages.chart import Bars, Group, Line, Lines, Numbers, Panel, Table
from reprise.pages.palette import INK
from reprise.pages.suite import curves
from reprise.pages.suite.curves import Bundle


def panel(found: Gathered) -> Panel | None:
    """Tasks in a row: one curve through all of them, and what reuse added."""
    rows, ink = rows_of_tasks(found.cells), curves.paint(found)
    parts = [_part(found, row) for row in rows]
    if all(part.curves.empty for part in parts):
        return None
    gains = [forward_transfers(part.curves, part.cells) for part in parts]
    charts: list[Lines | Bars] = []
    for row, part, gain in zip(rows, parts, gains, strict=True):
        charts += [_curve(part, row, ink), *([_gains(gain, row, ink)] if len(gain) else [])]
    table = pd.concat(gains).drop_duplicates(ignore_index=True)  # rows may begin alike
    tables = (Table("forward-transfer", "Forward transfer", table),) if len(table) else ()
    return Panel("continual", "Tasks in a row", CONTINUAL, {"": tuple(charts)}, tables)


def rows_of_tasks(cells: pd.DataFrame) -> list[tuple[str, ...]]:
    """Each row in the order it is learned: the tasks that a cell needs, and its own at the end."""
    task_of = dict(zip(cells["cell"], map(str, cells["task"]), strict=True))
    found = dict.fromkeys(
        (*(task_of[need] for need in str(needs).split() if need in task_of), task_of[name])
        for name, needs in zip(cells["cell"], cells["needs"], strict=True) if needs
    )  # fmt: skip
    # Whoever learns the third task has learned the second before: that is no row of its own.
    shorter = {row[:length] for row in found for length in range(len(row))}
    return [row for row in found if row not in shorter]


def _part(found: Gathered, row: Sequence[str]) -> Gathered:
    """The lines that learn a row, and Scratch beside them."""
    cells = found.cells
    growing = set(cells.loc[cells["needs"].astype(bool), "label"]) | {"scratch"}
    return within(found, cells["task"].isin(row) & cells["label"].isin(growing))


def _curve(part: Gathered, row: Sequence[str], ink: dict[str, str]) -> Lines:
    some = {(b.label, b.task): b for b in curves.bundles(part)}
    begins = np.cumsum([0.0, *(_budget(part, task) for task in row)])
    lines = tuple(_through(n, row, begins, some, ink[n]) for n in curves.paint(part))
    return Lines("One task after another: " + ", ".join(row), lines,
                 "training step since the first task began", marks=tuple(begins[1:-1]))  # fmt: skip


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
        mean = np.array([v.mean() for v in filled])
        std = np.array([v.std() if len(v) > 1 else np.nan for v in filled])
        groups.append(Group(str(label), ink.get(str(label), INK), mean, std))
    return Bars("Forward transfer", tuple(row), tuple(groups), "forward transfer")
