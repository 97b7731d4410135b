"""A core for the updates of a run: XLA's threads stay on one that no other run has claimed.

XLA hands parts of an update from one of its threads to another, and Linux puts these on whichever
core it likes, now and then on the one where the environment steps: the networks move from cache
to cache, and nothing overlaps. Where they stay on a core of their own, a step is up to a sixth
shorter (docs/performance.md). No number depends on it.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import filelock

SWITCH = "REPRISE_CORES"
"""Set to `free`, nothing is claimed."""
TASKS = Path("/proc/self/task")


@dataclass(frozen=True)
class Core:
    """The core that a run claimed, if there was one."""

    number: int | None
    allowed: frozenset[int] = frozenset()

    def settle(self) -> None:
        """Keep the threads that XLA has by now on it; later ones need another call."""
        if self.number is not None:
            _place(_hidden_threads(), {self.number})

    def leave(self) -> None:
        """Let them run anywhere again."""
        if self.number is not None:
            _place(_hidden_threads(), self.allowed)


@contextmanager
def claimed() -> Generator[Core]:
    """A core that no other run has, as long as this lasts; none if all are taken or unknown."""
    with ExitStack() as stack:
        core = _claim(stack)
        try:
            yield core
        finally:
            core.leave()


def _claim(stack: ExitStack) -> Core:
    allowed = _allowed()
    if len(allowed) < 2 or os.environ.get(SWITCH) == "free":
        return Core(None)
    for number in sorted(allowed, reverse=True):
        # A lock that its process takes to the grave, so that nothing is left of a killed run.
        lock = filelock.FileLock(_locks() / f"{number}.lock")
        with suppress(filelock.Timeout, OSError):
            stack.enter_context(lock.acquire(blocking=False))
            return Core(number, allowed)
    return Core(None)


def _allowed() -> frozenset[int]:
    """The cores that this process may use; none where that cannot be told or changed."""
    if sys.platform != "linux" or not TASKS.exists():
        return frozenset()
    return frozenset(os.sched_getaffinity(0))


def _locks() -> Path:
    folder = Path(tempfile.gettempdir()) / f"reprise-cores-{os.getuid()}"
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
    return folder


def _hidden_threads() -> set[int]:
    """The threads of this process that Python knows nothing of."""
    known = {thread.native_id for thread in threading.enumerate()}
    return {int(name) for name in os.listdir(TASKS)} - known


def _place(threads: Iterable[int], cores: Iterable[int]) -> None:
    for thread in threads:
        with suppress(OSError):  # it has ended since, or may not be moved
            os.sched_setaffinity(thread, cores)
