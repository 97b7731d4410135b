"""A policy on disk: `policy.safetensors` + `policy.json`, read without executing anything."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from reprise import arrays, files
from reprise.errors import CheckpointError, PolicyFileError
from reprise.types import LOG_STD_RANGE, Gaussian

SCHEMA = 1
KINDS = ("gaussian-mlp",)
ACTIVATIONS = ("relu",)
NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}")
RESERVED = ("task", "start", "random")
LARGEST = 256 * 2**20


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
    normalizer: None = None
    kind: str = "gaussian-mlp"
    schema: int = SCHEMA


@dataclass(frozen=True, eq=False)
class Policy:
    """A frozen Gaussian network: weights, sizes and a name."""

    card: Card
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def __call__(self, obs: np.ndarray) -> Gaussian:
        """What it says about several observations (n, obs)."""
        x = obs
        for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight + bias
            if depth < len(self.weights) - 1:
                x = np.maximum(x, 0.0)
        mean, log_std = np.split(x, 2, axis=-1)
        return Gaussian(mean, np.clip(log_std, *LOG_STD_RANGE))  # pyright: ignore


def save(folder: Path, policy: Policy) -> Card:
    """Write both files atomically; returns the card with the hash of the weights."""
    tensors = {f"layers.{i}.weight": w for i, w in enumerate(policy.weights)}
    tensors |= {f"layers.{i}.bias": b for i, b in enumerate(policy.biases)}
    data = arrays.pack(tensors)
    card = replace(policy.card, sha256=files.sha256(data))
    folder.mkdir(parents=True, exist_ok=True)
    files.write_bytes(folder / "policy.safetensors", data)
    record = asdict(card)
    first = ("schema", "kind", "name")
    order = [*first, *(name for name in record if name not in first)]
    files.write_json(folder / "policy.json", {name: record[name] for name in order})
    return card


def load(folder: Path) -> Policy:
    """Read a policy; everything in the files is checked before it is used."""
    card = _read_card(folder / "policy.json")
    path = folder / "policy.safetensors"
    data = _read(path)
    if files.sha256(data) != card.sha256:
        raise PolicyFileError(f"{path} was altered or truncated: its SHA-256 is not policy.json's")
    try:
        tensors = arrays.unpack(data, str(path))
    except CheckpointError as error:
        raise PolicyFileError(str(error)) from error
    sizes = (card.obs_dim, *card.hidden, 2 * card.action_dim)
    layers = [_layer(tensors, i, sizes, path) for i in range(len(sizes) - 1)]
    if tensors:
        raise PolicyFileError(f"{path} holds unknown tensors: {sorted(tensors)[:5]!r:.200}")
    return Policy(card, tuple(w for w, _ in layers), tuple(b for _, b in layers))


def _layer(
    tensors: dict[str, np.ndarray], i: int, sizes: tuple[int, ...], path: Path
) -> tuple[np.ndarray, np.ndarray]:
    found: list[np.ndarray] = []
    for name, shape in (("weight", sizes[i : i + 2]), ("bias", sizes[i + 1 : i + 2])):
        tensor = tensors.pop(f"layers.{i}.{name}", None)
        if tensor is None or tensor.shape != shape or tensor.dtype != np.float32:
            raise PolicyFileError(f"{path}: layers.{i}.{name} is not a float32 array of {shape}")
        if not np.isfinite(tensor).all():
            raise PolicyFileError(f"{path}: layers.{i}.{name} holds non-finite weights")
        found.append(tensor)
    return found[0], found[1]


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():  # a pipe would never end
            raise PolicyFileError(f"{path} cannot be read: there is no such file")
        if path.stat().st_size > LARGEST:
            raise PolicyFileError(f"{path} is larger than {LARGEST >> 20} MB, not a policy")
        return path.read_bytes()
    except OSError as error:
        raise PolicyFileError(f"{path} cannot be read: {error.strerror}") from error


def _read_card(path: Path) -> Card:
    try:
        record: Any = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise PolicyFileError(f"{path} is not JSON: {type(error).__name__}") from error
    if not isinstance(record, dict) or "schema" not in record:
        raise PolicyFileError(f"{path} is not a policy: it has no schema")
    if type(record["schema"]) is not int or record["schema"] != SCHEMA:
        raise PolicyFileError(
            f"{path} has schema {record['schema']!r:.80}; this reprise reads {SCHEMA}"
        )
    expected = set(Card.__dataclass_fields__)
    if unknown := set(record) - expected:
        raise PolicyFileError(f"{path} has unknown fields: {sorted(unknown)[:5]!r:.200}")
    if missing := expected - set(record):
        raise PolicyFileError(f"{path} lacks {', '.join(sorted(missing)[:5])}")
    return _checked(record, path)


def _checked(record: dict[str, Any], path: Path) -> Card:
    """Every field against its rule, so that nothing in a file is trusted."""
    for name, allowed in _RULES.items():
        if not allowed(record[name]):
            raise PolicyFileError(f"{path}: {name} is {record[name]!r:.80}, which is not allowed")
    for name in ("action_low", "action_high"):
        if len(record[name]) != record["action_dim"]:
            raise PolicyFileError(f"{path}: {name} has {len(record[name])} numbers, not action_dim")
    tuples: dict[str, Any] = {
        name: tuple(record[name]) for name in ("hidden", "action_low", "action_high")
    }
    return Card(**(record | tuples))


def _size(value: Any) -> bool:
    return type(value) is int and 0 < value <= 2**16


def _number(value: Any) -> bool:
    return type(value) in (int, float) and -1e300 < value < 1e300


def _list_of(rule: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(rule(item) for item in value)


def _success(value: Any) -> bool:
    return isinstance(value, dict) and all(_number(share) for share in value.values())


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 1_000


_RULES: dict[str, Callable[[Any], bool]] = {
    "kind": KINDS.__contains__,
    "activation": ACTIVATIONS.__contains__,
    "normalizer": lambda value: value is None,
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
