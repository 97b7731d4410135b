"""Who makes the runs of a launch, and the ones on this machine: a process per run."""

from __future__ import annotations

import multiprocessing
import os
import sys
from abc import ABC, abstractmethod
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess

from reprise.runs.signals import deaf_to_the_terminal, end_with_parent
from reprise.suites.launch.job import Job, perform


class Workers(ABC):
    """Places where runs are made; what became of a run is in its folder."""

    places: int
    """Runs at a time."""

    @abstractmethod
    def start(self, job: Job) -> None:
        """Begin or continue a run."""

    @abstractmethod
    def finished(self, patience: float) -> list[str]:
        """The runs that have ended since the last call; waits at most `patience` seconds."""

    @abstractmethod
    def stop(self) -> None:
        """Ask every run to save and end."""

    @abstractmethod
    def close(self) -> None:
        """Nothing more will be started."""


class Processes(Workers):
    """One process of one thread per run: a crash is that run's alone."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._spawn = multiprocessing.get_context("spawn")
        self._running: dict[str, SpawnProcess] = {}
        # Otherwise the first start begins it, which makes the child hear the terminal again.
        resource_tracker.ensure_running()

    def start(self, job: Job) -> None:
        process = self._spawn.Process(target=alone, args=(job.message,), name=job.name)
        with deaf_to_the_terminal():  # as a child remains: until it leaves our group, too
            process.start()
        self._running[job.name] = process

    def finished(self, patience: float) -> list[str]:
        by_handle = {process.sentinel: name for name, process in self._running.items()}
        ended = [by_handle[handle] for handle in wait(list(by_handle), patience)]  # pyright: ignore
        for name in ended:
            self._running.pop(name).join()
        return ended

    def stop(self) -> None:
        for process in self._running.values():
            process.terminate()

    def close(self) -> None:
        for process in self._running.values():
            process.join()


def alone(message: str) -> None:
    """A worker's life: it hears of Ctrl-C from its parent only, and ends with it."""
    os.setsid()
    end_with_parent()
    parent = multiprocessing.parent_process()
    if parent is None or os.getppid() != parent.pid:  # it died before we began to listen
        sys.exit(1)
    perform(message)
