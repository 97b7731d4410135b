"""Rows on the terminal, or as JSON for a program."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table

from reprise.runs.terminal import console

FOLDED = ("paper", "sets", "title", "what")
SPARE = ("paper", "sets", "name", "action_dim", "obs_dim")
"""Columns that a narrow terminal can do without, the first of them first."""


def show(rows: list[dict[str, Any]], as_json: bool) -> int:
    """One line per row; exit code 0."""
    if as_json:
        print(json.dumps(rows))
        return 0
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [_text(name, row.get(name, "")) for row in rows] for name in names}
    screen = console()
    hidden = _hide(columns, screen.width)
    table = Table(box=None, padding=(0, 1), header_style="bold")
    for name, cells in columns.items():
        table.add_column(name.replace("_", " "), min_width=_least(name, cells))
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    screen.print(table)
    if hidden:
        words = ", ".join(name.replace("_", " ") for name in hidden)
        screen.print(f"(not shown: {words}; a wider terminal or --json has them)")
    return 0


def _least(name: str, cells: list[str]) -> int:
    """A column's width when all that may fold is folded: headings, lists and titles; no names."""
    parts = [word for cell in cells for word in (cell.split() if name in FOLDED else [cell])]
    return max(map(len, [*parts, *name.split("_")]), default=0)


def _hide(columns: dict[str, list[str]], width: int) -> list[str]:
    """Take columns out until the rest fits; a name stays unless a reference says it too."""
    spare = [name for name in SPARE if name in columns and (name != "name" or "ref" in columns)]
    hidden: list[str] = []
    while spare and sum(_least(*column) + 2 for column in columns.items()) > width:
        hidden.append(spare.pop(0))
        del columns[hidden[-1]]
    return hidden


def _text(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{share:.0%}" for share in value.values())
    if value is None:
        return "n/a"
    if name == "sha256":
        return value[:12]
    if isinstance(value, float):
        return f"{value:.0%}" if name.startswith("success") else f"{value:.1f}"
    return ", ".join(value) if isinstance(value, list) else str(value)
