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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one module share what they compile, so they run in one process."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
