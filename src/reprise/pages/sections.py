"""Panels as sections of a page: what their template fills in, and the figures that Plotly draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from reprise.pages import interactive
from reprise.pages.canvas import policy_label
from reprise.pages.chart import Chart, Drawn, Lines, Mark, Panel, Table, Timeline, legend
from reprise.pages.images import svg
from reprise.pages.words import UNKNOWN, count, number

ROWS = 60
"""The most rows of a table on a page; the CSV has all."""
LONG = 44
"""Characters from which a cell is broken into lines."""
WHOLE = ("step", "steps", "episodes", "runs", "seed", "tasks", "begin", "end", "steps_to_90",
         "runs_at_90", "first_success_step", "seconds")  # fmt: skip


class Plot(NamedTuple):
    """A place for a chart on the page, or a picture that needs no place."""

    key: str
    title: str
    wide: bool
    stages: int
    picture: Markup | None = None


class View(NamedTuple):
    """One way to see a panel."""

    name: str
    legend: list[tuple[str, str, Mark]]
    """Name, label and mark."""
    plots: list[Plot]


class Rows(NamedTuple):
    """A table as text."""

    title: str
    file: str
    columns: list[str]
    rows: list[tuple[str, ...]]
    left: int
    """Rows that are only in the file."""
    kinds: list[str]

    @property
    def total(self) -> int:
        """All rows, shown or not."""
        return len(self.rows) + self.left


class Section(NamedTuple):
    """A panel, ready for the template."""

    panel: Panel
    views: list[View]
    tables: list[Rows]


def sections(panels: Sequence[Panel], figures: dict[str, Any]) -> list[Section]:
    """Panels in order; what Plotly draws is added to the figures, by key."""
    return [
        Section(panel, _views(panel, figures), [rows(table) for table in panel.tables])
        for panel in panels
    ]


def _views(panel: Panel, figures: dict[str, Any]) -> list[View]:
    views: list[View] = []
    for place, (name, charts) in enumerate(panel.views.items()):
        plots = [
            _plot(f"{panel.slug}-{place}-{i}", chart, panel, figures)
            for i, chart in enumerate(charts)
        ]
        plots = [plots[0]._replace(wide=True)] if len(plots) == 1 else plots
        marks = legend(charts)
        views.append(View(name, [(n, policy_label(n), mark) for n, mark in marks.items()], plots))
    return views


def _plot(key: str, chart: Chart, panel: Panel, figures: dict[str, Any]) -> Plot:
    if isinstance(chart, Drawn):
        return Plot(key, chart.title, True, 0, Markup(svg(chart.draw, key, panel.caption)))
    figures[key] = interactive.figure(chart)
    stages = len(chart.stages) if isinstance(chart, Timeline) else 0
    return Plot(key, chart.title, _long(chart), stages)


def _long(chart: Chart) -> bool:
    """What sums up the others, or has a long axis, gets the whole width."""
    return isinstance(chart, Lines) and (chart.along == "share of training" or bool(chart.marks))


def rows(table: Table) -> Rows:
    """A table as text, row by row."""
    whole = table.rows if table.shown is None else table.shown
    some = whole.head(ROWS)
    columns = [[_cell(str(name), value) for value in some[name]] for name in some]
    return Rows(
        table.title, table.name, [str(name) for name in some], list(zip(*columns, strict=True)),
        len(whole) - len(some), [_kind_of(cells) for cells in columns],
    )  # fmt: skip


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
