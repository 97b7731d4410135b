"""MultiPolar: old policies aggregated inside the actor (Barekatain et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from reprise.core.actor import Actor, soft_loss
from reprise.core.agent import Agent
from reprise.core.layers import Linear, Mlp
from reprise.core.method import Method
from reprise.core.types import LOG_STD_RANGE, Advice, Gaussian, Spec, Transition

START = 0.01
"""The scale of the last layer's first weights, so that a run starts from the aggregate."""
EDGE = 0.999
"""Actions are clipped to it before atanh."""


class AggregatingPolicy(eqx.Module):
    """m(s) = (1/K) sum_k W_k * a_k(s) + F(s), before tanh; W is shared by all states."""

    scale: Float[Array, "priors action"]
    """W"""
    body: Mlp
    """F and log_std, two heads of one trunk."""
    inverse_tanh: bool = eqx.field(static=True)

    def __call__(self, obs: Float[Array, "obs"], advice: Advice) -> Gaussian:
        residual, log_std = jnp.split(self.body(obs), 2)
        mean = residual + self.aggregate(advice) if len(self.scale) else residual
        return Gaussian(mean, jnp.clip(log_std, *LOG_STD_RANGE))

    def aggregate(self, advice: Advice) -> Float[Array, "action"]:
        """The mean over the priors that said something usable here."""
        actions = jax.lax.stop_gradient(advice.says.mode())
        if self.inverse_tanh:
            actions = jnp.arctanh(jnp.clip(actions, -EDGE, EDGE))
        heard = jnp.where(advice.valid[:, None], self.scale * actions, 0.0)
        return heard.sum(axis=0) / jnp.maximum(advice.valid.sum(), 1)


@dataclass(frozen=True)
class AggregatingActor(Actor):
    """SAC's policy improvement for a policy that adds to what its priors would do."""

    uses_advice: ClassVar[bool] = True

    inverse_tanh: bool = False
    """Aggregate atanh(a_k), so that W = 1 and F = 0 give back a single prior; the original: a_k."""

    def init(self, key: Array, spec: Spec) -> AggregatingPolicy:
        """W = 1 and F close to 0: the mean of the priors' actions."""
        body = Mlp((spec.obs, *self.hidden, 2 * spec.action), key)
        if spec.priors:
            body = eqx.tree_at(lambda net: net.layers[-1].weight, body, replace_fn=_shrink)
        return AggregatingPolicy(jnp.ones((spec.priors, spec.action)), body, self.inverse_tanh)

    def export(self, actor: AggregatingPolicy) -> tuple[Linear, ...] | None:
        """With priors the network is only a part of the policy."""
        return None if len(actor.scale) else actor.body.layers

    def loss(
        self, actor: Any, agent: Agent, t: Transition, noise: Float[Array, "action"], key: Array
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """SAC's, with W among the parameters; no prior gets a gradient."""
        return soft_loss(actor(t.obs, t.advice), agent, t, noise)


def _shrink(weight: Array) -> Array:
    return START * weight


def multipolar(h: int = 50, c: float = 10.0) -> Method:
    """Nobody is switched to, so h and c do not matter."""
    return Method(actor=AggregatingActor())
