"""More priors than a reader can tell apart: whom to name, and whom to count as the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reprise.findings.tables import RunTables, policies, usage
from reprise.pages.palette import OTHER_PRIORS, PRIORS

SHOWN_PRIORS = 10


def lump(
    names: Sequence[str], layers: NDArray[np.float64]
) -> tuple[list[str], NDArray[np.float64]]:
    """The task policy and the most used priors by name; all the rest as one."""
    priors = [i for i, name in enumerate(names) if name != "task"]
    ranked = sorted(priors, key=lambda i: -float(layers[:, i].sum()))
    kept = sorted(ranked[:SHOWN_PRIORS])
    rest = sorted(ranked[SHOWN_PRIORS:])
    first = [i for i, name in enumerate(names) if name == "task"] + kept
    named = [names[i] for i in first]
    if not rest:
        return named, layers[:, first]
    others = layers[:, rest].sum(axis=1, keepdims=True)
    return [*named, OTHER_PRIORS], np.hstack([layers[:, first], others])


def cast(runs: Sequence[RunTables]) -> list[str]:
    """Every policy of some runs, in the order in which colors are given out."""
    acted: dict[str, float] = {}
    for run in runs:
        names = policies(run)
        for name, steps in zip(names, usage(run).sum(axis=0), strict=True):
            acted[name] = acted.get(name, 0.0) + float(steps)
    # As long as every prior has a color of its own, the order of the recipe is the calmer one.
    few = len(acted) <= len(PRIORS) + 1
    return list(acted) if few else sorted(acted, key=lambda name: -acted[name])
