"""How a value is represented, which values are possible, and the one Bellman backup."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from reprise.boundary.errors import UserError
from reprise.core.types import hook


class Bounds(NamedTuple):
    """The least and the greatest value that each head can have."""

    low: Float[Array, "*heads"]
    high: Float[Array, "*heads"]

    def clip(self, values: Float[Array, "*heads"]) -> Float[Array, "*heads"]:
        """The nearest possible values."""
        return jnp.clip(values, self.low, self.high)


class Targets(NamedTuple):
    """A value for every head, such as what it should say, and how much its error counts."""

    values: Float[Array, "*batch heads"]
    weights: Float[Array, "*batch heads"]
    """0 for a head that learns nothing from this transition."""
    heads: Int[Array, "*batch heads"] | None = None
    """Which heads these are; None: all."""

    @property
    def numbers(self) -> Int[Array, "heads"]:
        """The numbers of these heads, for one transition."""
        return jnp.arange(len(self.values)) if self.heads is None else self.heads


def possible(rewards: tuple[float, float], once: bool, discounts: Float[Array, "heads"]) -> Bounds:
    """The bounds that follow from the range of one reward.

    A reward that comes `once` ends the episode; others can come in every step, or in none.
    """
    least, greatest = min(rewards[0], 0.0), max(rewards[1], 0.0)
    times = jnp.ones_like(discounts) if once else 1.0 / (1.0 - discounts)
    return Bounds(least * times, greatest * times)


def backup(
    reward: Float[Array, "*heads"],
    discounts: Float[Array, "heads"],
    terminated: Float[Array, ""],
    following: Float[Array, "heads"],
) -> Float[Array, "heads"]:
    """T V = r + gamma_v (1 - d) V_v(s'): the Bellman backup of every critic."""
    return reward + discounts * (1.0 - terminated) * following


@dataclass(frozen=True)
class Representation(ABC):
    """How a network's outputs say what a value is."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Outputs per value."""

    @hook
    def begin(
        self, weight: Float[Array, "inputs outputs"], bounds: Bounds | None
    ) -> tuple[Float[Array, "inputs outputs"], Float[Array, "outputs"]]:
        """The last layer's weights and biases before anything is learned, from random weights."""
        return weight, jnp.zeros(weight.shape[1])

    @abstractmethod
    def read(
        self, outputs: Float[Array, "heads width"], bounds: Bounds | None
    ) -> Float[Array, "heads"]:
        """The values that outputs stand for."""

    @abstractmethod
    def loss(
        self,
        outputs: Float[Array, "heads width"],
        targets: Float[Array, "heads"],
        bounds: Bounds | None,
    ) -> Float[Array, "heads"]:
        """How far outputs are from what they should say."""


@dataclass(frozen=True)
class Scalar(Representation):
    """One output, which is the value."""

    @property
    def width(self) -> int:
        return 1

    def read(
        self, outputs: Float[Array, "heads width"], bounds: Bounds | None
    ) -> Float[Array, "heads"]:
        return outputs[..., 0]

    def loss(
        self,
        outputs: Float[Array, "heads width"],
        targets: Float[Array, "heads"],
        bounds: Bounds | None,
    ) -> Float[Array, "heads"]:
        """Half of the squared error."""
        return 0.5 * (outputs[..., 0] - targets) ** 2


EDGE = 3
"""Bins beyond either bound: what is left of a target's bell curve beyond them does not count."""
SPREAD = 0.75
"""The standard deviation of a target, in bins."""
CERTAINTY, DOUBT = 2.0, -15.0
"""How an untrained head spreads around 0: its bell curve in bins, and its least logit."""
QUIET = 0.01
"""The scale of an untrained head's weights, so that its biases say where it stands."""


@dataclass(frozen=True)
class Categorical(Representation):
    """A histogram over the possible values, taught by bell curves (HL-Gauss, Farebrother 2024).

    Its first and last `EDGE` bins lie beyond the bounds, so that targets there are not cut off.
    """

    bins: int = 51
    """Bins of the histogram."""

    def __post_init__(self) -> None:
        if self.bins < 2 * EDGE + 2:
            raise UserError(f"bins is {self.bins}; it must be at least {2 * EDGE + 2}")

    @property
    def width(self) -> int:
        return self.bins

    def begin(
        self, weight: Float[Array, "inputs outputs"], bounds: Bounds | None
    ) -> tuple[Float[Array, "inputs outputs"], Float[Array, "outputs"]]:
        """Every head is sure that its value is near 0, not in the middle of its range."""
        limits = known(bounds)
        nothing = self._place(jnp.zeros_like(limits.low), limits)
        away = (self._numbers()[None] - nothing[:, None]) / CERTAINTY
        return QUIET * weight, jnp.maximum(-0.5 * away**2, DOUBT).ravel()

    def read(
        self, outputs: Float[Array, "heads width"], bounds: Bounds | None
    ) -> Float[Array, "heads"]:
        """The mean of the histogram, within the bounds."""
        limits = known(bounds)
        mean = jax.nn.softmax(outputs) @ self._numbers()
        return limits.clip(limits.low + (mean - EDGE) * self._size(limits))

    def loss(
        self,
        outputs: Float[Array, "heads width"],
        targets: Float[Array, "heads"],
        bounds: Bounds | None,
    ) -> Float[Array, "heads"]:
        """The cross entropy of the histogram and the bell curve around the target."""
        wanted = self.histogram(targets, bounds)
        return -(wanted * jax.nn.log_softmax(outputs)).sum(axis=-1)

    def histogram(
        self, targets: Float[Array, "heads"], bounds: Bounds | None
    ) -> Float[Array, "heads width"]:
        """HL-Gauss: how much of a bell curve around the target lies in each bin."""
        limits = known(bounds)
        middle = self._place(limits.clip(targets), limits)[:, None]
        edges = jnp.arange(self.bins + 1, dtype=jnp.float32) - 0.5
        below = jax.lax.erf((edges[None] - middle) / (SPREAD * math.sqrt(2.0)))
        mass = below[:, 1:] - below[:, :-1]
        return mass / mass.sum(axis=-1, keepdims=True)

    def _numbers(self) -> Float[Array, "bins"]:
        return jnp.arange(self.bins, dtype=jnp.float32)

    def _place(self, values: Float[Array, "heads"], bounds: Bounds) -> Float[Array, "heads"]:
        """The bin of each head's value, and how far between two it is."""
        return (values - bounds.low) / self._size(bounds) + EDGE

    def _size(self, bounds: Bounds) -> Float[Array, "heads"]:
        """How much of each head's range a bin covers."""
        return (bounds.high - bounds.low) / (self.bins - 1 - 2 * EDGE)


def known(bounds: Bounds | None) -> Bounds:
    """The bounds, for a representation that cannot do without."""
    if bounds is None:
        raise UserError("these values need bounds; leave --critic.bounded on")
    return bounds
