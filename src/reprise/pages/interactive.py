"""Charts for the page: traces and layouts as Plotly reads them, with all text escaped."""

from __future__ import annotations

import html
import math
from itertools import groupby
from typing import Any

import numpy as np

from reprise.pages.canvas import policy_label
from reprise.pages.chart import EDGE, Areas, Bars, Line, Lines, Numbers, Plotted, Stage, Timeline

Figure = dict[str, Any]
SHARES = {"tickformat": ".0%", "range": [-0.03, 1.03], "tickvals": [0, 0.25, 0.5, 0.75, 1]}


def figure(chart: Plotted) -> Figure:
    """Traces, layout, and for a timeline its stages."""
    if isinstance(chart, Lines):
        return _lines(chart)
    if isinstance(chart, Areas):
        return _areas(chart)
    return _bars(chart) if isinstance(chart, Bars) else _timeline(chart)


def text(words: str) -> str:
    """Words as Plotly shows them: it reads its own small HTML, which a name must not be."""
    return html.escape(
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
    )


def _values(numbers: Numbers) -> list[float | None]:
    """Five digits are more than a pixel."""
    return [None if math.isnan(v) else float(f"{v:.5g}") for v in numbers]


def _lines(chart: Lines) -> Figure:
    bands = [_band(line, chart.shade, chart.edge) for line in chart.lines if line.low is not None]
    curves = [
        {
            "type": "scatter", "mode": "lines", "name": text(line.name), "meta": line.name,
            "x": _values(line.x), "y": _values(line.y), "hoverlabel": {"namelength": -1},
            "line": {"color": line.color, "width": 2.2, "dash": "dash" if line.dashed else "solid"},
            "zorder": len(chart.lines) - place,  # where lines meet, the first one is seen
        }
        for place, line in enumerate(chart.lines)
    ]  # fmt: skip
    along: dict[str, Any] = {"tickformat": "~s", "rangemode": "tozero"}
    if chart.along == "share of training":
        along = SHARES | {"range": [0, 1]}
    layout = {
        "xaxis": {"title": {"text": text(chart.along)}, **along},
        "yaxis": _upward(chart.upward) | (SHARES if chart.share else {}),
        "hovermode": "x unified" if len(chart.lines) < 9 else "closest",
        "shapes": [_mark(x) for x in chart.marks],
    }
    return {"data": [*bands, *curves], "layout": layout}


def _upward(label: str) -> dict[str, Any]:
    return {"title": {"text": text(label), "standoff": 6}}


def _mark(x: float) -> dict[str, Any]:
    line = {"color": "#999999", "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _band(line: Line, shade: float, edge: float) -> dict[str, Any]:
    """A polygon for every stretch without a gap."""
    assert line.low is not None and line.high is not None
    known = ~np.isnan(line.low + line.high)
    x: list[float | None] = []
    y: list[float | None] = []
    for whole, places in groupby(range(len(known)), key=lambda i: bool(known[i])):
        part = list(places)
        if whole:
            x += [*_values(line.x[part]), *_values(line.x[part][::-1]), None]
            y += [*_values(line.high[part]), *_values(line.low[part][::-1]), None]
    return {
        "type": "scatter", "mode": "lines", "fill": "toself", "x": x, "y": y, "meta": line.name,
        "line": {"width": edge, "color": _faint(line.color, EDGE)}, "hoverinfo": "skip",
        "fillcolor": _faint(line.color, shade),
    }  # fmt: skip


def _faint(color: str, shade: float) -> str:
    channels = ", ".join(str(int(color[i : i + 2], 16)) for i in (1, 3, 5))
    return f"rgba({channels}, {shade:.3g})"


def _areas(chart: Areas) -> Figure:
    data = [
        {
            "type": "scatter", "mode": "lines", "stackgroup": "all",
            "name": text(policy_label(name)),
            "meta": name, "x": _values(chart.x), "y": _values(layer),
            "line": {"width": 0, "shape": "vh"},
            "fillcolor": chart.colors[name], "hoverlabel": {"namelength": -1},
            "hovertemplate": "%{y:.0%}",
        }
        for name, layer in chart.layers.items()
    ]  # fmt: skip
    layout = {
        "xaxis": {"title": {"text": "training step"}, "tickformat": "~s"},
        "yaxis": _upward(chart.upward) | SHARES | {"range": [0, 1]},
        "hovermode": "x unified",
    }
    return {"data": data, "layout": layout}


def _bars(chart: Bars) -> Figure:
    data: list[dict[str, Any]] = []
    for group in chart.groups:
        trace: dict[str, Any] = {
            "type": "bar", "name": text(policy_label(group.name)), "meta": group.name,
            "x": [text(name) for name in chart.categories], "y": _values(group.values),
            "marker": {"color": group.color}, "hoverlabel": {"namelength": -1},
        }  # fmt: skip
        if chart.share and not chart.stacked:
            # A bar of nothing cannot be seen; its number can.
            trace |= {
                "texttemplate": "%{y:.0%}",
                "cliponaxis": False,
                "textposition": "outside" if group.known_errors is None else "inside",
            }
        if (errors := group.known_errors) is not None:
            trace["error_y"] = {"type": "data", "array": _values(errors), "thickness": 1.5,
                                "color": "#888888"}  # fmt: skip
        data.append(trace)
    layout = {
        "barmode": "stack" if chart.stacked else "group",
        "yaxis": _upward(chart.upward)
        | ({"tickformat": ".0%", "range": list(chart.span)} if chart.share else {}),
        "xaxis": {"type": "category", "showgrid": False},
    }
    return {"data": data, "layout": layout}


def _timeline(chart: Timeline) -> Figure:
    stages = [
        {"name": s.name, "data": _stage(chart, s), "rows": [text(row) for row, _ in s.episodes]}
        for s in chart.stages
    ]
    layout = {
        "barmode": "overlay", "bargap": 0.3,
        "xaxis": {"title": {"text": "time step in the episode"}, "range": [0, chart.length]},
        "yaxis": {"type": "category", "autorange": "reversed", "showgrid": False},
    }  # fmt: skip
    return {"data": stages[0]["data"], "layout": layout, "stages": stages}


def _stage(chart: Timeline, stage: Stage) -> list[dict[str, Any]]:
    traces: list[dict[str, Any]] = []
    for name, color in chart.colors.items():
        own = [(row, s) for row, parts in stage.episodes for s in parts if s.policy == name]
        traces.append(
            {
                "type": "bar", "orientation": "h", "name": text(policy_label(name)), "meta": name,
                "y": [text(row) for row, _ in own], "base": [s.begin for _, s in own],
                "x": [s.end - s.begin for _, s in own],
                "marker": {"color": color, "line": {"color": "#ffffff", "width": 1}},
                "hovertemplate": "%{base} to %{x}", "hoverlabel": {"namelength": -1},
            }
        )  # fmt: skip
    return traces
