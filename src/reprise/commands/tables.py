"""Rows on the terminal, or as JSON for a program."""

from __future__ import annotations

import json
from typing import Any

from rich.table import Table

from reprise.terminal import console


def show(rows: list[dict[str, Any]], as_json: bool) -> int:
    """One line per row; exit code 0."""
    if as_json:
        print(json.dumps(rows))
        return 0
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for name in rows[0]:
        table.add_column(name.replace("_", " "), no_wrap=name != "paper")
    for row in rows:
        table.add_row(*(_text(name, value) for name, value in row.items()))
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
