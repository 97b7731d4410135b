"""The demo: a suite of two runs, one maze learned with four old policies and without."""

from __future__ import annotations

import csv
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from reprise import suites
from reprise.cli.suite import conclude
from reprise.cli.tables import show
from reprise.pages.write import require_extra
from reprise.runs.folder import read_recipe
from reprise.runs.schema import METRICS
from reprise.runs.terminal import console
from reprise.suites import SCALES, Suite, folder_of
from reprise.suites.grid import cell, plain
from reprise.suites.launch import Processes

MAZE = "pointmaze/two"
GLANCE, REPORT = 0.3, 15.0
"""Seconds between two looks at the runs, and between two lines where nobody watches."""


def play(out: Path, steps: int, seed: int) -> int:
    """Make both runs at the same time, then compare them as every suite is compared."""
    require_extra("demos")
    began = time.perf_counter()
    planned = demonstration(steps, seed)
    folders = {cell.label: folder_of(out, cell.name) for cell in planned.cells}
    screen = console()
    screen.print(f"Learning {MAZE}: SMEC with four old policies, and the same agent without them.")
    with _followed(folders, steps):
        outcome = suites.play(planned, out, lambda: Processes(len(folders)))
    if outcome.interrupted is None:
        show(_comparison(out), as_json=False)
    code = conclude(outcome, out, None, as_json=False)
    screen.print(f"{time.perf_counter() - began:.0f} seconds in all")
    return code


def demonstration(steps: int, seed: int) -> Suite:
    """One maze with old policies and without."""
    pair = [cell(line, MAZE, seed, SCALES["small"]) for line in plain("smec", "scratch")]
    cells = tuple(replace(one, run=replace(one.run, steps=steps)) for one in pair)
    return Suite("demo", f"{MAZE}, learned with old policies and without", "small", cells)


@contextmanager
def _followed(folders: dict[str, Path], steps: int) -> Generator[None]:
    """Show how far the runs are for as long as they are made."""
    over = threading.Event()
    follower = threading.Thread(target=_follow, args=(folders, steps, over), daemon=True)
    follower.start()
    try:
        yield
    finally:
        over.set()
        follower.join()


def _follow(folders: dict[str, Path], steps: int, over: threading.Event) -> None:
    """What the runs write down, in a line each."""
    screen = console(stderr=True)
    columns = (
        TextColumn("[bold]{task.description:8}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[facts]:48}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as bars:
        lines = {name: bars.add_task(name, total=steps, facts="starting") for name in folders}
        shown = time.perf_counter()
        while not over.wait(GLANCE):
            facts = {name: _facts(folder) for name, folder in folders.items()}
            for name, (step, text) in facts.items():
                bars.update(lines[name], completed=step, facts=text)
            if not screen.is_terminal and time.perf_counter() - shown > REPORT:
                shown = time.perf_counter()
                text = " | ".join(f"{name}: {fact}" for name, (_, fact) in facts.items())
                print(text, file=sys.stderr, flush=True)


def _facts(folder: Path) -> tuple[int, str]:
    """(step, who is acting and how well it goes) from the last rows of a run."""
    metrics, evaluations = _rows(folder / "metrics.csv"), _rows(folder / "eval.csv")
    if not metrics:
        return 0, "starting"
    last = metrics[-1]
    step = int(last["step"])
    policies = read_recipe(folder).policies
    shares = [float(last[header]) for header in METRICS.of("use", policies)]
    share, name = max(zip(shares, policies, strict=True))
    acting = f"{name} acting {share:.0%}" if share else "random warm-up"
    success = f"{float(evaluations[-1]['success_any']):.0%}" if evaluations else "-"
    speed = float(last["steps_per_second"] or 0)
    return step, f"step {step:,} · {speed:.0f}/s · success {success} · {acting}"


def _rows(path: Path) -> list[dict[str, str]]:
    """Complete rows of a table that somebody may be writing to."""
    if not path.exists():
        return []
    text = path.read_text()
    return list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))


def _comparison(out: Path) -> list[dict[str, Any]]:
    """How well and how soon, a row per run."""
    from reprise.findings.gather import gather

    return [
        {
            "method": row["label"],
            "success (last 5 evaluations)": row["final_success"],
            "first success": _when(row["first_success"]),
            "90 % success": _when(row["steps_to_90"]),
        }
        for row in gather(out, switches=False).cells.to_dict("records")
    ]


def _when(step: float) -> str:
    return f"step {step:,.0f}" if step == step else "never"
