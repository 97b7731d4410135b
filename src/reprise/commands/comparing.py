"""`reprise suite` and `continual`: many runs, on this machine or on Ray."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import tyro

from reprise import suites
from reprise.commands.tables import show
from reprise.errors import require, unknown
from reprise.folder import Manifest
from reprise.launch import Cluster, Job, Outcome, Processes, State, Workers, failure
from reprise.pages import can_report
from reprise.suites import SCALES, folder_of, hours
from reprise.tasks.metaworld import CONTINUAL
from reprise.terminal import CountLine, console

Size = Literal["smoke", "small", "paper"]
CROWDS = (8, 64)
"""Workers for which a dry run also says how long it would take."""


@dataclass(frozen=True)
class Launching:
    """Where and how many runs at a time."""

    scale: Size = "small"
    """smoke: minutes, only to see everything work. small: one machine, a night. paper: the paper's
    steps, networks, tasks and seeds."""
    jobs: int | None = None
    """Runs at a time, one thread each; all cores if not given."""
    ray: str | None = None
    """Address of a Ray cluster, or `local` to start one on this machine's loopback."""
    out: Path | None = None
    """The suite's folder; runs/<name>-<scale> if not given. A stopped suite continues there."""
    dry_run: bool = False
    """Only show the runs and the hours that they should take."""
    calibrate: bool = False
    """In a dry run: measure this machine for two seconds and scale the recorded costs by it."""
    json: bool = False
    """Print the answer as JSON."""

    def __post_init__(self) -> None:
        if self.jobs is not None:
            require(self, "positive", "jobs")

    @property
    def places(self) -> int:
        """Runs at a time on this machine."""
        return self.jobs or os.cpu_count() or 1

    def workers(self) -> Workers:
        """Who makes the runs."""
        return Cluster(self.ray, self.jobs) if self.ray else Processes(self.places)


@dataclass(frozen=True)
class Suite(Launching):
    """Make all runs behind a figure or table of the paper."""

    name: tyro.conf.Positional[str] = ""
    """main, point, ablation-evaluation, ablation-horizon, ablation-ucb, sensitivity-h,
    sensitivity-c, random, prior-sets, utilisation, value-accuracy, cost, continual or zero-shot."""


def suite(options: Suite) -> int:
    """Launch it, or say what it would take."""
    if options.name not in suites.FIGURES:
        raise unknown("suite", options.name, suites.FIGURES)
    after = _show_transfers if options.name == "continual" else _nothing
    return _play(suites.suite(options.name, SCALES[options.scale]), options, after)


@dataclass(frozen=True)
class Continual(Launching):
    """Learn tasks one after another, each with the policies learned before it."""

    tasks: tyro.conf.Positional[tuple[str, ...]] = ()
    """Task ids in order; the paper's six of Meta-World if none is given."""
    method: str = "smec"
    """Method name (`reprise methods list`); Scratch is run beside it."""
    steps: int | None = None
    """Environment steps of each task; the scale's if not given."""
    seeds: int | None = None
    """How many times, with seeds 0, 1, ...; the scale's number if not given."""


def continual(options: Continual) -> int:
    """Launch the sequence; then how much reuse helped."""
    scale = SCALES[options.scale]
    tasks = options.tasks or tuple(f"metaworld/{name}" for name in CONTINUAL)
    seeds = options.seeds or min(scale.budget(task).seeds for task in tasks)
    cells = suites.sequence(tasks, scale, range(seeds), options.method)
    if options.steps is not None:
        cells = [replace(cell, run=replace(cell.run, steps=options.steps)) for cell in cells]
    title = "Tasks in a row, each with the policies of those before it"
    planned = suites.Suite("continual", title, scale.name, tuple(cells))
    return _play(planned, options, _show_transfers)


def _nothing(out: Path) -> None:
    """Most suites have no more to say."""


def _play(planned: suites.Suite, options: Launching, after: Callable[[Path], None]) -> int:
    if options.dry_run:
        return _foresee(planned, options)
    out = options.out or Path("runs") / f"{planned.name}-{options.scale}"
    over = sum(Manifest(folder_of(out, cell.name)).complete for cell in planned.cells)
    line = CountLine(planned.name, len(planned.cells), over)
    try:
        outcome = suites.play(planned, out, options.workers, partial(_tell, line))
    finally:
        line.close()
    if outcome.interrupted is not None:
        print("saved; the same command continues", file=sys.stderr)
        return 128 + outcome.interrupted
    return _conclude(outcome, out, options, after)


def _tell(line: CountLine, job: Job, state: State) -> None:
    over = state in (State.COMPLETE, State.FAILED, State.BLOCKED)
    why = f" ({failure(job.folder)})" if state is State.FAILED else ""
    line.event(f"{state.value}: {job.name}{why}", over)


def _conclude(
    outcome: Outcome, out: Path, options: Launching, after: Callable[[Path], None]
) -> int:
    """What became of the suite; 1 if some of it is missing."""
    states = outcome.states
    missing = {name: state for name, state in states.items() if state is not State.COMPLETE}
    whys = {name: failure(folder_of(out, name)) or "needs a failed run" for name in missing}
    if options.json:
        answer: dict[str, Any] = {"suite": str(out), "runs": len(states), "failed": whys}
        print(json.dumps(answer))
        return 1 if missing else 0
    done = len(states) - len(missing)
    console().print(f"{done} of {len(states)} runs complete: {out}", highlight=False)
    for name, why in whys.items():
        console().print(f"  {name}: {why}", highlight=False, soft_wrap=True)
    after(out)
    return 1 if missing else 0


def _foresee(planned: suites.Suite, options: Launching) -> int:
    """The runs, and how long they should take here and on more workers."""
    factor = suites.calibration() if options.calibrate else 1.0
    found = suites.estimate(planned, factor)
    rows = [_row(estimate) for estimate in found]
    source = f"measured now, {factor:.2f} times the recorded cost" if options.calibrate else ""
    many = sorted({1, options.places, *CROWDS})
    spans = {str(n): round(suites.finish(found, n), 3) for n in many}
    if options.json:
        head = {"suite": planned.name, "scale": planned.scale, "basis": source or hours.MEASURED}
        print(json.dumps({**head, "runs": rows, "hours": spans}))
        return 0
    shown = ("run", "priors", "needs", "steps")
    show([{n: row[n] for n in shown} | {"takes": _span(row["hours"])} for row in rows], False)
    console().print(f"{len(rows)} runs; costs per step {source or hours.MEASURED}")
    text = ", ".join(f"{_span(span)} on {n}" for n, span in spans.items())
    console().print(f"until the last is over: {text} workers of one core", highlight=False)
    return 0


def _span(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{60 * hours:.0f} min"


def _row(estimate: suites.Estimate) -> dict[str, Any]:
    run, cell = estimate.cell.run, estimate.cell
    facts = {"run": cell.name, "method": run.name, "task": run.task, "seed": run.seed}
    more = {"priors": cell.library.label, "needs": len(cell.needs), "steps": run.steps}
    return facts | more | {"hours": round(estimate.hours, 4)}


def _show_transfers(out: Path) -> None:
    if not can_report():
        return
    from reprise.gather import forward_transfers, gather

    found = forward_transfers(gather(out, switches=False).curves)
    rows: list[dict[str, Any]] = found.to_dict("records")  # pyright: ignore
    numbers = ("area", "area_scratch", "transfer")
    rows = [row | {name: f"{row[name]:.3f}" for name in numbers} for row in rows]
    if rows:
        show(rows, as_json=False)
