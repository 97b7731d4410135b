"""What reuse costs, and what priors achieve alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.findings.tables import numbers
from reprise.pages.chart import Bars, Group, Panel, Table
from reprise.pages.palette import INK
from reprise.pages.suite import curves, paper
from reprise.pages.suite.use import paint as policy_colors
from reprise.pages.words import UNKNOWN, count, number

MILLION = 1e6


def cost(found: Gathered) -> Panel | None:
    """Time per million steps, beside the paper's."""
    table = prices(found)
    if table.empty:
        return None
    ink = curves.paint(found)
    charts = tuple(_times(str(task), own, ink) for task, own in table.groupby("task", sort=False))
    shown = _in_words(table, curves.kind(found))
    tables = (Table("cost", "Hours per million steps", table, shown),)
    return Panel("cost", "What it costs", COST, {"": charts}, tables)


COST = (
    "Hours of wall-clock time for a million environment steps, evaluations included, and their "
    "standard deviation over runs. Other machines give other hours, so compare the multiples of "
    "Scratch (the median over seeds, each beside Scratch of the same seed), and only those of runs "
    "that had the machine to themselves (--jobs 1). The paper prints times for box-close and "
    "stick-pull."
)
COLUMNS = ("task", "label", "runs", "hours", "std", "times_scratch", "paper_hours",
           "paper_times_scratch")  # fmt: skip


def prices(found: Gathered) -> pd.DataFrame:
    """One row per task and line: hours of a million steps, here and in the paper."""
    done = found.cells[found.cells["state"].eq("complete") & found.cells["seconds"].gt(0)]
    done = done[done["steps"] > 1]
    timed = _beside_scratch(done.assign(hours=done["seconds"] / done["steps"] * MILLION / 3600))
    rows: list[dict[str, Any]] = [
        {
            "task": str(task), "label": str(label), "runs": len(own),
            "hours": float(own["hours"].mean()),
            "std": float(own["hours"].std(ddof=0)) if len(own) > 1 else np.nan,
            "times_scratch": float(own["times_scratch"].median()),
            "paper_hours": paper.hours(str(task), str(label)),
            "paper_times_scratch": paper.ratio(str(task), str(label)),
        }
        for (task, label), own in timed.groupby(["task", "label"], sort=False)
    ]  # fmt: skip
    floats = dict.fromkeys(COLUMNS[3:], float)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(floats)


def _beside_scratch(timed: pd.DataFrame) -> pd.DataFrame:
    """Each run beside Scratch's of the same task and seed: both are likely of one machine."""
    keys = ["task", "seed"]
    own = timed.loc[timed["label"].eq("scratch"), [*keys, "hours"]]
    paired = timed.merge(own.drop_duplicates(keys), on=keys, how="left", suffixes=("", "_scratch"))
    return paired.assign(times_scratch=paired["hours"] / paired["hours_scratch"])


def _in_words(table: pd.DataFrame, kind: str) -> pd.DataFrame:
    rows = [
        {
            "task": row["task"], kind: row["label"], "runs": count(row["runs"]),
            "hours": _spread(row["hours"], row["std"]),
            "times Scratch": number(row["times_scratch"]),
            "hours in the paper": number(row["paper_hours"]),
            "times Scratch in the paper": number(row["paper_times_scratch"]),
        }
        for row in table.to_dict("records")
    ]  # fmt: skip
    shown = pd.DataFrame(rows)
    # Two columns of dashes say less than none.
    return shown.loc[:, [name for name in shown if not shown[name].eq(UNKNOWN).all()]]


def _spread(mean: float, std: float) -> str:
    """A mean and its standard deviation, which one run does not have."""
    return number(mean) if np.isnan(std) else f"{number(mean)} ± {number(std)}"


def _times(task: str, own: pd.DataFrame, ink: dict[str, str]) -> Bars:
    """Multiples of Scratch where it was run, hours otherwise; one color per line."""
    relative = bool(own["times_scratch"].notna().all())
    scale = own["times_scratch"] / own["hours"] if relative else pd.Series(1.0, own.index)
    stated = numbers(own, "paper_times_scratch" if relative else "paper_hours")
    here = numbers(own.assign(here=own["hours"] * scale), "here")
    spread = numbers(own.assign(spread=own["std"] * scale), "spread")
    both = not np.isnan(stated).all()
    groups = tuple(
        Group(str(label), ink[str(label)], np.array([a, b][: 1 + both]),
              np.array([error, np.nan][: 1 + both]))
        for label, a, b, error in zip(own["label"], here, stated, spread, strict=True)
    )  # fmt: skip
    unit = "times Scratch" if relative else "hours per million steps"
    return Bars(task, ("here", "in the paper")[: 1 + both], groups, unit, share=False)


def zero_shot(found: Gathered) -> Panel | None:
    """What each prior achieves alone, before any training."""
    if found.zero_shot.empty:
        return None
    keys = ["task", "prior"]
    columns = ["success_any", "success_last", "return_mean"]
    table = found.zero_shot.groupby(keys, sort=False)[columns].mean().reset_index()
    tasks = [str(task) for task in dict.fromkeys(table["task"])]
    ink = policy_colors(found)
    groups = tuple(_alone(str(p), own, tasks, ink) for p, own in table.groupby("prior", sort=False))
    charts = (Bars("Each prior alone", tuple(tasks), groups, "success"),)
    return Panel("zero-shot", "The priors alone", ALONE, {"": charts},
                 (Table("zero-shot", "Mean over runs", table),))  # fmt: skip


ALONE = (
    "What each prior achieves on the task by itself, before any training: the share of episodes "
    "with a success at any time (success any) or in their last step (success last), and the mean "
    "return."
)


def _alone(prior: str, own: pd.DataFrame, tasks: Sequence[str], ink: dict[str, str]) -> Group:
    known = dict(zip(own["task"], numbers(own, "success_any"), strict=True))
    values = np.array([known.get(task, np.nan) for task in tasks])
    return Group(prior, ink.get(prior, INK), values)
