"""Figures of single episodes and single decisions: when, where, and from whom to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from reprise.findings.tables import RunTables, policies
from reprise.pages import canvas
from reprise.pages.canvas import Axes
from reprise.pages.crowd import SHOWN_PRIORS
from reprise.pages.episodes import Episode, control, numbered, paths
from reprise.pages.mazes import GOAL, stage
from reprise.pages.palette import INK, OTHER_PRIORS

if TYPE_CHECKING:
    from reprise.tasks.task import Picture

TIMELINE_EPISODES = 8
# Gymnasium-Robotics calls a maze episode a success within this distance of the goal.
GOAL_RADIUS = 0.45


def timeline(
    switches: pd.DataFrame, tracks: pd.DataFrame, picture: Picture | None, paint: Mapping[str, str]
) -> Figure:
    """Who was in control at each moment of a few episodes, from early to late training."""
    episodes = control(switches, tracks, TIMELINE_EPISODES)
    figure, (ax,) = canvas.blank(1, 1, 1.5 + 0.36 * len(episodes))
    for row, episode in enumerate(episodes):
        _bars(ax, row, episode, paint)
    marked = picture is not None and _mark_arrivals(ax, episodes, tracks, picture)
    ax.set_yticks(range(len(episodes)), [stage(e.step, e.number) for e in episodes])
    ax.set_ylim(len(episodes) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.grid(visible=False, axis="y")
    canvas.headline(ax, "Selections within an episode, early training at the top", "time step t")
    acting = {stretch.policy for episode in episodes for stretch in episode.stretches}
    entries: dict[str, str | Artist] = {
        canvas.policy_label(name): paint[name] for name in paint if name in acting
    }
    entries["end of episode"] = Line2D([], [], color=INK, marker="|", ms=11, mew=2, ls="none")
    if marked:
        entries["first at the goal"] = Line2D([], [], ms=11, **GOAL)
    canvas.legend(figure, entries)
    return figure


def transitions(run: RunTables) -> Figure:
    """How often each policy was chosen after each other one."""
    rows, columns, counts = count_transitions(run)
    figure, (ax,) = canvas.blank(1, 1, 1.7 + 0.52 * len(rows))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # A mesh and not an image: it stays sharp at every size and needs no embedded bitmap.
    ax.pcolormesh(shares, cmap="Blues", vmin=0, vmax=1, edgecolors="white", linewidth=2)
    for (row, column), count in np.ndenumerate(counts):
        share = shares[row, column]
        text = f"{int(count)}\n{share:.0%}" if count else "0"
        tone = "white" if share > 0.55 else INK if count else "#777777"
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", color=tone, fontsize=9)
    labels = [canvas.plain(canvas.policy_label(name), 18) for name in columns]
    before = [canvas.plain(canvas.policy_label(name), 18) for name in rows]
    ax.set_xticks(np.arange(len(columns)) + 0.5, labels, rotation=30 if len(columns) > 5 else 0,
                  ha="right" if len(columns) > 5 else "center")  # fmt: skip
    ax.set_yticks(np.arange(len(rows)) + 0.5, before)
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    canvas.headline(ax, "Selections: from the row's policy to the column's", "chosen next")
    ax.set_ylabel("in control before", fontsize=canvas.SMALL, color=canvas.MUTED)
    return figure


def count_transitions(run: RunTables) -> tuple[list[str], list[str], NDArray[np.float64]]:
    """Names before, names after, and how often; the rarely chosen count as one."""
    switches, order = run.switches, policies(run)
    pairs = Counter(zip(map(str, switches["from"]), map(str, switches["to"]), strict=True))
    chosen = Counter(map(str, switches["to"]))
    ranked = sorted((n for n in order if n != "task"), key=lambda n: -chosen[n])
    kept = {"task", "start", "random", *ranked[:SHOWN_PRIORS]}
    everyone = dict.fromkeys([*order, *chosen])
    columns = [name for name in everyone if name in kept]
    columns += [OTHER_PRIORS] * (len(columns) < len(everyone))
    table: Counter[tuple[str, str]] = Counter()
    for (before, after), times in pairs.items():
        table[before if before in kept else OTHER_PRIORS,
              after if after in kept else OTHER_PRIORS] += times  # fmt: skip
    sources = {before for before, _ in table}
    rows = [*(n for n in ("start", "random") if n in sources and n not in columns), *columns]
    counts = np.array([[table[row, column] for column in columns] for row in rows], dtype=float)
    return rows, columns, counts


def _bars(ax: Axes, row: int, episode: Episode, paint: Mapping[str, str]) -> None:
    parts = episode.stretches
    ax.barh([row] * len(parts), [s.end - s.begin for s in parts], left=[s.begin for s in parts],
            height=0.62, color=[paint[s.policy] for s in parts], edgecolor="white",
            linewidth=0.8)  # fmt: skip
    if episode.ended:
        ax.plot(episode.stretches[-1].end, row, color=INK, marker="|", ms=17, mew=2)


def _mark_arrivals(
    ax: Axes, episodes: list[Episode], tracks: pd.DataFrame, picture: Picture
) -> bool:
    """Mark the first moment at the goal in the episodes whose path is known."""
    known = set(numbered(tracks))
    rows = {episode.number: row for row, episode in enumerate(episodes)}
    arrivals = {
        path.number: path.reached(picture.goal, GOAL_RADIUS)
        for path in paths(tracks, [number for number in rows if number in known])
    }
    for number, t in arrivals.items():
        if t is not None:
            ax.plot(t, rows[number], ms=13, zorder=5, **GOAL)
    return any(t is not None for t in arrivals.values())
