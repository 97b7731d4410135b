"""Are the values right: what critics promise beside what comes of it, where that is recorded."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd

from reprise.atlas.chart import Line, Lines, Panel, Table
from reprise.atlas.use import name_of, paint, shown
from reprise.gather import Gathered
from reprise.report.palette import INK, TASK

FILE = "values.csv"
"""In a run folder: each head's estimate beside the return from the same state."""

STAGES = 20
"""Points along training to which comparisons are rounded: each state is compared only once."""


def panel(found: Gathered, folder: Path) -> Panel | None:
    """At episode starts for the task policy, and from visited states for every head."""
    charts = [*_starts(found)]
    tables: list[Table] = []
    if charts:
        keys = ["task", "label", "step"]
        columns = ["value_start", "return_discounted"]
        means = found.curves.groupby(keys, sort=False)[columns].mean().dropna().reset_index()
        tables.append(Table("promises", "At the start of evaluation episodes", means))
    compared = _compared(found, folder)
    if len(compared):
        charts += _heads(compared, found)
        tables.append(Table("value-accuracy", "From visited states", compared))
    if not charts:
        return None
    return Panel("values", "Are the values right?", CAPTION, {"": tuple(charts)}, tuple(tables))


CAPTION = (
    "The critic's promise beside the discounted return that came of it, means over seeds: a "
    "promise above the return is over-estimation. At episode starts the task policy is judged; "
    "where runs recorded values.csv, every head is, from states that training visited (dashed: "
    "what came of it)."
)


def _starts(found: Gathered) -> list[Lines]:
    rows = found.curves.dropna(subset=["value_start", "return_discounted"])
    pairs = shown(rows) if len(rows) else []
    charts: list[Lines] = []
    for task, label in pairs:
        own = rows[(rows["task"] == task) & (rows["label"] == label)]
        mean = own.groupby("step")[["value_start", "return_discounted"]].mean()
        x, claimed, came = mean.index.to_numpy(np.float64), *mean.to_numpy(np.float64).T
        lines = (Line("promised", TASK, x, claimed), Line("realized", INK, x, came, dashed=True))
        charts.append(Lines(name_of(task, label, pairs), lines, share=False))
    return charts


def _compared(found: Gathered, folder: Path) -> pd.DataFrame:
    """Means of each policy's estimate and return at each step, over seeds and states."""
    parts: list[pd.DataFrame] = []
    for cell in found.suite["cells"]:
        path = folder / cell["run"] / FILE
        if path.is_file():
            facts = {name: cell[name] for name in ("task", "label", "method")}
            parts.append(_read(path, float(cell["steps"])).assign(**facts))
    if not parts:
        return pd.DataFrame()
    keys = ["task", "label", "method", "policy", "step"]
    return pd.concat(parts).groupby(keys, sort=False)[["estimate", "realized"]].mean().reset_index()


def _read(path: Path, steps: float) -> pd.DataFrame:
    """The whole lines of a file that may be growing, their steps rounded up to a stage."""
    written = path.read_text(encoding="utf-8")
    whole = written[: written.rfind("\n") + 1] or "step,policy,estimate,realized\n"
    table = pd.read_csv(StringIO(whole), dtype={"policy": str}, keep_default_na=False)
    for name in ("step", "estimate", "realized"):
        table[name] = pd.to_numeric(table[name], errors="coerce").astype(np.float64)
    width = max(1.0, steps / STAGES)
    return table.assign(step=np.ceil(table["step"] / width) * width)


def _heads(compared: pd.DataFrame, found: Gathered) -> list[Lines]:
    ink = paint(found)
    charts: list[Lines] = []
    for (task, label), own in compared.groupby(["task", "label"], sort=False):
        lines: list[Line] = []
        for policy, rows in own.groupby("policy", sort=False):
            x, claimed, came = rows[["step", "estimate", "realized"]].to_numpy(np.float64).T
            color = ink.get(str(policy), INK)
            lines += [Line(str(policy), color, x, claimed),
                      Line(f"{policy}, realized", color, x, came, dashed=True)]  # fmt: skip
        charts.append(Lines(f"{task}: heads of {label}", tuple(lines), share=False))
    return charts
