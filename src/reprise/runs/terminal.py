"""What a run shows on a terminal: one live line, or plain lines when nobody is watching."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Generator

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from reprise.runs.recipe import Run
from reprise.training.evaluate import Evaluation
from reprise.training.loop import Progress as Report


def console(stderr: bool = False) -> Console:
    """Where answers go; square brackets in them are somebody's names and paths, not styles."""
    return Console(stderr=stderr, markup=False)


@contextlib.contextmanager
def waiting(label: str, whole: float | None = None) -> Generator[Callable[..., None]]:
    """A bar that is gone when the work is over; none when nobody is watching.

    What it gives is called with how much of the whole is done, and what is being done next;
    where nobody knows the whole, the bar only shows that something moves.
    """
    screen = console(stderr=True)
    columns = TextColumn("{task.description}", markup=False), BarColumn(24), TimeElapsedColumn()
    silent = not screen.is_terminal
    with Progress(*columns, console=screen, transient=True, disable=silent) as bar:
        line = bar.add_task(label, total=whole)

        def at(done: float, doing: str = label) -> None:
            bar.update(line, completed=done, description=doing)

        yield at


class ProgressLine:
    """Step, steps per second, success, who is acting, time left."""

    def __init__(self, run: Run, goal: int, label: str = "") -> None:
        self._run, self._goal, self._label = run, goal, label or f"{run.name} {run.task}"
        self._success, self._clock, self._step = "-", time.perf_counter(), 0
        self._console = console(stderr=True)
        self._bar: Progress | None = None
        if self._console.is_terminal:
            columns = (
                TextColumn("{task.description}", style="bold", markup=False),
                BarColumn(bar_width=24),
                TaskProgressColumn(),
                TextColumn("{task.fields[facts]}", markup=False),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=self._console)
            self._bar.start()
            self._line = self._bar.add_task(self._label, total=goal, facts="starting")

    def progress(self, report: Report, speed: float | None = None) -> None:
        """Show the latest report."""
        now = time.perf_counter()
        measured = (report.step - self._step) / max(now - self._clock, 1e-9)
        self._clock, self._step = now, report.step
        acting = self._acting(report)
        rate = measured if speed is None else speed
        facts = f"step {report.step:,} · {rate:,.0f}/s · success {self._success} · {acting}"
        if self._bar:
            self._bar.update(self._line, completed=report.step, facts=facts)
        elif report.scheduled and report.step % 5_000 == 0:
            left = (self._goal - report.step) / max(rate, 1e-9)
            print(f"{self._label}: {facts} · {left:.0f} s left", file=sys.stderr, flush=True)

    def _acting(self, report: Report) -> str:
        """Who acted most since the last report."""
        if not report.use.any():
            return "random warm-up"
        most = int(np.argmax(report.use))
        return f"{self._run.policies[most]} acting {report.use[most]:.0%}"

    def evaluation(self, step: int, evaluation: Evaluation) -> None:
        """Remember the latest success."""
        if math.isfinite(evaluation.success_any):
            self._success = f"{evaluation.success_any:.0%}"
        else:
            self._success = f"n/a, return {evaluation.return_mean:.0f}"

    def warning(self, text: str) -> None:
        """A line that must not be missed."""
        self._console.print(f"warning: {text}", style="yellow", highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar:
            self._bar.stop()


class PartsLine:
    """Some measurements one after another: which one it is, and how far all have come."""

    def __init__(self, label: str, parts: int) -> None:
        self._label, self._over = label, 0
        self._bar: Progress | None = None
        screen = console(stderr=True)
        if screen.is_terminal:
            name = TextColumn("{task.description}", style="bold", markup=False)
            columns = (name, BarColumn(bar_width=24), TaskProgressColumn(), TimeElapsedColumn())
            # Drawn only when told: a thread that draws meanwhile would be measured, too.
            self._bar = Progress(*columns, console=screen, auto_refresh=False)
            self._bar.start()
            self._line = self._bar.add_task(label, total=parts)

    def at(self, part: str, share: float) -> None:
        """A part begins (0), goes on, or is over (1)."""
        if self._bar:
            text = f"{self._label}: {part}"
            self._bar.update(self._line, completed=self._over + share, description=text)
            self._bar.refresh()
        elif share == 0.0:
            print(f"{self._label}: {part}", file=sys.stderr, flush=True)
        self._over += share == 1.0

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar:
            self._bar.stop()


class CountLine:
    """Many runs: how many are over, and what just happened."""

    def __init__(self, label: str, goal: int, over: int) -> None:
        self._label, self._goal, self._over = label, goal, over
        self._console = console(stderr=True)
        self._bar: Progress | None = None
        if self._console.is_terminal:
            columns = (TextColumn("[bold]{task.description}"), BarColumn(bar_width=24))
            self._bar = Progress(
                *columns, TextColumn("{task.completed}/{task.total}"), console=self._console
            )
            self._bar.start()
            self._line = self._bar.add_task(label, total=goal, completed=over)

    def event(self, text: str, over: bool) -> None:
        """A run began, ended or failed."""
        self._over += over
        line = f"{self._label} {self._over}/{self._goal} {text}"
        if self._bar:
            self._bar.update(self._line, completed=self._over)
            self._bar.console.print(line, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar:
            self._bar.stop()
