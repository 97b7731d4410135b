"""How much priors act as training goes on, in numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.findings.tables import numbers
from reprise.pages.chart import Table
from reprise.pages.suite import curves
from reprise.pages.wording import percent

TENTHS = 10
NBSP = "\N{NO-BREAK SPACE}"


def shares(found: Gathered) -> pd.DataFrame:
    """For each line that reuses: the share of steps on which priors acted in each tenth."""
    reusing = found.use[~found.use["method"].eq("scratch") & ~found.use["policy"].eq("task")]
    if reusing.empty:
        return pd.DataFrame(columns=["task", "label", *range(1, TENTHS + 1)])
    budget = dict(zip(found.cells["cell"], found.cells["steps"], strict=True))
    steps = np.array([float(budget[cell]) for cell in reusing["cell"]])
    tenth = np.clip(np.ceil(TENTHS * numbers(reusing, "step") / steps), 1, TENTHS).astype(int)
    keys = ["task", "label", "cell", "step"]
    together = reusing.assign(tenth=tenth).groupby([*keys, "tenth"], sort=False)["share"].sum()
    means = together.reset_index().groupby(["task", "label", "tenth"], sort=False)["share"].mean()
    wide = means.unstack("tenth").reindex(columns=list(range(1, TENTHS + 1)))
    order = list(dict.fromkeys(zip(reusing["task"], reusing["label"], strict=True)))
    return wide.reindex(pd.MultiIndex.from_tuples(order, names=["task", "label"])).reset_index()


def table(found: Gathered) -> Table:
    """The same, ready to read."""
    wide = shares(found)
    names: dict[object, str] = {
        n: f"{TENTHS * (n - 1)}{NBSP}to {TENTHS * n}{NBSP}%" for n in _tenths()
    }
    plain = wide.rename(columns={n: f"tenth_{n}" for n in _tenths()})
    shown = wide.rename(columns=names | {"label": curves.kind(found)})
    for column in names.values():
        shown[column] = [percent(value) for value in numbers(shown, column)]
    return Table("weaning", "Share of steps by priors, in each tenth of training", plain, shown)


def _tenths() -> Sequence[int]:
    return range(1, TENTHS + 1)
