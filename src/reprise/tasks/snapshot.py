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
_BUILT = {"MjModel", "MjData", "MujocoRenderer", "MujocoModelNames", "Maze", "Windows"}
_DRAWN = {"screen", "surf", "clock", "window", "viewer"}
_ORIGIN = {"fullpath", "tmp_xml_file_path"}
"""Where a model was loaded from, which may be another place in every process."""
_PLAIN = (bool, int, float, str, type(None))
_TEXT, _WINDOW = ":json", ":window"
"""End the names of attributes that are kept as JSON, or as a place in the physics."""
_PLACED = ("body_pos", "body_quat", "geom_pos", "geom_quat", "site_pos", "site_quat")
"""Where a model has its fixed things, which some environments move at each reset."""


def capture(env: gym.Env[Any, Any]) -> Snapshot | None:
    """Named arrays for every layer of an environment; None if one holds something unknown."""
    state: Snapshot = {}
    for layer, body in enumerate(_layers(env)):
        physics = _physics_arrays(body)
        for name, value in vars(body).items():
            if _carries_no_state(name, value):
                continue
            try:
                suffix, saved = _window(value, physics) or _encode(value)
            except TypeError:
                return None
            state[f"{layer}.{name}{suffix}"] = saved
        state |= {f"{layer}.physics.{name}": array.copy() for name, array in physics.items()}
    return state


def restore(env: gym.Env[Any, Any], state: Snapshot) -> None:
    """Put every layer back; nothing is recomputed, so no bit of the physics changes."""
    for layer, body in enumerate(_layers(env)):
        for key, saved in state.items():
            owner, _, name = key.partition(".")
            if owner != str(layer):
                continue
            if name.startswith("physics."):
                _put_physics(body, name.removeprefix("physics."), saved)
            elif name.endswith(_WINDOW):
                setattr(body, name.removesuffix(_WINDOW), _reopen(body, saved))
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
    return _TEXT, _as_text(_plain(value))


def _as_text(record: Any) -> np.ndarray:
    return np.frombuffer(json.dumps(record).encode(), np.uint8).copy()


def _plain(value: Any) -> Any:
    """JSON that says what it was; TypeError for anything but plain data and PCG64 generators."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return {"array": [value.dtype.str, value.tolist()]}
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
    if kind == "array":
        return np.array(content[1], content[0])
    if kind == "dict":
        return {key: _revive(item) for key, item in content.items()}
    items = [_revive(item) for item in content]
    return tuple(items) if kind == "tuple" else items


def _physics_arrays(body: Any) -> Snapshot:
    """Every array of the MuJoCo data that a layer itself holds, and where its model has things.

    A step reads some derived values (a body's position) before it recomputes them, so the
    integration state alone is not enough, and recomputing them would move the warm start.
    """
    data, model = (
        _held(body, name, kind) for name, kind in (("data", "MjData"), ("model", "MjModel"))
    )
    if data is None:
        return {}
    arrays: Snapshot = {"time": np.asarray(data.time)}
    for name in dir(data):
        # Constraints and islands are sized anew by every step; unused, they are not even zeroed.
        if name.startswith(("_", "efc", "iefc", "contact", "map_")) or "island" in name:
            continue
        value = getattr(data, name)
        if isinstance(value, np.ndarray) and value.size:
            arrays[name] = value
    placed = () if model is None else _PLACED
    return arrays | {f"model.{name}": getattr(model, name) for name in placed}


def _held(body: Any, name: str, kind: str) -> Any:
    value = vars(body).get(name)
    return value if type(value).__name__ == kind else None


def _put_physics(body: Any, name: str, saved: np.ndarray) -> None:
    if name == "time":
        body.data.time = float(saved)
    elif (place := _place(body, name)).shape == saved.shape:
        place[...] = saved  # else it is sized anew by every step, like the constraints


def _place(body: Any, name: str) -> np.ndarray:
    owner = body.model if name.startswith("model.") else body.data
    return getattr(owner, name.removeprefix("model."))


def _window(value: Any, physics: Snapshot) -> tuple[str, np.ndarray] | None:
    """For an attribute that shows a part of the physics itself, which part it shows."""
    if not isinstance(value, np.ndarray) or value.flags.owndata or not value.flags.c_contiguous:
        return None
    for name, array in physics.items():
        if np.may_share_memory(value, array):
            start = (value.ctypes.data - array.ctypes.data) // value.itemsize
            return _WINDOW, _as_text([name, start, list(value.shape)])
    return None


def _reopen(body: Any, saved: np.ndarray) -> np.ndarray:
    name, start, shape = json.loads(saved.tobytes())
    flat = _place(body, name).reshape(-1)
    return flat[start : start + int(np.prod(shape))].reshape(shape)
