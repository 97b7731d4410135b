"""A suite's folder: `suite.json` says what belongs to it, `runs/` holds ordinary run folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from reprise.boundary import files
from reprise.boundary.errors import UserError
from reprise.suites.suite import Cell, Suite

SCHEMA = 1
FILE = "suite.json"
KEPT = "results.json"
"""What marks a folder of results, and says which suite they are of."""
NAMES = {"name": str, "title": str, "scale": str}
HEAD = {**NAMES, "cells": list}
CELL = {
    "name": str, "label": str, "run": str, "method": str, "task": str, "seed": int, "steps": int,
    "priors": str, "refs": list, "needs": list, "recipe": str,
}  # fmt: skip
"""What each cell says, as `describe` writes it."""


def folder_of(out: Path, name: str) -> Path:
    """Where a cell's run is."""
    return out / "runs" / name


def dump(suite: Suite) -> dict[str, Any]:
    """The record of a `suite.json`."""
    cells = [describe(cell) for cell in suite.cells]
    head = {"name": suite.name, "title": suite.title, "scale": suite.scale}
    return {"schema": SCHEMA, **head, "cells": cells}


def describe(cell: Cell) -> dict[str, Any]:
    """What a `suite.json` says about a cell."""
    run = cell.run
    return {
        "name": cell.name,
        "label": cell.label,
        "run": f"runs/{cell.name}",
        "method": run.name,
        "task": run.task,
        "seed": run.seed,
        "steps": run.steps,
        "priors": cell.library.label,
        "refs": list(cell.library.refs),
        "needs": list(cell.needs),
        "recipe": run.id,
    }


def load(out: Path) -> dict[str, Any]:
    """The record in a suite's folder."""
    path = out / FILE
    if not path.is_file():
        raise UserError(f"{out} is not a suite: it has no {FILE}")
    record = _read(path, HEAD)
    for number, cell in enumerate(record["cells"]):
        _require(cell, CELL, f"{path}: cell {number}")
    return record


def load_kept(folder: Path) -> dict[str, Any]:
    """Which suite some results are of."""
    return _read(folder / KEPT, NAMES)


def dump_kept(suite: dict[str, Any]) -> dict[str, Any]:
    """The record of a `results.json`."""
    return {"schema": SCHEMA, **{name: suite[name] for name in NAMES}}


def _read(path: Path, fields: dict[str, type]) -> dict[str, Any]:
    record = files.read_json(path)
    if record.get("schema") != SCHEMA:
        raise UserError(f"{path} is not a suite of schema {SCHEMA}")
    _require(record, fields, str(path))
    return record


def _require(record: Any, fields: dict[str, type], where: str) -> None:
    """Somebody else may have written it: each field is there and of its type."""
    if not isinstance(record, dict):
        raise UserError(f"{where} is not a JSON object; make the suite again in another --out")
    found = cast(dict[str, Any], record)
    for name, kind in fields.items():
        if not isinstance(found.get(name), kind):
            told = f"{found[name]!r:.40}, not a {kind.__name__}" if name in found else "missing"
            raise UserError(f"{where}: {name} is {told}; make the suite again in another --out")


def settle(suite: Suite, out: Path) -> None:
    """Write the record of a new suite, or add cells to it; refuse a folder that another one made.

    Whoever chose a part of a suite first may ask for more of it later.
    """
    record = dump(suite)
    found = load(out) if (out / FILE).exists() else record | {"cells": []}
    known = {cell["name"]: cell for cell in found["cells"]}
    same = all(known.get(cell["name"], cell) == cell for cell in record["cells"])
    if not same or any(found[name] != record[name] for name in ("name", "scale")):
        made = f"{found.get('name')} at scale {found.get('scale')}"
        raise UserError(f"{out} holds another suite ({made}) or version; choose another --out")
    if suite.name == "continual":
        _one_row(found["cells"], record["cells"], out)
    added = [cell for cell in record["cells"] if cell["name"] not in known]
    if added:
        files.write_json(out / FILE, record | {"cells": [*found["cells"], *added]})


def _one_row(known: list[dict[str, Any]], asked: list[dict[str, Any]], out: Path) -> None:
    """A row of tasks may become longer; two rows would be shown as one that nobody learned."""
    before, now = (list(dict.fromkeys(cell["task"] for cell in some)) for some in (known, asked))
    common = min(len(before), len(now))
    if before[:common] != now[:common]:
        row = ", ".join(before)
        raise UserError(f"{out} holds the row {row}, not {', '.join(now)}; choose another --out")
