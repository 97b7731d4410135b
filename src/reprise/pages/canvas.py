"""The look that all figures share: axes, legends, labels and sentences for what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from reprise.pages.palette import INK

# A matplotlib Axes. Its stubs leave keyword arguments untyped, which strict checking refuses.
Axes = Any

WIDTH = 8.6
SMALL = 9.5
MUTED = "#555555"


def blank(rows: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """An empty figure and its axes, row by row."""
    spacing = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08)
    figure = Figure(figsize=(WIDTH, height), layout=spacing, facecolor="white")
    grid: Any = figure.subplots(rows, columns, squeeze=False)
    axes: list[Axes] = list(grid.flat)
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color("#999999")
        ax.tick_params(labelsize=SMALL, color="#999999", labelcolor=INK)
        ax.grid(color="#E6E6E6", linewidth=0.8)
        ax.set_axisbelow(True)
    return figure, axes


def headline(ax: Axes, title: str, xlabel: str | None = "training step") -> None:
    """Name an axes at its top left, and what runs along its x axis."""
    ax.set_title(title, loc="left", fontsize=10.5, color=INK, pad=8)
    if xlabel is not None:
        ax.set_xlabel(xlabel, fontsize=SMALL, color=MUTED)


def training_axis(ax: Axes, last: float) -> None:
    """An x axis of training steps from zero, in thousands or millions."""
    ax.set_xlim(0, max(last, 1.0))
    ax.locator_params(axis="x", nbins=6)
    ax.xaxis.set_major_formatter(FuncFormatter(short))


def share_axis(ax: Axes) -> None:
    """A y axis from 0 to 100 %."""
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25 %", "50 %", "75 %", "100 %"])


ENTRY = 64
"""Letters of a name in a legend."""


def legend(figure: Any, entries: Mapping[str, str | Artist]) -> None:
    """A legend below the figure, out of the data's way; a color stands for a filled patch."""
    handles = [Patch(color=e) if isinstance(e, str) else e for e in entries.values()]
    figure.legend(
        handles,
        [plain(name, ENTRY) for name in entries],
        loc="outside lower center",
        ncols=_columns(list(entries), 115 * figure.get_figwidth() / WIDTH),
        fontsize=SMALL,
        frameon=False,
        handlelength=1.6,
    )


def note(ax: Axes, sentence: str) -> None:
    """Say in the middle of an empty axes why it is empty."""
    ax.grid(visible=False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.text(0.5, 0.5, sentence, ha="center", va="center", transform=ax.transAxes, color=MUTED)


def plain(name: str, limit: int = 28) -> str:
    """A name as a label: no formulas, no control characters, not hidden, not too long."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name)
    cut = shown if len(shown) <= limit else shown[: limit - 1] + "…"
    # Matplotlib reads $...$ as a formula and leaves names that begin with _ out of legends.
    return (" " + cut if cut.startswith("_") else cut).replace("$", r"\$")


def policy_label(name: str) -> str:
    """What a policy is called in a legend."""
    return {"task": "task policy", "random": "random (warm-up)"}.get(name, name)


def short(step: float, _: int | None = None) -> str:
    """A step count in as few characters as possible; matplotlib also passes a place."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(step) >= size:
            return f"{step / size:.4g}{unit}"
    return f"{step:.4g}"


def _columns(labels: Sequence[str], room: float) -> int:
    """How many labels fit beside each other in a line of `room` characters."""
    widths = [min(len(label), ENTRY) + 7 for label in labels]
    return len(labels) if sum(widths) <= room else max(1, int(room // max(widths)))
