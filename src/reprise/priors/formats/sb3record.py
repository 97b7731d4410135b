"""The JSON part of a Stable-Baselines3 archive: which network it is, and for which spaces.

Beside each serialized object the archive keeps what it shows of itself as text. Only that text is
read; what is serialized is neither decoded nor looked at.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from reprise.boundary.errors import PolicyFileError
from reprise.priors.card import rescalable
from reprise.priors.source import brief, json_object

CLASSES = {
    "stable_baselines3.sac.policies SACPolicy": "SAC",
    "stable_baselines3.td3.policies TD3Policy": "TD3 or DDPG",
    "stable_baselines3.common.policies ActorCriticPolicy": "PPO or A2C",
}
ACTIVATIONS = {
    "<class 'torch.nn.modules.activation.ReLU'>": "relu",
    "<class 'torch.nn.modules.activation.Tanh'>": "tanh",
}
BOXES = ("<class 'gymnasium.spaces.box.Box'>", "<class 'gym.spaces.box.Box'>")
FLATTEN = "<class 'stable_baselines3.common.torch_layers.FlattenExtractor'>"
ABOUT = {":type:", ":serialized:"}
HARMLESS = {
    "net_arch", "log_std_init", "full_std", "use_expln", "ortho_init", "n_critics", "use_sde",
    "share_features_extractor", "normalize_images", "optimizer_class", "optimizer_kwargs",
}  # fmt: skip
"""Arguments of a policy that the weights already answer, or that only matter for training."""


class Recipe(NamedTuple):
    """What has to be known beside the weights."""

    algorithm: str
    activation: str
    obs_dim: int
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    noise_from_state: bool
    """gSDE: exploration noise that depends on the state."""
    clip_mean: float
    """Where SAC cuts off the mean if the noise comes from the state; 0: nowhere."""
    squashed: bool
    """Whether a tanh bounds the output, rather than cutting it off at the bounds."""


def parse(data: bytes, origin: str) -> Recipe:
    """The recipe in the bytes of the member `data`."""
    record = json_object(data, origin)
    algorithm = _algorithm(record, origin)
    options = _options(record, origin)
    low, high = (_bounds(record, side, origin) for side in ("low", "high"))
    if not all(rescalable(*pair) for pair in zip(low, high, strict=True)):
        raise PolicyFileError(f"{origin}: action_space is not bounded on both sides")
    noise = record.get("use_sde", False)
    clip = options.get("clip_mean", 2.0) if noise and algorithm == "SAC" else 0.0
    squash = options.get("squash_output", False) or algorithm != "PPO or A2C"
    if type(noise) is not bool or type(squash) is not bool or not _non_negative(clip):
        raise PolicyFileError(f"{origin}: use_sde, squash_output or clip_mean is not allowed")
    activation = _activation(options, algorithm, origin)
    return Recipe(
        algorithm, activation, _size(record, "observation_space", origin), low, high, noise, clip,
        squash,
    )  # fmt: skip


def _algorithm(record: dict[str, Any], origin: str) -> str:
    shown = _part(record, "policy_class", origin)
    module, method = (_text(shown.get(name)) for name in ("__module__", "__init__"))
    # Policies for images or dictionaries are in the same modules; their methods tell them apart.
    owner = re.match(r"<function (\w+)\.__init__ at ", method)
    found = f"{module} {owner[1] if owner else ''}"
    if found not in CLASSES:
        known = "the MlpPolicy of SAC, TD3, DDPG, PPO or A2C"
        raise PolicyFileError(f"{origin}: policy_class {brief(found)} is not {known}")
    return CLASSES[found]


def _options(record: dict[str, Any], origin: str) -> dict[str, Any]:
    given = _part(record, "policy_kwargs", origin)
    options = {name: value for name, value in given.items() if name not in ABOUT | HARMLESS}
    extractor = options.pop("features_extractor_class", FLATTEN)
    if extractor != FLATTEN or options.pop("features_extractor_kwargs", None):
        raise PolicyFileError(f"{origin}: features_extractor_class is not FlattenExtractor")
    if unknown := set(options) - {"activation_fn", "clip_mean", "squash_output"}:
        raise PolicyFileError(f"{origin}: policy_kwargs has unknown {sorted(unknown)[:5]!r:.200}")
    return options


def _activation(options: dict[str, Any], algorithm: str, origin: str) -> str:
    if "activation_fn" not in options:
        return "tanh" if algorithm == "PPO or A2C" else "relu"
    shown = options["activation_fn"]
    if not isinstance(shown, str) or shown not in ACTIVATIONS:
        raise PolicyFileError(f"{origin}: activation_fn {brief(shown)} is not ReLU or Tanh")
    return ACTIVATIONS[shown]


def _size(record: dict[str, Any], space: str, origin: str) -> int:
    shown = _part(record, space, origin)
    if shown.get(":type:") not in BOXES:
        kind = brief(shown.get(":type:"))
        raise PolicyFileError(f"{origin}: {space} is {kind}, not a Box")
    shape = shown.get("_shape", shown.get("shape"))
    if not isinstance(shape, list) or len(shape) != 1 or type(shape[0]) is not int:
        raise PolicyFileError(f"{origin}: {space} has shape {brief(shape)}, not one axis")
    if not 0 < shape[0] <= 2**16:
        raise PolicyFileError(f"{origin}: {space} has a size of {brief(shape[0])}")
    return shape[0]


def _bounds(record: dict[str, Any], side: str, origin: str) -> tuple[float, ...]:
    """Numbers as an array prints them, such as `[-2.  0.5]`."""
    size = _size(record, "action_space", origin)
    printed = record["action_space"].get(side)
    words = printed.strip("[]").split() if isinstance(printed, str) else []
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:  # an array of over 1,000 numbers is printed in part
        numbers = ()
    if len(numbers) != size:
        raise PolicyFileError(f"{origin}: action_space does not show {size} numbers for {side}")
    return numbers


def _part(record: dict[str, Any], name: str, origin: str) -> dict[str, Any]:
    part: Any = record.get(name)
    if not isinstance(part, dict):
        raise PolicyFileError(f"{origin} is not of Stable-Baselines3: it has no {name}")
    return part  # pyright: ignore[reportUnknownVariableType]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _non_negative(value: Any) -> bool:
    return type(value) in (int, float) and 0.0 <= value <= 1e18
