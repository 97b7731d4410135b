"""How a method evaluates: the critics of SAC and of SMEC. Eq. (1) is here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from reprise.agent import Agent, Proposals, usable
from reprise.errors import require
from reprise.networks import Mlp, QNetwork, ensemble_values, stacked
from reprise.types import Spec, Transition


@dataclass(frozen=True)
class Critic(ABC):
    """How are values learned? One head per policy evaluated; head 0 is the task policy."""

    discount: float = 0.99
    """gamma, the long horizon of the task policy."""
    ensemble: int = 2
    """Critics trained side by side (twins)."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers."""
    layer_norm: bool = True
    """Normalize the hidden layers; without it sparse tasks can collapse."""
    entropy_backup: bool = False
    """Add SAC's entropy bonus to head 0's target (the paper's Eq. 1 has none)."""

    def __post_init__(self) -> None:
        require(self, "between 0 and 1", "discount")
        require(self, "positive", "ensemble", "hidden")

    @abstractmethod
    def heads(self, spec: Spec) -> int:
        """How many values the network gives."""

    @abstractmethod
    def targets(self, agent: Agent, t: Transition, following: Proposals) -> Float[Array, "heads"]:
        """One target per head for one transition; `following` are the proposals in s'."""

    def discounts(self, policies: int) -> Float[Array, "policies"]:
        """The discount at which each policy is judged."""
        return jnp.full(policies, self.discount)

    def init(self, key: Array, spec: Spec) -> QNetwork:
        """A stacked ensemble of networks."""

        def build(member: Array) -> QNetwork:
            sizes = (spec.obs + spec.action, *self.hidden, self.heads(spec))
            return QNetwork(Mlp(sizes, member, self.layer_norm))

        return stacked(build, key, self.ensemble)

    def judge(
        self, critics: QNetwork, obs: Float[Array, "obs"], actions: Float[Array, "policies action"]
    ) -> Float[Array, "ensemble policies"]:
        """Q^v(s, a_v) for every policy v: each head at its own policy's action."""
        values = jax.vmap(lambda action: ensemble_values(critics, obs, action))(actions)
        if values.shape[2] == 1:  # one head judges everybody
            return values[:, :, 0].T
        return jnp.diagonal(values, axis1=0, axis2=2)

    def loss(
        self, critics: QNetwork, t: Transition, targets: Float[Array, "heads"], key: Array
    ) -> Float[Array, ""]:
        """J(theta), Eq. (1), for one transition: a sum over heads and twins."""
        errors = ensemble_values(critics, t.obs, t.action) - targets[None]
        # A prior that said nothing usable in s' has no target there.
        known = usable(t.next_advice)[None, : targets.size]
        return 0.5 * jnp.sum(jnp.where(known, errors, 0.0) ** 2)

    def calibrate(self, critics: QNetwork, targets: Float[Array, "batch heads"]) -> QNetwork:
        """What the networks keep of a batch's targets besides what they learn from them."""
        return critics

    def entropy_bonus(self, agent: Agent, following: Proposals) -> Float[Array, ""]:
        """What SAC adds to the value of the next state."""
        return -agent.alpha * following.log_prob if self.entropy_backup else jnp.zeros(())


@dataclass(frozen=True)
class SoftCritic(Critic):
    """SAC: one head, the task policy."""

    def heads(self, spec: Spec) -> int:
        return 1

    def targets(self, agent: Agent, t: Transition, following: Proposals) -> Float[Array, "heads"]:
        """T^pi_gamma with the smaller of the twins."""
        values = self.judge(agent.target, t.next_obs, following.actions[:1]).min(axis=0)
        values = values + self.entropy_bonus(agent, following)[None]
        return (t.reward + self.discount * (1.0 - t.terminated) * values[0])[None]


@dataclass(frozen=True)
class HybridCritic(Critic):
    """SMEC: long-sighted for the task policy, myopic for every prior."""

    horizon: int | None = 50
    """h, the steps a prior is judged over; None judges it with gamma."""
    epsilon: float = 1e-4
    """What is left of a reward h steps ahead: gbar = epsilon ** (1 / h)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "between 0 and 1", "epsilon")
        if self.horizon is not None:
            require(self, "positive", "horizon")

    def heads(self, spec: Spec) -> int:
        return spec.policies

    @property
    def gbar(self) -> float:
        """The truncated discount of Section 3.1."""
        return self.discount if self.horizon is None else self.epsilon ** (1.0 / self.horizon)

    def discounts(self, policies: int) -> Float[Array, "policies"]:
        """(gamma, gbar, ..., gbar)"""
        return jnp.full(policies, self.gbar).at[0].set(self.discount)

    def targets(self, agent: Agent, t: Transition, following: Proposals) -> Float[Array, "heads"]:
        """T^pi_gamma and T^mu_i_gbar under Eq. (1), each with the smaller of its twins."""
        values = self.judge(agent.target, t.next_obs, following.actions).min(axis=0)
        values = values.at[0].add(self.entropy_bonus(agent, following))
        return t.reward + self.discounts(values.size) * (1.0 - t.terminated) * values
