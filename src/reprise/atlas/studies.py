"""What a suite says in numbers: milestones, cost, priors alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reprise import statistics
from reprise.atlas import curves, paper
from reprise.atlas.chart import Bars, Group, Numbers, Panel, Table
from reprise.atlas.use import paint as policy_colors
from reprise.gather import Gathered
from reprise.report.palette import INK
from reprise.report.tables import numbers

LAST = 5
"""Evaluations at the end of a run that count as its final ones."""
MILLION = 1e6


def milestones(found: Gathered) -> Panel | None:
    """How well, how soon, and how sure."""
    some = [
        bundle for bundle in curves.bundles(found)
        if curves.success_or_return(found.curves, bundle.task) == "success_any"
    ]  # fmt: skip
    if not some:
        return None
    each = pd.DataFrame([_milestone(bundle) for bundle in some])
    tables = [Table("milestones", "Each task", each)]
    if (summary := _summary(some)) is not None:
        tables.append(Table("summary", "Final success over all tasks", summary))
    return Panel("milestones", "Milestones", MILESTONES, {}, tuple(tables))


MILESTONES = (
    "Final success is the mean of a run's last five evaluations; steps to 90 % are those until the "
    "first evaluation with at least 90 %, over the runs that came so far; the area is the mean "
    "height of the success curve."
)


def _milestone(bundle: curves.Bundle) -> dict[str, Any]:
    final = bundle.runs[:, -LAST:].mean(axis=1)
    reached = [statistics.steps_to(bundle.steps, run, 0.9) for run in bundle.runs]
    first = [statistics.steps_to(bundle.steps, run, 1e-9) for run in bundle.runs]
    areas = [statistics.area(bundle.steps, run) for run in bundle.runs]
    return {
        "task": bundle.task, "label": bundle.label, "runs": len(bundle.runs),
        "final_success": final.mean(), "std": final.std(), "best_success": bundle.runs.max(),
        "first_success_step": _mean(first), "steps_to_90": _mean(reached),
        "runs_at_90": sum(step is not None for step in reached), "area": float(np.mean(areas)),
    }  # fmt: skip


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _summary(some: Sequence[curves.Bundle]) -> pd.DataFrame | None:
    """Each line over the tasks that all lines share, and how often the first one beats it."""
    labels = list(dict.fromkeys(bundle.label for bundle in some))
    finals = {(b.label, b.task): b.runs[:, -LAST:].mean(axis=1) for b in some}
    tasks = [
        t for t in dict.fromkeys(b.task for b in some) if all((n, t) in finals for n in labels)
    ]
    if not tasks:
        return None
    strata = {label: [finals[label, task] for task in tasks] for label in labels}
    return pd.DataFrame([_total(label, strata, len(tasks)) for label in labels])


def _total(label: str, strata: dict[str, list[Numbers]], tasks: int) -> dict[str, Any]:
    rng, own, first = np.random.default_rng(curves.SEED), strata[label], next(iter(strata))
    mean, std = statistics.mean_std(np.concatenate(own))
    iqm = statistics.iqm_interval(own, rng)
    row = {"label": label, "tasks": tasks, "runs": sum(map(len, own)), "mean": mean, "std": std}
    row |= {"iqm": iqm.value, "iqm_low": iqm.low, "iqm_high": iqm.high}
    if label == first:
        return row | {f"{first}_is_better": None, "low": None, "high": None}
    better = statistics.improvement_interval(strata[first], own, rng)
    return row | {f"{first}_is_better": better.value, "low": better.low, "high": better.high}


def cost(found: Gathered) -> Panel | None:
    """Time per million steps, beside the paper's."""
    done = found.cells[found.cells["state"].eq("complete") & found.cells["seconds"].gt(0)]
    done = done[done["steps"] > 1]
    if done.empty:
        return None
    timed = done.assign(hours=done["seconds"] / done["steps"] * MILLION / 3600)
    rows = [
        {
            "task": task, "label": label, "runs": len(own), "hours": own["hours"].mean(),
            "std": own["hours"].std(ddof=0),
            "paper_hours": paper.hours(str(task), str(label)),
            "paper_times_scratch": paper.ratio(str(task), str(label)),
        }
        for (task, label), own in timed.groupby(["task", "label"], sort=False)
    ]  # fmt: skip
    base = {row["task"]: row["hours"] for row in rows if row["label"] == "scratch"}
    table = pd.DataFrame([row | {"times_scratch": _over(row, base)} for row in rows])
    order = ["task", "label", "runs", "hours", "std", "times_scratch", "paper_hours",
             "paper_times_scratch"]  # fmt: skip
    charts = tuple(_times(str(task), own) for task, own in table.groupby("task", sort=False))
    tables = (Table("cost", "Hours per million steps", table[order].astype(FLOATS)),)
    return Panel("cost", "What it costs", COST, {"": charts}, tables)


FLOATS = {"times_scratch": float, "paper_hours": float, "paper_times_scratch": float}
COST = (
    "Hours of wall-clock time for a million environment steps, evaluations included. Other "
    "machines give other hours, so compare the multiples of Scratch, and only those of runs that "
    "had the machine to themselves (--jobs 1). The paper prints times for box-close and stick-pull."
)


def _over(row: dict[str, Any], base: dict[str, float]) -> float | None:
    return row["hours"] / base[row["task"]] if row["task"] in base else None


def _times(task: str, own: pd.DataFrame) -> Bars:
    labels = tuple(str(label) for label in own["label"])
    groups = [Group("hours here", "#0072B2", numbers(own, "hours"), numbers(own, "std"))]
    stated = own["paper_hours"].to_numpy(np.float64)
    if not np.isnan(stated).all():
        groups.append(Group("hours in the paper", "#999999", stated))
    return Bars(task, labels, tuple(groups), share=False)


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
    charts = (Bars("Success of each prior alone", tuple(tasks), groups),)
    return Panel("zero-shot", "The priors alone", ALONE, {"": charts},
                 (Table("zero-shot", "Mean over runs", table),))  # fmt: skip


ALONE = "What each prior earns on the task by itself, without any training."


def _alone(prior: str, own: pd.DataFrame, tasks: Sequence[str], ink: dict[str, str]) -> Group:
    known = dict(zip(own["task"], numbers(own, "success_any"), strict=True))
    values = np.array([known.get(task, np.nan) for task in tasks])
    return Group(prior, ink.get(prior, INK), values)
