"""How well, how soon and with how much help: the numbers that sum up a run, and runs together.

Each is computed here and nowhere else; pages, kept results and the terminal only show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reprise.findings import statistics
from reprise.findings.tables import RunTables, intervals, numbers, policies, titles, usage

LAST = 5
"""Evaluations at the end of a run that count as its final ones."""
SOLVED = 0.9
"""Success from which a task counts as solved."""
SOME = 1e-9
"""Any success at all."""
EARLY, LATE = 5_000, 10_000
"""Steps after the first selection, and before the end, over which the use of priors is taken."""
SEED = 0

Numbers = NDArray[np.float64]


class Course(NamedTuple):
    """What a curve of success comes to; None where nothing was recorded or reached."""

    final: float | None
    best: float | None
    first: float | None
    """Step of the first evaluation with a success."""
    solved: float | None
    """Step of the first evaluation at 90 % or more."""
    area: float | None
    """Its mean height."""


def of_curve(steps: Numbers, success: Numbers) -> Course:
    """One run's evaluations."""
    known = ~np.isnan(success)
    steps, success = steps[known], success[known]
    if not success.size:
        return Course(None, None, None, None, None)
    return Course(
        float(success[-LAST:].mean()),
        float(success.max()),
        statistics.steps_to(steps, success, SOME),
        statistics.steps_to(steps, success, SOLVED),
        statistics.area(steps, success),
    )


def of_run(run: RunTables) -> dict[str, float | None]:
    """The numbers of one run, from everything that it recorded."""
    step = numbers(run.eval, "step")
    course = of_curve(step, numbers(run.eval, "success_any"))
    trained = numbers(run.metrics, "step")[numbers(run.metrics, "success") > 0]
    firsts = [*trained, *([] if course.first is None else [course.first])]
    begin, last = _first_selection(run), numbers(run.metrics, "step").max(initial=0.0)
    seconds = run.manifest.get("seconds")
    return {
        "final_success": course.final,
        "final_sampled": of_curve(step, numbers(run.eval, "sampled_success_any")).final,
        "best_success": course.best,
        "final_return": of_curve(step, numbers(run.eval, "return_mean")).final,
        "first_success": float(min(firsts)) if firsts else None,
        "steps_to_90": course.solved,
        "prior_use_early": _prior_share(run, begin, begin + EARLY),
        "prior_use_late": _prior_share(run, last - LATE, last),
        "seconds": None if seconds is None else float(seconds),
    }


def of_line(steps: Numbers, runs: Numbers) -> dict[str, Any]:
    """Some runs of the same line, one per row, at the same steps."""
    courses = [of_curve(steps, run) for run in runs]
    final = finals(runs)
    mean, std = statistics.mean_std(final)
    iqm = statistics.iqm_interval([final], np.random.default_rng(SEED))
    first, solved = [one.first for one in courses], [one.solved for one in courses]
    return {
        "runs": len(runs), "final_success": mean, "std": std,
        "iqm": iqm.value, "iqm_low": iqm.low, "iqm_high": iqm.high, "best_success": runs.max(),
        "first_success_step": _median(first), "runs_with_success": _reached(first),
        "steps_to_90": _median(solved), "runs_at_90": _reached(solved),
        "area": float(heights(steps, runs).mean()),
    }  # fmt: skip


def finals(runs: Numbers) -> Numbers:
    """Each run's final success."""
    return runs[:, -LAST:].mean(axis=1)


def heights(steps: Numbers, runs: Numbers) -> Numbers:
    """Each run's mean height."""
    return np.array([statistics.area(steps, run) for run in runs])


def compare(runs: Sequence[RunTables]) -> pd.DataFrame:
    """One row per run: what it was, how far it got, and its milestones."""
    rows = [
        {
            "run": title,
            "task": run.recipe.get("task"),
            "seed": run.recipe.get("seed"),
            "state": run.manifest.get("state", "unknown"),
            "steps": int(numbers(run.metrics, "step").max(initial=0.0)),
            **of_run(run),
        }
        for title, run in zip(titles(runs), runs, strict=True)
    ]
    return pd.DataFrame(rows)


def _median(steps: Sequence[float | None]) -> float:
    """Over all runs, not only over those that came there: not a number if half did not."""
    middle = float(np.median([np.inf if step is None else step for step in steps]))
    return middle if np.isfinite(middle) else float("nan")


def _reached(steps: Sequence[float | None]) -> int:
    return sum(step is not None for step in steps)


def _prior_share(run: RunTables, after: float, until: float) -> float | None:
    """Of the steps in (after, until] on which a policy acted, the share of the priors."""
    names = policies(run)
    if names == ["task"]:
        return None
    step = numbers(run.metrics, "step")
    acted = usage(run)[(step > after) & (step <= until)].sum(axis=0)
    return float(1.0 - acted[names.index("task")] / acted.sum()) if acted.sum() > 0 else None


def _first_selection(run: RunTables) -> float:
    """The step at which a policy was first chosen, or first acted where nothing is chosen."""
    if len(run.switches):
        return float(numbers(run.switches, "step").min())
    acting = usage(run).sum(axis=1) > 0
    begins = numbers(run.metrics, "step") - intervals(run.metrics)
    return float(begins[acting].min(initial=np.inf))
