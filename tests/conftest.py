"""One thread, so that the same seed gives the same bits; silent broadcasting is an error."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

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


SLOW = ("test_suite_runs", "test_resume", "test_every_method")
"""Modules of minutes: whoever begins with them does not end alone with one of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow modules first, everything else in its order."""
    items.sort(key=lambda item: item.path.stem not in SLOW)
