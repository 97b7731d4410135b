"""Meta-World's fifty manipulation tasks: `metaworld/<task>` and `metaworld/<task>-sparse`."""

from __future__ import annotations

import sys
from functools import partial
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from reprise.boundary.errors import EnvironmentFault, UserError
from reprise.tasks.task import Task


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NAMES = _words(
    "assembly basketball bin-picking box-close button-press button-press-topdown "
    "button-press-topdown-wall button-press-wall coffee-button coffee-pull coffee-push dial-turn "
    "disassemble door-close door-lock door-open door-unlock drawer-close drawer-open faucet-close "
    "faucet-open hammer hand-insert handle-press handle-press-side handle-pull handle-pull-side "
    "lever-pull peg-insert-side peg-unplug-side pick-out-of-hole pick-place pick-place-wall "
    "plate-slide plate-slide-back plate-slide-back-side plate-slide-side push push-back push-wall "
    "reach reach-wall shelf-place soccer stick-pull stick-push sweep sweep-into window-close "
    "window-open"
)
TWELVE = _words(
    "push-wall shelf-place pick-place-wall box-close stick-pull coffee-pull hammer push-back "
    "peg-insert-side coffee-push stick-push reach-wall"
)
"""The paper's downstream tasks, as far as they are known: see docs/decisions."""
CONTINUAL = _words(
    "button-press door-open window-close-sparse plate-slide-sparse dial-turn-sparse "
    "drawer-open-sparse"
)
"""The paper's sequence, in its order."""
HORIZON = 500
MOST = 10.0
"""The greatest dense reward of a step; success earns it."""
OBS, ACTION = 39, 4
SMALL = (("action_repeat", 2), ("warmup", 5_000))
"""As in TD-MPC2: half as many decisions, each learned from twice as often."""
SPARSE = "-sparse"
PRIORS = ("zoo:set1",)
STEP_MS = 0.440
"""results/bench/shares-and-environments.json, `ours`."""


class MetaWorld(gym.Env[np.ndarray, np.ndarray]):
    """One task with a visible goal; objects and goal are drawn anew from every reset's seed.

    The simulator is built by the first reset, so that listing the tasks costs nothing.
    """

    def __init__(self, name: str, sparse: bool = False) -> None:
        self._name, self._sparse = name, sparse
        self._sawyer: Any = None
        self.action_space = spaces.Box(-1.0, 1.0, (ACTION,), np.float32)
        # Meta-World's own space says that goals are 0.
        self.observation_space = spaces.Box(-np.inf, np.inf, (OBS,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Draw objects and goal; Meta-World itself would ignore the seed."""
        super().reset(seed=seed)
        if self._sawyer is None:
            self._sawyer = sawyer(self._name)
        if seed is not None:
            self._sawyer.seed(seed)
        return self._sawyer.reset()

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Move the hand; a physics that gave up is an error, because it restarts in silence."""
        obs, reward, _, truncated, info = self._sawyer.step(action)
        if (warnings := self._sawyer.data.warning.number).any():
            raise EnvironmentFault(f"{self._name}: MuJoCo warned of {_named(warnings)}")
        reward = info["success"] if self._sparse else reward
        return obs, float(reward), False, truncated, info

    def close(self) -> None:
        """Close the simulator."""
        if self._sawyer is not None:
            self._sawyer.close()


def _named(warnings: np.ndarray) -> str:
    import mujoco

    kinds: Any = mujoco.mjtWarning  # pyright: ignore[reportAttributeAccessIssue]
    return ", ".join(kinds(int(i)).name for i in np.flatnonzero(warnings))


def sawyer(name: str, fast: bool = True) -> Any:
    """Meta-World's environment: goal visible, redrawn at each reset, from its own generator."""
    from metaworld.env_dict import ENV_CLS_MAP

    from reprise.tasks.metaworld_fast import faster

    original = ENV_CLS_MAP[f"{name}-v3"]
    env: Any = (faster(original) if fast else original)(reward_function_version="v2")
    env._partially_observable = False
    del env.sawyer_observation_space  # it was made with a hidden goal
    env.max_path_length = sys.maxsize  # an arena has the time limit, and values reach beyond it
    env._set_task_called, env._freeze_rand_vec, env.seeded_rand_vec = True, False, True
    return env


def check_installed(id: str) -> None:
    """One line on what is missing."""
    if find_spec("metaworld") is None:
        raise UserError(f"task {id!r} needs Meta-World: pip install 'reprise[metaworld]'")


def tasks() -> list[Task]:
    """Every task, dense and sparse, without importing Meta-World."""
    dense = [_task(name, name, ("metaworld",), 10.0, False) for name in NAMES]
    sparse = [_task(name + SPARSE, name, ("metaworld-sparse",), 1.0, True) for name in NAMES]
    return [*dense, *sparse]


def _task(tag: str, name: str, sets: tuple[str, ...], c: float, sparse: bool) -> Task:
    sets += ("metaworld-12",) * (tag in TWELVE) + ("continual",) * (tag in CONTINUAL)
    make, most = partial(MetaWorld, name, sparse), 1.0 if sparse else MOST
    more: Any = {"sets": sets, "small": SMALL, "priors": PRIORS, "costly": True, "step_ms": STEP_MS}
    return Task(f"metaworld/{tag}", HORIZON, make, c=c, reward_range=(0.0, most), **more)
