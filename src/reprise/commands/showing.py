"""`reprise demo`, `report` and `watch`."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tyro

from reprise.demo import play
from reprise.errors import UserError
from reprise.folder import read_recipe
from reprise.pages import run_content, suite_content, write_report, write_suite
from reprise.suites.record import FILE
from reprise.tasks import Picture, find
from reprise.terminal import console
from reprise.watch import Subject, serve
from reprise.watch import Watch as Watched


@dataclass(frozen=True)
class Demo:
    """Learn a maze twice, with four old policies and without, and compare."""

    out: Path = Path("runs/demo")
    """Folder of both runs and their report; an interrupted demo continues there."""
    steps: int = 35_000
    """Environment steps of each run. SMEC holds the maze by then in most seeds, not in all."""
    seed: int = 1
    """Seed of both runs."""


def demo(options: Demo) -> int:
    """Both runs at a time, one per core."""
    return play(options.out, options.steps, options.seed)


@dataclass(frozen=True)
class Report:
    """Write one page about some runs or a suite."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or the folder of one suite; a suite may be unfinished."""
    out: Path = Path("report.html")
    """The page, one self-contained file."""
    png: Path | None = None
    """For runs: also write every figure as a PNG into this folder."""
    csv: Path | None = None
    """For a suite: also write every table of the page as a CSV into this folder."""
    figures: Path | None = None
    """For a suite: also write every figure as PDF and PNG into this folder."""


def report(options: Report) -> int:
    """The page, its tables and its figures."""
    path = _suite_page(options) if _is_suite(options.runs, "report") else _run_page(options)
    console().print(f"report: {path}", highlight=False, soft_wrap=True)
    return 0


def _suite_page(options: Report) -> Path:
    if options.png is not None:
        raise UserError(f"png is {str(options.png)!r}; it is for runs: use --figures for a suite")
    return write_suite(options.runs[0], options.out, options.csv, options.figures)


def _run_page(options: Report) -> Path:
    for name in ("csv", "figures"):
        if (folder := getattr(options, name)) is not None:
            raise UserError(f"{name} is {str(folder)!r}; it is for a suite, and this is a run")
    return write_report(options.runs, options.out, _picture(options.runs), options.png)


def _picture(runs: tuple[Path, ...]) -> Picture | None:
    return find(read_recipe(runs[0]).task).picture


def _is_suite(folders: tuple[Path, ...], command: str) -> bool:
    """Whether it is one suite, or some runs; nothing else goes on one page."""
    if not folders:
        raise UserError(f"no run given: reprise {command} RUN [RUN ...]")
    suites = [folder for folder in folders if (folder / FILE).is_file()]
    if suites and len(folders) > 1:
        raise UserError(f"{suites[0]} is a suite; it has a page of its own: name it alone")
    return bool(suites)


@dataclass(frozen=True)
class Watch:
    """Serve the page of some runs or a suite on this machine while they are going."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders, or the folder of one suite."""
    port: int = 0
    """Port on loopback; a free one if 0."""


def watch(options: Watch) -> int:
    """Until Ctrl-C."""
    folders = options.runs
    if _is_suite(folders, "watch"):
        make = partial(suite_content, folders[0])
    else:
        make = partial(run_content, folders, _picture(folders))
    watched = Watched(Subject(folders, make))
    watched.content()
    server = serve(watched, options.port)
    print(f"watching on {server.url} (Ctrl-C ends it)", flush=True)
    with server, contextlib.suppress(KeyboardInterrupt):
        server.serve_forever()
    return 0
