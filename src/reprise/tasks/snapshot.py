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

# What holds no state of an episode: how an environment is built, named or drawn.
_STRUCTURE = (gym.Space, gym.Env, EnvSpec, type, FunctionType, MethodType, ModuleType)
_BUILT = {"MjModel", "MjData", "MujocoRenderer", "MujocoModelNames", "Maze"}
_DRAWN = {"screen", "surf", "clock", "window", "viewer"}
_ORIGIN = {"fullpath", "tmp_xml_file_path"}
"""Where a model was loaded from, which may be another place in every process."""
_PLAIN = (bool, int, float, str, type(None))
_TEXT = ":json"
"""Ends the name of an attribute that is kept as JSON instead of as an array."""


def capture(env: gym.Env[Any, Any]) -> Snapshot | None:
    """Named arrays for every layer of an environment; None if one holds something unknown."""
    state: Snapshot = {}
    for layer, body in enumerate(_layers(env)):
        for name, value in vars(body).items():
            if _carries_no_state(name, value):
                continue
            try:
                suffix, saved = _encode(value)
            except TypeError:
                return None
            state[f"{layer}.{name}{suffix}"] = saved
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
            elif name.endswith(_TEXT):
                setattr(body, name.removesuffix(_TEXT), _revive(json.loads(saved.tobytes())))
            else:
                setattr(body, name, saved.copy() if saved.ndim else saved.copy()[()])


def _layers(env: Any) -> Iterator[Any]:
    """Every wrapper, the environment, and the environments inside it."""
    yield env
    for value in list(vars(env).values()):
        if isinstance(value, gym.Env):
            yield from _layers(value)


def _carries_no_state(name: str, value: Any) -> bool:
    built = isinstance(value, _STRUCTURE) or type(value).__name__ in _BUILT
    if built or name in _ORIGIN:
        return True
    return name in _DRAWN and not isinstance(value, (*_PLAIN, np.ndarray, np.generic))


def _encode(value: Any) -> tuple[str, np.ndarray]:
    """How a value's name ends, and its array; TypeError for what is not known."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype == object:
            raise TypeError("an array of objects")
        return "", array.copy()
    return _TEXT, np.frombuffer(json.dumps(_plain(value)).encode(), np.uint8).copy()


def _plain(value: Any) -> Any:
    """JSON that says what it was; TypeError for anything but plain data and PCG64 generators."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.random.Generator):
        if not isinstance(value.bit_generator, np.random.PCG64):
            raise TypeError("another kind of generator")
        return {"generator": value.bit_generator.state}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_plain(item) for item in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _plain(item) for key, item in value.items()}}
    raise TypeError(type(value).__name__)


def _revive(record: Any) -> Any:
    """The value that `_plain` described."""
    if not isinstance(record, dict):
        return record
    ((kind, content),) = record.items()
    if kind == "generator":
        fresh = np.random.Generator(np.random.PCG64())
        fresh.bit_generator.state = content
        return fresh
    if kind == "dict":
        return {key: _revive(item) for key, item in content.items()}
    items = [_revive(item) for item in content]
    return tuple(items) if kind == "tuple" else items


def _physics(body: Any) -> Any:
    """The MuJoCo data that a layer itself holds."""
    data = vars(body).get("data")
    return data if type(data).__name__ == "MjData" else None


def _physics_arrays(data: Any) -> Snapshot:
    """Every array: state, warm start, and what the last step derived from them.

    A step reads some derived values (a body's position) before it recomputes them, so the
    integration state alone is not enough, and recomputing them would move the warm start.
    """
    arrays: Snapshot = {"time": np.asarray(data.time)}
    for name in dir(data):
        # Constraints and islands are sized anew by every step; unused, they are not even zeroed.
        if name.startswith(("_", "efc", "iefc", "contact", "map_")) or "island" in name:
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
