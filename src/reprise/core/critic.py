"""How a method evaluates: the critics of SAC and of SMEC. Eq. (1) is here and in `values`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from reprise.boundary.errors import UserError, require
from reprise.core.agent import Agent, Proposals
from reprise.core.layers import Mlp
from reprise.core.networks import Ensemble, QNetwork, ValueNetwork, begun, mapped_over
from reprise.core.turns import HeadIds, in_turns
from reprise.core.types import Spec, Transition, hook
from reprise.core.values import Bounds, Representation, Scalar, Targets, backup, possible

UNSEEN = (-1e-6, 1e-6)
"""The range of rewards before the first one is seen, where a task declares none."""


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
    values: Representation = field(default_factory=Scalar)
    """How head 0 says what its value is."""
    other_values: Representation = field(default_factory=Scalar)
    """How other heads do, if there are any: the values of priors, over short horizons."""
    n_step: int = 1
    """Steps before head 0's target bootstraps, as long as the task policy keeps control."""
    other_n_step: int = 1
    """The same for a prior's head, as long as that prior keeps control."""
    bounded: bool = False
    """Keep values and their targets within what the rewards allow."""
    reward_range: tuple[float, float] | None = None
    """The least and the greatest reward of one action; None: judged by the returns seen so far."""
    reward_once: bool = False
    """Whether the reward comes once, with the end of the episode."""

    uses_advice: ClassVar[bool] = False
    """Whether its targets depend on what the priors say in s'."""
    separable: ClassVar[bool] = False
    """Whether the target of one head can be computed without those of the others."""
    heads_are_policies: ClassVar[bool] = True
    """Whether each head is the value of a policy, so that targets of several steps make sense."""

    def __post_init__(self) -> None:
        require(self, "between 0 and 1", "discount")
        require(self, "positive", "ensemble", "hidden", "n_step", "other_n_step")
        if self.reward_range and not self.reward_range[0] < self.reward_range[1]:
            raise UserError(f"reward-range is {self.reward_range}; the first must be the smaller")
        if self.looks_ahead and not self.heads_are_policies:
            raise UserError("n-step must be 1: these heads are not policies")
        if self.bounded and self.entropy_backup:
            raise UserError("entropy-backup leads out of the bounds; add --critic.no-bounded")
        plain = isinstance(self.values, Scalar) and isinstance(self.other_values, Scalar)
        if not self.bounded and not plain:
            raise UserError("bounded is False; categorical values need bounds")

    @abstractmethod
    def heads(self, spec: Spec) -> int:
        """How many values the network gives."""

    @abstractmethod
    def outlook(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """What each head expects from s' on; `following` are the proposals there."""

    def targets(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """What each head should say about one transition, Eq. (1), as far as it is possible."""
        expected, network = self.outlook(agent, t, following, key), agent.target[0]
        discounts = self.discounts(network.heads)
        known = expected.numbers
        values = backup(t.reward, discounts[known], t.terminated, expected.values)
        return expected._replace(values=network.possible(values, known))

    @property
    def looks_ahead(self) -> bool:
        """Whether its targets need more than one step."""
        return max(self.n_step, self.other_n_step) > 1

    def look_ahead(
        self, agent: Agent, t: Transition, targets: Targets, then: Proposals, key: Array
    ) -> Targets:
        """The same targets, but for the head of who acted: sum_j d^j r_j + d^k V(s_{t+k}).

        Only this head's policy took those k steps; `then` are the proposals after them.
        """
        far, network = t.ahead, agent.target[0]
        assert far is not None, "only a transition that knows what followed"
        if self.other_n_step == 1 and self.separable:
            then = then.select(
                jnp.zeros(0, jnp.int32)
            )  # a prior's target of one step is there already
        later = t._replace(next_obs=far.obs, next_advice=far.advice)
        value = self.outlook(agent, later, then, key)
        discounts = self.discounts(network.heads)[value.numbers]
        earned = discounts[:, None] ** jnp.arange(far.rewards.size)[None] @ far.rewards
        totals = backup(earned, discounts**far.steps, far.terminated, value.values)
        totals = jnp.concatenate([totals, targets.values[len(totals) :]])
        values = jnp.where(targets.numbers == t.source, totals, targets.values)
        return targets._replace(values=network.possible(values, targets.numbers))

    @hook
    def discounts(self, policies: int) -> Float[Array, "policies"]:
        """The discount at which each policy is judged."""
        return jnp.full(policies, self.discount)

    @hook
    def staying(self, policies: int) -> Float[Array, "policies"]:
        """The chance that each policy, as it is judged, keeps control after a step."""
        return jnp.ones(policies)

    def bounds(self, spec: Spec) -> Bounds | None:
        """Which values each head can have; where rewards are unknown they are widened later."""
        if not self.bounded:
            return None
        rewards, discounts = self.reward_range or UNSEEN, self.discounts(self.heads(spec))
        return possible(rewards, self.reward_once, discounts)

    def init(self, key: Array, spec: Spec) -> Ensemble:
        """Networks that have learned nothing, each from weights of its own."""
        members = jax.random.split(key, self.ensemble)
        return tuple(self.completed(self._network(member, spec)) for member in members)

    @hook
    def completed(self, network: QNetwork) -> ValueNetwork:
        """A new network with whatever else this critic's networks know."""
        return network

    def _network(self, key: Array, spec: Spec) -> QNetwork:
        values = self.values, self.other_values
        last = values[0].width + (self.heads(spec) - 1) * values[1].width
        sizes = (spec.obs + spec.action, *self.hidden, last)
        return begun(Mlp(sizes, key, self.layer_norm), self.bounds(spec), values)

    def judge(
        self,
        critics: Ensemble,
        obs: Float[Array, "obs"],
        actions: Float[Array, "policies action"],
        heads: Int[Array, "policies"] | None = None,
        each: Callable[..., Any] = jax.vmap,
    ) -> Float[Array, "ensemble policies"]:
        """Q^v(s, a_v) for every policy v, or these: each head at its own policy's action."""
        return jnp.stack([critic.own(obs, actions, heads, each) for critic in critics])

    @property
    @hook
    def assigns_heads(self) -> bool:
        """Whether some heads learn from some transitions only."""
        return False

    @hook
    def assign_heads(self, key: Array, priors: int) -> HeadIds | None:
        """The priors whose heads learn from which rows of a batch; None: all from every row."""
        return None

    @hook
    def loss(
        self, critics: Ensemble, t: Transition, targets: Targets, key: Array
    ) -> Float[Array, ""]:
        """J(theta), Eq. (1), for one transition: a sum over heads and twins."""
        counts = targets.weights > 0.0
        # Absent, not multiplied by zero: what has no weight may be anything.
        wanted = jnp.where(counts, targets.values, 0.0)
        each = [net.losses(t.obs, t.action, wanted, targets.heads) for net in critics]
        return jnp.sum(targets.weights[None] * jnp.where(counts[None], jnp.stack(each), 0.0))

    @hook
    def calibrate(self, critics: Ensemble, targets: Targets) -> Ensemble:
        """The networks with any statistics of the targets that they keep brought up to date."""
        return critics

    def entropy_bonus(self, agent: Agent, following: Proposals) -> Float[Array, ""]:
        """What SAC adds to the value of the next state."""
        return -agent.alpha * following.log_prob if self.entropy_backup else jnp.zeros(())


@dataclass(frozen=True)
class SoftCritic(Critic):
    """SAC: one head, the task policy."""

    def heads(self, spec: Spec) -> int:
        return 1

    def outlook(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """The smaller of the twins at the task policy's action."""
        values = self.judge(agent.target, t.next_obs, following.actions[:1]).min(axis=0)
        values = values + self.entropy_bonus(agent, following)[None]
        return Targets(values, following.valid[:1].astype(jnp.float32))


@dataclass(frozen=True)
class HybridCritic(Critic):
    """SMEC: long-sighted for the task policy, myopic for every prior."""

    uses_advice: ClassVar[bool] = True
    separable: ClassVar[bool] = True

    horizon: int | None = 50
    """h, the steps a prior is judged over; None judges it with gamma."""
    epsilon: float = 1e-4
    """What is left of a reward h steps ahead, without handback: gbar = epsilon ** (1 / h)."""
    heads_per_row: int | None = None
    """Prior heads that learn from each transition, in random turns; None: all of them, exactly."""
    handback: bool = False
    """Judge a prior by about h steps of its own and the task policy after them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self, "between 0 and 1", "epsilon")
        if self.horizon is not None:
            require(self, "positive", "horizon")
        if self.heads_per_row is not None:
            require(self, "positive", "heads_per_row")
        if self.handback and self.other_n_step > 1:
            raise UserError("other-n-step must be 1: with handback a prior may lose control")

    def heads(self, spec: Spec) -> int:
        return spec.policies

    @property
    def gbar(self) -> float:
        """The truncated discount of Section 3.1."""
        return self.discount if self.horizon is None else self.epsilon ** (1.0 / self.horizon)

    @property
    def stay(self) -> float:
        """With handback, the chance that a prior goes on after a step: for h of them on average."""
        return 1.0 - 1.0 / self.horizon if self.handback and self.horizon else 1.0

    def discounts(self, policies: int) -> Float[Array, "policies"]:
        """(gamma, gbar, ..., gbar), and with handback gamma for all."""
        other = self.discount if self.handback else self.gbar
        return jnp.full(policies, other).at[0].set(self.discount)

    def staying(self, policies: int) -> Float[Array, "policies"]:
        """(1, stay, ..., stay)"""
        return jnp.full(policies, self.stay).at[0].set(1.0)

    @property
    def assigns_heads(self) -> bool:
        return self.heads_per_row is not None

    def assign_heads(self, key: Array, priors: int) -> HeadIds | None:
        """`heads_per_row` priors for each row, taken in turns."""
        m = self.heads_per_row
        if m is None or m >= priors:
            return None
        return in_turns(priors, m, jax.random.randint(key, (), 0, priors, jnp.int32))

    def outlook(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """The smaller of the twins of each head, at its own policy's action."""
        # A prior that said nothing usable in s' has no target there.
        counts = following.valid.astype(jnp.float32)
        ids = following.ids
        if ids is None:
            each = mapped_over(len(counts))
            values = self.judge(agent.target, t.next_obs, following.actions, each=each).min(axis=0)
            return Targets(self._onward(agent, following, values), counts)
        values = self.judge(agent.target, t.next_obs, following.actions, ids).min(axis=0)
        # Chosen with probability m / K, an error that counts K / m times is Eq. (1)'s on average.
        rate = (agent.target[0].heads - 1) / max(1, len(ids) - 1)
        counts = counts * jnp.full(len(ids), rate).at[0].set(1.0)
        return Targets(self._onward(agent, following, values), counts, ids)

    def _onward(self, agent: Agent, following: Proposals, values: Array) -> Array:
        """What each head counts on from s' on.

        With handback a prior keeps control with probability p = 1 - 1/h after each step:
        U_i = r + gamma [p U_i(s', mu_i) + (1 - p) V(s', pi)].
        """
        values = values.at[0].add(self.entropy_bonus(agent, following))
        if not self.handback:
            return values
        p = self.staying(len(values))
        return p * values + (1.0 - p) * values[0]
