"""`reprise suite --dry-run`: the runs, and how long they should take."""

from __future__ import annotations

import json
from typing import Any

from reprise.cli.tables import show
from reprise.runs.terminal import console
from reprise.suites import Estimate, Suite, calibration, ends, estimate, finish, forecast

CROWDS = (8, 64)
"""Workers for which a dry run also says how long it would take."""
SHOWN = 6
"""Runs that are named where only their number matters."""


def foresee(
    planned: Suite, places: int, calibrate: bool, hours: float | None, as_json: bool
) -> int:
    """The runs, and how long they should take here and on more workers."""
    factor = calibration() if calibrate else 1.0
    found = estimate(planned, factor)
    over = ends(found, places)
    rows = [_row(one) | _fits(over[one.cell.name], hours) for one in found]
    source = f"measured now, {factor:.2f} times the recorded cost" if calibrate else ""
    many = sorted({1, places, *CROWDS})
    spans = {str(n): round(finish(found, n), 3) for n in many}
    if as_json:
        head = {"suite": planned.name, "scale": planned.scale, "basis": source or forecast.MEASURED}
        print(json.dumps({**head, "runs": rows, "hours": spans}))
        return 0
    shown = ("run", "priors", "needs", "steps", *_fits(0.0, hours))
    show(
        [{n: row[n] for n in shown} | {"takes": _span(float(row["hours"]))} for row in rows], False
    )
    console().print(f"{len(rows)} runs; costs per step {source or forecast.MEASURED}")
    text = ", ".join(f"{_span(span)} on {n}" for n, span in spans.items())
    console().print(f"until the last is over: {text} workers of one core", highlight=False)
    if hours is not None:
        console().print(expectation(planned, places, hours, factor), highlight=False)
    return 0


def expectation(planned: Suite, places: int, hours: float, factor: float = 1.0) -> str:
    """How much of a suite should be made in a number of hours, and what is left out."""
    over = ends(estimate(planned, factor), places)
    left = [name for name, end in over.items() if end > hours]
    text = f"about {len(over) - len(left)} of {len(over)} runs fit into {_span(hours)}"
    return f"{text}; left out: {_some(left)}" if left else text


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _fits(end: float, hours: float | None) -> dict[str, str]:
    """Whether a run should be over in time, where there is a limit."""
    return {} if hours is None else {"fits": "yes" if end <= hours else "left out"}


def _span(time: float) -> str:
    return f"{time:.1f} h" if time >= 1 else f"{60 * time:.0f} min"


def _row(estimate: Estimate) -> dict[str, Any]:
    run, cell = estimate.cell.run, estimate.cell
    facts = {"run": cell.name, "method": run.name, "task": run.task, "seed": run.seed}
    more = {"priors": cell.library.label, "needs": len(cell.needs), "steps": run.steps}
    return facts | more | {"hours": round(estimate.hours, 4)}
