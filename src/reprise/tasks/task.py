"""A task: the recipe of an environment, and the arena in which it is played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from reprise.boundary.errors import EnvironmentFault, UserError
from reprise.tasks import snapshot


class Picture(NamedTuple):
    """What a report draws under the trajectories of a task with positions."""

    walls: tuple[tuple[float, float, float, float], ...]
    """Rectangles (x0, y0, x1, y1)."""
    start: tuple[float, float]
    goal: tuple[float, float]


@dataclass(frozen=True)
class Task:
    """A name, a time limit, the paper's constants for it, and how to make its environment."""

    id: str
    horizon: int
    """H, the steps after which an episode is cut off (without being terminated)."""
    make: Callable[[], gym.Env[Any, Any]]
    c: float = 1.0
    """The UCB coefficient that suits its value range (about 1 % of it)."""
    reward_lower_bound: float = 0.0
    reward_range: tuple[float, float] | None = None
    """The least and the greatest reward of one step; None: nobody knows."""
    reward_once: bool = False
    """Whether the reward comes once, with the end of the episode."""
    sets: tuple[str, ...] = ()
    """Named sets it belongs to."""
    small: tuple[tuple[str, Any], ...] = ()
    """What the `small` preset does differently for it."""
    picture: Picture | None = None
    mishaps: tuple[str, ...] = ()
    """Accidents that its environment counts under these names in `info`."""
    film: Callable[[], gym.Env[Any, Any]] | None = None
    """How to make its environment so that it can be rendered."""
    repeat: int = 1
    """Environment steps for which each action is held."""
    priors: tuple[str, ...] = ()
    """References of the priors that the suites reuse on it."""
    costly: bool = False
    """Whether it takes hours to learn, so that a small suite can afford few tasks like it."""
    step_ms: float = 0.1
    """Milliseconds that a step of its environment took when it was measured."""

    @property
    def family(self) -> str:
        """The first word of its id."""
        return self.id.partition("/")[0]

    def repeated(self, repeat: int) -> Task:
        """The same task with every action held for `repeat` steps, the priors' included."""
        return replace(self, repeat=repeat)

    @property
    def decisions(self) -> int:
        """Actions in an episode that is not terminated."""
        return max(1, self.horizon // self.repeat)

    @property
    def h(self) -> int:
        """The decisions for which a chosen policy keeps control: a tenth of an episode."""
        return max(1, self.decisions // 10)

    def open(self, *, film: bool = False) -> Arena:
        """A fresh environment, ready to be played, or to be played and rendered."""
        if film and self.film is None:
            raise UserError(f"task {self.id!r} cannot be filmed: it has no renderer")
        make = self.film if film and self.film else self.make
        return Arena(make(), self.horizon, self.id, self.mishaps, self.repeat)


class Step(NamedTuple):
    """What one action led to."""

    obs: np.ndarray
    reward: np.float32
    terminated: bool
    truncated: bool
    success: float
    """1 or 0; NaN where the task does not say."""
    mishaps: tuple[int, ...] = ()
    """How many accidents of each kind there were in this step."""


class Arena:
    """Any Gymnasium environment with Box actions, as every learner here sees it.

    Observations are flat float32, actions live in [-1, 1], the time limit is ours, and a reset
    always carries a seed, so that an episode depends on nothing that came before it.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        horizon: int,
        name: str,
        mishaps: tuple[str, ...] = (),
        repeat: int = 1,
    ) -> None:
        self._env, self._horizon, self.name, self.mishaps = env, horizon, name, mishaps
        self.repeat = repeat
        self._low, self._high = action_bounds(env, name)
        self._flat = flat_observations(env, name)
        self.obs_dim = int(np.prod(self._flat.shape))
        self.action_dim = int(np.prod(self._low.shape))
        self._clock = 0

    def reset(self, seed: int) -> np.ndarray:
        """Start an episode."""
        self._clock = 0
        obs, _ = self._env.reset(seed=seed)
        return self._flatten(obs)

    def step(self, action: np.ndarray) -> Step:
        """Act, for as many steps as an action is held: rewards add up, a success in any counts."""
        step = self._once(action)
        for _ in range(self.repeat - 1):
            if step.terminated or step.truncated:
                break
            before, step = step, self._once(action)
            both = zip(before.mishaps, step.mishaps, strict=True)
            step = step._replace(
                reward=np.float32(before.reward + step.reward),
                success=float(np.fmax(before.success, step.success)),
                mishaps=tuple(a + b for a, b in both),
            )
        return step

    def _once(self, action: np.ndarray) -> Step:
        """One step of the environment; anything non-finite stops here, before it can be stored."""
        if not np.isfinite(action).all():  # MuJoCo would reset itself and say nothing
            raise EnvironmentFault(f"action is {action} at step {self._clock + 1} of an episode")
        obs, earned, terminated, truncated, info = self._env.step(self.rescale(action))
        self._clock += 1
        with np.errstate(over="ignore"):
            reward = np.float32(earned)
        if not np.isfinite(reward):
            raise EnvironmentFault(f"reward is {earned} at step {self._clock} of an episode")
        cut = bool(truncated) or self._clock >= self._horizon
        success = info.get("success", info.get("is_success", np.nan))
        accidents = tuple(int(info[name]) for name in self.mishaps)
        return Step(self._flatten(obs), reward, bool(terminated), cut, float(success), accidents)

    def _flatten(self, obs: Any) -> np.ndarray:
        flat = np.asarray(spaces.flatten(self._env.observation_space, obs), np.float32).ravel()
        if not np.isfinite(flat).all():
            where = int(np.flatnonzero(~np.isfinite(flat))[0])
            raise EnvironmentFault(
                f"observation[{where}] is {flat[where]} at step {self._clock} of an episode"
            )
        return flat

    def rescale(self, action: np.ndarray) -> np.ndarray:
        """An action in [-1, 1] as the environment wants it."""
        low, high, space = self._low, self._high, self._env.action_space
        scaled = low + (np.asarray(action, np.float64) + 1.0) * 0.5 * (high - low)
        return np.clip(scaled, low, high).astype(space.dtype).reshape(space.shape)  # pyright: ignore

    def batch(self, observation: Any) -> tuple[np.ndarray, bool]:
        """Flat observations (n, obs) from one observation or several, and whether it was one."""
        if isinstance(observation, dict):
            return self._flatten(observation)[None], True
        array = np.asarray(observation, np.float32)
        single = array.shape == self._env.observation_space.shape
        if not single and array.shape[1:] != self._env.observation_space.shape:
            shape = self._env.observation_space.shape
            raise UserError(f"observation has shape {array.shape}; task {self.name!r} has {shape}")
        return array.reshape(-1, self.obs_dim), single

    @property
    def position(self) -> tuple[float, float] | None:
        """Where the body is, for tasks that can be drawn."""
        where: Callable[[], tuple[float, float]] | None = getattr(self._env, "position", None)
        return where() if where else None

    def render(self) -> Any:
        """What the environment draws of itself."""
        return self._env.render()

    def snapshot(self) -> snapshot.Snapshot | None:
        """Everything needed to continue this episode exactly; None if that cannot be known."""
        state = snapshot.capture(self._env)
        return None if state is None else state | {"arena.clock": np.asarray(self._clock)}

    def restore(self, state: snapshot.Snapshot) -> None:
        """Continue the episode that was captured."""
        self._clock = int(state["arena.clock"])
        snapshot.restore(self._env, state)

    def close(self) -> None:
        """Free what the environment holds."""
        self._env.close()


def action_bounds(env: gym.Env[Any, Any], name: str) -> tuple[np.ndarray, np.ndarray]:
    """The box of actions, or one line on why there is none."""
    space = env.action_space
    if not isinstance(space, spaces.Box):
        kind = type(space).__name__
        raise UserError(f"task {name!r} has {kind} actions; reprise needs continuous Box actions")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise UserError(f"task {name!r} has unbounded actions; wrap it in RescaleAction first")
    return space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()


def flat_observations(env: gym.Env[Any, Any], name: str) -> spaces.Box:
    """The flattened observation space, or one line on why there is none."""
    flat = spaces.flatten_space(env.observation_space)
    parts = env.observation_space
    leaves = parts.spaces.values() if isinstance(parts, spaces.Dict) else [parts]
    if not isinstance(flat, spaces.Box) or not all(isinstance(leaf, spaces.Box) for leaf in leaves):
        kind = type(env.observation_space).__name__
        raise UserError(f"task {name!r} has {kind} observations; reprise needs Box or Dict of Box")
    return flat
