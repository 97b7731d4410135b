"""CUP: critic-guided policy reuse (Zhang et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from reprise.boundary.errors import require
from reprise.core.actor import Actor, SoftActor, soft_loss
from reprise.core.agent import Agent, usable
from reprise.core.method import Method
from reprise.core.networks import ensemble_values
from reprise.core.types import Gaussian, Transition

FLOOR = -2.0
"""The least log_std of a source: the KL to a deterministic policy is infinite."""


@dataclass(frozen=True)
class GuidedActor(Actor):
    """SAC plus a pull toward the policy that the critic finds best in each state."""

    uses_advice: ClassVar[bool] = True

    beta1: float = 30.0
    """The weight of the pull."""
    beta2: float = 0.003
    """Its cap, relative to the value of the state."""
    samples: int = 3
    """M, the actions averaged when a policy is judged."""
    start: int = 100_000
    """Updates before the pull begins."""
    per_candidate: bool = True
    """Divide the pull by K + 1, as the released code does: beta1 = 30 was tuned that way."""
    released_kl: bool = False
    """The released code's KL: of tanh(mean), with log_std where a log-variance belongs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "positive", "samples")
        require(self, "at least 0", "beta1", "beta2", "start")

    def after_warmup(self, steps: int) -> Actor:
        """The paper's 1e5 steps are twice its warm-up."""
        return replace(self, start=2 * steps)

    def at(self, updates: int) -> Actor:
        """Before its start it is SAC's."""
        return self if updates >= self.start else SoftActor(self.hidden)

    def loss(
        self, actor: Any, agent: Agent, t: Transition, noise: Float[Array, "action"], key: Array
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """SAC's loss + beta1 w(s) KL(pi || mu_g) / (K + 1)."""
        policy = actor(t.obs, t.advice)
        value, log_prob = soft_loss(policy, agent, t, noise)
        if not t.advice.valid.size:
            return value, log_prob
        return value + self.pull(policy, agent, t, key), log_prob

    def pull(self, policy: Gaussian, agent: Agent, t: Transition, key: Array) -> Float[Array, ""]:
        """beta1 w(s) KL(pi || mu_g) / (K + 1), with a gradient through pi alone."""
        sources = t.advice.says._replace(log_std=jnp.maximum(t.advice.says.log_std, FLOOR))
        guide, weight = self.guidance(self.soft_values(agent, t, sources, key))
        chosen = jax.tree.map(lambda x: x[jnp.maximum(guide - 1, 0)], sources)
        divergence = released_kl if self.released_kl else mean_kl
        share = self.beta1 / (1 + t.advice.valid.size) if self.per_candidate else self.beta1
        return share * weight * divergence(policy, chosen)

    def soft_values(
        self, agent: Agent, t: Transition, sources: Gaussian, key: Array
    ) -> Float[Array, "policies"]:
        """S_v(s) = mean_m [max_j Qbar_j(s, a_m) - alpha log v(a_m|s)]; -inf: may not guide."""
        ours = agent.actor(t.obs, t.advice)
        everybody = jax.tree.map(lambda x, y: jnp.concatenate([x[None], y]), ours, sources)

        def once(k: Array) -> Float[Array, "policies"]:
            actions, log_prob = everybody.sample(k)
            judge = jax.vmap(lambda a: ensemble_values(agent.target, t.obs, a)[:, 0].max())
            return judge(actions) - agent.alpha * log_prob

        values = jax.vmap(once)(jax.random.split(key, self.samples)).mean(axis=0)
        return jnp.where(usable(t.advice), values, -jnp.inf)

    def guidance(self, values: Float[Array, "policies"]) -> tuple[Int[Array, ""], Float[Array, ""]]:
        """g(s) = argmax_v S_v and w(s) = min(S_g - S_0, beta2 |S_0|), which is 0 for g = 0."""
        guide = jnp.argmax(values).astype(jnp.int32)
        return guide, jnp.minimum(values[guide] - values[0], self.beta2 * jnp.abs(values[0]))


def mean_kl(p: Gaussian, q: Gaussian) -> Float[Array, ""]:
    """KL(p || q), averaged over action dimensions; tanh on both sides leaves it as it is."""
    log_ratio = p.log_std - q.log_std
    spread = jnp.exp(2.0 * log_ratio) + ((p.mean - q.mean) / jnp.exp(q.log_std)) ** 2
    return 0.5 * jnp.mean(spread - 1.0 - 2.0 * log_ratio)


def released_kl(p: Gaussian, q: Gaussian) -> Float[Array, ""]:
    """What the released code computes in its place."""
    spread = jnp.exp(p.log_std) + (p.mode() - q.mode()) ** 2
    return 0.5 * jnp.mean(q.log_std - p.log_std + spread / jnp.exp(q.log_std) - 1.0)


def cup(h: int = 50, c: float = 10.0) -> Method:
    """Nobody is switched to, so h and c do not matter."""
    return Method(actor=GuidedActor())
