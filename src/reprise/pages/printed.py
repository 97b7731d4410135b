"""Charts for paper: each panel as one matplotlib figure, in PDF and PNG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from reprise.boundary.files import make_folder, write_bytes
from reprise.pages import canvas
from reprise.pages.canvas import Axes
from reprise.pages.chart import (
    EDGE,
    Areas,
    Bars,
    Chart,
    Drawn,
    Lines,
    Mark,
    Panel,
    Timeline,
    legend,
)
from reprise.pages.images import pdf, png
from reprise.pages.words import file_name, percent

COLUMNS = 4
"""Charts beside each other, as in the paper's figures."""
HEIGHT = 2.3
BREADTH = 28
"""Characters in a line of a title."""
NARROW, WIDEST = 5.0, 12.4
"""Inches of a figure with a single chart."""
NUMBER = 0.25, 0.11
"""Inches of a number above a bar, lying and standing."""
MANY = 3
"""Names of more categories are slanted."""


def write(panels: Sequence[Panel], folder: Path, kinds: Sequence[str] = ("pdf", "png")) -> None:
    """Every view of every panel, in each kind of file."""
    make_folder(folder)
    encode = {"pdf": pdf, "png": png}
    for name, draw in (pair for panel in panels for pair in _figures(panel)):
        for kind in kinds:
            write_bytes(folder / f"{name}.{kind}", encode[kind](draw))


def _figures(panel: Panel) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """The figures of a panel by the names of their files: a sheet per view, and what is drawn."""
    for place, (name, charts) in enumerate(panel.views.items()):
        slug = panel.slug if place == 0 else f"{panel.slug}-{name.split()[0].lower()}"
        drawn = [chart for chart in charts if isinstance(chart, Drawn)]
        plotted = tuple(chart for chart in charts if not isinstance(chart, Drawn))
        if plotted:
            yield slug, partial(sheet, plotted)
        for chart in drawn:
            alone = len(charts) == 1
            yield slug if alone else f"{slug}-{file_name(chart.title)}", chart.draw


def sheet(charts: tuple[Chart, ...]) -> Figure:
    """Charts side by side with one legend."""
    drawn = [part for chart in charts for part in _parts(chart)]
    columns = min(COLUMNS, len(drawn))
    rows = -(-len(drawn) // columns)
    slanted = any(isinstance(chart, Bars) and len(chart.categories) > MANY for chart in drawn)
    figure, axes = canvas.blank(rows, columns, (HEIGHT + 0.6 * slanted) * rows + 0.5)
    figure.set_figwidth(max(canvas.WIDTH, 3.1 * columns) if columns > 1 else _single(drawn[0]))
    for ax, chart in zip(axes, drawn, strict=False):
        _draw(ax, chart)
        lines = [part for line in chart.title.split("\n") for part in wrap(line, BREADTH)]
        title = "\n".join(canvas.plain(line, BREADTH) for line in lines)
        ax.set_title(title, loc="left", fontsize=canvas.SMALL)
    for ax in axes[len(drawn) :]:
        ax.set_axis_off()
    entries = {canvas.policy_label(name): _entry(mark) for name, mark in legend(drawn).items()}
    canvas.legend(figure, entries)
    return figure


def _single(chart: Chart) -> float:
    """Inches for a chart alone: many bars side by side need room for their numbers."""
    if not isinstance(chart, Bars) or chart.stacked:
        return NARROW
    return min(WIDEST, max(NARROW, 1.2 + 0.3 * len(chart.categories) * len(chart.groups)))


def _entry(mark: Mark) -> str | Artist:
    if not mark.line:
        return mark.color
    return Line2D([], [], color=mark.color, lw=1.8, ls="--" if mark.dashed else "-")


def _parts(chart: Chart) -> list[Chart]:
    """On paper nothing moves: some stages of a timeline have their own axes, in one row."""
    if not isinstance(chart, Timeline):
        return [chart]
    last = len(chart.stages) - 1
    # Early stages differ most.
    places = sorted({round(last * share) for share in (0.0, 0.15, 0.45, 1.0)})
    return [chart._replace(title=f"{chart.title}\n{chart.stages[i].name}",
                           stages=(chart.stages[i],)) for i in places]  # fmt: skip


def _draw(ax: Axes, chart: Chart) -> None:
    if isinstance(chart, Lines):
        _lines(ax, chart)
    elif isinstance(chart, Areas):
        _areas(ax, chart)
    elif isinstance(chart, Bars):
        _bars(ax, chart)
    elif isinstance(chart, Timeline):
        _timeline(ax, chart)


def _lines(ax: Axes, chart: Lines) -> None:
    for place, line in enumerate(chart.lines):
        if line.low is not None:
            ax.fill_between(line.x, line.low, line.high, fc=(line.color, chart.shade),
                            ec=(line.color, EDGE), lw=0.7 * chart.edge)  # fmt: skip
        style = "--" if line.dashed else "-"
        # Where lines meet, the first one is seen; axes stay above all of them.
        above = 2.0 + 0.4 * (1.0 - place / len(chart.lines))
        ax.plot(line.x, line.y, color=line.color, lw=1.5, ls=style, zorder=above)
    for x in chart.marks:
        ax.axvline(x, color="#999999", lw=0.8, ls=":")
    known = [line.x[~np.isnan(line.x)].max(initial=0.0) for line in chart.lines]
    _name(ax, chart.along, chart.upward)
    if chart.along == "share of training":
        ax.set_xlim(0, 1)
        ax.set_xticks([0, 0.5, 1.0], ["0 %", "50 %", "100 %"])
    else:
        canvas.training_axis(ax, max(known, default=1.0))
        ax.locator_params(axis="x", nbins=4)
    if chart.share:
        ax.set_ylim(-0.04, 1.04)
        canvas.share_axis(ax)


def _name(ax: Axes, along: str, upward: str) -> None:
    """What the axes measure."""
    ax.set_xlabel(along, fontsize=canvas.SMALL, color=canvas.MUTED)
    ax.set_ylabel(upward, fontsize=canvas.SMALL, color=canvas.MUTED)


def _areas(ax: Axes, chart: Areas) -> None:
    painted = [chart.colors[name] for name in chart.layers]
    ax.stackplot(chart.x, list(chart.layers.values()), colors=painted, step="pre", lw=0)
    _name(ax, "training step", chart.upward)
    canvas.training_axis(ax, float(chart.x.max(initial=1.0)))
    ax.locator_params(axis="x", nbins=4)
    ax.set_ylim(0, 1)
    canvas.share_axis(ax)


def _bars(ax: Axes, chart: Bars) -> None:
    places = np.arange(len(chart.categories), dtype=float)
    count = 1 if chart.stacked else len(chart.groups)
    room = 0.8 * ax.get_position().width * ax.figure.get_figwidth() / (count * len(places))
    turned = 0 if room >= NUMBER[0] else 90
    base = np.zeros(len(places))
    for place, group in enumerate(chart.groups):
        shift = 0.0 if chart.stacked else (place - (count - 1) / 2) * 0.8 / count
        options: dict[str, Any] = {"yerr": group.known_errors, "ecolor": "#888888"}
        values = np.nan_to_num(group.values)
        bars = ax.bar(places + shift, values, 0.8 / count, base, color=group.color, **options)
        if chart.share and not chart.stacked and room >= NUMBER[1]:
            # A bar of nothing cannot be seen; its number can.
            labels = [percent(value) for value in group.values]
            ax.bar_label(bars, labels, padding=2, fontsize=7, rotation=turned)
        base = base + values if chart.stacked else base
    _categories(ax, chart)
    ax.set_ylabel(chart.upward, fontsize=canvas.SMALL, color=canvas.MUTED)
    ax.grid(visible=False, axis="x")
    if chart.share:
        ax.set_ylim(*chart.span)
        ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")


def _categories(ax: Axes, chart: Bars) -> None:
    """The names under the bars, slanted if they are many."""
    labels = [canvas.plain(name, 22) for name in chart.categories]
    rotation, side = (30, "right") if len(labels) > MANY else (0, "center")
    ax.set_xticks(range(len(labels)), labels, rotation=rotation, ha=side)


def _timeline(ax: Axes, chart: Timeline) -> None:
    (stage,) = chart.stages
    for row, (_, parts) in enumerate(stage.episodes):
        lengths, begins = [s.end - s.begin for s in parts], [s.begin for s in parts]
        ax.barh([row] * len(parts), lengths, left=begins, height=0.7,
                color=[chart.colors[s.policy] for s in parts])  # fmt: skip
    ax.set_yticks(range(len(stage.episodes)), [name for name, _ in stage.episodes])
    ax.set(xlim=(0, chart.length))
    ax.set_xlabel("time step in the episode", fontsize=canvas.SMALL, color=canvas.MUTED)
    ax.invert_yaxis()
    ax.grid(visible=False)
