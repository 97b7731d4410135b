"""What the task policy earned, on tasks where success alone does not tell."""

from __future__ import annotations

import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.pages.chart import Panel, Table
from reprise.pages.suite import curves


def panel(found: Gathered) -> Panel | None:
    """Returns over training; None where each of them follows from success."""
    tasks = telling(found.curves)
    some = [bundle for bundle in curves.bundles(found, "return_mean") if bundle.task in tasks]
    if not some:
        return None
    ink = curves.paint(found)
    lines = [curves.spread(bundle, bundle.label, ink[bundle.label]) for bundle in some]
    parts = [
        pd.DataFrame({"step": line.x, "mean": line.y, "std": line.high - line.y})
        .assign(task=bundle.task, label=bundle.label, runs=len(bundle.runs))
        for bundle, line in zip(some, lines, strict=True)
        if line.high is not None
    ]  # fmt: skip
    columns = ["task", "label", "runs", "step", "mean", "std"]
    table = Table("returns", "Each task", pd.concat(parts, ignore_index=True)[columns])
    charts = tuple(curves.by_task(some, lines, shares=set()))
    return Panel("returns", "What was earned", CAPTION, {"": charts}, (table,))


CAPTION = (
    "Return per episode of the task policy on its own at the same evaluations, mean and standard "
    "deviation over runs: on these tasks there is something to earn on the way to success, and a "
    "policy that never succeeds can still have learned more than another."
)


def telling(evaluations: pd.DataFrame) -> set[str]:
    """Tasks on which something was earned in an evaluation without a single success."""
    judged = evaluations.dropna(subset=["success_any", "return_mean"])
    failed = judged[judged["success_any"].eq(0.0)]
    return set(failed.loc[failed["return_mean"].ne(0.0), "task"])
