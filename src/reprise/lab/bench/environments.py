"""Environment steps per second: as its package has it, and as our learners see it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from reprise.lab.bench.timing import Tick, Turn, in_turns, unheard
from reprise.tasks import Task, antmaze, find, metaworld, pointmaze

Maker = Callable[[], Any]
"""Makes an environment of somebody else's."""


def everyday() -> dict[str, tuple[Task, Maker]]:
    """One task of each kind that is installed, and the simulator underneath."""
    maze, ant = pointmaze.MAPS["two"], tuple(antmaze.MAPS["u"].split())
    makers: dict[str, Maker] = {
        "pointmaze/two": lambda: pointmaze.build_maze(maze.rows, maze.physics_steps),
        "antmaze/u": lambda: antmaze.build_ant(ant),
    }
    if find_spec("metaworld") is not None:
        makers["metaworld/push-wall"] = push_wall
    return {id: (find(id), make) for id, make in makers.items()}


def push_wall() -> Any:
    """Meta-World's own environment with its own step."""
    env = metaworld.sawyer("push-wall", fast=False)
    env.seed(0)
    return env


def speeds(
    played: dict[str, tuple[Task, Maker]], steps: int, rounds: int, tick: Tick = unheard
) -> dict[str, dict[str, float]]:
    """{task: {"raw": steps per second, "ours": ...}}, all tasks in turns."""
    contestants: dict[str, Turn] = {}
    for id, (task, make) in played.items():
        contestants[f"{id} raw"] = raw(make(), task.horizon, steps)
        contestants[f"{id} ours"] = ours(task, steps)
    found = in_turns(contestants, rounds, tick=tick)
    return {
        id: {kind: found[f"{id} {kind}"].per_second for kind in ("raw", "ours")} for id in played
    }


def actions(low: np.ndarray, high: np.ndarray, steps: int) -> np.ndarray:
    """The same random actions for everybody."""
    draws = np.random.default_rng(0).uniform(low, high, (steps, *low.shape))
    return draws.astype(low.dtype)


def raw(env: Any, horizon: int, steps: int) -> Turn:
    """A contestant that steps an environment by itself, with a reset at every time limit."""
    chosen = actions(env.action_space.low, env.action_space.high, steps)
    clock = [0]

    def turn() -> int:
        for action in chosen:
            if clock[0] % horizon == 0:
                env.reset()
            env.step(action)
            clock[0] += 1
        return steps

    return turn


def ours(task: Task, steps: int) -> Turn:
    """A contestant that steps the same task through the arena of our learners."""
    arena = task.open()
    low = np.full(arena.action_dim, -1.0, np.float32)
    chosen, over = actions(low, -low, steps), [True]

    def turn() -> int:
        for action in chosen:
            if over[0]:
                arena.reset(0)
            step = arena.step(action)
            over[0] = step.terminated or step.truncated
        return steps

    return turn
