"""A policy on disk: `policy.safetensors` + `policy.json`, read without executing anything."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from reprise.boundary import arrays, files
from reprise.boundary.errors import CheckpointError, PolicyFileError
from reprise.core.types import LOG_STD_RANGE, Gaussian
from reprise.priors.card import ACTIVATIONS, RESERVED, Card, Normalizer, parse
from reprise.priors.source import read, shown

__all__ = ["RESERVED", "Card", "Normalizer", "Policy", "load", "save"]

LARGEST_CARD = 2**20
LARGEST_HEADER = 2**20


@dataclass(frozen=True, eq=False)
class Policy:
    """A frozen network: weights, sizes and a name."""

    card: Card
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray, ...]

    def __call__(self, obs: np.ndarray) -> Gaussian:
        """What it says about several observations (n, obs)."""
        card = self.card
        activate = ACTIVATIONS[card.activation]
        x = obs if card.normalizer is None else card.normalizer(obs)
        for depth, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight + bias
            if depth < len(self.weights) - 1:
                x = activate(x)
        return _gaussian(x) if card.kind == "gaussian-mlp" else _clipped(x, *card.box)


def _gaussian(x: np.ndarray) -> Gaussian:
    """A network that computes the mean before the tanh, and the logarithm of the deviation."""
    mean, log_std = np.split(x, 2, axis=-1)
    return Gaussian(mean, np.clip(log_std, *LOG_STD_RANGE))  # pyright: ignore


def _clipped(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> Gaussian:
    """A network that computes an action in the units of its box, which cuts off the rest."""
    share = (np.clip(x, low, high) - low) / (high - low)
    return Gaussian.deterministic(2.0 * share - 1.0)


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
    path = folder / "policy.json"
    card = parse(read(path, LARGEST_CARD), shown(path))
    path = folder / "policy.safetensors"
    data, origin = read(path), shown(path)
    if files.sha256(data) != card.sha256:
        raise PolicyFileError(
            f"{origin} was altered or truncated: its SHA-256 is not policy.json's"
        )
    tensors = _unpack(data, card, origin)
    layers = [_layer(tensors, i, pair, origin) for i, pair in enumerate(pairwise(card.sizes))]
    if tensors:
        raise PolicyFileError(f"{origin} holds unknown tensors: {sorted(tensors)[:5]!r:.200}")
    return Policy(card, tuple(w for w, _ in layers), tuple(b for _, b in layers))


def _unpack(data: bytes, card: Card, origin: str) -> dict[str, np.ndarray]:
    # A header takes far more room when parsed than on disk, and a policy's is short.
    if int.from_bytes(data[:8], "little") > LARGEST_HEADER:
        raise PolicyFileError(f"{origin} is not a safetensors file: its header is over 1 MB")
    needed = sum(4 * (before + 1) * after for before, after in pairwise(card.sizes))
    if abs(len(data) - needed) > 2 * LARGEST_HEADER:
        rule = f"the layers in policy.json need {needed}"
        raise PolicyFileError(f"{origin} has {len(data)} bytes; {rule}")
    try:
        return arrays.unpack(data, origin)
    except CheckpointError as error:
        text = str(error)  # it may quote names in the file
        raise PolicyFileError(text if text.isprintable() else ascii(text)) from error


def _layer(
    tensors: dict[str, np.ndarray], i: int, sizes: tuple[int, int], origin: str
) -> tuple[np.ndarray, np.ndarray]:
    found: list[np.ndarray] = []
    for name, shape in (("weight", sizes), ("bias", sizes[1:])):
        tensor = tensors.pop(f"layers.{i}.{name}", None)
        if tensor is None or tensor.shape != shape or tensor.dtype != np.float32:
            raise PolicyFileError(f"{origin}: layers.{i}.{name} is not a float32 array of {shape}")
        if not np.isfinite(tensor).all():
            raise PolicyFileError(f"{origin}: layers.{i}.{name} holds non-finite weights")
        found.append(tensor)
    return found[0], found[1]
