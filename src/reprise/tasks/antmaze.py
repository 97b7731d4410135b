"""Ant mazes: a four-legged body walks through small mazes, on gymnasium-robotics' AntMaze."""

from __future__ import annotations

import contextlib
import io
import os
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from reprise.tasks.legs import by_compass
from reprise.tasks.pointmaze import CORNERS, center, draw, empty
from reprise.tasks.task import Picture, Task

MAPS = {
    "u": "##### #r..# ###.# #g..# #####",
    "mirrored-u": "##### #..r# #.### #..g# #####",
    "pi": "##### #r#g# #.#.# #...# #####",
}
"""Walls '#', start 'r', goal 'g'; each way leads over three corners."""
CELL = 4.0
"""Meters per cell; the middle of the map is (0, 0), north is +y."""
REACH = 0.5
"""How near the goal counts as reached: D4RL's radius (gymnasium-robotics has 0.45)."""
HORIZON, PRIOR_HORIZON = 700, 200
MISHAPS = ("flips", "wall_crossings")
TORQUE = 30.0
"""Newton meters at full action: D4RL's. With gymnasium-robotics' 150 noise turns the ant over."""
PHYSICS_STEPS = 10
"""Per action: 0.1 s, D4RL's. With 0.05 s a way of 24 m is too long for a discount of 0.99."""
START_NOISE = 1.0
"""Meters either way from the middle of the start cell: gymnasium-robotics' own."""
ROOM = 4.7
"""Meters either way from the middle of the empty map where outstretched legs touch no wall."""
START_SPEED = 1.5
"""A prior takes over an ant that walks at up to this many meters per second."""
SPEEDS = (-1.0, 2.0)
"""Getting nearer to a corner pays its speed between these, in meters per second; being there 1."""


class AntMaze(gym.Env[np.ndarray, np.ndarray]):
    """One start cell, one goal; 100 and termination at the goal, else 0.

    The observation is D4RL's: 15 positions (x, y, z, quaternion, joints) and 14 velocities; the
    goal is not in it. Its legs are equal, so they are named by where they point: leg 1 is always
    the one nearest to north-east, and nobody has to learn to walk four times over.

    Two mishaps end an episode with nothing. An ant on its back does not get up again: nothing is
    left to be earned, so ending there changes no value and spares the simulation. An ant inside a
    wall got there by a fault of the simulation, and what it reached would be no success.

    With a corner instead of a goal cell it is the dense task on which priors are trained: start
    anywhere, turned anyhow and already moving; earn more the faster the ant gets nearer.
    """

    def __init__(self, rows: tuple[str, ...], corner: tuple[int, int] | None = None) -> None:
        self._rows, self._dense = rows, corner is not None
        self._goal = CELL * (np.asarray(corner, np.float64) if corner else center(rows, "g"))
        self._ant = build_ant(rows)
        self.action_space = self._ant.action_space
        self.observation_space = spaces.Box(-np.inf, np.inf, (29,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Put the ant down in its start cell (or anywhere)."""
        super().reset(seed=seed)
        self._ant.reset(seed=seed)
        self._ant.set_state(*(self._anywhere() if self._dense else self._at_the_start()))
        return self._observation(), self._info(False)

    def _at_the_start(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities: legs stretched, at rest, facing east."""
        pose, rest = self._ant.init_qpos.copy(), self._ant.init_qvel.copy()
        noise = self.np_random.uniform(-START_NOISE, START_NOISE, 2)
        pose[:2] = CELL * center(self._rows, "r") + noise
        return pose, rest

    def _anywhere(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities as a prior may find them when it is given control."""
        rng, pose = self.np_random, self._ant.init_qpos.copy()
        turn, course = rng.uniform(-np.pi, np.pi, 2)
        pose[:2] = rng.uniform(-ROOM, ROOM, 2)
        pose[3], pose[6] = np.cos(turn / 2), np.sin(turn / 2)
        pose[7:] += rng.uniform(-0.1, 0.1, 8)
        motion = 0.1 * rng.standard_normal(14)
        motion[:2] += rng.uniform(0.0, START_SPEED) * np.array([np.cos(course), np.sin(course)])
        return pose, motion

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Apply torques for a tenth of a second."""
        before = self._distance()
        torques = action @ by_compass(self._ant.data.qpos).action
        self._ant.do_simulation(torques, self._ant.frame_skip)
        after, mishaps = self._distance(), self.mishaps()
        reached, over = after <= REACH and not mishaps["wall_crossings"], any(mishaps.values())
        if self._dense:
            nearing = np.clip((before - after) / self._ant.dt, *SPEEDS)
            reward = 1.0 if reached else float(nearing)
        else:
            reward, over = 100.0 * reached, over or reached
        return self._observation(), reward, over, False, self._info(reached)

    def mishaps(self) -> dict[str, int]:
        """What went wrong in this episode: either ends it, so that 1 is the most."""
        _, x, y, _ = self._ant.data.qpos[3:7]
        on_its_back = x * x + y * y > 0.5  # the torso's up points down
        inside = inside_a_wall(self._rows, *self.position())
        return dict(zip(MISHAPS, (int(on_its_back), int(inside)), strict=True))

    def _info(self, reached: bool) -> dict[str, Any]:
        return {"success": reached, **self.mishaps()}

    def _distance(self) -> float:
        return float(np.hypot(*(self._ant.data.qpos[:2] - self._goal)))

    def _observation(self) -> np.ndarray:
        pose, motion = self._ant.data.qpos, self._ant.data.qvel
        return by_compass(pose).observation @ np.concatenate([pose, motion])

    def position(self) -> tuple[float, float]:
        """Where the torso is."""
        x, y = self._ant.data.qpos[:2]
        return float(x), float(y)

    def render(self) -> Any:
        """Nothing is drawn here; reports draw the paths."""
        return None

    def close(self) -> None:
        """Close the simulator."""
        self._ant.close()


def inside_a_wall(rows: tuple[str, ...], x: float, y: float) -> bool:
    """Whether a point of the plane is where a wall is, or outside of the map."""
    i = int(np.floor(len(rows) / 2 - y / CELL))
    j = int(np.floor(len(rows[0]) / 2 + x / CELL))
    outside = not (0 <= i < len(rows) and 0 <= j < len(rows[0]))
    return outside or rows[i][j] == "#"


def build_ant(rows: tuple[str, ...]) -> Any:
    """gymnasium-robotics' ant among these walls; its model file is removed once it is loaded.

    Only the body is used: the maze around it would draw goals and pay rewards of its own.
    """
    with contextlib.redirect_stderr(io.StringIO()):  # it greets with advice on other environments
        from gymnasium_robotics.envs.maze.ant_maze_v5 import AntMazeEnv

    cells: Any = [[int(cell == "#") for cell in row] for row in rows]
    maze = AntMazeEnv(maze_map=cells, continuing_task=False, include_cfrc_ext_in_observation=False)
    os.unlink(maze.tmp_xml_file_path)
    ant: Any = maze.ant_env
    ant.model.actuator_gear[:, 0] = TORQUE
    ant.frame_skip = PHYSICS_STEPS
    return ant


def scaled(picture: Picture) -> Picture:
    """A picture of unit cells in meters."""
    walls = tuple(tuple(CELL * edge for edge in wall) for wall in picture.walls)
    (sx, sy), (gx, gy) = picture.start, picture.goal
    return Picture(walls, (CELL * sx, CELL * sy), (CELL * gx, CELL * gy))  # pyright: ignore


PRIORS = ("zoo:antmaze",)
STEP_MS = 0.917
"""results/bench/shares-and-environments.json, `ours`."""
SMALL = (("warmup", 5_000),)
PRIOR_SMALL = (*SMALL, ("steps", 200_000))


def tasks() -> list[Task]:
    """Every ant maze: the mazes to solve, and the empty one on which priors are trained."""
    found: list[Task] = []
    facts: Any = {"priors": PRIORS, "costly": True, "step_ms": STEP_MS}
    ant_task = partial(Task, mishaps=MISHAPS, **facts)
    for name, text in MAPS.items():
        rows = tuple(text.split())
        more: Any = {"sets": ("antmaze",), "small": SMALL, "picture": scaled(draw(rows))}
        more |= {"reward_range": (0.0, 100.0), "reward_once": True}
        found.append(ant_task(f"antmaze/{name}", HORIZON, partial(AntMaze, rows), **more))
    for name, corner in CORNERS.items():
        make = partial(AntMaze, empty(5), corner=corner)
        more = {"sets": ("antmaze-priors",), "small": PRIOR_SMALL, "reward_lower_bound": SPEEDS[0]}
        more |= {"reward_range": SPEEDS}
        found.append(ant_task(f"antmaze/empty-{name}", PRIOR_HORIZON, make, **more))
    return found
