"""The value networks: which heads they have, and what each of them says."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from reprise.core.layers import Mlp
from reprise.core.values import Bounds, Representation, Scalar


class ValueNetwork(eqx.Module):
    """Q_theta: S x A -> R^(1+K): a trunk, and heads that say values within bounds.

    Where only some heads are asked for, head 0 is always the first of them.
    """

    body: Mlp
    bounds: Bounds | None = None
    """Which values each head can have; None: any."""
    values: tuple[Representation, Representation] = eqx.field(
        static=True, default=(Scalar(), Scalar())
    )
    """How head 0 says what its value is, and how the others do."""

    @abstractmethod
    def __call__(
        self, obs: Float[Array, "obs"], action: Float[Array, "action"]
    ) -> Float[Array, "heads"]:
        """Q(s, a), a value for each policy that is evaluated."""

    @abstractmethod
    def own(
        self,
        obs: Float[Array, "obs"],
        actions: Float[Array, "n action"],
        heads: Int[Array, "n"] | None = None,
        each: Callable[..., Any] = jax.vmap,
    ) -> Float[Array, "n"]:
        """Q^v(s, a_v) for these heads v, or the first n; one head judges everybody.

        The values are clipped to the bounds, so that they can be compared.
        """

    @abstractmethod
    def leading(self) -> ValueNetwork:
        """The same network for whoever asks for head 0 alone."""

    def every(
        self, obs: Float[Array, "obs"], action: Float[Array, "action"]
    ) -> Float[Array, "heads"]:
        """What every head says."""
        return self._read(*self._outputs(obs, action), self.bounds_of())

    def losses(
        self,
        obs: Float[Array, "obs"],
        action: Float[Array, "action"],
        targets: Float[Array, "n"],
        heads: Int[Array, "n"] | None = None,
    ) -> Float[Array, "n"]:
        """How far these heads, or all, are from what they should say."""
        bounds = self.bounds_of(heads)
        leading, others = self._outputs(obs, action, heads)
        head, prior = (part_of(bounds, part) for part in PARTS)
        one = self.values[0].loss(leading[None], targets[:1], head)
        return jnp.concatenate([one, self.values[1].loss(others, targets[1:], prior)])

    def _outputs(
        self, obs: Array, action: Array, heads: Array | None = None
    ) -> tuple[Float[Array, "first"], Float[Array, "others width"]]:
        """What the last layer says for head 0, and for each of the others."""
        inner = self.body.hidden(jnp.concatenate([obs, action]))
        weight, bias = self._last(slice(None) if heads is None else heads[1:] - 1)
        others = inner @ weight.reshape(len(inner), -1)
        return self._leading(inner), others.reshape(bias.shape) + bias

    def _leading(self, inner: Float[Array, "inputs"]) -> Float[Array, "width"]:
        """What the last layer says for head 0."""
        last, first = self.body.layers[-1], self.values[0].width
        return inner @ last.weight[:, :first] + last.bias[:first]

    def _last(
        self, priors: slice | Int[Array, "n"]
    ) -> tuple[Float[Array, "inputs n width"], Float[Array, "n width"]]:
        """The weights and biases of the last layer that belong to these priors' heads."""
        last, first, width = self.body.layers[-1], self.values[0].width, self.values[1].width
        weight = last.weight[:, first:].reshape(len(last.weight), -1, width)
        return weight[:, priors], last.bias[first:].reshape(-1, width)[priors]

    def _read(self, leading: Array, others: Array, bounds: Bounds | None) -> Array:
        head, prior = (part_of(bounds, part) for part in PARTS)
        values = self.values[0].read(leading[None], head), self.values[1].read(others, prior)
        return jnp.concatenate(values)

    def possible(
        self, values: Float[Array, "n"], heads: Int[Array, "n"] | None = None
    ) -> Float[Array, "n"]:
        """The nearest values that these heads, or all, can have."""
        bounds = self.bounds_of(heads)
        return values if bounds is None else bounds.clip(values)

    def bounds_of(self, heads: Int[Array, "n"] | None = None) -> Bounds | None:
        """The bounds of these heads, or of all; nobody learns them."""
        fixed = jax.lax.stop_gradient(self.bounds)
        return fixed if heads is None else jax.tree.map(lambda bound: bound[heads], fixed)

    @property
    def heads(self) -> int:
        """How many there are."""
        first, width = self.values[0].width, self.values[1].width
        return 1 + (len(self.body.layers[-1].bias) - first) // width


class QNetwork(ValueNetwork):
    """One value per policy that is evaluated, each from a head of its own."""

    def __call__(
        self, obs: Float[Array, "obs"], action: Float[Array, "action"]
    ) -> Float[Array, "heads"]:
        return self.every(obs, action)

    def own(
        self,
        obs: Float[Array, "obs"],
        actions: Float[Array, "n action"],
        heads: Int[Array, "n"] | None = None,
        each: Callable[..., Any] = jax.vmap,
    ) -> Float[Array, "n"]:
        if self.heads == 1:
            return each(lambda action: self.possible(self(obs, action))[0])(actions)
        inner = each(lambda action: self.body.hidden(jnp.concatenate([obs, action])))(actions)
        weight, bias = self._last(slice(len(actions) - 1) if heads is None else heads[1:] - 1)
        others = jnp.einsum("ni,inw->nw", inner[1:], weight) + bias
        known = jnp.arange(len(actions)) if heads is None else heads
        return self.possible(
            self._read(self._leading(inner[0]), others, self.bounds_of(known)), known
        )

    def leading(self) -> QNetwork:
        """The same network with head 0 alone, which spares a product with the other heads."""
        *lower, last = self.body.layers
        first = self.values[0].width
        head = eqx.tree_at(
            lambda layer: (layer.weight, layer.bias),
            last,
            (last.weight[:, :first], last.bias[:first]),
        )
        alone = eqx.tree_at(lambda net: net.body.layers, self, (*lower, head))
        return replace(alone, bounds=jax.tree.map(lambda bound: bound[:1], self.bounds))


PARTS = slice(0, 1), slice(1, None)
"""Head 0, and the others."""


def part_of(bounds: Bounds | None, part: slice) -> Bounds | None:
    """The bounds of some heads."""
    return jax.tree.map(lambda bound: bound[part], bounds)


def begun(
    body: Mlp, bounds: Bounds | None, values: tuple[Representation, Representation]
) -> QNetwork:
    """A network whose last layer says what its representations say before anything is learned."""
    weight, width = body.layers[-1].weight, values[0].width
    parts = [
        representation.begin(weight[:, columns], part_of(bounds, part))
        for representation, columns, part in zip(
            values, (slice(0, width), slice(width, None)), PARTS, strict=True
        )
    ]
    first = tuple(jnp.concatenate(both, axis=-1) for both in zip(*parts, strict=True))
    spots = lambda net: (net.layers[-1].weight, net.layers[-1].bias)  # noqa: E731
    return QNetwork(eqx.tree_at(spots, body, first), bounds, values)


Ensemble = tuple[ValueNetwork, ...]
"""Networks side by side, each with arrays of its own: to cut a member out of a stack is a copy."""


def leading(critics: Ensemble) -> Ensemble:
    """Every member with head 0 alone."""
    return tuple(critic.leading() for critic in critics)


def ensemble_values(
    critics: Ensemble, obs: Float[Array, "obs"], action: Float[Array, "action"]
) -> Float[Array, "ensemble heads"]:
    """Q_j(s, a) by each member j of an ensemble."""
    return jnp.stack([critic(obs, action) for critic in critics])


CROWD = 16
"""So many at once, with a batch each, still fit into a core's cache."""


def mapped_over(policies: int) -> Callable[..., Any]:
    """How a function is applied to all policies: at once, or one by one if they are many."""
    return jax.vmap if policies <= CROWD else partial(partial, jax.lax.map)
