"""What a suite found, as CSV files small enough to be kept beside the text that quotes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from reprise import files
from reprise.gather import MILESTONES, Gathered, gather

WHO = ["task", "label", "seed"]
SUMMARY = [*WHO, "method", "priors", "state", "steps", *MILESTONES, "seconds"]
DIGITS = "%.8g"


def write(suite: Path, folder: Path) -> list[str]:
    """Write every table that has rows; their names. Switches stay with the runs: too many."""
    found = gather(suite)
    tables = {
        "summary": found.cells[SUMMARY],
        "curves": _told(found.curves),
        "use": _told(by_evaluation(found)),
        "zero_shot": _told(found.zero_shot),
        "values": _told(found.values),
    }
    some = {name: table for name, table in tables.items() if len(table)}
    files.make_folder(folder)
    for name, table in some.items():
        text = table.to_csv(index=False, float_format=DIGITS, lineterminator="\n")
        files.write_text(folder / f"{name}.csv", text)
    return list(some)


def _told(table: pd.DataFrame) -> pd.DataFrame:
    """The rest of who it was is in the summary."""
    dropped = ("cell", "method", "priors")
    return table[[*WHO, *(c for c in table.columns if c not in (*WHO, *dropped))]]


def by_evaluation(found: Gathered) -> pd.DataFrame:
    """Shares and values, averaged over the rows between one evaluation and the next."""
    ends = {cell: rows["step"].to_numpy() for cell, rows in found.curves.groupby("cell")}
    parts: list[pd.DataFrame] = []
    for cell, rows in found.use.groupby("cell", sort=False):
        marks = ends.get(cell, np.array([]))
        place = np.searchsorted(marks, rows["step"].to_numpy())
        whole = place < len(marks)  # the last interval of a running suite is not over
        parts.append(rows[whole].assign(step=marks[place[whole]]))
    if not parts:
        return found.use
    stacked = pd.concat(parts, ignore_index=True)
    keys = [name for name in stacked.columns if name not in ("share", "value")]
    return stacked.groupby(keys, sort=False, as_index=False)[["share", "value"]].mean()
