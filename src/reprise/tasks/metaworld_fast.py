"""Meta-World's step without its slow parts, bit for bit what Meta-World itself returns.

A class is made from each of Meta-World's. The formulas of its task are kept as they are and only
look up faster norms, tolerances and quaternions; what all tasks share is written again.
"""

# pyright: reportAttributeAccessIssue=false, reportPrivateUsage=false
# MuJoCo's names are not typed, and what is slow in Meta-World is not public.
from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, cast

import mujoco
import numpy as np
from metaworld.sawyer_xyz_env import SawyerXYZEnv
from metaworld.utils import reward_utils

from reprise.tasks.metaworld_numbers import clip, hstack, norm, rotation, tolerance

ONES = np.ones(3, np.float32)
MINUS = -ONES
DOWNWARD = np.array([1.0, 0.0, 1.0, 0.0])
"""How the hand is always held, as a quaternion."""


@cache
def faster(original: type[SawyerXYZEnv]) -> type[SawyerXYZEnv]:
    """The same environment, several times as fast."""
    names = _names(original)
    parts = {name: part for name, part in vars(_Shared).items() if not name.startswith("__")}
    caging = cast(FunctionType, SawyerXYZEnv._gripper_caging_reward)
    parts["_gripper_caging_reward"] = _rebound(caging, _names(SawyerXYZEnv))
    for name, part in vars(original).items():
        if isinstance(part, staticmethod):
            parts[name] = staticmethod(_rebound(part.__func__, names))
        elif isinstance(part, FunctionType) and name != "__init__":
            parts[name] = _rebound(part, names)
    # Some formulas call others by the name of their class.
    names[original.__name__] = fresh = type(original.__name__, (original,), parts)
    return fresh


def _names(owner: type) -> dict[str, Any]:
    """What the names in a class's module mean to its formulas: the slow ones, something faster."""
    known = vars(sys.modules[owner.__module__])
    return known | {name: part for name, part in _faster_names().items() if name in known}


def _rebound(function: FunctionType, names: dict[str, Any]) -> FunctionType:
    """The same code with other meanings for its names."""
    # Meta-World wraps its reward in a check that a task was set; one is, from the start.
    inner = inspect.getclosurevars(function).nonlocals.get("func", function)
    fresh = FunctionType(inner.__code__, names, closure=inner.__closure__)
    fresh.__defaults__, fresh.__kwdefaults__ = inner.__defaults__, inner.__kwdefaults__
    return fresh


@cache
def _faster_names() -> dict[str, Any]:
    linalg = _altered(np.linalg, norm=norm)
    return {
        "np": _altered(np, hstack=hstack, clip=clip, linalg=linalg),
        "reward_utils": _altered(reward_utils, tolerance=tolerance),
        "tolerance": tolerance,
        "Rotation": rotation(),
    }


def _altered(module: ModuleType, **parts: Any) -> ModuleType:
    """A module like another one, which stays as it is."""
    fresh = ModuleType(module.__name__)
    vars(fresh).update(vars(module) | parts)
    return fresh


@cache
def _model(path: str) -> Any:
    return mujoco.MjModel.from_xml_path(path)


class Windows(dict[str, np.ndarray]):
    """Where named things are: windows into the physics, each opened once."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> np.ndarray:
        self[name] = window = self._find(name).xpos
        return window


class _Shared:
    """What Meta-World's tasks have in common, to be put over SawyerXYZEnv's own."""

    def _initialize_simulation(self: Any) -> tuple[Any, Any]:
        # Reading the meshes takes a quarter of a second, copying what was read a tenth of that.
        model = copy.copy(_model(self.fullpath))
        data = mujoco.MjData(model)
        self._bodies, self._sites = Windows(data.body), Windows(data.site)
        self._pads = data.geom("leftpad_geom").id, data.geom("rightpad_geom").id
        self._tie, self._tilt, self._fingers = data.mocap_pos[0], data.mocap_quat, data.ctrl
        return model, data

    def get_body_com(self: Any, body_name: str) -> np.ndarray:
        """Where a body is."""
        return self._bodies[body_name]

    def _get_site_pos(self: Any, site_name: str) -> np.ndarray:
        return self._sites[site_name].copy()

    def step(self: Any, action: np.ndarray) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        """Meta-World's step."""
        if self.curr_path_length >= self.max_path_length:
            raise ValueError("the episode is over; reset the environment")
        data = self.data
        self.set_xyz_action(action[:3])
        self._fingers[:] = action[-1], -action[-1]
        mujoco.mj_step(self.model, data, nstep=self.frame_skip)
        self.curr_path_length += 1
        # Meta-World moves its targets' sites here; this moves them, like all sites, back again.
        mujoco.mj_forward(self.model, data)
        space = self.sawyer_observation_space
        obs = self._last_stable_obs = clip(self._get_obs(), space.low, space.high)
        reward, info = self.evaluate_state(obs, action)
        return obs.copy(), reward, False, self.curr_path_length == self.max_path_length, info

    def set_xyz_action(self: Any, action: np.ndarray) -> None:
        """Move the point that the hand is tied to."""
        moved = self._tie + clip(action, MINUS, ONES) * self.action_scale
        clip(moved, self.mocap_low, self.mocap_high, out=self._tie)
        self._tilt[:] = DOWNWARD

    @property
    def tcp_center(self: Any) -> np.ndarray:
        """The middle between the fingers."""
        return (self._sites["rightEndEffector"] + self._sites["leftEndEffector"]) / 2.0

    def touching_object(self: Any, object_geom_id: int) -> bool:
        """Whether both fingers press on a thing."""
        data, force = self.data, [0, 0]
        for i, pair in enumerate(data.contact.geom.tolist() if data.ncon else ()):
            if object_geom_id in pair:
                for side, pad in enumerate(self._pads):
                    if pad in pair:
                        force[side] += data.efc_force[data.contact[i].efc_address]
        return force[0] > 0 and force[1] > 0

    def _get_curr_obs_combined_no_goal(self: Any) -> np.ndarray:
        bodies = self._bodies
        opening = norm(bodies["rightclaw"] - bodies["leftclaw"]) / 0.1
        places, turns = self._get_pos_objects(), self._get_quat_objects()
        obs = np.zeros(4 + self._obs_obj_max_len)
        obs[:3] = bodies["hand"]
        obs[3] = min(max(opening, 0.0), 1.0)
        for i in range(len(places) // 3):
            start = 4 + 7 * i
            obs[start : start + 3] = places[3 * i : 3 * i + 3]
            obs[start + 3 : start + 7] = turns[4 * i : 4 * i + 4]
        return obs

    def _get_obs(self: Any) -> np.ndarray:
        goal, now = self._get_pos_goal(), self._get_curr_obs_combined_no_goal()
        if self._partially_observable:
            goal = np.zeros_like(goal)
        obs = np.concatenate((now, self._prev_obs, goal))
        self._prev_obs = now
        return obs
