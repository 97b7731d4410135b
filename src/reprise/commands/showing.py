"""`reprise demo` and `report`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from reprise.demo import play
from reprise.errors import UserError
from reprise.folder import read_recipe
from reprise.pages import write_report
from reprise.tasks import find
from reprise.terminal import console


@dataclass(frozen=True)
class Demo:
    """Learn a maze twice, with four old policies and without, and compare."""

    out: Path = Path("runs/demo")
    """Folder of both runs and their report; an interrupted demo continues there."""
    steps: int = 25_000
    """Environment steps of each run."""
    seed: int = 0
    """Seed of both runs."""


def demo(options: Demo) -> int:
    """Both runs at a time, one per core."""
    return play(options.out, options.steps, options.seed)


@dataclass(frozen=True)
class Report:
    """Write one page about one or several runs."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders."""
    out: Path = Path("report.html")
    """The page, one self-contained file."""
    png: Path | None = None
    """Also write every figure as a PNG into this folder."""


def report(options: Report) -> int:
    """The page, and its figures."""
    if not options.runs:
        raise UserError("no run given: reprise report RUN [RUN ...]")
    task = find(read_recipe(options.runs[0]).task)
    path = write_report(options.runs, options.out, task.picture, options.png)
    console().print(f"report: {path}", highlight=False, soft_wrap=True)
    return 0
