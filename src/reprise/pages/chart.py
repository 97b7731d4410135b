"""What a page says, as plain values: panels, drawn once for the screen and once for paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from reprise.pages.episodes import Stretch

Numbers = NDArray[np.float64]
FEW = 3
"""Curves whose bands can be told apart."""
EDGE = 0.45
"""How opaque the edge of a band is, where bands have edges."""


class Line(NamedTuple):
    """A curve, and the band around it if there is one."""

    name: str
    color: str
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None
    dashed: bool = False


class Lines(NamedTuple):
    """Curves over training."""

    title: str
    lines: tuple[Line, ...]
    along: str = "training step"
    upward: str = "success"
    """What the y axis measures, with its unit."""
    share: bool = True
    """Whether the y axis is a share from 0 to 100 %."""
    marks: tuple[float, ...] = ()
    """Where something new begins."""

    @property
    def shade(self) -> float:
        """How opaque a band is: many lie on top of each other, and their curves must be seen."""
        return 0.16 if len(self.lines) <= FEW else 0.16 * FEW / len(self.lines)

    @property
    def edge(self) -> float:
        """How wide the edges of bands are: where many overlap, their areas mix to one gray."""
        return 0.0 if len(self.lines) <= FEW else 0.7


class Areas(NamedTuple):
    """Shares of a whole over training, one layer per policy."""

    title: str
    x: Numbers
    layers: dict[str, Numbers]
    colors: dict[str, str]
    upward: str = "share of steps"


class Group(NamedTuple):
    """The bars of one color, one for each category; errors may be missing."""

    name: str
    color: str
    values: Numbers
    errors: Numbers | None = None

    @property
    def known_errors(self) -> Numbers | None:
        """Single runs have none."""
        return None if self.errors is None or np.isnan(self.errors).all() else self.errors

    @property
    def reach(self) -> Numbers:
        """How far errors stand out above the bars."""
        return np.zeros_like(self.values) if self.errors is None else self.errors


class Bars(NamedTuple):
    """Bars side by side for some categories, or on top of each other."""

    title: str
    categories: tuple[str, ...]
    groups: tuple[Group, ...]
    upward: str
    stacked: bool = False
    share: bool = True

    @property
    def span(self) -> tuple[float, float]:
        """From the lowest bar to the highest; of shares at least from 0 to 100 %."""
        tops = [group.values + np.nan_to_num(group.reach) for group in self.groups]
        known = np.concatenate([np.zeros(1), *(group.values for group in self.groups), *tops])
        low, high = float(np.nanmin(known)), float(np.nanmax(known))
        return (1.08 * low, max(1.08, 1.08 * high) if self.share else 1.15 * high)


class Stage(NamedTuple):
    """Some episodes of one stage of training, each a name and its stretches of control."""

    name: str
    episodes: tuple[tuple[str, tuple[Stretch, ...]], ...]


class Timeline(NamedTuple):
    """Who was in control within episodes, stage by stage."""

    title: str
    stages: tuple[Stage, ...]
    colors: dict[str, str]
    length: int


class Drawn(NamedTuple):
    """A picture that only matplotlib draws, with its own titles and legend."""

    title: str
    draw: Callable[[], Figure]


Plotted = Lines | Areas | Bars | Timeline
Chart = Plotted | Drawn


class Mark(NamedTuple):
    """What stands for a name in a legend: a color, as a line or filled."""

    color: str
    line: bool = False
    dashed: bool = False


def legend(charts: Iterable[Chart]) -> dict[str, Mark]:
    """The mark of every name that occurs in some charts."""
    found: dict[str, Mark] = {}
    for chart in charts:
        for name, mark in _marks(chart).items():
            found.setdefault(name, mark)
    return found


def _marks(chart: Chart) -> dict[str, Mark]:
    if isinstance(chart, Lines):
        return {line.name: Mark(line.color, True, line.dashed) for line in chart.lines}
    if isinstance(chart, Areas):
        return {name: Mark(chart.colors[name]) for name in chart.layers}
    if isinstance(chart, Bars):
        return {group.name: Mark(group.color) for group in chart.groups}
    if isinstance(chart, Drawn):
        return {}
    return {name: Mark(color) for name, color in chart.colors.items()}


class Table(NamedTuple):
    """The numbers behind a figure, under the name of their CSV file."""

    name: str
    title: str
    rows: pd.DataFrame
    shown: pd.DataFrame | None = None
    """The same in fewer columns and in words, if it is easier to read."""


class Panel(NamedTuple):
    """A section of a page: charts in one view or more, the tables behind them, what they mean."""

    slug: str
    title: str
    caption: str
    views: Mapping[str, tuple[Chart, ...]]
    """Under their names if there is a choice of several."""
    tables: tuple[Table, ...] = ()
    note: str = ""
    """What the figure comes to here; where there is none, why."""
