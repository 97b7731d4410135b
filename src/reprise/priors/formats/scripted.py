"""Meta-World's scripted experts as priors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from reprise.boundary.errors import unknown
from reprise.core.types import Gaussian
from reprise.priors.formats.own import Card
from reprise.tasks import metaworld


@dataclass(frozen=True, eq=False)
class Expert:
    """A hand-written controller: deterministic, and without memory from one state to the next."""

    card: Card
    script: Any

    def act(self, obs: np.ndarray) -> np.ndarray:
        """What it would do in several states (n, obs)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of actions beyond 1, which are clipped here
            # A copy of each state, because some experts write into what they are shown.
            actions = [self.script.get_action(state) for state in np.array(obs, np.float64)]
        return np.clip(np.array(actions, np.float32).reshape(len(obs), -1), -1.0, 1.0)

    def __call__(self, obs: np.ndarray) -> Gaussian:
        """The same as what every policy says."""
        return Gaussian.deterministic(self.act(obs))


def expert(name: str) -> Expert:
    """Meta-World's expert for one of its tasks, such as `push-wall`."""
    if name not in metaworld.NAMES:
        raise unknown("Meta-World expert", name, metaworld.NAMES)
    metaworld.check_installed(f"metaworld/{name}")
    from metaworld.policies import ENV_POLICY_MAP

    card = Card(
        obs_dim=metaworld.OBS,
        action_dim=metaworld.ACTION,
        action_low=(-1.0,) * metaworld.ACTION,
        action_high=(1.0,) * metaworld.ACTION,
        hidden=(),
        name=name,
        origin="Meta-World's scripted expert",
        task=f"metaworld/{name}",
        kind="scripted",
    )
    return Expert(card, ENV_POLICY_MAP[f"{name}-v3"]())


class Habit(NamedTuple):
    """What an expert had better do differently, to be worth imitating."""

    aim: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """How far beside the goal it must aim, in meters."""
    open: bool = False
    """Whether it must open its fingers where it leaves them half closed."""


HABITS = {
    # It leaves the handle 2.4 cm behind the goal, and fails one episode in eight.
    "stick-pull": Habit(aim=(0.0, -0.024, 0.0)),
    # Its fingers get stuck on the puck, and then it lifts the puck away from the goal.
    "push-back": Habit(aim=(0.0, 0.0, -0.02), open=True),
}


def teacher(name: str) -> Callable[[np.ndarray], Gaussian]:
    """The expert for a task without its bad habits."""
    script, habit = expert(name), HABITS.get(name)
    if habit is None:
        return script
    shift = np.zeros(script.card.obs_dim)
    shift[-3:] = habit.aim

    def advise(obs: np.ndarray) -> Gaussian:
        action = script.act(obs + shift)
        fingers = action[:, -1]
        fingers[habit.open & (fingers == 0.0)] = -1.0
        return Gaussian.deterministic(action)

    return advise
