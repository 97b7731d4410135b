"""Suites and runs as tidy tables, finished or not: what their report is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reprise.findings import results, statistics
from reprise.findings.gathered import COLUMNS_OF, HEAD, MILESTONES, Gathered, joined
from reprise.findings.milestones import of_run
from reprise.findings.sources import Member, members
from reprise.findings.tables import RunTables, load, melted, numbers
from reprise.runs.schema import METRICS
from reprise.suites.launch import failure


def gather(*folders: Path, switches: bool = True) -> Gathered:
    """Read suites, runs beside them and kept results; switches and paths may be left out: many."""
    suite, some, kept = members(folders)
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in COLUMNS_OF}
    for member in some:
        cell, place = member
        run = load(place) if (place / "run.json").exists() else None
        found = {"cells": pd.DataFrame([_standing(member, run)])}
        if run is not None:
            found |= {"curves": run.eval, "use": _use(run), "zero_shot": _zero_shot(run)}
            found |= {"values": run.values}
            found |= {"switches": run.switches, "tracks": run.tracks} if switches else {}
        for name, table in found.items():
            parts[name].append(_headed(cell, table, COLUMNS_OF[name]))
    found = Gathered(suite, **{name: _stacked(name, some) for name, some in parts.items()})
    for folder in kept:
        found = joined(results.load(folder), found)
    return found


def _standing(member: Member, run: RunTables | None) -> dict[str, Any]:
    """How far a cell has come, and why no further."""
    cell, why = member.cell, failure(member.place)
    manifest, passed = (run.manifest, of_run(run)) if run else ({}, {})
    return {
        "recipe": cell["recipe"],
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
    """A row per log interval and policy, one policy after another."""
    return melted(run, METRICS, ("use", "value")).rename(columns={"use": "share"})


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
