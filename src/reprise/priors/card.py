"""What `policy.json` says about a policy, and the rules for every field of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from reprise.boundary.errors import PolicyFileError
from reprise.priors.source import brief, json_object

SCHEMA = 1
OUTPUTS = {"gaussian-mlp": 2, "clipped-mlp": 1}
"""The kinds of policy, and how many numbers each computes per action."""
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "tanh": np.tanh,
}
NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}")
RESERVED = ("task", "start", "random")


@dataclass(frozen=True)
class Normalizer:
    """How a policy wants its observations scaled."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    clip: float

    def __call__(self, obs: np.ndarray) -> np.ndarray:
        """clip((obs - mean) / std, -clip, clip)"""
        mean, std = self._arrays
        return np.clip((obs - mean) / std, -self.clip, self.clip)

    @cached_property
    def _arrays(self) -> tuple[np.ndarray, np.ndarray]:
        return np.float32(self.mean), np.float32(self.std)  # pyright: ignore


@dataclass(frozen=True)
class Card:
    """What `policy.json` says about a policy."""

    obs_dim: int
    action_dim: int
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    hidden: tuple[int, ...]
    name: str
    origin: str = ""
    task: str = ""
    success: dict[str, float] = field(default_factory=dict[str, float])
    sha256: str = ""
    activation: str = "relu"
    normalizer: Normalizer | None = None
    kind: str = "gaussian-mlp"
    schema: int = SCHEMA

    @property
    def sizes(self) -> tuple[int, ...]:
        """The widths of the network, from observation to output."""
        return (self.obs_dim, *self.hidden, OUTPUTS[self.kind] * self.action_dim)

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and the highest action in the units of the policy's own environment."""
        return np.float32(self.action_low), np.float32(self.action_high)  # pyright: ignore


def parse(data: bytes, origin: str) -> Card:
    """The card in the bytes of a policy.json; everything in it is checked."""
    record = json_object(data, origin)
    if "schema" not in record:
        raise PolicyFileError(f"{origin} is not a policy: it has no schema")
    if type(record["schema"]) is not int or record["schema"] != SCHEMA:
        found = brief(record["schema"])
        raise PolicyFileError(f"{origin} has schema {found}; this reprise reads {SCHEMA}")
    expected = set(Card.__dataclass_fields__)
    if unknown := set(record) - expected:
        raise PolicyFileError(f"{origin} has unknown fields: {sorted(unknown)[:5]!r:.200}")
    if missing := expected - set(record):
        raise PolicyFileError(f"{origin} lacks {', '.join(sorted(missing)[:5])}")
    return _checked(record, origin)


def named(name: str, origin: str) -> str:
    """The name, if it is one that tables, files and terminals can all hold."""
    if NAME.fullmatch(name) is None:
        rule = "a policy's name is 1 to 64 letters, digits, '.', '_' or '-'; name it explicitly"
        raise PolicyFileError(f"{origin}: name is {brief(name)}; {rule}")
    return name


def _checked(record: dict[str, Any], origin: str) -> Card:
    """Every field against its rule, so that nothing in a file is trusted."""
    for name, allowed in _RULES.items():
        if not allowed(record[name]):
            found = brief(record[name])
            raise PolicyFileError(f"{origin}: {name} is {found}, which is not allowed")
    _check_lengths(record, origin)
    bounds = zip(record["action_low"], record["action_high"], strict=True)
    if record["kind"] == "clipped-mlp" and not all(rescalable(*pair) for pair in bounds):
        raise PolicyFileError(f"{origin}: action_low is not below action_high, both finite")
    fields: dict[str, Any] = {
        name: tuple(record[name]) for name in ("hidden", "action_low", "action_high")
    }
    if scaling := record["normalizer"]:
        mean, std = tuple(scaling["mean"]), tuple(scaling["std"])
        fields["normalizer"] = Normalizer(mean, std, scaling["clip"])
    return Card(**(record | fields))


def _check_lengths(record: dict[str, Any], origin: str) -> None:
    scaling: dict[str, Any] = record["normalizer"] or {}
    lists = [(name, record[name], "action_dim") for name in ("action_low", "action_high")]
    lists += [
        (f"normalizer: {name}", scaling[name], "obs_dim") for name in ("mean", "std") if scaling
    ]
    for name, numbers, size in lists:
        if len(numbers) != record[size]:
            raise PolicyFileError(f"{origin}: {name} has {len(numbers)} numbers, not {size}")


def rescalable(low: float, high: float) -> bool:
    """Whether actions between two bounds can be rescaled to [-1, 1] in float32."""
    return _moderate(low) and _moderate(high) and bool(np.float32(low) < np.float32(high))


def _size(value: Any) -> bool:
    return type(value) is int and 0 < value <= 2**16


def _number(value: Any) -> bool:
    return type(value) in (int, float) and -1e300 < value < 1e300


def _moderate(value: Any) -> bool:
    # Differences and quotients of two such numbers are finite in float32.
    return type(value) in (int, float) and -1e18 <= value <= 1e18


def _scale(value: Any) -> bool:
    return _moderate(value) and value >= 1e-18


def _list_of(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(rule(item) for item in value)


def _scaling(value: Any) -> bool:
    rules = {"mean": _list_of(_moderate), "std": _list_of(_scale), "clip": _scale}
    if value is None:
        return True
    fits = isinstance(value, dict) and set(value) == set(rules)
    return fits and all(rule(value[name]) for name, rule in rules.items())


def _success(value: Any) -> bool:
    return isinstance(value, dict) and all(_number(share) for share in value.values())


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 1_000


_RULES: dict[str, Callable[[Any], bool]] = {
    "kind": tuple(OUTPUTS).__contains__,
    "activation": tuple(ACTIVATIONS).__contains__,
    "normalizer": _scaling,
    "obs_dim": _size,
    "action_dim": _size,
    "hidden": _list_of(_size),
    "action_low": _list_of(_number),
    "action_high": _list_of(_number),
    "name": lambda value: isinstance(value, str) and NAME.fullmatch(value) is not None,
    "origin": _text,
    "task": _text,
    "sha256": _text,
    "success": _success,
}
