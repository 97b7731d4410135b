"""Figures of a whole training: progress, who was in control, values and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from reprise.findings.tables import RunTables, each, intervals, numbers, policies, usage, zero_shot
from reprise.pages import canvas
from reprise.pages.canvas import Axes
from reprise.pages.crowd import SHOWN_PRIORS, lump
from reprise.pages.palette import ALARM, INK, TASK, run_colors
from reprise.runs.schema import METRICS

SHOWN_ZERO_SHOT = 6


def learning_curve(runs: Sequence[RunTables], paint: Mapping[str, str]) -> Figure:
    """Success and return of the task policy over training, beside each prior on its own.

    Solid: its mode; dashed: with actions drawn from it, as in training.
    """
    figure, (success, returns) = canvas.blank(1, 2, 3.9)
    names = [str(run.recipe.get("name", "run")) for run in runs]
    ink = run_colors(names)
    pairs = list(zip(runs, names, strict=True))
    for ax, column in ((success, "success_any"), (returns, "return_mean")):
        for name in ink:
            own = [run.eval for run, other in pairs if other == name]
            _curves(ax, own, f"sampled_{column}", ink[name], "--")
            _curves(ax, own, column, ink[name])
        _zero_shot(ax, runs, column, paint)
        canvas.training_axis(ax, max(_last_step(run) for run in runs))
    canvas.headline(success, "Success of the task policy")
    canvas.headline(returns, "Return per episode of the task policy")
    success.set_ylim(-0.04, 1.04)
    canvas.share_axis(success)
    for ax, column in ((success, "success_any"), (returns, "return_mean")):
        if not any(run.eval[column].notna().any() for run in runs):
            canvas.note(ax, "No evaluation has recorded this.")
    canvas.legend(figure, _run_entries(names) | _prior_entries(runs, paint))
    return figure


def utilization(run: RunTables, paint: Mapping[str, str]) -> Figure:
    """Whose actions the environment received, as shares of the steps of each interval."""
    figure, (ax,) = canvas.blank(1, 1, 3.7)
    metrics = run.metrics
    shown, layers = lump(policies(run), usage(run) / intervals(metrics)[:, None])
    idle = np.clip(1.0 - layers.sum(axis=1, keepdims=True), 0.0, None)
    stack = np.concatenate([layers, idle], axis=1)
    # An interval is drawn from its first step to its last, so the first one begins at zero.
    edges = np.concatenate([[0.0], numbers(metrics, "step")])
    filled = np.concatenate([stack[:1], stack]).T
    everyone = [*shown, "random"]
    ax.stackplot(edges, filled, colors=[paint[n] for n in everyone], step="pre", lw=0)
    canvas.training_axis(ax, edges[-1])
    ax.set_ylim(0, 1)
    canvas.share_axis(ax)
    canvas.headline(ax, "Share of environment steps")
    acting = [name for name, layer in zip(everyone, filled, strict=True) if layer.any()]
    canvas.legend(figure, {canvas.policy_label(name): paint[name] for name in acting})
    return figure


def values(run: RunTables, paint: Mapping[str, str]) -> Figure:
    """What the critic promises against what evaluation episodes return."""
    evals, metrics = run.eval, run.metrics
    figure, (honesty, scores) = canvas.blank(1, 2, 3.9)
    step, claimed = numbers(evals, "step"), numbers(evals, "value_start")
    realized = numbers(evals, "return_discounted")
    honesty.fill_between(step, realized, claimed, color=ALARM, alpha=0.15, lw=0)
    honesty.plot(step, claimed, color=TASK, lw=2)
    honesty.plot(step, realized, color=INK, lw=1.6, marker="o", ms=3)
    canvas.headline(honesty, "Promised and realized return")
    shown = _scored(run)
    for name, course in shown.items():
        scores.plot(numbers(metrics, "step"), course, color=paint[name], lw=1.6)
    canvas.headline(scores, "Mean score at the selections")
    if not len(step):
        canvas.note(honesty, "No evaluation yet.")
    if not shown:
        canvas.note(scores, "No selections were scored.")
    for ax, table in ((honesty, evals), (scores, metrics)):
        _tame(ax)
        canvas.training_axis(ax, numbers(table, "step").max(initial=0.0))
    entries: dict[str, str | Artist] = {
        "promised at episode starts": Line2D([], [], color=TASK, lw=2),
        "realized (discounted)": Line2D([], [], color=INK, lw=1.6, marker="o", ms=3),
    }
    marks = {f"score: {canvas.policy_label(n)}": paint[n] for n in shown}
    canvas.legend(figure, entries | marks)
    return figure


def losses(metrics: pd.DataFrame) -> Figure:
    """The optimizer's side of the training, one small panel per quantity."""
    quantities = {
        "critic_loss": "Critic loss",
        "actor_loss": "Actor loss",
        "alpha": "Temperature (alpha)",
        "entropy": "Entropy of the task policy",
    }
    figure, axes = canvas.blank(2, 2, 4.4)
    for ax, (column, title) in zip(axes, quantities.items(), strict=True):
        canvas.headline(ax, title, "training step" if ax in axes[2:] else None)
        canvas.training_axis(ax, numbers(metrics, "step").max(initial=0.0))
        if metrics[column].notna().any():
            ax.plot("step", column, data=metrics, color=TASK, lw=1.6)
            _tame(ax)
        else:
            canvas.note(ax, "Not recorded yet.")
    return figure


def _curves(
    ax: Axes, evals: Sequence[pd.DataFrame], column: str, color: str, style: str = "-"
) -> None:
    """The runs of one name: each of them, and their mean where there are several."""
    weight = 1.0 if style == "-" else 0.5
    known = [table[["step", column]].dropna() for table in evals]
    alone = len(evals) == 1
    for table in known:
        ax.plot("step", column, data=table, color=color, ls=style,
                lw=weight * (2.2 if alone else 0.9), alpha=1.0 if alone else 0.4)  # fmt: skip
    if not alone and all(len(table) for table in known):
        # Only steps that every run has reached: a mean over fewer runs would jump.
        means = pd.concat(known).groupby("step")[column].agg(["mean", "count"]).reset_index()
        ax.plot("step", "mean", data=means[means["count"] == len(known)], color=color, ls=style,
                lw=2.2 * weight)  # fmt: skip


def _scored(run: RunTables) -> dict[str, NDArray[np.float64]]:
    """Mean scores over training: those of the most used policies where there are many."""
    courses = dict(zip(policies(run), each(run, METRICS, "value").T, strict=True))
    acted = dict(zip(policies(run), usage(run).sum(axis=0), strict=True))
    known = [name for name, course in courses.items() if not np.isnan(course).all()]
    ranked = sorted(known, key=lambda name: (name != "task", -acted[name]))
    return {name: courses[name] for name in known if name in ranked[: SHOWN_PRIORS + 1]}


def _run_entries(names: Sequence[str]) -> dict[str, Artist]:
    counts = {name: names.count(name) for name in names}
    labels = {name: name if n == 1 else f"{name} (mean of {n} runs)" for name, n in counts.items()}
    return {labels[n]: Line2D([], [], color=c, lw=2.2) for n, c in run_colors(names).items()}


def _prior_entries(runs: Sequence[RunTables], paint: Mapping[str, str]) -> dict[str, Artist]:
    return {
        f"{name} alone": Line2D([], [], color=paint[name], lw=1.6, ls=(0, (3, 2)))
        for name in _alone(runs)
    }


def _alone(runs: Sequence[RunTables]) -> dict[str, dict[str, Any]]:
    """The zero-shot record of each prior, the best few where there are many."""
    found = {name: record for run in runs for name, record in zero_shot(run).items()}
    rank = sorted(found, key=lambda name: -float(found[name].get("success_any") or 0.0))
    return {name: found[name] for name in found if name in rank[:SHOWN_ZERO_SHOT]}


def _zero_shot(ax: Axes, runs: Sequence[RunTables], column: str, paint: Mapping[str, str]) -> None:
    equals: dict[float, list[str]] = {}
    for name, record in _alone(runs).items():
        if record.get(column) is not None:
            equals.setdefault(float(record[column]), []).append(name)
    for value, names in equals.items():
        for place, name in enumerate(names):
            # Each line dashes where its equals pause, so that all of them stay visible.
            dashes = (4.0 * place, (4.0, 4.0 * max(1, len(names) - 1)))
            ax.axhline(value, color=paint[name], lw=1.6, ls=dashes, zorder=1.5)


def _last_step(run: RunTables) -> float:
    return float(np.concatenate([numbers(run.metrics, "step"), numbers(run.eval, "step")]).max(
        initial=0.0))  # fmt: skip


def _tame(ax: Axes) -> None:
    """Go logarithmic when the range is so wide that a linear axis would hide the small values."""
    drawn = [np.abs(np.asarray(line.get_ydata(), dtype=float)) for line in ax.lines]
    sizes = np.concatenate([*drawn, np.zeros(0)])
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if sizes.size and sizes.max() > 200 * np.median(sizes):
        # A power of ten, or the lowest label would be drawn over the zero.
        ax.set_yscale("symlog", linthresh=10.0 ** float(np.ceil(np.log10(np.median(sizes)))))
    elif sizes.size:
        ax.yaxis.set_major_locator(MaxNLocator(5))
