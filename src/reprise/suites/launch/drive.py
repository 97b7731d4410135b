"""Which run comes next: after those it needs, again if it failed, never if it is complete."""

from __future__ import annotations

import time
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
Order = Callable[[Sequence[Job]], Sequence[Job]]
"""The runs that wait -> the same, the one to start first in front."""


class Plan(NamedTuple):
    """In which order, and for how long."""

    order: Order = lambda waiting: waiting
    hours: float | None = None
    """When they are over, what still runs saves and ends."""


AS_GIVEN = Plan()


class Outcome(NamedTuple):
    """What became of every run."""

    states: dict[str, State]
    interrupted: int | None
    """The signal that stopped the launch, if one did."""


def launch(
    jobs: Sequence[Job],
    workers: Workers,
    tell: Tell = lambda job, state: None,
    plan: Plan = AS_GIVEN,
) -> Outcome:
    """Make every run that is not complete; one that fails is continued, and given up at last."""
    with stop_signals() as caught:
        try:
            states = Launch(jobs, workers, tell, plan).play(caught)
        except BaseException:
            workers.stop()
            raise
        finally:
            workers.close()
    return Outcome(states, caught[0] if caught else None)


class Launch:
    """The runs of a launch and where each of them stands."""

    def __init__(self, jobs: Sequence[Job], workers: Workers, tell: Tell, plan: Plan) -> None:
        self._jobs = {job.name: job for job in jobs}
        self._workers, self._tell, self._order = workers, tell, plan.order
        self._end = None if plan.hours is None else time.monotonic() + 3_600 * plan.hours
        self._tries: Counter[str] = Counter()
        self._reached = {job.name: job.reached for job in jobs}
        self._asked = False
        self.states = {job.name: State.COMPLETE if job.complete else State.WAITING for job in jobs}

    def play(self, caught: Sequence[int]) -> dict[str, State]:
        """Until every run is over, a signal comes or time is up; then until all has been saved."""
        self._fill()
        while self._running():
            ended = self._workers.finished(PULSE)
            stopping = bool(caught) or self._late()
            for name in ended:
                self._settle(name, final=stopping)
            if not stopping and ended:
                self._fill()
            elif stopping and not self._asked:
                self._asked = True  # once: a second request would end a run unsaved
                self._workers.stop()
        return self.states

    def _fill(self) -> None:
        """Start what can be started, in order."""
        waiting = [job for job in self._jobs.values() if self.states[job.name] is State.WAITING]
        for job in self._order(waiting):
            name = job.name
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

    def _late(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end

    def _running(self) -> int:
        return sum(state is State.RUNNING for state in self.states.values())

    def _note(self, name: str, state: State) -> None:
        self.states[name] = state
        self._tell(self._jobs[name], state)
