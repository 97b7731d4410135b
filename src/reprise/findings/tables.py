"""A run folder as tables, and the handful of numbers that sum it up."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reprise.boundary.errors import UserError
from reprise.runs import schema


class RunTables(NamedTuple):
    """Everything a report needs to know about one run."""

    recipe: dict[str, Any]
    manifest: dict[str, Any]
    metrics: pd.DataFrame
    eval: pd.DataFrame
    switches: pd.DataFrame
    tracks: pd.DataFrame
    values: pd.DataFrame


def load(folder: Path) -> RunTables:
    """Read a run folder; a run in progress may lack everything but its recipe."""
    manifest = folder / "manifest.json"
    return RunTables(
        _record(folder / "run.json"),
        _record(manifest) if manifest.exists() else {},
        **{table.name: _events(folder, table) for table in schema.TABLES},
    )


def numbers(table: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """One column as floats, NaN where a cell is empty."""
    return table[column].to_numpy(dtype=np.float64)


def policies(run: RunTables) -> list[str]:
    """The task policy and the priors, in the order of the recipe."""
    return ["task", *(str(prior["name"]) for prior in run.recipe.get("priors", []))]


def each(run: RunTables, table: schema.Table, column: str) -> NDArray[np.float64]:
    """What a column says of every policy: a row per row of the file, a column per policy."""
    rows: pd.DataFrame = getattr(run, table.name)
    return rows.reindex(columns=table.of(column, policies(run))).to_numpy(np.float64)


def melted(run: RunTables, table: schema.Table, columns: Sequence[str]) -> pd.DataFrame:
    """What some columns say of every policy, one policy after another: a row per step of each."""
    names, steps = policies(run), numbers(getattr(run, table.name), "step")
    told = {column: each(run, table, column).T.ravel() for column in columns}
    return pd.DataFrame(
        {"step": np.tile(steps, len(names)), "policy": np.repeat(names, len(steps)), **told}
    )


def zero_shot(run: RunTables) -> dict[str, dict[str, Any]]:
    """What each prior scored on its own before training, by name."""
    records: list[dict[str, Any]] = run.manifest.get("zero_shot") or []
    return {str(record["name"]): record for record in records}


def faults(run: RunTables) -> dict[str, dict[str, Any]]:
    """What the guard counted for each prior, by name."""
    records: list[dict[str, Any]] = run.manifest.get("faults") or []
    return {str(record["name"]): record for record in records}


def intervals(metrics: pd.DataFrame) -> NDArray[np.float64]:
    """How many steps each row of the metrics covers."""
    return np.diff(numbers(metrics, "step"), prepend=0.0)


def usage(run: RunTables) -> NDArray[np.float64]:
    """Steps (rows: intervals, columns: policies) that each policy acted."""
    shares = np.nan_to_num(each(run, schema.METRICS, "use"))
    return shares * intervals(run.metrics)[:, None]


def titles(runs: Sequence[RunTables]) -> list[str]:
    """A short name for each run, as long as it must be to tell it from the others."""
    names = [str(run.recipe.get("name", "run")) for run in runs]
    pairs = zip(names, runs, strict=True)
    seeds = [f"{name}, seed {run.recipe.get('seed')}" for name, run in pairs]
    places = [f"{seed} (run {i})" for i, seed in enumerate(seeds, 1)]
    return next((level for level in (names, seeds) if len(set(level)) == len(runs)), places)


def _record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); is this a run?") from error
    except ValueError as error:
        raise UserError(f"{path} is not JSON ({error}); restore or remove the run") from error
    if not isinstance(record, dict):
        raise UserError(f"{path} is not a JSON object; restore or remove the run")
    return cast("dict[str, Any]", record)


def read(path: Path, columns: Sequence[str], words: Collection[str]) -> pd.DataFrame:
    """A CSV file as floats and, in the columns of `words`, as text; with these columns at least."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    # The last line of a run in progress may be half written: it counts once it has its newline.
    whole = text[: text.rfind("\n") + 1] or ",".join(columns) + "\n"
    # Everything is read as text first, so that a policy may be called "null" or "nan".
    raw = pd.read_csv(
        StringIO(whole), dtype=str, keep_default_na=False, index_col=False, on_bad_lines="skip"
    )
    wanted = [*columns, *(name for name in raw if name not in columns)]
    cells = raw.reindex(columns=wanted)
    parsed = {
        name: cells[name].fillna("").astype(str)
        if name in words
        else pd.to_numeric(cells[name], errors="coerce").astype(np.float64)
        for name in wanted
    }
    return pd.DataFrame(parsed)


def _events(folder: Path, table: schema.Table) -> pd.DataFrame:
    """A file whose rows each belong to a step."""
    rows = read(folder / table.file, table.single, table.names)
    return rows.dropna(subset=["step"]).reset_index(drop=True)
