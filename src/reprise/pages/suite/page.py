"""What a page says about suites: the sections, and the figures in them."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from reprise.findings.gathered import Gathered
from reprise.pages.canvas import policy_label
from reprise.pages.cards import Card
from reprise.pages.frame import Content, fragment
from reprise.pages.suite import interactive
from reprise.pages.suite.chart import Chart, Lines, Mark, Panel, Table, Timeline, legend
from reprise.pages.suite.panels import missing, panels, runs
from reprise.pages.wording import UNKNOWN, count, duration, number

ROWS = 150
"""Of a longer table the page shows so many; the CSV has all."""
LONG = 44
"""Characters from which a cell is broken into lines."""
WHOLE = ("step", "steps", "runs", "seed", "tasks", "begin", "end", "steps_to_90", "runs_at_90",
         "first_success_step", "seconds")  # fmt: skip


class Plot(NamedTuple):
    """A place for a chart on the page."""

    key: str
    title: str
    wide: bool
    stages: int


class View(NamedTuple):
    """One way to see a panel."""

    name: str
    legend: list[tuple[str, str, Mark]]
    """Name, label and mark."""
    plots: list[Plot]


def content(found: Gathered, sections: list[Panel] | None = None) -> Content:
    """The sections of the page, and the figures in them by key."""
    sections = panels(found) if sections is None else sections
    figures: dict[str, Any] = {}
    shown = [(panel, [_view(panel, i, figures) for i in range(len(panel.views))],
              [_table(table) for table in panel.tables]) for panel in sections]  # fmt: skip
    absent = missing(found)
    main = fragment(
        "suite.html.jinja", suite=found.suite, sections=shown,
        beside=int(found.cells["suites"].eq("").sum()), cards=_cards(found),
        all_runs=_table(runs(found)),
        missing=_table(Table("", "", absent[["cell", "state", "step", "steps", "failure"]])),
    )  # fmt: skip
    return Content(f"{found.suite['name']} ({found.suite['scale']})", main, figures)


def _view(panel: Panel, place: int, figures: dict[str, Any]) -> View:
    name, charts = list(panel.views.items())[place]
    plots: list[Plot] = []
    for i, chart in enumerate(charts):
        key = f"{panel.slug}-{place}-{i}"
        figures[key] = interactive.figure(chart)
        stages = len(chart.stages) if isinstance(chart, Timeline) else 0
        plots.append(Plot(key, chart.title, _wide(chart, charts), stages))
    marks = legend(charts)
    return View(name, [(n, policy_label(n), mark) for n, mark in marks.items()], plots)


def _wide(chart: Chart, charts: tuple[Chart, ...]) -> bool:
    """What sums up the others, or has a long axis, gets the whole width."""
    sums_up = isinstance(chart, Lines) and (chart.along == "share of training" or bool(chart.marks))
    return sums_up or len(charts) == 1


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


def _table(table: Table) -> dict[str, Any]:
    """A table as text, row by row."""
    whole = table.rows if table.shown is None else table.shown
    rows = whole.head(ROWS)
    columns = [[_cell(str(name), value) for value in rows[name]] for name in rows]
    return {
        "title": table.title, "file": table.name, "columns": [str(n) for n in rows],
        "rows": list(zip(*columns, strict=True)), "left": len(whole) - len(rows),
        "kinds": [_kind_of(cells) for cells in columns],
    }  # fmt: skip


def _kind_of(cells: list[str]) -> str:
    """How a column is set: numbers to the right, words to the left, sentences on several lines."""
    words = any(cell[:1].isalpha() for cell in cells)
    return "number" if not words else "prose" if max(map(len, cells)) > LONG else "word"


def _cell(name: str, value: Any) -> str:
    if value is None or pd.isna(value):
        return UNKNOWN
    if isinstance(value, str):
        return value
    return count(value) if name in WHOLE else number(value)
