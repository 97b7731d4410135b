"""How well, how soon and how sure: the numbers that sum a suite up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reprise.findings import statistics
from reprise.findings.gathered import Gathered, judged_by
from reprise.findings.milestones import LAST, finals, of_line
from reprise.pages.chart import Numbers, Panel, Table
from reprise.pages.suite import curves
from reprise.pages.suite.curves import Bundle
from reprise.pages.words import UNKNOWN, count, number, percent


def panel(found: Gathered) -> Panel | None:
    """Each line on each task, and over all tasks."""
    some = judged(found)
    if not some:
        return None
    kind = curves.kind(found)
    drawn = {
        (b.task, b.label): float(finals(b.runs).mean())
        for b in curves.bundles(found, "sampled_success_any")
    }
    facts = [{"task": b.task, "label": b.label, **of_line(b.steps, b.runs)} for b in some]
    each = pd.DataFrame(facts)
    pairs = zip(each["task"], each["label"], strict=True)
    each["final_sampled"] = [drawn.get(pair, float("nan")) for pair in pairs]
    tables = [Table("milestones", "Each task", each, _in_words(each, kind))]
    if (summary := _summary(some)) is not None:
        title = "Final success over all tasks"
        tables.insert(0, Table("summary", title, summary, _summed_up(summary, kind)))
    tables.append(seeds(found.cells))
    return Panel("milestones", "In numbers", CAPTION, {}, tuple(tables))


CAPTION = (
    f"Complete runs only. Final success is the mean over a run's last {LAST} evaluations, in which "
    "the task policy takes its most likely action; sampled is the same with actions sampled from "
    "the policy, as in training. ± is one standard deviation over runs. The interquartile mean "
    "(IQM) leaves out the best and the worst quarter of the runs. Square brackets are 95 % "
    f"intervals by stratified bootstrap (runs are resampled {statistics.REPS:,} times within each "
    "task); a task with a single run has none. The probability is that of a run of the first line "
    "beating a run of this one on the same task; ties count half. Steps are those of the median "
    "run, counted at evaluations: a run that never got there counts as last, and the number in "
    "round brackets says how many did. The area is the mean height of the success curve."
)


def seeds(cells: pd.DataFrame) -> Table:
    """How many complete runs stand behind each cell of a table of tasks by lines."""
    known = cells.assign(complete=cells["state"] == "complete", planned=1)
    sums = known.groupby(["task", "label"], sort=False)[["complete", "planned"]].sum()
    rows = sums.reset_index()
    words = [
        count(done) if done == planned else f"{count(done)} of {count(planned)}"
        for done, planned in zip(rows["complete"], rows["planned"], strict=True)
    ]
    lines, tasks = list(dict.fromkeys(rows["label"])), list(dict.fromkeys(rows["task"]))
    wide = rows.assign(words=words).pivot(index="task", columns="label", values="words")
    shown = wide.loc[tasks, lines].fillna(UNKNOWN).reset_index()
    return Table("seeds", "Complete runs behind each cell", rows, shown)


def judged(found: Gathered) -> list[Bundle]:
    """The complete runs of tasks in which there is such a thing as success."""
    return [
        bundle for bundle in curves.bundles(found)
        if bundle.complete
        and judged_by(found.curves, bundle.task) == "success_any"
    ]  # fmt: skip


def _in_words(each: pd.DataFrame, kind: str) -> pd.DataFrame:
    rows = [
        {
            "task": row["task"], kind: row["label"], "runs": count(row["runs"]),
            "final success": spread(row["final_success"], row["std"], row["runs"]),
            "sampled": percent(row["final_sampled"]),
            "IQM": interval(row["iqm"], row["iqm_low"], row["iqm_high"]),
            "first success, step": _when(row, "first_success_step", "runs_with_success"),
            "step of 90 %": _when(row, "steps_to_90", "runs_at_90"),
            "area": number(row["area"]),
        }
        for row in each.to_dict("records")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def interval(value: float, low: float, high: float) -> str:
    """A share with its interval, or alone where single runs cannot tell."""
    known = not np.isnan([low, high]).any()
    return f"{percent(value)} [{percent(low)}, {percent(high)}]" if known else percent(value)


def spread(mean: float, std: float, runs: int) -> str:
    """A mean and its standard deviation, which one run does not have."""
    return f"{percent(mean)} ± {percent(std)}" if runs > 1 else percent(mean)


def _when(row: dict[Any, Any], step: str, runs: str) -> str:
    return f"{count(row[step])} ({row[runs]} of {row['runs']})"


def _summary(some: Sequence[Bundle]) -> pd.DataFrame | None:
    """Each line over the tasks that all lines share, and how often the first one beats it."""
    labels = list(dict.fromkeys(bundle.label for bundle in some))
    known = {(b.label, b.task): finals(b.runs) for b in some}
    tasks = [t for t in dict.fromkeys(b.task for b in some) if all((n, t) in known for n in labels)]
    if not tasks:
        return None
    strata = {label: [known[label, task] for task in tasks] for label in labels}
    return pd.DataFrame([_total(label, strata, len(tasks)) for label in labels])


def _total(label: str, strata: dict[str, list[Numbers]], tasks: int) -> dict[str, Any]:
    rng, own, first = np.random.default_rng(curves.SEED), strata[label], next(iter(strata))
    mean, std = statistics.mean_std(np.concatenate(own))
    iqm = statistics.iqm_interval(own, rng)
    row = {"label": label, "tasks": tasks, "runs": sum(map(len, own)), "mean": mean, "std": std}
    row |= {"iqm": iqm.value, "iqm_low": iqm.low, "iqm_high": iqm.high, "against": first}
    if label == first:
        return row | {"improvement": np.nan, "improvement_low": np.nan, "improvement_high": np.nan}
    better = statistics.improvement_interval(strata[first], own, rng)
    return row | {"improvement": better.value, "improvement_low": better.low,
                  "improvement_high": better.high}  # fmt: skip


def _summed_up(summary: pd.DataFrame, kind: str) -> pd.DataFrame:
    rows = [
        {
            kind: row["label"], "tasks": count(row["tasks"]), "runs": count(row["runs"]),
            "mean": spread(row["mean"], row["std"], row["runs"]),
            "IQM": interval(row["iqm"], row["iqm_low"], row["iqm_high"]),
            f"probability that {row['against']} is better":
                UNKNOWN if row["label"] == row["against"] else
                interval(row["improvement"], row["improvement_low"], row["improvement_high"]),
        }
        for row in summary.to_dict("records")
    ]  # fmt: skip
    return pd.DataFrame(rows)
