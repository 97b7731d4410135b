"""The networks. Every leaf is an array, so plain jax.jit, grad and vmap work without filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from reprise.types import LOG_STD_RANGE, Advice, Gaussian


class Linear(eqx.Module):
    """An affine map with Xavier-uniform weights and a zero bias."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, "outputs"]

    def __init__(self, inputs: int, outputs: int, rng: np.random.Generator):
        bound = np.sqrt(6.0 / (inputs + outputs))
        self.weight = jnp.array(rng.uniform(-bound, bound, (inputs, outputs)), jnp.float32)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Float[Array, "inputs"]) -> Float[Array, "outputs"]:
        return x @ self.weight + self.bias

    def some(self, x: Float[Array, "inputs"], outputs: Int[Array, "n"]) -> Float[Array, "n"]:
        """Only these outputs, which under a map may be others for each input."""
        # Times ones, not a sum: a product with a vector is what XLA adds rows up fastest by.
        return (self.weight.T[outputs] * x[None]) @ jnp.ones(x.shape) + self.bias[outputs]


@jax.custom_vjp
def _normalized(
    x: Float[Array, "n"], scale: Float[Array, "n"], shift: Float[Array, "n"]
) -> Float[Array, "n"]:
    return _normalize(x, scale, shift)[0]


def _normalize(x: Array, scale: Array, shift: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    centered = x - x.mean()
    precision = jax.lax.rsqrt((centered * centered).mean() + 1e-5)
    standard = centered * precision
    return standard * scale + shift, (standard, precision, scale)


def _denormalize(
    kept: tuple[Array, Array, Array], slope: Float[Array, "n"]
) -> tuple[Array, Array, Array]:
    standard, precision, scale = kept
    inner = slope * scale
    back = inner - inner.mean() - standard * (inner * standard).mean()
    return precision * back, slope * standard, slope


_normalized.defvjp(_normalize, _denormalize)


class LayerNorm(eqx.Module):
    """Layer normalization with its derivative written out, which takes fewer passes over the data.

    How much it saves is in docs/performance.md.
    """

    weight: Float[Array, "n"]
    bias: Float[Array, "n"]

    def __init__(self, size: int):
        self.weight, self.bias = jnp.ones(size), jnp.zeros(size)

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:
        return _normalized(x, self.weight, self.bias)


class Mlp(eqx.Module):
    """A ReLU network, with layer normalization before each activation if asked for."""

    layers: tuple[Linear, ...]
    norms: tuple[LayerNorm, ...]

    def __init__(self, sizes: Sequence[int], key: Array, layer_norm: bool = False):
        # NumPy draws the weights: JAX compiles its generator anew for each shape, which takes
        # longer than the first thousand updates.
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        self.layers = tuple(Linear(i, o, rng) for i, o in pairwise(sizes))
        self.norms = tuple(LayerNorm(size) for size in sizes[1:-1]) if layer_norm else ()

    def __call__(self, x: Float[Array, "inputs"]) -> Float[Array, "outputs"]:
        return self.layers[-1](self.hidden(x))

    def hidden(self, x: Float[Array, "inputs"]) -> Float[Array, "width"]:
        """What the last layer sees."""
        for depth, layer in enumerate(self.layers[:-1]):
            x = layer(x)
            x = jax.nn.relu(self.norms[depth](x) if self.norms else x)
        return x

    def some(self, x: Float[Array, "inputs"], outputs: Int[Array, "n"]) -> Float[Array, "n"]:
        """Only these outputs."""
        return self.layers[-1].some(self.hidden(x), outputs)


class GaussianPolicy(eqx.Module):
    """The task policy of SAC: it hears the priors' advice and ignores it."""

    body: Mlp

    def __call__(self, obs: Float[Array, "obs"], advice: Advice) -> Gaussian:
        mean, log_std = jnp.split(self.body(obs), 2)
        return Gaussian(mean, jnp.clip(log_std, *LOG_STD_RANGE))


class QNetwork(eqx.Module):
    """Q_theta: S x A -> R^(1+K), one output per policy that is evaluated."""

    body: Mlp

    def __call__(
        self, obs: Float[Array, "obs"], action: Float[Array, "action"]
    ) -> Float[Array, "heads"]:
        return self.body(jnp.concatenate([obs, action]))

    def some(
        self, obs: Float[Array, "obs"], action: Float[Array, "action"], heads: Int[Array, "n"]
    ) -> Float[Array, "n"]:
        """Only these heads."""
        return self.body.some(jnp.concatenate([obs, action]), heads)

    @property
    def heads(self) -> int:
        """How many there are."""
        return len(self.body.layers[-1].bias)

    def leading(self) -> QNetwork:
        """The same network with head 0 alone, which spares a product with the other heads."""
        *lower, last = self.body.layers
        first = eqx.tree_at(
            lambda layer: (layer.weight, layer.bias), last, (last.weight[:, :1], last.bias[:1])
        )
        return eqx.tree_at(lambda net: net.body.layers, self, (*lower, first))


Ensemble = tuple[QNetwork, ...]
"""Networks side by side, each with arrays of its own: to cut a member out of a stack is a copy."""


def leading(critics: Ensemble) -> Ensemble:
    """Every member with head 0 alone."""
    return tuple(critic.leading() for critic in critics)


def ensemble_values(
    critics: Ensemble,
    obs: Float[Array, "obs"],
    action: Float[Array, "action"],
    heads: Int[Array, "heads"] | None = None,
) -> Float[Array, "ensemble heads"]:
    """Q_j(s, a) by each member j of an ensemble: of these heads, or of all."""
    if heads is None:
        return jnp.stack([critic(obs, action) for critic in critics])
    return jnp.stack([critic.some(obs, action, heads) for critic in critics])


CROWD = 16
"""So many at once, with a batch each, still fit into a core's cache."""


def mapped_over(policies: int) -> Callable[..., Any]:
    """How a function is applied to so many policies: at once, or if they are many one by one."""
    return jax.vmap if policies <= CROWD else partial(partial, jax.lax.map)
