"""Priors that are Python code: the only door through which a prior runs anything, opened by hand.

`python:<module>:<factory>` or a `.py` file with a function `policy`. The factory takes no
arguments and returns either a function from observations (n, obs) to actions (n, action) in
[-1, 1] with the attributes `obs_dim` and `action_dim`, or an object in Stable-Baselines3's habits
(`predict`, `observation_space`, `action_space`).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from reprise.boundary import files
from reprise.boundary.errors import UserError
from reprise.priors.prior import Foreign, ForeignCard

FILE_FACTORY = "policy"


def from_module(ref: str, *, trusted: bool) -> Foreign:
    """The prior that `python:<module>:<factory>` makes."""
    name, _, factory = ref.removeprefix("python:").partition(":")
    if not (name and factory):
        raise UserError(f"prior {ref!r} is not python:<module>:<factory>")
    _ask_for_trust(ref, trusted)
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise UserError(f"prior {ref!r}: cannot import {name!r}: {error}") from error
    return _made(module, factory, ref, factory)


def from_file(path: Path, *, trusted: bool) -> Foreign:
    """The prior that the function `policy` in a Python file makes."""
    _ask_for_trust(str(path), trusted)
    spec = importlib.util.spec_from_file_location(f"reprise_prior_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError(f"prior {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"prior {path}: {type(error).__name__}: {error}") from error
    return _made(module, FILE_FACTORY, str(path), path.stem)


def _ask_for_trust(ref: str, trusted: bool) -> None:
    if not trusted:
        raise UserError(f"prior {ref!r} is code that would be run; if you trust it: --trust-code")
    print(f"running code of prior {ref}", file=sys.stderr)


def _made(module: ModuleType, factory: str, ref: str, name: str) -> Foreign:
    make = getattr(module, factory, None)
    if not callable(make):
        raise UserError(f"prior {ref!r}: {module.__name__} has no function {factory!r}")
    try:
        made: Any = make()
    except Exception as error:
        raise UserError(f"prior {ref!r}: {type(error).__name__}: {error}") from error
    digest = files.sha256(Path(str(module.__file__)).read_bytes()) if module.__file__ else ""
    act, sizes = habit(made, ref)
    return Foreign(ForeignCard(name, "python", digest, *sizes), act)


def habit(made: Any, ref: str) -> tuple[Callable[[np.ndarray], Any], tuple[int, int]]:
    """How to ask it, and its sizes."""
    if hasattr(made, "predict") and hasattr(made, "action_space"):
        low, high = np.float32(made.action_space.low), np.float32(made.action_space.high)
        sizes = int(np.prod(made.observation_space.shape)), int(np.prod(low.shape))

        def act(obs: np.ndarray) -> Any:
            actions = np.asarray(made.predict(obs, deterministic=True)[0])
            return 2.0 * (actions - low) / (high - low) - 1.0

        return act, sizes
    try:
        return made, (int(made.obs_dim), int(made.action_dim))
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(
            f"prior {ref!r}: the factory must return a function with obs_dim and action_dim, "
            "or an object with predict, observation_space and action_space"
        ) from error
