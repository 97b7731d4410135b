"""What suites found, as CSV files small enough to be kept beside the text that quotes them.

They outlive the runs: read back, they are on a page like runs, and a suite that is asked for its
results again makes only the runs that are not among them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from reprise.boundary import files
from reprise.boundary.errors import UserError
from reprise.findings import tables
from reprise.findings.gathered import COLUMNS_OF, HEAD, MILESTONES, Gathered, require_recipe, within
from reprise.suites import Suite, cell_name
from reprise.suites.record import KEPT, dump_kept, load_kept

WHO = ["task", "label", "seed"]
FACTS = ["method", "priors", "needs"]
SUMMARY = [*WHO, *FACTS, "recipe", "state", "steps", *MILESTONES, "seconds"]
WORDS = ("task", "label", *FACTS, "recipe", "state", "policy", "prior")
DIGITS = "%.8g"


def dump(found: Gathered, folder: Path) -> list[str]:
    """Write every table that has rows; their names. Only what is complete is a result.

    Switches and paths stay with the runs: too many.
    """
    found = within(found, found.cells["state"] == "complete")
    shown = {
        "summary": found.cells[SUMMARY],
        "curves": _told(found.curves),
        "use": _told(by_evaluation(found)),
        "zero_shot": _told(found.zero_shot),
        "values": _told(found.values),
    }
    some = {name: table for name, table in shown.items() if len(table)}
    files.make_folder(folder)
    files.write_json(folder / KEPT, dump_kept(found.suite))
    # The summary last: what it lists counts as kept, so the rest must be there.
    for name, table in reversed(some.items()):
        text = table.to_csv(index=False, float_format=DIGITS, lineterminator="\n")
        files.write_text(folder / f"{name}.csv", text)
    return list(some)


def load(folder: Path) -> Gathered:
    """What was kept, as if its runs were still there; of switches and paths there is no record."""
    suite, cells = load_kept(folder), _summary(folder / "summary.csv")
    cells["suites"] = suite["name"]
    facts = cells[list(HEAD)]
    found = {
        name: _table(folder / f"{name}.csv", name, facts) for name in COLUMNS_OF if name != "cells"
    }
    return Gathered(suite, cells[[*HEAD, *COLUMNS_OF["cells"]]], **found)


def known(folder: Path) -> bool:
    """Whether a folder holds results; tables that do not say whose they are must not be lost."""
    if (folder / KEPT).is_file():
        return True
    if (folder / "summary.csv").exists():
        raise UserError(f"{folder} has a summary.csv but no {KEPT}: choose another --results")
    return False


def missing(planned: Suite, folder: Path) -> Suite:
    """The part of a suite that is not yet among some results, and what that part needs."""
    kept = _complete_recipes(folder) if known(folder) else {}
    for cell in planned.cells:
        require_recipe(cell.name, kept.get(cell.name, ""), cell.run.id)
    wanted: set[str] = set()
    for cell in reversed(planned.cells):  # whoever is needed comes before who needs it
        if cell.name in wanted or kept.get(cell.name) != cell.run.id:
            wanted |= {cell.name, *cell.needs}
    return replace(planned, cells=tuple(cell for cell in planned.cells if cell.name in wanted))


def _complete_recipes(folder: Path) -> dict[str, str]:
    """The recipe of each cell that some results have to its end."""
    cells = _summary(folder / "summary.csv")
    over = cells[cells["state"] == "complete"]
    return dict(zip(over["cell"], over["recipe"], strict=True))


def _summary(path: Path) -> pd.DataFrame:
    cells = tables.read(path, SUMMARY, WORDS)
    cells = cells.dropna(subset=["seed", "steps"]).astype({"seed": int, "steps": int})
    names = map(cell_name, cells["task"], cells["label"], cells["seed"])
    step = cells["steps"].where(cells["state"] == "complete", 0)
    return cells.assign(cell=list(names), step=step, failure="")


def _table(path: Path, name: str, facts: pd.DataFrame) -> pd.DataFrame:
    """A table under the names of its cells; one whose cell is not in the summary is nobody's."""
    rows = tables.read(path, [*WHO, *COLUMNS_OF[name]], WORDS)
    return facts.merge(rows, on=WHO)[[*HEAD, *COLUMNS_OF[name]]]


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
