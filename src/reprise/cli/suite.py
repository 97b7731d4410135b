"""`reprise suite` and `continual`: many runs, on this machine or on Ray."""

from __future__ import annotations

import json
import os
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import tyro

from reprise import suites
from reprise.boundary.errors import require
from reprise.cli.dry_run import expectation, foresee
from reprise.cli.keep import keep, unkept
from reprise.cli.tables import show
from reprise.pages.write import NO_REPORT, can_report, renew_suite, require_extra
from reprise.runs.folder import Manifest
from reprise.runs.terminal import CountLine, console, waiting
from reprise.suites import SCALES, Choice, folder_of
from reprise.suites.launch import (
    AS_GIVEN,
    Cluster,
    Job,
    Outcome,
    Plan,
    Processes,
    State,
    Workers,
    failure,
)

Size = Literal["smoke", "small", "paper"]
TIMED = "cost"
"""The suite whose answer is how long its runs take."""


@dataclass(frozen=True)
class Launching(ABC):
    """Where and how many runs at a time."""

    scale: Size = "small"
    """How much to run. smoke: minutes, only to check that everything works. small: a night on one
    machine. paper: the steps, networks, tasks and seeds of the paper."""
    jobs: int | None = None
    """Number of runs at a time, with one thread each; by default one per core, but 1 for suite
    `cost`."""
    ray: str | None = None
    """Address of a Ray cluster, or `local` to start one on this machine."""
    out: Path | None = None
    """Folder of the suite; by default runs/<name>-<scale>. A suite that was stopped continues."""
    dry_run: bool = False
    """Start nothing; only list the runs and estimate how long they take."""
    calibrate: bool = False
    """In a dry run: spend two seconds measuring this machine, for a better estimate."""
    results: Path | None = None
    """Also save the results as CSV files in this folder, next to those that are there already.
    Runs that are already there, complete and with the same settings, are not repeated."""
    seeds: int | None = None
    """Number of seeds (0, 1, ...); by default that of the scale."""
    steps: int | None = None
    """Number of environment steps of each run; by default that of the scale."""
    hours: float | None = None
    """Stop after this many hours. The most informative runs come first: one seed of everything,
    then more seeds where it is undecided which method is better. The same command continues."""
    json: bool = False
    """Print the result as JSON."""

    def __post_init__(self) -> None:
        limits = ("jobs", "seeds", "steps", "hours")
        given = [name for name in limits if getattr(self, name) is not None]
        require(self, "positive", *given)
        if self.results is not None or (self.hours is not None and not self.dry_run):
            require_extra("results")

    @property
    @abstractmethod
    def limit(self) -> int | None:
        """Runs at a time, if not as many as there are cores."""

    @property
    def places(self) -> int:
        """Runs at a time on this machine."""
        return self.limit or os.cpu_count() or 1

    def workers(self) -> Workers:
        """Who makes the runs."""
        return Cluster(self.ray, self.limit) if self.ray else Processes(self.places)


@dataclass(frozen=True)
class Suite(Launching):
    """Run the experiments behind a figure or table of the paper."""

    name: tyro.conf.Positional[str] = ""
    """main, point, ablation-evaluation, ablation-horizon, ablation-ucb, sensitivity-h,
    sensitivity-c, random, prior-sets, utilisation, value-accuracy, cost, sampled-heads,
    backbone, continual, zero-shot, or one from a plugin. `reprise suites list` explains them."""
    tasks: tuple[str, ...] = ()
    """Use these tasks instead of those of the suite."""
    methods: tuple[str, ...] = ()
    """Run only these lines of the suite, named by label or method; a dry run lists them."""

    @property
    def limit(self) -> int | None:
        """One where time is what is measured: runs beside each other slow each other down."""
        return self.jobs or (1 if self.name == TIMED else None)


def suite(options: Suite) -> int:
    """Launch it, or say what it would take."""
    if options.name == TIMED and options.places > 1:
        text = f"jobs is {options.jobs}; suite {TIMED!r} measures time: make one run at a time"
        print(f"warning: {text}", file=sys.stderr)
    choice = Choice(options.tasks, options.methods, options.seeds, options.steps)
    return _play(suites.suite(options.name, SCALES[options.scale], choice), options)


@dataclass(frozen=True)
class Continual(Launching):
    """Learn several tasks in a row, each with the policies learned before it as priors."""

    tasks: tyro.conf.Positional[tuple[str, ...]] = ()
    """Task ids, in order; by default the six Meta-World tasks of the paper."""
    method: str = "smec"
    """Name of the method; scratch is run as well, for comparison."""

    @property
    def limit(self) -> int | None:
        """As many as asked for."""
        return self.jobs


def continual(options: Continual) -> int:
    """Launch the sequence; then how much reuse helped."""
    choice = Choice(options.tasks, seeds=options.seeds, steps=options.steps)
    scale = SCALES[options.scale]
    return _play(suites.suite("continual", scale, choice, method=options.method), options)


def _play(whole: suites.Suite, options: Launching) -> int:
    planned = unkept(whole, options.results)
    if options.dry_run:
        return foresee(planned, options.places, options.calibrate, options.hours, options.json)
    out = options.out or Path("runs") / f"{planned.name}-{options.scale}"
    if not planned.cells:
        return _answer(out, 0, {}) if options.json else 0
    over = sum(Manifest(folder_of(out, cell.name)).complete for cell in planned.cells)
    line = CountLine(planned.name, len(planned.cells), over)
    try:
        plan = _plan(whole, planned, out, options)
        outcome = suites.play(planned, out, options.workers, partial(_tell, line), plan)
    finally:
        line.close()
    return conclude(outcome, out, options.results, options.json)


def _plan(whole: suites.Suite, planned: suites.Suite, out: Path, options: Launching) -> Plan:
    """Within a number of hours, what tells most comes first."""
    if options.hours is None:
        return AS_GIVEN
    from reprise.findings import results, telling
    from reprise.findings.gather import gather

    kept = options.results
    known = [kept] if kept is not None and results.known(kept) else []
    found = partial(gather, out, *known, switches=False)
    print(expectation(planned, options.places, options.hours), file=sys.stderr)
    # By the whole suite: what is kept already counts as seeds and lines, too.
    return Plan(telling.order(whole, found), options.hours)


def _tell(line: CountLine, job: Job, state: State) -> None:
    over = state in (State.COMPLETE, State.FAILED, State.BLOCKED)
    why = f" ({failure(job.folder)})" if state is State.FAILED else ""
    line.event(f"{state.value}: {job.name}{why}", over)


def conclude(outcome: Outcome, out: Path, results: Path | None, as_json: bool) -> int:
    """Say what became of a suite, and write its page; 1 if some of it is missing."""
    if outcome.interrupted is not None:
        print("saved; the same command continues", file=sys.stderr)
        return 128 + outcome.interrupted
    states = outcome.states
    missing = [name for name, state in states.items() if state in (State.FAILED, State.BLOCKED)]
    left = sum(state is State.WAITING for state in states.values())
    whys = {name: failure(folder_of(out, name)) or "needs a failed run" for name in missing}
    keep(out, results)
    if as_json:
        _answer(out, len(states), whys)
    else:
        _tell_outcome(out, len(states), left, whys)
    if left:
        print(f"time is up with {left} runs to go; the same command goes on", file=sys.stderr)
    if can_report():
        with waiting("report.html"):
            page = renew_suite(out)
        if not as_json:
            console().print(f"report: {page}", highlight=False, soft_wrap=True)
    else:
        print(NO_REPORT, file=sys.stderr)
    return 1 if missing else 0


def _tell_outcome(out: Path, runs: int, left: int, failed: dict[str, str]) -> None:
    """How many runs are complete, why others failed, and what reuse came to."""
    text = f"{runs - left - len(failed)} of {runs} runs complete: {out}"
    console().print(text, highlight=False, soft_wrap=True)
    for name, why in failed.items():
        console().print(f"  {name}: {why}", highlight=False, soft_wrap=True)
    _show_transfers(out)


def _answer(out: Path, runs: int, failed: dict[str, str]) -> int:
    print(json.dumps({"suite": str(out), "runs": runs, "failed": failed}))
    return 1 if failed else 0


def _show_transfers(out: Path) -> None:
    """How much reuse helped, where tasks were learned in a row."""
    if suites.load(out)["name"] != "continual" or not can_report():
        return
    from reprise.findings.gather import forward_transfers, gather

    found = gather(out, switches=False)
    table = forward_transfers(found.curves, found.cells)
    rows: list[dict[str, Any]] = table.to_dict("records")  # pyright: ignore
    numbers = ("area", "area_scratch", "transfer")
    rows = [row | {name: f"{row[name]:.3f}" for name in numbers} for row in rows]
    if rows:
        show(rows, as_json=False)
    unfinished = found.cells.loc[found.cells["state"] != "complete", "cell"]
    if len(unfinished):
        text = f"transfer leaves out what is not complete: {', '.join(unfinished)}"
        console().print(text, highlight=False, soft_wrap=True)
