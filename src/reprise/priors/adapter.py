"""An adapter: how a policy with other observations or actions fits a task, said by its owner.

A JSON file beside the policy (`push.adapter.json` for `push.zip`, `adapter.json` in a policy's
folder). Nothing is guessed: without one, differing sizes are an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reprise.boundary import files
from reprise.boundary.errors import PolicyFileError, unknown
from reprise.priors.prior import Foreign, ForeignCard, Prior
from reprise.priors.source import brief, json_object, read, shown

SCHEMA = 1
LARGEST = 2**20
WIDEST = 2**16


@dataclass(frozen=True)
class Adapter:
    """From a task's observation to the policy's, and from the policy's action to the task's."""

    obs_dim: int
    """How many numbers the task observes."""
    action_dim: int
    """How many numbers the task's action has."""
    observation: tuple[int, ...] | None = None
    """Which of the task's numbers the policy sees, in its order; None: all of them."""
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    """The policy sees (observation - mean) / std, for instance VecNormalize's."""
    clip: float = 10.0
    """Largest magnitude of a normalized observation."""
    action: tuple[int, ...] | None = None
    """For each number of the task's action, which of the policy's it is; -1: always zero."""
    scale: tuple[float, ...] | None = None
    """What each number of the task's action is multiplied with."""

    def see(self, obs: np.ndarray) -> np.ndarray:
        """What the policy observes of the task's observations (n, obs)."""
        seen = obs if self.observation is None else obs[:, self.observation]
        if self.mean is None or self.std is None:
            return seen
        scaled = (seen - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        return np.clip(scaled, -self.clip, self.clip)

    def do(self, actions: np.ndarray) -> np.ndarray:
        """The task's actions for the policy's (n, action)."""
        if self.action is not None:
            padded = np.concatenate([actions, np.zeros_like(actions[:, :1])], axis=1)
            actions = padded[:, self.action]  # -1 is the column of zeros
        return actions if self.scale is None else actions * np.asarray(self.scale, np.float32)


def load(path: Path) -> tuple[Adapter, str]:
    """The adapter in a file, and the hash of its bytes."""
    data, origin = read(path, LARGEST), shown(path)
    record = json_object(data, origin)
    if record.pop("schema", None) != SCHEMA:
        raise PolicyFileError(f"{origin} is not an adapter of schema {SCHEMA}")
    for name, value in record.items():
        if name not in _RULES:
            raise unknown(f"field in {origin}", name, _RULES)
        if not _RULES[name](value):
            raise PolicyFileError(f"{origin}: {name} is {brief(value)}, which is not allowed")
    if missing := {"obs_dim", "action_dim"} - set(record):
        raise PolicyFileError(f"{origin} lacks {', '.join(sorted(missing))}")
    if ("mean" in record) != ("std" in record):
        raise PolicyFileError(f"{origin}: mean and std come together")
    fields: dict[str, Any] = {k: tuple(v) if type(v) is list else v for k, v in record.items()}
    return Adapter(**fields), files.sha256(data)


def fitted(prior: Prior, act: Callable[[np.ndarray], np.ndarray], path: Path) -> Foreign:
    """A prior behind the adapter in a file; sizes are checked against both of its sides."""
    adapter, digest = load(path)
    card, origin = prior.card, shown(path)
    seen = adapter.obs_dim if adapter.observation is None else len(adapter.observation)
    given = adapter.action_dim if adapter.action is None else len(adapter.action)
    _agree(origin, "observation gives", seen, f"{card.name!r} takes", card.obs_dim)
    _agree(origin, "action gives", given, "action_dim is", adapter.action_dim)
    if adapter.action is None:
        _agree(origin, "action_dim is", adapter.action_dim, f"{card.name!r} gives", card.action_dim)
    for name, length in (("mean", seen), ("std", seen), ("scale", adapter.action_dim)):
        if (numbers := getattr(adapter, name)) is not None:
            _agree(origin, f"{name} has", len(numbers), "it needs", length)
    _within(origin, "observation", adapter.observation, adapter.obs_dim, lowest=0)
    _within(origin, "action", adapter.action, card.action_dim, lowest=-1)
    identity = files.sha256(f"{card.sha256} {digest}".encode())
    facts = ForeignCard(card.name, card.kind, identity, adapter.obs_dim, adapter.action_dim)
    return Foreign(facts, lambda obs: adapter.do(act(adapter.see(obs))))


def _agree(origin: str, one: str, first: int, other: str, second: int) -> None:
    if first != second:
        raise PolicyFileError(f"{origin}: {one} {first} numbers, {other} {second}")


def _within(
    origin: str, name: str, places: tuple[int, ...] | None, size: int, *, lowest: int
) -> None:
    for place in places or ():
        if not lowest <= place < size:
            raise PolicyFileError(f"{origin}: {name} names place {place} of {size}")


def _whole(value: Any) -> bool:
    return type(value) is int and -1 <= value < WIDEST


def _number(value: Any) -> bool:
    return type(value) in (int, float) and -1e30 < value < 1e30


def _all(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and len(value) <= WIDEST and all(map(rule, value))  # pyright: ignore


_RULES: dict[str, Callable[[Any], bool]] = {
    "obs_dim": lambda value: _whole(value) and value > 0,
    "action_dim": lambda value: _whole(value) and value > 0,
    "observation": _all(_whole),
    "mean": _all(_number),
    "std": _all(lambda value: _number(value) and value > 0),
    "clip": lambda value: _number(value) and value > 0,
    "action": _all(_whole),
    "scale": _all(_number),
}
