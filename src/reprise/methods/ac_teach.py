"""AC-Teach: a Bayesian critic chooses among teachers, and commits (Kurenkov et al., 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jax.scipy.stats import norm
from jaxtyping import Array, Bool, Float, Int

from reprise.boundary.errors import UserError, require
from reprise.core.actor import Actor
from reprise.core.agent import Agent, Plan, Proposals
from reprise.core.critic import Critic
from reprise.core.method import Method
from reprise.core.networks import Ensemble, QNetwork, ensemble_values
from reprise.core.planner import Planner, Scene
from reprise.core.types import Spec, Transition
from reprise.core.values import Scalar, Targets
from reprise.methods.posterior import PosteriorNetwork, draws, identity, spread

PRECISION = 10.0
"""tau_p, of targets whose variance is 1: it is divided by their running variance."""
DIVERGENCE = 0.5
"""The alpha of the alpha-divergence."""
RATE = 0.01
"""How fast the running variance follows."""


@dataclass(frozen=True)
class MixtureCritic(Critic):
    """A posterior over Q, whose target follows whoever it finds best in the next state."""

    uses_advice: ClassVar[bool] = True
    heads_are_policies: ClassVar[bool] = False

    members: int = 5
    """Heads, each of which sees its own sample of the data; or dropout masks per loss."""
    bootstrap: float = 0.8
    """The share of all transitions that a head learns from."""
    keep: float | None = None
    """The chance that dropout keeps a unit; None: no dropout, a bootstrapped ensemble of heads."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "positive", "members")
        require(self, "above 0 and at most 1", "bootstrap")
        if self.keep is not None:
            require(self, "between 0 and 1", "keep")
            if not isinstance(self.values, Scalar):
                raise UserError(f"keep is {self.keep}; dropout needs scalar values")

    def heads(self, spec: Spec) -> int:
        """Not policies but guesses: the posterior of one value."""
        return self.members if self.keep is None else 1

    def completed(self, network: QNetwork) -> PosteriorNetwork:
        """The same with a posterior."""
        # An array for each: update donates its input and one buffer cannot be donated twice.
        parts = network.body, network.bounds, network.values
        return PosteriorNetwork(*parts, jnp.ones(()), self.keep, self.members)

    def outlook(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """min_j Qbar_j(s', a*), a* = argmax_v min_j Q_j(s', a_v), no dropout."""
        liked = self.judge(agent.critic, t.next_obs, following.actions).min(axis=0)
        star = jnp.argmax(jnp.where(following.valid, liked, -jnp.inf))
        action = following.actions[star]
        value = ensemble_values(agent.target, t.next_obs, action)[:, 0].min()
        bonus = jnp.where(star == 0, self.entropy_bonus(agent, following), 0.0)
        heads = agent.target[0].heads
        return Targets(jnp.full(heads, value + bonus), jnp.ones(heads))

    def calibrate(self, critics: Any, targets: Targets) -> Ensemble:
        """Follow the variance of the targets: the precision is relative to it."""

        def follow(variance: Array) -> Array:
            return variance + RATE * (targets.values.var() - variance)

        known = lambda nets: [net.variance for net in nets]  # noqa: E731
        return eqx.tree_at(known, critics, replace_fn=follow)

    def loss(self, critics: Any, t: Transition, targets: Targets, key: Array) -> Float[Array, ""]:
        """Squared errors of the heads that see t; under dropout the alpha-divergence."""
        if self.keep is None:
            losses = [net.losses(t.obs, t.action, targets.values) for net in critics]
            seen = jax.random.bernoulli(identity(t), self.bootstrap, (self.members,))
            return jnp.where(seen[None], jnp.stack(losses), 0.0).mean(axis=1).sum()
        values = jnp.stack([net.draw(t.obs, t.action, self.members, key) for net in critics])
        errors = (values - targets.values[None]) ** 2
        scaled = errors / jax.lax.stop_gradient(spread(critics))
        weights = logsumexp(-0.5 * DIVERGENCE * PRECISION * scaled, axis=1)
        return -weights.sum() / DIVERGENCE


@dataclass(frozen=True)
class PosteriorActor(Actor):
    """SAC's policy improvement on the mean of the posterior."""

    def loss(
        self, actor: Any, agent: Agent, t: Transition, noise: Float[Array, "action"], key: Array
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """alpha log pi(a|s) - mean of the posterior of min_j Q_j(s, a)."""
        action, log_prob = actor(t.obs, t.advice).at(noise)
        critics: Any = agent.critic
        value = draws(critics, t.obs, action, critics[0].members, key).mean()
        return agent.alpha * log_prob - value, log_prob


@dataclass(frozen=True)
class Thompson(Planner):
    """One draw per policy proposes who acts; a test of confidence decides whether to switch."""

    beta: float = 0.6
    """The confidence that a switch takes."""
    phi: float = 0.99
    """How it decays with every refusal."""
    masks: int = 50
    """Draws per policy under dropout."""
    release_sign: bool = False
    """The released code's test, which switches when the one in control is better."""

    def __post_init__(self) -> None:
        require(self, "above 0 and at most 1", "beta", "phi")
        require(self, "positive", "masks")

    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        """Thompson sampling, then commitment."""
        k_mask, k_pick = jax.random.split(key)
        actions, valid = scene.proposals.actions, scene.proposals.valid
        critics: Any = agent.critic
        masks = jax.random.split(k_mask, len(actions))
        each = jax.vmap(lambda a, k: draws(critics, scene.obs, a, self.masks, k))
        values = each(actions, masks).T
        wanted = thompson(values, valid, k_pick)
        noise = spread(critics) / PRECISION
        sure = self.confidence(values, wanted, plan.policy, noise)
        held = plan._replace(score=values.mean(axis=0), bonus=jnp.zeros(len(actions)))
        return self.commit(held, wanted, sure, valid)

    def confidence(
        self, values: Float[Array, "draws policies"], new: Array, old: Array, noise: Array
    ) -> Float[Array, ""]:
        """p = Phi((m_new - m_old) / sqrt(s2_old + s2_new + 1 / tau_p)): is the new one better?"""
        mean, variance = values.mean(axis=0), values.var(axis=0)
        gap = (mean[new] - mean[old]) / jnp.sqrt(variance[old] + variance[new] + noise)
        return norm.cdf(-gap if self.release_sign else gap)

    def commit(
        self, plan: Plan, wanted: Int[Array, ""], sure: Array, valid: Bool[Array, "policies"]
    ) -> Plan:
        """Switch if p > beta phi^n, n the refusals so far; nobody and the invalid do not resist."""
        free = (plan.policy == plan.chosen.size) | ~valid[plan.policy]
        needed = self.beta * self.phi ** plan.refused.astype(jnp.float32)
        change = wanted != plan.policy
        return jax.lax.cond(
            free | (change & (sure > needed)),
            lambda: plan.switch(wanted, 0),
            lambda: plan._replace(refused=plan.refused + change),
        )


def thompson(
    values: Float[Array, "draws policies"], valid: Bool[Array, "policies"], key: Array
) -> Int[Array, ""]:
    """argmax over the valid of one draw for each policy, drawn independently."""
    rows = jax.random.randint(key, valid.shape, 0, len(values))
    drawn = jnp.take_along_axis(values, rows[None], axis=0)[0]
    return jnp.argmax(jnp.where(valid, drawn, -jnp.inf)).astype(jnp.int32)


def ac_teach(h: int = 50, c: float = 10.0) -> Method:
    """beta and phi as published; h and c do not matter."""
    return Method(critic=MixtureCritic(), actor=PosteriorActor(), planner=Thompson())
