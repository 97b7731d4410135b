"""The exact state of a simulator in the middle of an episode, as named arrays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

Snapshot = dict[str, np.ndarray]

# Attributes that hold no state of an episode: how the environment is built or drawn.
_STRUCTURE = (gym.Space, EnvSpec, type, FunctionType, MethodType, ModuleType)
_BUILDERS = {"mujoco", "gymnasium", "gymnasium_robotics"}
_DRAWING = {"mujoco_renderer", "screen", "surf", "clock", "isopen", "window", "viewer"}
_PLAIN = (bool, int, float, str, type(None))


def capture(env: gym.Env[Any, Any]) -> Snapshot | None:
    """Named arrays for every layer of an environment; None if one holds something unknown."""
    state: Snapshot = {}
    for layer, body in enumerate(_layers(env)):
        for name, value in vars(body).items():
            if _carries_no_state(name, value):
                continue
            saved = _encode(value)
            if saved is None:
                return None
            state[f"{layer}.{name}"] = saved
        if (data := _physics(body)) is not None:
            state |= {f"{layer}.physics.{k}": v for k, v in _physics_arrays(data).items()}
    return state


def restore(env: gym.Env[Any, Any], state: Snapshot) -> None:
    """Put every layer back; nothing is recomputed, so no bit of the physics changes."""
    for layer, body in enumerate(_layers(env)):
        data = _physics(body)
        for key, saved in state.items():
            owner, _, name = key.partition(".")
            if owner != str(layer):
                continue
            if name.startswith("physics."):
                _put_physics(data, name.removeprefix("physics."), saved)
            else:
                setattr(body, name, _decode(saved, getattr(body, name, None)))


def _layers(env: Any) -> Iterator[Any]:
    """Every wrapper, the environment, and the environments inside it."""
    yield env
    for value in list(vars(env).values()):
        if isinstance(value, gym.Env):
            yield from _layers(value)


def _carries_no_state(name: str, value: Any) -> bool:
    package = type(value).__module__.partition(".")[0]
    built = isinstance(value, (*_STRUCTURE, gym.Env)) or package in _BUILDERS
    return built or name in _DRAWING


def _encode(value: Any) -> np.ndarray | None:
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return None if array.dtype == object else array.copy()
    if isinstance(value, np.random.Generator):
        return _text({"generator": value.bit_generator.state})
    try:
        return _text({"plain": _plain(value)})
    except TypeError:
        return None


def _plain(value: Any) -> Any:
    """JSON for numbers, strings and containers of them; TypeError for anything else."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise TypeError(type(value).__name__)


def _text(record: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(record).encode(), np.uint8).copy()


def _decode(saved: np.ndarray, current: Any) -> Any:
    if isinstance(current, np.random.Generator) or (saved.dtype == np.uint8 and saved.ndim == 1):
        record = json.loads(saved.tobytes())
        if "generator" in record:
            fresh = np.random.default_rng(0)
            fresh.bit_generator.state = record["generator"]
            return fresh
        plain = record["plain"]
        return tuple(plain) if isinstance(current, tuple) else plain
    return saved.copy() if saved.ndim else saved.copy()[()]


def _physics(body: Any) -> Any:
    """The MuJoCo data that a layer itself holds."""
    data = vars(body).get("data")
    return data if type(data).__name__ == "MjData" else None


def _physics_arrays(data: Any) -> Snapshot:
    """Every array of fixed size: state, warm start, and what the last step derived from them.

    A step reads some derived values (a body's position) before it recomputes them, so the
    integration state alone is not enough, and recomputing them would move the warm start.
    """
    arrays: Snapshot = {"time": np.asarray(data.time)}
    for name in dir(data):
        if name.startswith("_"):
            continue
        value = getattr(data, name)
        if isinstance(value, np.ndarray) and value.size:
            arrays[name] = np.array(value)
    return arrays


def _put_physics(data: Any, name: str, saved: np.ndarray) -> None:
    if name == "time":
        data.time = float(saved)
    elif (place := getattr(data, name)).shape == saved.shape:
        place[...] = saved  # else it is sized anew by every step, like the constraints
