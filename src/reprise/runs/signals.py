"""Ctrl-C and termination, noted instead of obeyed at once."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType

_PARENT_DEATH = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


def end_with_parent() -> None:
    """A worker of a killed pool saves and stops instead of training on unseen (on Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGTERM)


@contextmanager
def deaf_to_the_terminal() -> Generator[None]:
    """Ctrl-C comes after this block; processes started in it never hear of it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def stop_signals(then: Callable[[], None] = lambda: None) -> Generator[list[int]]:
    """SIGINT and SIGTERM are noted, and `then` is called; a second one ends the process at once."""
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if caught:
            os._exit(128 + number)
        caught.append(number)
        then()

    try:
        before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: the caller handles signals
        yield caught
        return
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
