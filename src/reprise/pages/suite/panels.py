"""The sections of a suite's page in reading order; only those that have something to show."""

from __future__ import annotations

import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.pages.chart import Panel, Table
from reprise.pages.suite import (
    claims,
    continual,
    curves,
    milestones,
    places,
    promises,
    returns,
    studies,
    timelines,
    use,
)

READY = ("complete",)


def panels(found: Gathered) -> list[Panel]:
    """Everything that can be drawn now."""
    some = (
        curves.panel(found),
        returns.panel(found),
        milestones.panel(found),
        claims.panel(found),
        continual.panel(found),
        use.areas(found),
        timelines.panel(found),
        places.panel(found),
        use.settings(found),
        promises.panel(found),
        studies.cost(found),
        studies.zero_shot(found),
    )
    return [panel for panel in some if panel is not None]


def runs(found: Gathered) -> Table:
    """Every run of the suite and how far it has come."""
    columns = ["cell", "label", "task", "seed", "priors", "state", "step", "steps", "seconds"]
    return Table("runs", "All runs", found.cells[[*columns, "failure"]])


def missing(found: Gathered) -> pd.DataFrame:
    """The runs that are not complete."""
    return found.cells[~found.cells["state"].isin(READY)]
