"""How a method evaluates: the critics of SAC and of SMEC. Eq. (1) is here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from reprise.agent import Agent, Proposals
from reprise.errors import require
from reprise.networks import Ensemble, Mlp, QNetwork, ensemble_values, leading
from reprise.types import Spec, Transition


class Targets(NamedTuple):
    """What every head should say about a transition, and how much its error counts."""

    values: Float[Array, "*batch heads"]
    weights: Float[Array, "*batch heads"]
    """0 for a head that learns nothing from this transition."""


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
        self, critics: Ensemble, obs: Float[Array, "obs"], actions: Float[Array, "policies action"]
    ) -> Float[Array, "ensemble policies"]:
        """Q^v(s, a_v) for every policy v: each head at its own policy's action."""
        values = jax.vmap(lambda action: ensemble_values(critics, obs, action))(actions)
        if values.shape[2] == 1:  # one head judges everybody
            return values[:, :, 0].T
        return jnp.diagonal(values, axis1=0, axis2=2)

    def loss(
        self, critics: Ensemble, t: Transition, targets: Targets, key: Array
    ) -> Float[Array, ""]:
        """J(theta), Eq. (1), for one transition: a sum over heads and twins."""
        errors = ensemble_values(critics, t.obs, t.action) - targets.values[None]
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
    """Prior heads that learn from each transition, drawn at random; None: all of them, exactly."""

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

    def targets(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """T^pi_gamma and T^mu_i_gbar under Eq. (1), each with the smaller of its twins."""
        policies = len(following.actions)
        count = self.heads_per_row
        if count is None or count >= policies - 1:
            values = self.judge(agent.target, t.next_obs, following.actions).min(axis=0)
            values = self.backup(agent, t, following, values, self.discounts(policies))
            # A prior that said nothing usable in s' has no target there.
            return Targets(values, following.valid.astype(jnp.float32))
        return self.sampled(agent, t, following, draw_heads(key, policies, count))

    def sampled(
        self, agent: Agent, t: Transition, following: Proposals, heads: Int[Array, "drawn"]
    ) -> Targets:
        """Targets of these heads alone; a prior's error counts K / (heads drawn) times.

        Each prior is drawn with probability (heads drawn) / K, valid or not, so that the gradient
        of a valid head is Eq. (1)'s in expectation; an invalid one uses up its place and weighs 0.
        """
        policies, drawn = len(following.actions), heads[1:]
        first = ensemble_values(leading(agent.target), t.next_obs, following.actions[0])
        each = jax.vmap(lambda action: ensemble_values(agent.target, t.next_obs, action))
        values = each(following.actions[drawn]).min(axis=1)
        others = jnp.take_along_axis(values, drawn[:, None], axis=1)[:, 0]
        own = jnp.concatenate([first.min(axis=0), others])
        own = self.backup(agent, t, following, own, self.discounts(policies)[heads])
        rate = jnp.full(heads.shape, (policies - 1) / (len(heads) - 1)).at[0].set(1.0)
        weights = jnp.where(following.valid[heads], rate, 0.0)
        place = jax.nn.one_hot(heads, policies)
        return Targets(own @ place, weights @ place)

    def backup(
        self, agent: Agent, t: Transition, following: Proposals, values: Array, discounts: Array
    ) -> Float[Array, "heads"]:
        """r + gamma_v Q_v(s', a_v) for the task policy's head, which comes first, and others."""
        values = values.at[0].add(self.entropy_bonus(agent, following))
        return t.reward + discounts * (1.0 - t.terminated) * values


def draw_heads(key: Array, policies: int, count: int) -> Int[Array, "heads"]:
    """Head 0 and so many of the priors' heads, each subset of them as likely as another."""
    if count == 1:  # one number instead of a lottery of all
        winners = jax.random.randint(key, (1,), 0, policies - 1, jnp.int32)
    else:
        _, winners = jax.lax.top_k(jax.random.uniform(key, (policies - 1,)), count)
    return jnp.concatenate([jnp.zeros(1, jnp.int32), 1 + winners])
