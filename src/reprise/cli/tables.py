"""Rows on the terminal, or as JSON for a program."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table

from reprise.runs.terminal import console

FOLDED = ("paper", "sets", "title", "what")


def show(rows: list[dict[str, Any]], as_json: bool) -> int:
    """One line per row; exit code 0."""
    if as_json:
        print(json.dumps(rows))
        return 0
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(box=None, padding=(0, 1), header_style="bold")
    cells = [[_text(name, row.get(name, "")) for name in names] for row in rows]
    for name, column in zip(names, zip(*cells, strict=True), strict=True):
        # On a narrow terminal headings and lists fold, and titles of papers; names do not.
        words = 0 if name in FOLDED else max(map(len, column))
        width = max(words, *map(len, name.split("_")))
        table.add_column(name.replace("_", " "), min_width=width)
    for row in cells:
        table.add_row(*row)
    console().print(table)
    return 0


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
