"""Runs in other processes that are slow enough to be interrupted in their midst."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def paced(env: Mapping[str, str], seconds: float) -> dict[str, str]:
    """The environment of a process whose checkpoints take at least so long each."""
    paths = [str(Path(__file__).parent / "paced"), env.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, paths))
    return {**env, "PYTHONPATH": path, "CHECKPOINT_SECONDS": str(seconds)}
