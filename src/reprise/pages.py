"""The door to reports, which need the `report` extra; the rest of reprise does without it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from reprise.errors import UserError
from reprise.evaluate import Act
from reprise.tasks import Picture, Task

NEEDED = ("pandas", "matplotlib", "jinja2")


def can_report() -> bool:
    """Whether the extra is installed."""
    return all(find_spec(name) is not None for name in NEEDED)


def require_extra(what: str) -> None:
    """Say how to get the extra if it is missing."""
    if not can_report():
        raise UserError(f"{what} need the report extra: pip install 'reprise[report]'")


def sum_up(run: Path) -> dict[str, float | None]:
    """The handful of numbers that a run comes to."""
    require_extra("comparisons")
    from reprise.report import tables

    return tables.milestones(tables.load(run))


def write_film(path: Path, act: Act, task: Task, seeds: Sequence[int]) -> Path:
    """An animated GIF of some episodes."""
    require_extra("films")
    from reprise.report import film

    return film.write(path, act, task, seeds)


def write_report(
    runs: Sequence[Path], out: Path, picture: Picture | None, png: Path | None = None
) -> Path:
    """One page about some runs, and its figures as PNG if a folder is given."""
    require_extra("reports")
    from reprise.report import write

    return write(runs, out, picture, png)
