"""Point mazes: a ball pushed through small mazes, on gymnasium-robotics' PointMaze."""

from __future__ import annotations

import contextlib
import io
import os
from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from reprise.core.values import Scalar
from reprise.tasks.task import Picture, Task


class Map(NamedTuple):
    """Walls '#', start 'r', goal 'g'; how long an episode lasts and how fast time passes."""

    text: str
    horizon: int
    physics_steps: int = 2
    """Per action. With one, noise gets nowhere; with four, noise alone explores enough."""

    @property
    def rows(self) -> tuple[str, ...]:
        """The map line by line."""
        return tuple(self.text.split())


MEDIUM = "####### #r.#..# ##.#.## #.....# #.###.# #..g#.# #######"
TWO = "######### #r.#....# #..#.##.# #..#.#..# #....#.## #.#####.# #.......# #...#..g# #########"
MAPS = {
    "u": Map("##### #r..# ###.# #g..# #####", 200),
    "medium": Map(MEDIUM, 300),
    "medium-slow": Map(MEDIUM, 600, physics_steps=1),
    "s": Map("####### #r....# #####.# #.....# #.##### #....g# #######", 300),
    "two": Map(TWO, 500),
}
CORNERS = {"nw": (-1, 1), "ne": (1, 1), "sw": (-1, -1), "se": (1, -1)}
SIZES = (5, 7, 9)
REACH = 0.45
"""How near the goal counts as reached: gymnasium-robotics' own radius."""


class PointMaze(gym.Env[np.ndarray, np.ndarray]):
    """One start cell, one goal; 100 and termination at the goal, else 0.

    With a corner instead of a goal cell it is the dense task on which priors are trained: start
    anywhere, earn more the nearer to the corner, never terminate.
    """

    def __init__(
        self, rows: tuple[str, ...], physics_steps: int = 2, corner: tuple[int, int] | None = None
    ) -> None:
        self._rows, self._dense = rows, corner is not None
        self._maze = build_maze(rows, physics_steps)
        reach = len(rows) / 2 - 1.5
        self._goal = np.asarray(corner, np.float64) * reach if corner else center(rows, "g")
        self._span = float(np.hypot(2 * reach, 2 * reach))
        self.action_space = self._maze.action_space
        self.observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Put the ball somewhere in its start cell (or in any free cell)."""
        super().reset(seed=seed)
        obs, _ = self._maze.reset(seed=seed)
        # The maze underneath draws a goal of its own; what is drawn in a picture must be ours.
        self._maze.goal = self._goal.copy()
        self._maze.update_target_site_pos()
        return obs["observation"], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Push the ball."""
        obs = self._maze.point_env.step(action)[0]
        offset = np.abs(obs[:2] - self._goal)
        if self._dense:
            # In the corner's cell: a ball pressed into the corner of a smaller map counts too.
            inside = bool((offset <= 0.5).all())
            return (
                obs,
                1.0 - float(np.hypot(*offset)) / self._span,
                False,
                False,
                {"success": inside},
            )
        reached = bool(np.hypot(*offset) <= REACH)
        return obs, 100.0 * reached, reached, False, {"success": reached}

    def position(self) -> tuple[float, float]:
        """Where the ball is."""
        x, y = self._maze.point_env.data.qpos
        return float(x), float(y)

    def render(self) -> Any:
        """Nothing is drawn here; reports draw the paths."""
        return None

    def close(self) -> None:
        """Close the simulator."""
        self._maze.close()


def build_maze(rows: tuple[str, ...], physics_steps: int) -> Any:
    """gymnasium-robotics' maze with these walls; its model file is removed once it is loaded."""
    with contextlib.redirect_stderr(io.StringIO()):  # it greets with advice on other environments
        from gymnasium_robotics.envs.maze.point_maze import PointMazeEnv

    cells: dict[str, int | str] = {"#": 1, ".": 0, "r": "r", "g": 0}
    maze = PointMazeEnv(maze_map=[[cells[cell] for cell in row] for row in rows])
    maze.point_env.frame_skip = physics_steps
    os.unlink(maze.tmp_xml_file_path)
    return maze


def center(rows: tuple[str, ...], mark: str) -> np.ndarray:
    """The middle of the one cell with that mark."""
    i, j = next((i, row.index(mark)) for i, row in enumerate(rows) if mark in row)
    return np.array([j + 0.5 - len(rows[0]) / 2, len(rows) / 2 - i - 0.5])


def draw(rows: tuple[str, ...]) -> Picture:
    """The walls as rectangles, and the marks."""
    width, height = len(rows[0]) / 2, len(rows) / 2
    walls = tuple(
        (j - width, height - i - 1, j + 1 - width, height - i)
        for i, row in enumerate(rows)
        for j, cell in enumerate(row)
        if cell == "#"
    )
    (sx, sy), (gx, gy) = center(rows, "r"), center(rows, "g")
    return Picture(walls, (float(sx), float(sy)), (float(gx), float(gy)))


def empty(size: int) -> tuple[str, ...]:
    """A map without inner walls."""
    inner = "#" + "." * (size - 2) + "#"
    return ("#" * size, *[inner] * (size - 2), "#" * size)


PRIORS = ("zoo:pointmaze",)
STEP_MS = 0.150
"""results/bench/shares-and-environments.json, `ours`."""
SMALL = (
    ("hidden", (128, 128)),
    # Small networks on a short budget: docs/decisions/0009 has what 3e-4 and 0.005 did.
    ("learning_rate", 1e-3),
    # The core that solved them in fifteen of fifteen runs: docs/decisions/0014 has the other one.
    ("values", Scalar()),
    ("other_values", Scalar()),
    ("bounded", False),
    ("handback", False),
    ("heads_per_row", None),
    ("n_step", 1),
    ("other_n_step", 1),
    ("success_share", 0.0),
    ("imitation", 0.0),
    ("smoothing", 0.02),
    ("warmup", 2_000),
    ("steps", 60_000),
    ("log_every", 500),
    ("evaluate_every", 2_500),
)


def tasks() -> list[Task]:
    """Every point maze: the mazes to solve, and the empty ones on which priors are trained."""
    found: list[Task] = []
    maze_task = partial(Task, small=SMALL, priors=PRIORS, step_ms=STEP_MS)
    for name, maze in MAPS.items():
        make = partial(PointMaze, maze.rows, maze.physics_steps)
        more: Any = {"sets": ("pointmaze",), "picture": draw(maze.rows)}
        more |= {"reward_range": (0.0, 100.0), "reward_once": True}
        found.append(maze_task(f"pointmaze/{name}", maze.horizon, make, **more))
    for size in SIZES:
        for name, corner in CORNERS.items():
            make = partial(PointMaze, empty(size), corner=corner)
            tag = f"pointmaze/empty{size}-{name}"
            found.append(maze_task(tag, 200, make, sets=("pointmaze-priors",)))
    return found
