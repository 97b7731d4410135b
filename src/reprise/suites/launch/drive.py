"""Which run comes next: after those it needs, again if it failed, never if it is complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from reprise.runs.signals import stop_signals
from reprise.suites.launch.job import Job
from reprise.suites.launch.workers import Workers

TRIES = 2
"""Without getting further: a run that does is worth continuing, however often its worker dies."""
PULSE = 0.3
"""Seconds after which a signal is noticed."""


class State(StrEnum):
    """How far a run has come."""

    WAITING = "waiting"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    BLOCKED = "blocked"
    """A run that it needs has failed."""


Tell = Callable[[Job, State], None]


class Outcome(NamedTuple):
    """What became of every run."""

    states: dict[str, State]
    interrupted: int | None
    """The signal that stopped the launch, if one did."""


def launch(jobs: Sequence[Job], workers: Workers, tell: Tell = lambda job, state: None) -> Outcome:
    """Make every run that is not complete; one that fails is continued, and given up at last."""
    with stop_signals() as caught:
        try:
            states = Launch(jobs, workers, tell).play(caught)
        except BaseException:
            workers.stop()
            raise
        finally:
            workers.close()
    return Outcome(states, caught[0] if caught else None)


class Launch:
    """The runs of a launch and where each of them stands."""

    def __init__(self, jobs: Sequence[Job], workers: Workers, tell: Tell):
        self._jobs = {job.name: job for job in jobs}
        self._workers, self._tell = workers, tell
        self._tries: Counter[str] = Counter()
        self._reached = {job.name: job.reached for job in jobs}
        self._asked = False
        self.states = {job.name: State.COMPLETE if job.complete else State.WAITING for job in jobs}

    def play(self, caught: Sequence[int]) -> dict[str, State]:
        """Until every run is over, or a signal comes; then until what runs has saved."""
        self._fill()
        while self._running():
            for name in self._workers.finished(PULSE):
                self._settle(name, final=bool(caught))
            if not caught:
                self._fill()
            elif not self._asked:
                self._asked = True  # once: a second request would end a run unsaved
                self._workers.stop()
        return self.states

    def _fill(self) -> None:
        """Start what can be started, in order."""
        for name, job in self._jobs.items():
            if self.states[name] is not State.WAITING:
                continue
            needed = {self.states[need] for need in job.needs}
            if needed & {State.FAILED, State.BLOCKED}:
                self._note(name, State.BLOCKED)
            elif needed <= {State.COMPLETE} and self._running() < self._workers.places:
                self._tries[name] += 1
                self._note(name, State.RUNNING)
                self._workers.start(job)

    def _settle(self, name: str, final: bool) -> None:
        """What became of a run that ended."""
        if self._jobs[name].complete:
            self._note(name, State.COMPLETE)
        elif final or self._another_try(name):
            self._note(name, State.WAITING)
        else:
            self._jobs[name].give_up()
            self._note(name, State.FAILED)

    def _another_try(self, name: str) -> bool:
        reached = self._jobs[name].reached
        if reached > self._reached[name]:
            self._reached[name], self._tries[name] = reached, 0
        return self._tries[name] < TRIES

    def _running(self) -> int:
        return sum(state is State.RUNNING for state in self.states.values())

    def _note(self, name: str, state: State) -> None:
        self.states[name] = state
        self._tell(self._jobs[name], state)
