"""Where episodes went: paths through a drawn maze, each piece in the color of who acted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from reprise.pages import canvas
from reprise.pages.canvas import Axes
from reprise.pages.episodes import Path, paths, telling
from reprise.pages.palette import INK

if TYPE_CHECKING:
    from reprise.tasks.task import Picture

MAZE_EPISODES = 6
HANDOVER: dict[str, Any] = {"marker": "o", "ms": 3, "mfc": "white", "mec": INK, "mew": 0.7}
GOAL: dict[str, Any] = {"marker": "*", "mfc": "white", "mec": INK, "ls": "none"}


def maze_paths(tracks: pd.DataFrame, picture: Picture | None, paint: Mapping[str, str]) -> Figure:
    """Where a few training episodes went, each piece in the color of who acted."""
    drawn = paths(tracks, telling(tracks, MAZE_EPISODES))
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
        title = stage(path.step, path.number) + (" · success" if path.success else "")
        ax.set_title(title, fontsize=canvas.SMALL, color=INK)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    acting = {name for path in drawn for name in path.policies}
    entries: dict[str, str | Artist] = {
        canvas.policy_label(name): paint[name] for name in paint if name in acting
    }
    if any(len(path.stretches()) > 1 for path in drawn):
        entries["hand-over"] = Line2D([], [], ls="none", **HANDOVER)
    entries["start of the path"] = Line2D([], [], marker="o", mfc="white", mec=INK, ls="none")
    if picture is not None:
        entries["goal"] = Line2D([], [], ms=11, **GOAL)
    canvas.legend(figure, entries)
    return figure


def _draw_maze(ax: Axes, picture: Picture | None) -> None:
    if picture is None:
        return
    for x0, y0, x1, y1 in picture.walls:
        ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, color="#D3D7DB", lw=0.4))
    ax.plot(*picture.goal, ms=15, zorder=5, **GOAL)


def _draw_path(ax: Axes, path: Path, paint: Mapping[str, str]) -> None:
    for order, stretch in enumerate(path.stretches()):
        # One point further than the stretch: the step between two policies belongs to the first.
        piece = path.points[stretch.begin : stretch.end + 1]
        ax.plot(*piece.T, color=paint[stretch.policy], lw=2, solid_capstyle="round")
        if order:
            ax.plot(*piece[0], zorder=3, **HANDOVER)
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


def stage(step: int, episode: int) -> str:
    """When in training an episode was."""
    return f"step {step:,} · episode {episode}"
