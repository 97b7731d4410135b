"""What networks are made of. Every leaf is an array, so plain jax.jit, grad and vmap suffice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from reprise.core.types import LOG_STD_RANGE, Advice, Gaussian


class Linear(eqx.Module):
    """An affine map with Xavier-uniform weights and a zero bias."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, "outputs"]

    def __init__(self, inputs: int, outputs: int, rng: np.random.Generator) -> None:
        bound = np.sqrt(6.0 / (inputs + outputs))
        self.weight = jnp.array(rng.uniform(-bound, bound, (inputs, outputs)), jnp.float32)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Float[Array, "inputs"]) -> Float[Array, "outputs"]:
        return x @ self.weight + self.bias


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

    def __init__(self, size: int) -> None:
        self.weight, self.bias = jnp.ones(size), jnp.zeros(size)

    def __call__(self, x: Float[Array, "n"]) -> Float[Array, "n"]:
        return _normalized(x, self.weight, self.bias)


class Mlp(eqx.Module):
    """A ReLU network, with layer normalization before each activation if asked for."""

    layers: tuple[Linear, ...]
    norms: tuple[LayerNorm, ...]

    def __init__(self, sizes: Sequence[int], key: Array, layer_norm: bool = False) -> None:
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


class GaussianPolicy(eqx.Module):
    """The task policy of SAC: it is given the priors' advice and ignores it."""

    body: Mlp

    def __call__(self, obs: Float[Array, "obs"], advice: Advice) -> Gaussian:
        mean, log_std = jnp.split(self.body(obs), 2)
        return Gaussian(mean, jnp.clip(log_std, *LOG_STD_RANGE))
