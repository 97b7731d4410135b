"""Discrete SAC over choices that last several steps: how SkillS learns who to schedule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from reprise.core.agent import flat_adam
from reprise.core.layers import Mlp
from reprise.core.planner import Lesson
from reprise.core.types import PyTree

ENTROPY = 0.3
"""The target entropy, as a share of the largest possible."""
NEVER = -1e9
"""The logit of a choice that cannot be made; finite, so that 0 log 0 is 0."""


class Jump(NamedTuple):
    """A transition of the semi-MDP: a choice z and what came of it n steps later."""

    obs: Float[Array, "*batch obs"]
    allowed: Bool[Array, "*batch choices"]
    choice: Int[Array, "*batch"]
    reward: Float[Array, "*batch"]
    """R = sum_{j<n} gamma^j r_j"""
    discount: Float[Array, "*batch"]
    """gamma^n, 0 after a termination"""
    next_obs: Float[Array, "*batch obs"]
    next_allowed: Bool[Array, "*batch choices"]
    weight: Float[Array, "*batch"]
    """0 in rows that only fill a batch."""


class Controller(eqx.Module):
    """Everything that a scheduler learns."""

    actor: Mlp
    critic: tuple[Mlp, Mlp]
    """Twins."""
    target: tuple[Mlp, Mlp]
    log_alpha: Float[Array, ""]
    optim: tuple[PyTree, PyTree, PyTree]
    """Adam states of the critic, the actor and the temperature."""

    @property
    def alpha(self) -> Float[Array, ""]:
        """alpha_S, the temperature."""
        return jnp.exp(self.log_alpha)


def begin(key: Array, sizes: tuple[int, ...], bias: Float[Array, "choices"]) -> Controller:
    """Networks that have learned nothing and choose as the logits in `bias` say."""
    k_actor, k_twins = jax.random.split(key)
    actor = Mlp(sizes, k_actor)
    last = 0.01 * actor.layers[-1].weight, bias
    actor = eqx.tree_at(lambda net: (net.layers[-1].weight, net.layers[-1].bias), actor, last)
    one, other = jax.random.split(k_twins)
    critic = Mlp(sizes, one), Mlp(sizes, other)
    # A copy, because update donates its input and one buffer cannot be donated twice.
    target, log_alpha = jax.tree.map(jnp.copy, critic), jnp.zeros(())
    parts: Any = (critic, actor, log_alpha)
    optim: Any = tuple(flat_adam(0.0).init(part) for part in parts)
    return Controller(actor, critic, target, log_alpha, optim)


def log_probs(
    actor: Mlp, obs: Float[Array, "obs"], allowed: Bool[Array, "choices"]
) -> Float[Array, "choices"]:
    """log pS(z|s) over the choices that can be made in s."""
    return jax.nn.log_softmax(jnp.where(allowed, actor(obs), NEVER))


def least(critics: tuple[Mlp, Mlp], obs: Float[Array, "obs"]) -> Float[Array, "choices"]:
    """min_j Q_j(s, z) for every z."""
    return jnp.stack([net(obs) for net in critics]).min(axis=0)


def target(controller: Controller, t: Jump) -> Float[Array, ""]:
    """y = R + gamma^n (1 - d) sum_z pS(z|s') (min_j Qbar_j(s', z) - alpha_S log pS(z|s'))."""
    log_p = log_probs(controller.actor, t.next_obs, t.next_allowed)
    values = least(controller.target, t.next_obs) - controller.alpha * log_p
    return t.reward + t.discount * jnp.sum(jnp.exp(log_p) * values)


def actor_loss(
    actor: Mlp, controller: Controller, t: Jump
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """sum_z pS(z|s) (alpha_S log pS(z|s) - min_j Q_j(s, z)), exactly, and the entropy of pS."""
    log_p = log_probs(actor, t.obs, t.allowed)
    p = jnp.exp(log_p)
    loss = jnp.sum(p * (controller.alpha * log_p - least(controller.critic, t.obs)))
    return loss, -jnp.sum(p * log_p)


def improve_critic(controller: Controller, batch: Jump, lesson: Lesson) -> Controller:
    """One step of Q_S toward its targets, and of its target network toward it."""
    targets = jax.vmap(lambda t: target(controller, t))(batch)

    def loss(critics: Any) -> Array:
        def one(t: Jump, y: Array) -> Array:
            values = jnp.stack([net(t.obs)[t.choice] for net in critics])
            return 0.5 * jnp.sum((values - y[None]) ** 2)

        return mean(jax.vmap(one)(batch, targets), batch.weight)

    grads = jax.grad(loss)(controller.critic)
    critic, state = lesson.descend(controller.critic, grads, controller.optim[0])
    old: Any = controller.target
    moved: Any = optax.incremental_update(critic, old, lesson.smoothing)
    return replace(controller, critic=critic, target=moved, optim=(state, *controller.optim[1:]))


def improve_actor(controller: Controller, batch: Jump, lesson: Lesson) -> Controller:
    """One step of pS and of alpha_S, whose target entropy is a share of the largest."""

    def loss(actor: Mlp) -> tuple[Array, Array]:
        values, entropy = jax.vmap(lambda t: actor_loss(actor, controller, t))(batch)
        return mean(values, batch.weight), mean(entropy - wanted, batch.weight)

    wanted = ENTROPY * jnp.log(batch.allowed.shape[-1])
    grads, surplus = jax.grad(loss, has_aux=True)(controller.actor)
    actor, s_actor = lesson.descend(controller.actor, grads, controller.optim[1])
    # d/d(log alpha) of alpha (H - wanted): too little entropy raises alpha.
    slope = controller.alpha * surplus
    log_alpha, s_alpha = lesson.descend(controller.log_alpha, slope, controller.optim[2])
    optim = (controller.optim[0], s_actor, s_alpha)
    return replace(controller, actor=actor, log_alpha=log_alpha, optim=optim)


def mean(values: Float[Array, "batch"], weight: Float[Array, "batch"]) -> Float[Array, ""]:
    """The mean over the rows that count; 0 if none does."""
    return jnp.sum(values * weight) / jnp.maximum(weight.sum(), 1.0)
