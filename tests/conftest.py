"""One thread, so that the same seed gives the same bits; silent broadcasting is an error."""

from __future__ import annotations

import os

os.environ["NPROC"] = "1"

import jax
import pytest

jax.config.update("jax_numpy_rank_promotion", "raise")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one module share what they compile, so they run in one process."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
