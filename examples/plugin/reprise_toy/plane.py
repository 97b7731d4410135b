"""A family of tasks: walk to a corner of a square."""

from functools import partial

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from reprise.tasks import Task

CORNERS = {"north-east": (1.0, 1.0), "south-west": (-1.0, -1.0)}
NAMES = tuple(CORNERS)
HORIZON, REACH, STRIDE = 50, 0.2, 0.1
SMALL = (
    ("hidden", (32, 32)),
    ("warmup", 500),
    ("steps", 5_000),
    ("log_every", 100),
    ("evaluate_every", 500),
)


class Plane(gym.Env):
    """Start in the middle; the reward is 1 at the corner, where the episode ends, else 0."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, corner):
        self._corner = np.array(corner)
        self._place = np.zeros(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._place = self.np_random.uniform(-0.1, 0.1, 2)
        return self._place.astype(np.float32), {}

    def step(self, action):
        self._place = np.clip(self._place + STRIDE * action, -1.0, 1.0)
        there = bool(np.hypot(*(self._place - self._corner)) <= REACH)
        return self._place.astype(np.float32), float(there), there, False, {"success": there}


def task(name: str) -> Task:
    """The task `toy/<name>`; the KeyError of an unknown corner becomes a proper message."""
    make = partial(Plane, CORNERS[name])
    rewards = {"reward_range": (0.0, 1.0), "reward_once": True}
    return Task(f"toy/{name}", HORIZON, make, sets=("toy",), small=SMALL, **rewards)
