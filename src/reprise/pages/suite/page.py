"""What a page says about suites: how far they are, and everything that can be drawn now."""

from __future__ import annotations

from typing import Any

from reprise.findings.gathered import Gathered
from reprise.pages.cards import Card
from reprise.pages.chart import Panel, Table
from reprise.pages.frame import Content, fragment
from reprise.pages.sections import rows, sections
from reprise.pages.suite.panels import missing, panels, runs
from reprise.pages.words import count, duration


def content(found: Gathered, some: list[Panel] | None = None) -> Content:
    """The sections of the page, and the figures in them by key."""
    figures: dict[str, Any] = {}
    absent = missing(found)[["cell", "state", "step", "steps", "failure"]]
    main = fragment(
        "suite.html.jinja",
        suite=found.suite,
        sections=sections(panels(found) if some is None else some, figures),
        beside=int(found.cells["suites"].eq("").sum()),
        cards=_cards(found),
        all_runs=rows(runs(found)),
        missing=rows(Table("runs", "What is missing", absent)),
    )
    return Content(f"{found.suite['name']} ({found.suite['scale']})", main, figures)


def _cards(found: Gathered) -> list[Card]:
    states = found.cells["state"].value_counts()
    total, done = len(found.cells), int(states.get("complete", 0))
    seconds = found.cells["seconds"].sum()
    facts = ", ".join(f"{n} {state}" for state, n in sorted(states.items()) if state != "complete")
    return [
        Card("Runs complete", f"{done} of {total}", facts or "nothing is missing"),
        Card("Tasks", count(found.cells["task"].nunique()), "on this page"),
        Card("Seeds", count(found.cells["seed"].nunique()), "of each line, at most"),
        Card("Computing", duration(seconds), "as recorded by the runs"),
    ]
