"""The door to reports, which need the `report` extra; the rest of reprise does without it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from reprise.io.errors import UserError
from reprise.pages.watch import current
from reprise.tasks import Picture, Task
from reprise.training.evaluate import Act

if TYPE_CHECKING:
    from reprise.pages.frame import Content

NEEDED = ("pandas", "scipy", "matplotlib", "plotly", "jinja2")


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


def write_report(
    runs: Sequence[Path], out: Path, picture: Picture | None, png: Path | None = None
) -> Path:
    """One page about some runs, and its figures as PNG if a folder is given."""
    require_extra("reports")
    from reprise.pages.run import write

    return write(runs, out, picture, png)


def write_suites(
    folders: Sequence[Path], out: Path, csv: Path | None, figures: Path | None
) -> Path:
    """One page about suites, and runs beside them; tables and figures if folders are given."""
    require_extra("reports")
    from reprise.pages.suite import write

    return write(folders, out, csv, figures)


def renew_suite(folder: Path) -> Path:
    """The page in a suite's own folder, written again only if something has changed since."""
    page = folder / "report.html"
    return page if current(page, folder) else write_suites([folder], page, None, None)


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
