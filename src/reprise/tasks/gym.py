"""Any Gymnasium environment as a task: `gym/<id>`."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import gymnasium
from gymnasium.error import Error

from reprise.boundary.errors import UserError, unknown
from reprise.tasks.task import Task

DEFAULT_HORIZON = 1_000
SMALL = (("warmup", 1_000), ("steps", 100_000), ("log_every", 500), ("evaluate_every", 2_500))


def task(id: str) -> Task:
    """The task of an environment that Gymnasium knows: `<id>`, or `<module>:<id>`.

    The module must have been imported: a name in a file is no reason to import anything.
    """
    module, _, name = id.rpartition(":")
    if module and module not in sys.modules:
        ask = f"add --import {module}, or import it first in Python"
        raise UserError(f"task 'gym/{id}' needs module {module!r}, which is not imported: {ask}")
    if name not in gymnasium.registry:
        raise unknown("Gymnasium environment", name, gymnasium.registry)
    spec = gymnasium.spec(name)
    horizon = spec.max_episode_steps or DEFAULT_HORIZON
    film = partial(make, name, render_mode="rgb_array")
    return Task(f"gym/{id}", horizon, partial(make, name), small=SMALL, film=film)


def known(id: str) -> bool:
    """Whether Gymnasium has an environment of that name."""
    return id in gymnasium.registry


def make(id: str, render_mode: str | None = None) -> gymnasium.Env[Any, Any]:
    """The environment without Gymnasium's own time limit: an arena has one."""
    try:
        # Only where it is asked for: not every environment knows the word.
        drawn = {"render_mode": render_mode} if render_mode else {}
        env = gymnasium.make(id, max_episode_steps=-1, disable_env_checker=True, **drawn)
    except (Error, ImportError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"task 'gym/{id}' cannot be made: {reason}") from error
    return env
