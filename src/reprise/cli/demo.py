"""The demo: one maze, learned with four old policies and without, side by side."""

from __future__ import annotations

import csv
import multiprocessing
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from reprise.methods import prepare
from reprise.pages.write import require_extra, sum_up, write_report
from reprise.priors import resolve
from reprise.runs.execute import Listener, execute
from reprise.runs.folder import read_recipe
from reprise.runs.recipe import Run
from reprise.runs.schema import METRICS
from reprise.runs.signals import end_with_parent
from reprise.runs.terminal import console
from reprise.tasks import find

MAZE = "pointmaze/two"
PRIORS = {"smec": ("zoo:pointmaze",), "scratch": ()}


def play(out: Path, steps: int, seed: int) -> int:
    """Train both at a time in processes of their own, then compare them."""
    require_extra("demos")
    began = time.perf_counter()
    folders = {name: out / name for name in PRIORS}
    screen = console()
    screen.print(f"Learning {MAZE}: SMEC with four old policies, and the same agent without them.")
    spawn = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(len(PRIORS), spawn, end_with_parent) as pool:
            futures = {n: pool.submit(learn, n, steps, seed, str(f)) for n, f in folders.items()}
            _watch(futures, folders, steps)
            for future in futures.values():
                future.result()
    except KeyboardInterrupt:  # both runs caught it too and have saved
        screen.print("saved; the same command continues")
        return 130
    screen.print(_comparison(folders))
    page = write_report(list(folders.values()), out / "report.html", find(MAZE).picture)
    screen.print(f"report: {page.resolve()}", highlight=False, soft_wrap=True)
    screen.print(f"{time.perf_counter() - began:.0f} seconds in all")
    return 0


def learn(name: str, steps: int, seed: int, folder: str) -> None:
    """One of the two runs."""
    task = find(MAZE)
    setup = prepare(name, task)
    priors = resolve(PRIORS[name]).records
    run = Run(name, setup.method, task.id, priors, seed, steps, "small", setup.schedule)
    execute(run, task, Path(folder), listener=Listener(warning=lambda text: None))


def _watch(futures: dict[str, Future[None]], folders: dict[str, Path], steps: int) -> None:
    """Follow both runs by what they write down."""
    screen = console(stderr=True)
    columns = (
        TextColumn("[bold]{task.description:8}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[facts]:48}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as bars:
        lines = {name: bars.add_task(name, total=steps, facts="starting") for name in futures}
        shown = time.perf_counter()
        while not all(future.done() for future in futures.values()):
            time.sleep(0.3)
            facts = {name: _facts(folder) for name, folder in folders.items()}
            _update(bars, lines, facts)
            if not screen.is_terminal and time.perf_counter() - shown > 15:
                shown = time.perf_counter()
                text = " | ".join(f"{name}: {fact}" for name, (_, fact) in facts.items())
                print(text, file=sys.stderr, flush=True)


def _update(bars: Progress, lines: dict[str, TaskID], facts: dict[str, tuple[int, str]]) -> None:
    for name, (step, text) in facts.items():
        bars.update(lines[name], completed=step, facts=text)


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


def _comparison(folders: dict[str, Path]) -> Table:
    table = Table(title=f"{MAZE}", header_style="bold")
    for head in ("method", "success (last 5 evaluations)", "first success", "90 % success"):
        table.add_column(head)
    for name, folder in folders.items():
        found = sum_up(folder)
        late = found["final_success"]
        success = "-" if late is None else f"{late:.0%}"
        table.add_row(name, success, _when(found["first_success"]), _when(found["steps_to_90"]))
    return table


def _when(step: float | None) -> str:
    return "never" if step is None else f"step {step:,.0f}"
