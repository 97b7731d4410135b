"""A network that knows how sure it is: what AC-Teach's critic is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from reprise.core.networks import ValueNetwork
from reprise.core.types import Transition


class PosteriorNetwork(ValueNetwork):
    """Q with a posterior: several heads on one trunk, or one head under dropout masks."""

    variance: Float[Array, ""] = field(default_factory=lambda: jnp.ones(()))
    """Of the targets, running."""
    keep: float | None = eqx.field(static=True, default=None)
    members: int = eqx.field(static=True, default=1)

    def __call__(
        self, obs: Float[Array, "obs"], action: Float[Array, "action"]
    ) -> Float[Array, "1"]:
        """The mean of the heads; no dropout."""
        return self.every(obs, action).mean(keepdims=True)

    def own(
        self,
        obs: Float[Array, "obs"],
        actions: Float[Array, "n action"],
        heads: Int[Array, "n"] | None = None,
        each: Callable[..., Any] = jax.vmap,
    ) -> Float[Array, "n"]:
        """The same mean judges everybody."""
        return each(lambda action: self(obs, action)[0])(actions)

    def leading(self) -> PosteriorNetwork:
        """It gives one value as it is."""
        return self

    def draw(
        self, obs: Float[Array, "obs"], action: Float[Array, "action"], masks: int, key: Array
    ) -> Float[Array, "draws"]:
        """The posterior of Q(s, a): every head, or one value for each of n masks."""
        if self.keep is None:
            return self.every(obs, action)
        x = jnp.concatenate([obs, action])
        return jax.vmap(lambda k: self._masked(x, k)[0])(jax.random.split(key, masks))

    def _masked(self, x: Float[Array, "inputs"], key: Array) -> Float[Array, "1"]:
        """Dense, layer norm, ReLU, dropout."""
        keep = self.keep or 1.0
        for depth, layer in enumerate(self.body.layers[:-1]):
            x = layer(x)
            x = jax.nn.relu(self.body.norms[depth](x) if self.body.norms else x)
            held = jax.random.bernoulli(jax.random.fold_in(key, depth), keep, x.shape)
            x = jnp.where(held, x / keep, 0.0)
        return self.body.layers[-1](x)


def draws(
    critics: Any, obs: Float[Array, "obs"], action: Float[Array, "action"], masks: int, key: Array
) -> Float[Array, "draws"]:
    """The posterior of min_j Q_j(s, a)."""
    return jnp.stack([net.draw(obs, action, masks, key) for net in critics]).min(axis=0)


def spread(critics: Any) -> Float[Array, ""]:
    """The running variance of the targets, kept away from 0."""
    return jnp.maximum(jnp.stack([net.variance for net in critics]).max(), 1e-6)


def identity(t: Transition) -> Array:
    """A key that is a transition's own, so that a head sees the same share of them for ever."""
    words = jax.lax.bitcast_convert_type(jnp.concatenate([t.obs, t.action]), jnp.uint32)
    odd = jnp.uint32(2654435761) * (2 * jnp.arange(words.size, dtype=jnp.uint32) + 1)
    return jax.random.fold_in(jax.random.key(0), (words * odd).sum(dtype=jnp.uint32))
