"""How a method evaluates: the critics of SAC and of SMEC. Eq. (1) is here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from reprise.agent import Agent, Proposals
from reprise.errors import require
from reprise.networks import Ensemble, Mlp, QNetwork, ensemble_values, mapped_over
from reprise.types import Advice, Spec, Transition


class Targets(NamedTuple):
    """What every head should say about a transition, and how much its error counts."""

    values: Float[Array, "*batch heads"]
    weights: Float[Array, "*batch heads"]
    """0 for a head that learns nothing from this transition."""
    heads: Int[Array, "*batch heads"] | None = None
    """Which heads these are; None: all."""


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

    hears: ClassVar[bool] = False
    """Whether its targets depend on what the priors say in s'."""

    def __post_init__(self) -> None:
        require(self, "between 0 and 1", "discount")
        require(self, "positive", "ensemble", "hidden")

    @abstractmethod
    def heads(self, spec: Spec) -> int:
        """How many values the network gives."""

    @abstractmethod
    def targets(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """One target per head for one transition; `following` are the proposals in s'."""

    def discounts(self, policies: int) -> Float[Array, "policies"]:
        """The discount at which each policy is judged."""
        return jnp.full(policies, self.discount)

    def init(self, key: Array, spec: Spec) -> Ensemble:
        """Networks that have learned nothing, each from weights of its own."""
        sizes = (spec.obs + spec.action, *self.hidden, self.heads(spec))
        members = jax.random.split(key, self.ensemble)
        return tuple(QNetwork(Mlp(sizes, member, self.layer_norm)) for member in members)

    def judge(
        self,
        critics: Ensemble,
        obs: Float[Array, "obs"],
        actions: Float[Array, "policies action"],
        each: Callable[..., Any] = jax.vmap,
    ) -> Float[Array, "ensemble policies"]:
        """Q^v(s, a_v) for every policy v: each head at its own policy's action."""
        values = each(lambda action: ensemble_values(critics, obs, action))(actions)
        if values.shape[2] == 1:  # one head judges everybody
            return values[:, :, 0].T
        return jnp.diagonal(values, axis1=0, axis2=2)

    def deal(self, batch: Transition, key: Array) -> Transition:
        """Which priors teach their heads by which row: all by all, unless told otherwise.

        It is not asked where the actor hears the priors, and so needs all of them in s'.
        """
        return batch

    def loss(
        self, critics: Ensemble, t: Transition, targets: Targets, key: Array
    ) -> Float[Array, ""]:
        """J(theta), Eq. (1), for one transition: a sum over heads and twins."""
        values = ensemble_values(critics, t.obs, t.action, targets.heads)
        errors = values - targets.values[None]
        weights = targets.weights[None]
        # Absent, not multiplied by zero: what has no weight may be anything.
        return 0.5 * jnp.sum(weights * jnp.where(weights > 0.0, errors, 0.0) ** 2)

    def calibrate(self, critics: Ensemble, targets: Targets) -> Ensemble:
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

    def targets(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """T^pi_gamma with the smaller of the twins."""
        values = self.judge(agent.target, t.next_obs, following.actions[:1]).min(axis=0)
        values = values + self.entropy_bonus(agent, following)[None]
        value = t.reward + self.discount * (1.0 - t.terminated) * values[0]
        return Targets(value[None], following.valid[:1].astype(jnp.float32))


@dataclass(frozen=True)
class HybridCritic(Critic):
    """SMEC: long-sighted for the task policy, myopic for every prior."""

    hears: ClassVar[bool] = True

    horizon: int | None = 50
    """h, the steps a prior is judged over; None judges it with gamma."""
    epsilon: float = 1e-4
    """What is left of a reward h steps ahead: gbar = epsilon ** (1 / h)."""
    heads_per_row: int | None = None
    """Prior heads that learn from each transition, in random turns; None: all of them, exactly."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "between 0 and 1", "epsilon")
        if self.horizon is not None:
            require(self, "positive", "horizon")
        if self.heads_per_row is not None:
            require(self, "positive", "heads_per_row")

    def heads(self, spec: Spec) -> int:
        return spec.policies

    @property
    def gbar(self) -> float:
        """The truncated discount of Section 3.1."""
        return self.discount if self.horizon is None else self.epsilon ** (1.0 / self.horizon)

    def discounts(self, policies: int) -> Float[Array, "policies"]:
        """(gamma, gbar, ..., gbar)"""
        return jnp.full(policies, self.gbar).at[0].set(self.discount)

    def deal(self, batch: Transition, key: Array) -> Transition:
        """Keep the advice of `heads_per_row` priors in each row, taken in turns."""
        m, priors = self.heads_per_row, batch.next_advice.valid.shape[1]
        if m is None or m >= priors:
            return batch
        return in_turns(batch, m, jax.random.randint(key, (), 0, priors, jnp.int32))

    def targets(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """T^pi_gamma and T^mu_i_gbar under Eq. (1), each with the smaller of its twins."""
        discounts = self.discounts(len(following.actions))
        # A prior that said nothing usable in s' has no target there.
        counts = following.valid.astype(jnp.float32)
        if t.whose is None:
            each = mapped_over(len(counts))
            values = self.judge(agent.target, t.next_obs, following.actions, each).min(axis=0)
            return Targets(self.backup(agent, t, following, values, discounts), counts)
        heads = jnp.concatenate([jnp.zeros(1, jnp.int32), 1 + t.whose])
        each = jax.vmap(lambda a, v: ensemble_values(agent.target, t.next_obs, a, v[None])[:, 0])
        values = each(following.actions, heads).min(axis=1)
        # Dealt with probability m / K, an error that counts K / m times is Eq. (1)'s on average.
        rate = (agent.target[0].heads - 1) / len(t.whose)
        counts = counts * jnp.full(len(heads), rate).at[0].set(1.0)
        return Targets(self.backup(agent, t, following, values, discounts), counts, heads)

    def backup(
        self, agent: Agent, t: Transition, following: Proposals, values: Array, discounts: Array
    ) -> Float[Array, "heads"]:
        """r + gamma_v Q_v(s', a_v) for the task policy's head, which comes first, and others."""
        values = values.at[0].add(self.entropy_bonus(agent, following))
        return t.reward + discounts * (1.0 - t.terminated) * values


def in_turns(batch: Transition, m: int, first: Int[Array, ""]) -> Transition:
    """The advice of m priors in each row, who take turns from this one on.

    If it is a random one, each prior is dealt to a row with probability m / K, whether it is valid
    there or not; and to as many rows of a batch as any other, give or take one.
    """
    rows, priors = batch.next_advice.valid.shape
    turns = (first + jnp.arange(rows * m, dtype=jnp.int32)) % priors
    whose = turns.reshape(rows, m)
    some = jax.vmap(Advice.only)(batch.next_advice, whose)
    return batch._replace(next_advice=some, whose=whose)
