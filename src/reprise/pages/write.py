"""The door to reports, which need the `report` extra; the rest of reprise does without it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reprise.boundary.errors import UserError
from reprise.pages.watch import current
from reprise.tasks import Picture, Task
from reprise.training.evaluate import Act

if TYPE_CHECKING:
    from reprise.pages.frame import Content

NO_REPORT = "no report was written; it needs the report extra: pip install 'reprise[report]'"
NEEDED = ("pandas", "scipy", "matplotlib", "plotly", "jinja2")


class Wanted(NamedTuple):
    """The files that somebody asked for."""

    page: Path
    csv: Path | None = None
    """A folder for every table."""
    figures: Path | None = None
    """A folder for every figure as PDF and PNG."""
    png: Path | None = None
    """A folder for every figure as PNG."""


def can_report() -> bool:
    """Whether the extra is installed."""
    return all(find_spec(name) is not None for name in NEEDED)


def require_extra(what: str) -> None:
    """Say how to get the extra if it is missing."""
    if not can_report():
        raise UserError(f"{what} need the report extra: pip install 'reprise[report]'")


def write_film(path: Path, act: Act, task: Task, seeds: Sequence[int]) -> Path:
    """An animated GIF of some episodes."""
    require_extra("films")
    from reprise.pages import film

    return film.write(path, act, task, seeds)


def write_report(runs: Sequence[Path], wanted: Wanted, picture: Picture | None) -> Path:
    """One page about some runs."""
    require_extra("reports")
    from reprise.pages.run import write

    return write(runs, wanted, picture)


def write_suites(folders: Sequence[Path], wanted: Wanted) -> Path:
    """One page about suites, and runs beside them."""
    require_extra("reports")
    from reprise.pages.suite import write

    return write(folders, wanted)


def renew_suite(folder: Path) -> Path:
    """The page in a suite's own folder, written again only if something has changed since."""
    page = folder / "report.html"
    return page if current(page, folder) else write_suites([folder], Wanted(page))


def suite_content(folders: Sequence[Path]) -> Content:
    """What a page about suites shows now."""
    require_extra("reports")
    from reprise.findings.gather import gather
    from reprise.pages.suite import content

    return content(gather(*folders))


def run_content(runs: Sequence[Path], picture: Picture | None) -> Content:
    """What a page about runs shows now."""
    require_extra("reports")
    from reprise.findings.tables import load
    from reprise.pages.run.page import content

    return content([load(run) for run in runs], picture)
