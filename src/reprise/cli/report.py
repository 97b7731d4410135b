"""`reprise demo`, `report` and `watch`."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tyro

from reprise.boundary.errors import UserError
from reprise.cli.demo import play
from reprise.findings.sources import Given, sort_out
from reprise.pages.watch import Subject, serve
from reprise.pages.watch import Watch as Watched
from reprise.pages.write import Wanted, run_content, suite_content, write_report, write_suites
from reprise.runs.folder import read_recipe
from reprise.runs.terminal import console, waiting
from reprise.tasks import Picture, picture


@dataclass(frozen=True)
class Demo:
    """Learn a maze twice, with and without four old policies, and compare."""

    out: Path = Path("runs/demo")
    """Folder for both runs and their report. An interrupted demo continues there."""
    steps: int = 35_000
    """Number of environment steps of each run. By then SMEC has solved the maze for most seeds,
    but not for all."""
    seed: int = 1
    """Random seed of both runs."""


def demo(options: Demo) -> int:
    """Both runs at a time, one per core."""
    return play(options.out, options.steps, options.seed)


@dataclass(frozen=True)
class Report:
    """Write a report, as one page, about any mix of runs, suites and saved results."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of runs, suites or results. They may be unfinished."""
    out: Path = Path("report.html")
    """File to write: a page that needs no other files."""
    png: Path | None = None
    """Also save every figure as PNG in this folder."""
    csv: Path | None = None
    """Also save every table of the page as CSV in this folder."""
    figures: Path | None = None
    """Also save every figure as PDF and PNG in this folder."""


def report(options: Report) -> int:
    """The page, its tables and its figures."""
    given = _given(options.runs, "report")
    wanted = Wanted(options.out, options.csv, options.figures, options.png)
    with waiting(str(options.out)):
        if given.compared:
            path = write_suites(given.folders, wanted)
        else:
            path = write_report(given.runs, wanted, _picture(given.runs))
    console().print(f"report: {path}", highlight=False, soft_wrap=True)
    return 0


def _picture(runs: tuple[Path, ...]) -> Picture | None:
    return picture(read_recipe(runs[0]).task)


def _given(folders: tuple[Path, ...], command: str) -> Given:
    if not folders:
        raise UserError(f"no run given: reprise {command} RUN_OR_SUITE [RUN_OR_SUITE ...]")
    return sort_out(folders)


@dataclass(frozen=True)
class Watch:
    """Show a live report in the browser while runs or suites are in progress."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of runs, suites or results."""
    port: int = 0
    """Local port to listen on; 0 picks a free one."""


def watch(options: Watch) -> int:
    """Until Ctrl-C."""
    given = _given(options.runs, "watch")
    if given.compared:
        make = partial(suite_content, given.folders)
    else:
        make = partial(run_content, given.runs, _picture(given.runs))
    watched = Watched(Subject(given.folders, make))
    watched.content()
    server = serve(watched, options.port)
    print(f"watching on {server.url} (Ctrl-C ends it)", flush=True)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0
