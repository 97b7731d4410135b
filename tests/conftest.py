"""One thread, so that the same seed gives the same bits; silent broadcasting is an error."""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

os.environ["NPROC"] = "1"

if "PYTEST_XDIST_WORKER" not in os.environ:
    # What one process has compiled, all others load: compiling is most of what tests take. The
    # folder lives as long as this session, so nothing depends on what an earlier one left.
    kept = tempfile.mkdtemp(prefix="reprise-compiled-")
    atexit.register(shutil.rmtree, kept, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = kept
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.1"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")


MAPS = Path("/proc/self/maps")
"""The memory maps of this process, a line each, where the system is Linux."""
ENOUGH_MAPS = 10_000
EVERY = 16
"""Tests between two looks at them, which take milliseconds."""
finished = itertools.count(1)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Let go of compiled functions before there are too many of them.

    Each holds about three memory maps, of which Linux grants a process 65,530
    (`vm.max_map_count`): a worker that kept all of a whole session would run out of them, and JAX
    would end in a segmentation fault. What is needed again comes from the folder above.
    """
    if item.config.getoption("--within") is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)
    due = next(finished) % EVERY == 0
    if due and MAPS.exists() and MAPS.read_bytes().count(b"\n") > ENOUGH_MAPS:
        jax.clear_caches()
        gc.collect()


SLOW = ("test_suite_runs", "test_resume", "test_every_method")
"""Modules of minutes: whoever begins with them does not end alone with one of them."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The slow modules first, everything else in its order; last where time is short."""
    slow_first = config.getoption("--within") is None
    items.sort(key=lambda item: (item.path.stem in SLOW) != slow_first)


BEGAN = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--within 120`: what has not begun after two minutes is left out."""
    parser.addoption("--within", type=float, help="seconds after which tests are left out")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what comes too late, and stop what takes too long."""
    within = item.config.getoption("--within")
    if within is None:
        return
    left = within - (time.monotonic() - BEGAN)
    if left <= 0:
        _too_late()
    signal.signal(signal.SIGALRM, _too_late)
    signal.setitimer(signal.ITIMER_REAL, left + GRACE)


GRACE = 20.0
"""Seconds that a test may take beyond --within, if it began before."""


def _too_late(*given: object) -> None:
    pytest.skip("the time of --within is over")
