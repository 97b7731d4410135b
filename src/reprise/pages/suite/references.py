"""Published curves as dashed lines beside a suite's own, with what differs in their legend."""

from __future__ import annotations

from reprise.findings import published
from reprise.pages.chart import Line

SUITE = "main"
"""The suite of the paper's tasks: elsewhere a setting is compared with a setting."""
COLORS = ("#8A8A8A", "#B08D57", "#9A7FB0")
CAPTION = (
    "Dashed: public result files of the same tasks, means over their seeds; protocols differ as "
    "the legend says, so they are for orientation and not a comparison on equal terms."
)


def lines(task: str, until: float) -> list[Line]:
    """A dashed line for each source that has the task."""
    inks = dict(zip((s.name for s in published.SOURCES.values()), COLORS, strict=True))
    return [
        Line(f"{source.name}: {source.protocol}", inks[source.name], steps, success, dashed=True)
        for source, steps, success, _ in published.curves(task, until)
    ]
