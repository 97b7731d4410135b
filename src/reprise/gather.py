"""Suites and runs as tidy tables, finished or not: what their report is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reprise import statistics
from reprise.launch import failure
from reprise.members import Member, members
from reprise.report.tables import COLUMNS, RunTables, load, milestones, numbers, policies

HEAD = ("cell", "label", "method", "task", "seed", "priors")
"""The first columns of every table: which cell a row belongs to."""
MILESTONES = (
    "final_success", "best_success", "final_return", "first_success", "steps_to_90",
    "prior_use_early", "prior_use_late",
)  # fmt: skip
COLUMNS_OF = {
    "cells": ("steps", "state", "step", "seconds", "needs", "suites", "failure", *MILESTONES),
    "curves": tuple(COLUMNS["eval"].split()),
    "use": ("step", "policy", "share", "value"),
    "switches": tuple(COLUMNS["switches"].split()),
    "zero_shot": ("prior", "success_any", "success_last", "return_mean"),
    "values": tuple(COLUMNS["values"].split()),
}


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


def gather(*folders: Path, switches: bool = True) -> Gathered:
    """Read suites, and runs beside them; switches are the bulk, and may be left out."""
    suite, some = members(folders)
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in COLUMNS_OF}
    for member in some:
        cell, place = member
        run = load(place) if (place / "run.json").exists() else None
        found = {"cells": pd.DataFrame([_standing(member, run)])}
        if run is not None:
            found |= {"curves": run.eval, "use": _use(run), "zero_shot": _zero_shot(run)}
            found |= {"values": run.values}
            found |= {"switches": run.switches} if switches else {}
        for name, table in found.items():
            parts[name].append(_headed(cell, table, COLUMNS_OF[name]))
    return Gathered(suite, **{name: _stacked(name, some) for name, some in parts.items()})


def _standing(member: Member, run: RunTables | None) -> dict[str, Any]:
    """How far a cell has come, and why no further."""
    cell, why = member.cell, failure(member.place)
    manifest, passed = (run.manifest, milestones(run)) if run else ({}, {})
    return {
        "steps": cell["steps"],
        "state": "failed" if why else manifest.get("state", "waiting"),
        "step": int(numbers(run.metrics, "step").max(initial=0.0)) if run else 0,
        "seconds": float(manifest.get("seconds", np.nan)),
        "needs": " ".join(cell["needs"]),
        "suites": " ".join(cell["suites"]),
        "failure": why,
        **{name: _or_nan(passed.get(name)) for name in MILESTONES},
    }


def _or_nan(value: float | None) -> float:
    return np.nan if value is None else value


def _use(run: RunTables) -> pd.DataFrame:
    """From a column per policy to a row per policy."""
    metrics = run.metrics
    parts = [
        pd.DataFrame(
            {
                "step": numbers(metrics, "step"),
                "policy": name,
                "share": numbers(metrics, f"use_{name}"),
                "value": numbers(metrics, f"value_{name}"),
            }
        )
        for name in policies(run)
        if f"use_{name}" in metrics
    ]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _zero_shot(run: RunTables) -> pd.DataFrame:
    rows = run.manifest.get("zero_shot") or []
    return pd.DataFrame([{**row, "prior": row["name"]} for row in rows])


def _headed(cell: dict[str, Any], table: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """A cell's rows under its name."""
    if table.empty:
        return table
    facts = {"cell": cell["name"], **{name: cell[name] for name in HEAD[1:]}}
    return table[list(columns)].assign(**facts)[[*HEAD, *columns]]


def _stacked(name: str, parts: list[pd.DataFrame]) -> pd.DataFrame:
    """All rows in the order of the cells; the right columns even if there is none."""
    some = [part for part in parts if not part.empty]
    if not some:
        return pd.DataFrame(columns=[*HEAD, *COLUMNS_OF[name]])
    return pd.concat(some, ignore_index=True)


def within(found: Gathered, cells: pd.Series[bool]) -> Gathered:
    """The same with some of its cells alone."""
    names = found.cells.loc[cells, "cell"]
    return Gathered(found.suite, *(table[table["cell"].isin(names)] for table in found[1:]))


def forward_transfers(curves: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """What reuse added on each task and seed, as a share of what Scratch left to gain.

    Half a curve has another mean height than a whole one: of `cells`, only the complete count.
    """
    curves = curves[curves["cell"].isin(cells.loc[cells["state"] == "complete", "cell"])]
    areas: dict[Any, float] = {}
    for key, rows in curves.groupby(["task", "seed", "label"], sort=False):
        steps, success = numbers(rows, "step"), numbers(rows, "success_any")
        areas[key] = statistics.area(steps, success)
    rows = [
        {
            "task": task, "seed": seed, "method": label, "area": found,
            "area_scratch": areas[task, seed, "scratch"],
            "transfer": statistics.forward_transfer(found, areas[task, seed, "scratch"]),
        }
        for (task, seed, label), found in areas.items()
        if label != "scratch" and (task, seed, "scratch") in areas
    ]  # fmt: skip
    columns = ["task", "seed", "method", "area", "area_scratch", "transfer"]
    return pd.DataFrame(rows, columns=columns).astype({"transfer": float})
