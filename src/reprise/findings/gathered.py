"""What suites and runs found, as tidy tables: the one thing that reports and results know."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from reprise.boundary.errors import UserError
from reprise.runs.schema import EVAL, SWITCHES, TRACKS, VALUES

HEAD = ("cell", "label", "method", "task", "seed", "priors")
"""The first columns of every table: which cell a row belongs to."""
MILESTONES = (
    "final_success", "final_sampled", "best_success", "final_return", "first_success",
    "steps_to_90", "prior_use_early", "prior_use_late",
)  # fmt: skip
COLUMNS_OF = {
    "cells": ("recipe", "steps", "state", "step", "seconds", "needs", "suites", "failure",
              *MILESTONES),
    "curves": EVAL.single,
    "use": ("step", "policy", "share", "value"),
    "switches": SWITCHES.single,
    "zero_shot": ("prior", "success_any", "success_last", "return_mean"),
    "values": VALUES.single,
    "tracks": TRACKS.single,
}  # fmt: skip


class Gathered(NamedTuple):
    """Everything that was produced so far; every table begins with the columns of HEAD."""

    suite: dict[str, Any]
    """Name, title and scale, of several suites together."""
    cells: pd.DataFrame
    """One row per cell: state (waiting, running, interrupted, complete, failed), milestones."""
    curves: pd.DataFrame
    """One row per evaluation, as in eval.csv."""
    use: pd.DataFrame
    """One row per log interval and policy: the share of steps it acted, its mean value."""
    switches: pd.DataFrame
    """One row per selection, without the scores."""
    zero_shot: pd.DataFrame
    """One row per cell and prior: what it earned alone."""
    values: pd.DataFrame
    """One row per compared state and head, as in values.csv."""
    tracks: pd.DataFrame
    """One row per recorded step of a path, as in tracks.csv."""


def complete(found: Gathered) -> set[str]:
    """The cells that have nothing left to do."""
    return set(found.cells.loc[found.cells["state"] == "complete", "cell"])


def judged_by(curves: pd.DataFrame, task: str) -> str:
    """What a task is judged by: success where there is such a thing, its return otherwise."""
    known = curves.loc[curves["task"] == task, "success_any"].notna()
    return "success_any" if known.any() else "return_mean"


def within(found: Gathered, cells: pd.Series[bool]) -> Gathered:
    """The same with some of its cells alone."""
    names = found.cells.loc[cells, "cell"]
    return Gathered(found.suite, *(table[table["cell"].isin(names)] for table in found[1:]))


def joined(kept: Gathered, fresh: Gathered) -> Gathered:
    """Both together; a cell of both counts once, as it is fresh unless only the kept is complete.

    The suite's name and title are the fresh one's to know.
    """
    _same_recipes(kept.cells, fresh.cells)
    old = set(kept.cells["cell"]) & (complete(kept) - complete(fresh))
    old |= set(kept.cells["cell"]) - set(fresh.cells["cell"])
    pairs = zip(kept[1:], fresh[1:], strict=True)
    parts = ((a[a["cell"].isin(old)], b[~b["cell"].isin(old)]) for a, b in pairs)
    return Gathered(fresh.suite, *(_stacked(a, b) for a, b in parts))


def _stacked(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """One below the other; an empty table has no types to agree on."""
    some = [table for table in (first, second) if len(table)]
    return pd.concat(some, ignore_index=True) if some else second


def _same_recipes(kept: pd.DataFrame, fresh: pd.DataFrame) -> None:
    both = kept.merge(fresh, on="cell", suffixes=("", "_fresh"))
    for cell, old, new in zip(both["cell"], both["recipe"], both["recipe_fresh"], strict=True):
        require_recipe(cell, old, new)


def require_recipe(cell: str, kept: str, fresh: str) -> None:
    """A cell must not have results of two recipes; those of older versions do not say theirs."""
    if kept and kept != fresh:
        raise UserError(
            f"{cell} is kept in the results of another recipe ({kept}, here {fresh}): "
            "choose another folder"
        )
