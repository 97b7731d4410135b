"""Policies of Stable-Baselines3: the `.zip` of `model.save`, read without PyTorch and without
running anything in it.

The statistics of a `VecNormalize` are not part of the archive and are not read: a policy trained
behind one expects observations that are already normalized.
"""

from __future__ import annotations

from itertools import count, takewhile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from reprise.boundary import files
from reprise.boundary.errors import PolicyFileError
from reprise.core.types import LOG_STD_RANGE
from reprise.priors.card import Card, named
from reprise.priors.formats import sb3record
from reprise.priors.formats.archive import Archive
from reprise.priors.formats.own import Policy
from reprise.priors.formats.sb3record import Recipe
from reprise.priors.formats.torchfile import StateDict
from reprise.priors.source import read, shown

LARGEST = 128 * 2**20
LARGEST_RECORD = 4 * 2**20
LARGEST_WEIGHTS = 32 * 2**20


class Layer(NamedTuple):
    """x @ weight + bias"""

    weight: np.ndarray
    bias: np.ndarray


class Names(NamedTuple):
    """Where an algorithm keeps its actor in the state dict."""

    body: str
    mean: str
    deviation: str
    others: tuple[str, ...]
    """What belongs to the critics and to target networks."""


NAMES = {
    "SAC": Names("actor.latent_pi", "actor.mu", "actor.log_std", ("critic.", "critic_target.")),
    "TD3 or DDPG": Names("actor.mu", "", "", ("actor_target.", "critic.", "critic_target.")),
    "PPO or A2C": Names(
        "mlp_extractor.policy_net", "action_net", "log_std",
        ("mlp_extractor.value_net.", "value_net."),
    ),
}  # fmt: skip


def load(path: Path, name: str | None = None) -> Policy:
    """The actor of a SAC, TD3, DDPG, PPO or A2C archive with an MlpPolicy; named like its file."""
    data, origin = read(path, LARGEST), shown(path)
    name = named(path.stem if name is None else name, origin)
    archive = Archive(data, origin)
    recipe = sb3record.parse(archive.read("data", LARGEST_RECORD), f"{origin}: data")
    weights = archive.read("policy.pth", LARGEST_WEIGHTS)
    layers = _layers(StateDict(weights, f"{origin}: policy.pth"), recipe)
    card = Card(
        recipe.obs_dim, len(recipe.action_low), recipe.action_low, recipe.action_high,
        tuple(len(layer.bias) for layer in layers[:-1]), name,
        origin=f"Stable-Baselines3, {recipe.algorithm}", sha256=files.sha256(data),
        activation=recipe.activation, kind="gaussian-mlp" if recipe.squashed else "clipped-mlp",
    )  # fmt: skip
    return Policy(card, tuple(w for w, _ in layers), tuple(b for _, b in layers))


def _layers(state: StateDict, recipe: Recipe) -> list[Layer]:
    names = NAMES[recipe.algorithm]
    known = set(state.names)
    # In a sequence every linear layer is followed by its activation, which has no weights.
    places = takewhile(lambda i: f"{names.body}.{i}.weight" in known, count(0, 2))
    used = [f"{names.body}.{i}" for i in places]
    if names.mean:
        used.append(f"{names.mean}.0" if recipe.clip_mean else names.mean)
    _check_names(state, used, names)
    layers = [_linear(state, name) for name in used]
    _check_sizes(state, layers, recipe)
    if recipe.clip_mean:
        layers[-1:] = _cut_off(layers[-1], recipe, state.origin)
    if recipe.squashed:
        learned = recipe.algorithm == "SAC" and not recipe.noise_from_state
        deviation = _linear(state, names.deviation) if learned else _no_deviation(layers[-1])
        layers[-1] = _beside(layers[-1], deviation, state.origin)
    return layers


def _linear(state: StateDict, name: str) -> Layer:
    return Layer(state.array(f"{name}.weight", 2).T.copy(), state.array(f"{name}.bias", 1))


def _check_names(state: StateDict, used: list[str], names: Names) -> None:
    """Weights that are not understood would be left out of the policy, so they are an error."""
    mine = {f"{name}{part}" for name in used for part in (".weight", ".bias")}
    if names.deviation:
        mine |= {f"{names.deviation}{part}" for part in (".weight", ".bias", "")}
    strange = [n for n in state.names if n not in mine and not n.startswith(names.others)]
    if strange:
        raise PolicyFileError(f"{state.origin} is not of an MLP: it has {strange[:3]!r:.200}")


def _check_sizes(state: StateDict, layers: list[Layer], recipe: Recipe) -> None:
    widths = [recipe.obs_dim]
    for weight, bias in layers:
        if weight.shape != (widths[-1], len(bias)):
            rule = f"a layer takes {weight.shape[0]} numbers, not {widths[-1]}"
            raise PolicyFileError(f"{state.origin}: {rule}, or its bias has another size")
        widths.append(len(bias))
    if not layers or widths[-1] != len(recipe.action_low):
        rule = f"the last layer gives {widths[-1]} numbers, not {len(recipe.action_low)} actions"
        raise PolicyFileError(f"{state.origin}: {rule}")


def _cut_off(mean: Layer, recipe: Recipe, origin: str) -> list[Layer]:
    """clip(x, -c, c) = relu(x + c) - relu(x - c) - c, as two layers in place of one."""
    if recipe.activation != "relu":
        raise PolicyFileError(f"{origin}: gSDE with clip_mean is only read with ReLU")
    clip = np.float32(recipe.clip_mean)
    ones = np.eye(len(mean.bias), dtype=np.float32)
    weight = np.concatenate([mean.weight, mean.weight], axis=1)
    bias = np.concatenate([mean.bias + clip, mean.bias - clip])
    return [Layer(weight, bias), Layer(np.concatenate([ones, -ones]), -clip * ones.sum(0))]


def _no_deviation(mean: Layer) -> Layer:
    return Layer(np.zeros_like(mean.weight), np.full_like(mean.bias, LOG_STD_RANGE[0]))


def _beside(mean: Layer, deviation: Layer, origin: str) -> Layer:
    if mean.weight.shape != deviation.weight.shape or mean.bias.shape != deviation.bias.shape:
        raise PolicyFileError(f"{origin}: log_std has another size than mu")
    pairs = zip(mean, deviation, strict=True)
    return Layer(*(np.concatenate(pair, axis=-1) for pair in pairs))
