"""How a method improves its task policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Array, Float

from reprise.boundary.errors import require
from reprise.core.agent import Agent
from reprise.core.layers import GaussianPolicy, Linear, Mlp
from reprise.core.networks import ensemble_values, leading
from reprise.core.types import Gaussian, Spec, Transition, hook


@dataclass(frozen=True)
class Actor(ABC):
    """How is the task policy improved?"""

    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers."""

    uses_advice: ClassVar[bool] = False
    """Whether the policy or its loss depends on what the priors say."""

    def __post_init__(self) -> None:
        require(self, "positive", "hidden")

    @hook
    def init(self, key: Array, spec: Spec) -> Any:
        """A policy: (observation, advice) -> Gaussian."""
        return GaussianPolicy(Mlp((spec.obs, *self.hidden, 2 * spec.action), key))

    @hook
    def after_warmup(self, steps: int) -> Actor:
        """The same choice for a run whose random warm-up takes this many steps."""
        return self

    @hook
    def at(self, updates: int) -> Actor:
        """The choice in force after this many updates, for one that begins late."""
        return self

    @hook
    def export(self, actor: Any) -> tuple[Linear, ...] | None:
        """The layers of a network that is the whole policy; None if it cannot act by itself."""
        return actor.body.layers

    @abstractmethod
    def loss(
        self, actor: Any, agent: Agent, t: Transition, noise: Float[Array, "action"], key: Array
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """(loss, log pi) for one transition; `noise` leads to the task policy's action in s."""


@dataclass(frozen=True)
class SoftActor(Actor):
    """SAC's policy improvement on head 0."""

    def loss(
        self, actor: Any, agent: Agent, t: Transition, noise: Float[Array, "action"], key: Array
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return soft_loss(actor(t.obs, t.advice), agent, t, noise)


def soft_loss(
    policy: Gaussian, agent: Agent, t: Transition, noise: Float[Array, "action"]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """alpha log pi(a|s) - min_j Q_j(s, a), a reparameterized, and log pi(a|s).

    `policy` is what the actor says in s.
    """
    action, log_prob = policy.at(noise)
    value = ensemble_values(leading(agent.critic), t.obs, action)[:, 0].min()
    return agent.alpha * log_prob - value, log_prob
