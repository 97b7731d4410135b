"""`reprise suite --dry-run`: the runs, and how long they should take."""

from __future__ import annotations

import json
from typing import Any

from reprise.cli.tables import show
from reprise.runs.terminal import console
from reprise.suites import Estimate, Suite, calibration, estimate, finish, forecast

CROWDS = (8, 64)
"""Workers for which a dry run also says how long it would take."""


def foresee(planned: Suite, places: int, calibrate: bool, as_json: bool) -> int:
    """The runs, and how long they should take here and on more workers."""
    factor = calibration() if calibrate else 1.0
    found = estimate(planned, factor)
    rows = [_row(one) for one in found]
    source = f"measured now, {factor:.2f} times the recorded cost" if calibrate else ""
    many = sorted({1, places, *CROWDS})
    spans = {str(n): round(finish(found, n), 3) for n in many}
    if as_json:
        head = {"suite": planned.name, "scale": planned.scale, "basis": source or forecast.MEASURED}
        print(json.dumps({**head, "runs": rows, "hours": spans}))
        return 0
    shown = ("run", "priors", "needs", "steps")
    show([{n: row[n] for n in shown} | {"takes": _span(row["hours"])} for row in rows], False)
    console().print(f"{len(rows)} runs; costs per step {source or forecast.MEASURED}")
    text = ", ".join(f"{_span(span)} on {n}" for n, span in spans.items())
    console().print(f"until the last is over: {text} workers of one core", highlight=False)
    return 0


def _span(time: float) -> str:
    return f"{time:.1f} h" if time >= 1 else f"{60 * time:.0f} min"


def _row(estimate: Estimate) -> dict[str, Any]:
    run, cell = estimate.cell.run, estimate.cell
    facts = {"run": cell.name, "method": run.name, "task": run.task, "seed": run.seed}
    more = {"priors": cell.library.label, "needs": len(cell.needs), "steps": run.steps}
    return facts | more | {"hours": round(estimate.hours, 4)}
