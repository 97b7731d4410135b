"""Who acted: areas over training, and shares for each set of priors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.findings.tables import numbers
from reprise.pages.chart import Areas, Bars, Group, Panel, Table
from reprise.pages.crowd import lump
from reprise.pages.palette import PRIORS, colors
from reprise.pages.suite import curves
from reprise.pages.words import percent

INTERVALS = 200
"""Places along training at which shares are drawn, at most."""
TENTHS = 10
"""Parts of training in the table."""
NBSP = "\N{NO-BREAK SPACE}"
FAINT = 0.01
"""A share below which priors no longer matter."""


def paint(found: Gathered) -> dict[str, str]:
    """One color for each policy: in order of appearance, or of use if they are many."""
    acted = found.use.groupby("policy", sort=False)["share"].sum()
    names = [str(name) for name in acted.index]
    if len(names) > len(PRIORS) + 1:
        names = sorted(names, key=lambda name: -float(acted[name]))
    return colors(names)


def shown(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Task and line of what is drawn: every SMEC, or else each task's first that reuses."""
    pairs = list(dict.fromkeys(zip(table["task"], table["label"], table["method"], strict=True)))
    ours = [(str(t), str(n)) for t, n, method in pairs if str(method).startswith("smec")]
    first = {str(task): str(label) for task, label, _ in reversed(pairs)}
    return ours + [(t, n) for t, n in first.items() if t not in {task for task, _ in ours}]


def name_of(task: str, label: str, pairs: Sequence[tuple[str, str]]) -> str:
    """The task, and which line where it has several."""
    alone = sum(other == task for other, _ in pairs) == 1
    return task if alone and label == "smec" else f"{task}: {label}"


def areas(found: Gathered) -> Panel | None:
    """The share of steps on which each policy acted, along training."""
    reusing = found.use[~found.use["method"].eq("scratch")]
    pairs = shown(reusing) if len(reusing) else []
    ink, whole = paint(found), list[Areas]()
    for task, label in pairs:
        rows = reusing[(reusing["task"] == task) & (reusing["label"] == label)]
        whole.append(_area(name_of(task, label, pairs), rows, ink))
    if not whole:
        return None
    views = {"Whole training": tuple(whole), "While priors act": tuple(map(_beginning, whole))}
    tables = (_weaning(found), _used(reusing))
    return Panel("utilization", "Who was in control", AREAS, views, tables)


AREAS = (
    "The height of a color is the share of training steps on which that policy chose the action, "
    "averaged over seeds; gray is the random warm-up. The second view ends where priors act on "
    f"less than {100 * FAINT:.0f} % of the steps for good."
)


def _area(title: str, rows: pd.DataFrame, ink: dict[str, str]) -> Areas:
    mean = rows.pivot_table(index="step", columns="policy", values="share", sort=False)
    mean = _thinned(mean.sort_index().fillna(0.0))
    names, layers = lump([str(n) for n in mean.columns], mean.to_numpy(np.float64))
    idle = np.clip(1.0 - layers.sum(axis=1), 0.0, None)
    everyone = dict(zip([*names, "random"], [*layers.T, idle], strict=True))
    acting = {n: np.append(layer[:1], layer) for n, layer in everyone.items() if layer.any()}
    # An interval's share holds from its beginning, so the first one begins at zero.
    steps = np.append(0.0, mean.index.to_numpy(np.float64))
    return Areas(title, steps, acting, ink)


def _thinned(mean: pd.DataFrame) -> pd.DataFrame:
    """Not more intervals than a screen can show."""
    steps = mean.index.to_numpy(np.float64)
    if len(steps) <= INTERVALS:
        return mean
    width = steps[-1] / INTERVALS
    return mean.groupby(np.ceil(steps / width) * width).mean()


def _beginning(chart: Areas) -> Areas:
    """Up to the last interval in which priors matter; all of it if there is none."""
    priors = [layer for name, layer in chart.layers.items() if name not in ("task", "random")]
    matters = np.flatnonzero(np.sum(priors, axis=0) >= FAINT) if priors else np.zeros(0, int)
    until = min(len(chart.x), int(matters[-1]) + 2) if matters.size else len(chart.x)
    layers = {name: layer[:until] for name, layer in chart.layers.items()}
    return chart._replace(x=chart.x[:until], layers=layers)


def _used(reusing: pd.DataFrame) -> Table:
    keys = ["task", "label", "step", "policy"]
    shares = reusing.groupby(keys, sort=False)["share"]
    # As statistics.mean_std, but at once for groups that may be a million.
    columns = {"mean": shares.mean(), "std": shares.std(ddof=0), "runs": shares.count()}
    return Table("utilization", "Share of steps", pd.DataFrame(columns).reset_index())


def settings(found: Gathered) -> Panel | None:
    """Whom the same task used, given different priors: only where a suite varies them."""
    reusing = found.use[~found.use["method"].eq("scratch")]
    varied = [
        str(task) for task, rows in reusing.groupby("task", sort=False)
        if rows["label"].nunique() > 1 and rows["priors"].nunique() == rows["label"].nunique()
    ]  # fmt: skip
    if not varied:
        return None
    shares = (
        reusing[reusing["task"].isin(varied)]
        .groupby(["task", "label", "priors", "policy"], sort=False)["share"]
        .mean()
        .reset_index()
    )
    ink = paint(found)
    charts = tuple(_stack(task, shares[shares["task"] == task], ink) for task in varied)
    table = Table("prior-sets", "Share of all steps", shares)
    return Panel("prior-sets", "Different priors", SETS, {"": charts}, (table,))


SETS = (
    "For each set of priors, the share of all training steps on which each policy acted; what is "
    "missing to 100 % is the random warm-up. The learning curves above compare the same sets."
)


def _stack(task: str, shares: pd.DataFrame, ink: dict[str, str]) -> Bars:
    table = shares.pivot_table(index="label", columns="policy", values="share", sort=False)
    table = table.fillna(0.0)
    names, layers = lump([str(n) for n in table.columns], table.to_numpy(np.float64))
    groups = tuple(Group(n, ink[n], layer) for n, layer in zip(names, layers.T, strict=True))
    labels = tuple(str(label) for label in table.index)
    return Bars(task, labels, groups, "share of all steps", stacked=True)


def by_tenth(found: Gathered) -> pd.DataFrame:
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


def _weaning(found: Gathered) -> Table:
    """The same, ready to read."""
    wide = by_tenth(found)
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
