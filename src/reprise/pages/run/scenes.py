"""Figures of single episodes and single decisions: when, where, and from whom to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from reprise.findings.tables import RunTables, policies
from reprise.pages import canvas
from reprise.pages.canvas import Axes
from reprise.pages.crowd import SHOWN_PRIORS
from reprise.pages.episodes import Episode, Path, control, numbered, paths, spread
from reprise.pages.palette import INK, OTHER_PRIORS

if TYPE_CHECKING:
    from reprise.tasks.task import Picture

TIMELINE_EPISODES = 8
MAZE_EPISODES = 6
# Gymnasium-Robotics calls a maze episode a success within this distance of the goal.
GOAL_RADIUS = 0.45
GOAL: dict[str, Any] = {"marker": "*", "mfc": "white", "mec": INK, "ls": "none"}


def timeline(
    switches: pd.DataFrame, tracks: pd.DataFrame, picture: Picture | None, paint: Mapping[str, str]
) -> Figure:
    """Who was in control at each moment of a few episodes, from early to late training."""
    episodes = control(switches, tracks, TIMELINE_EPISODES)
    figure, (ax,) = canvas.blank(1, 1, 1.5 + 0.36 * len(episodes))
    for row, episode in enumerate(episodes):
        _bars(ax, row, episode, paint)
    marked = picture is not None and _mark_arrivals(ax, episodes, tracks, picture)
    ax.set_yticks(range(len(episodes)), [_stage(e.step, e.number) for e in episodes])
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


def maze_paths(tracks: pd.DataFrame, picture: Picture | None, paint: Mapping[str, str]) -> Figure:
    """Where a few training episodes went, each piece in the color of who acted."""
    drawn = paths(tracks, spread(numbered(tracks), MAZE_EPISODES))
    columns = min(3, len(drawn))
    rows = -(-len(drawn) // columns)
    low, high = _bounds(drawn, picture)
    aspect = float((high[1] - low[1]) / (high[0] - low[0]))
    tile = float(np.clip(0.92 * canvas.WIDTH / columns * aspect, 0.8, 4.5)) + 0.25
    figure, axes = canvas.blank(rows, columns, 0.6 + rows * tile)
    for ax in axes:
        ax.set(xticks=[], yticks=[])
        ax.set_axis_off()
        ax.set_aspect("equal")
    for ax, path in zip(axes, drawn, strict=False):
        _draw_maze(ax, picture)
        _draw_path(ax, path, paint)
        ax.set_title(_stage(path.step, path.number), fontsize=canvas.SMALL, color=INK)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    acting = {name for path in drawn for name in path.policies}
    entries: dict[str, str | Artist] = {
        canvas.policy_label(name): paint[name] for name in paint if name in acting
    }
    entries["start of the path"] = Line2D([], [], marker="o", mfc="white", mec=INK, ls="none")
    if picture is not None:
        entries["goal"] = Line2D([], [], ms=11, **GOAL)
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


def _draw_maze(ax: Axes, picture: Picture | None) -> None:
    if picture is None:
        return
    for x0, y0, x1, y1 in picture.walls:
        ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, color="#D3D7DB", lw=0.4))
    ax.plot(*picture.goal, ms=15, zorder=5, **GOAL)


def _draw_path(ax: Axes, path: Path, paint: Mapping[str, str]) -> None:
    for stretch in path.stretches():
        # One point further than the stretch: the step between two policies belongs to the first.
        piece = path.points[stretch.begin : stretch.end + 1]
        ax.plot(*piece.T, color=paint[stretch.policy], lw=2, solid_capstyle="round")
    ax.plot(*path.points[0], marker="o", ms=6, mfc="white", mec=INK, zorder=4)


def _bounds(
    drawn: list[Path], picture: Picture | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Opposite corners of all that is drawn, the same for every tile."""
    corners = np.asarray(picture.walls if picture is not None else ()).reshape(-1, 2)
    points = np.concatenate([corners, *(path.points for path in drawn)])
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    margin = 0.03 * float((high - low).max()) + 1e-6
    return low - margin, high + margin


def _stage(step: int, episode: int) -> str:
    return f"step {step:,} · episode {episode}"
