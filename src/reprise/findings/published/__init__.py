"""Learning curves that others have published, as reference lines beside ours.

They are no comparison on equal terms: every source has its own episodes, goals and measure of
success, and says so in `protocol`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from io import StringIO
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reprise.findings.tables import numbers


class Source(NamedTuple):
    """Whose curves they are, and what is different about them."""

    name: str
    protocol: str


SOURCES = {
    "SAC (TD-MPC2 repo)": Source("SAC (published)", "episodes of 200 steps, last step"),
    "TD-MPC2": Source("TD-MPC2 (published)", "episodes of 200 steps, last step"),
    "BRC single-task": Source("BRC (published)", "episodes of 200 steps, one goal per seed"),
}
"""By their name in metaworld.csv, which has the mean success over the seeds of each source."""


class Published(NamedTuple):
    """A source's mean success on one task."""

    source: Source
    steps: NDArray[np.float64]
    success: NDArray[np.float64]
    seeds: int


def curves(task: str, until: float) -> list[Published]:
    """What is known of a task, up to this number of environment steps."""
    family, _, name = task.partition("/")
    if family != "metaworld":
        return []
    table = _metaworld()
    rows = table[(table["task"] == name) & (table["env_steps"] <= until)]
    found: list[Published] = []
    for key, source in SOURCES.items():
        own = rows[rows["method"] == key].sort_values("env_steps")
        if len(own):
            steps, success = numbers(own, "env_steps"), numbers(own, "success_mean")
            found.append(Published(source, steps, success, int(numbers(own, "seeds").max())))
    return found


@cache
def _metaworld() -> pd.DataFrame:
    table = files("reprise.findings.published") / "metaworld.csv"
    return pd.read_csv(StringIO(table.read_text()))
