"""The figure that holds each head of the critic against what its policy really earned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from reprise.findings.tables import RunTables, numbers
from reprise.pages import canvas
from reprise.pages.canvas import MUTED
from reprise.pages.palette import INK

SHOWN_POLICIES = 6
STRETCHES, STATES = 25, 5
"""Points on a line at most, and states behind each: enough to see a course and to trust it."""


def value_accuracy(run: RunTables, paint: Mapping[str, str]) -> Figure:
    """One row per policy: estimate and return on the left, the error between them on the right."""
    values = run.values
    names = [str(name) for name in dict.fromkeys(values["policy"])][:SHOWN_POLICIES]
    figure, axes = canvas.blank(len(names), 2, 0.8 + 1.75 * len(names))
    steps = np.concatenate([numbers(values, "step"), numbers(run.metrics, "step")])
    last = float(steps.max(initial=0.0))
    pairs = zip(names, axes[::2], axes[1::2], strict=True)
    for name, level, error in pairs:
        rows = values[values["policy"] == name]
        course, color = stretches(rows, last), paint.get(name, INK)
        level.plot("step", "estimate", data=course, color=color, lw=2, marker="o", ms=2.5)
        level.plot("step", "realized", data=course, color=INK, lw=1.4, marker="o", ms=2.5)
        low, high = course["error"] - course["spread"], course["error"] + course["spread"]
        error.axhline(0.0, color=MUTED, lw=1)
        error.fill_between(course["step"], low, high, color=color, alpha=0.25, lw=0)
        error.plot("step", "error", data=course, color=color, lw=2, marker="o", ms=2.5)
        discount = f"discount {float(rows['discount'].iloc[0]):.4g}"
        bottom = "training step" if name == names[-1] else None
        canvas.headline(level, f"{canvas.plain(canvas.policy_label(name))}, {discount}", bottom)
        canvas.headline(error, "estimate minus realized", bottom)
        level.set_ylabel("discounted return", fontsize=canvas.SMALL, color=MUTED)
        for ax in (level, error):
            canvas.training_axis(ax, last)
            ax.yaxis.set_major_locator(MaxNLocator(4))
    canvas.legend(figure, _entries([paint.get(name, INK) for name in names]))
    return figure


def stretches(rows: pd.DataFrame, last: float) -> pd.DataFrame:
    """The mean of every stretch of training, and twice the standard error of its mean error.

    A single state does not say how sure it is: its spread is not a number.
    """
    known = rows.dropna(subset=["estimate", "realized"])
    width = max(last, 1.0) / np.clip(len(known) // STATES, 1, STRETCHES)
    place = np.ceil(numbers(known, "step") / width)
    tagged = known.assign(error=known["estimate"] - known["realized"], place=place)
    groups: Any = tagged.groupby("place")
    columns = ["step", "estimate", "realized", "error"]
    spread = 2.0 * groups["error"].std() / np.sqrt(groups["error"].count())
    return groups[columns].mean().assign(spread=spread).reset_index(drop=True)


def _entries(colors: list[str]) -> dict[str, str | Artist]:
    color = colors[0] if colors else INK
    return {
        "estimate (policy's color)": Line2D([], [], color=color, lw=2),
        "realized from the same state": Line2D([], [], color=INK, lw=1.4, marker="o", ms=3),
        "error ± 2 standard errors": Patch(color=color, alpha=0.25),
    }
