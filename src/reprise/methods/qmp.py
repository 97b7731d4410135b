"""QMP: the Q-switch mixture of policies (Zhang et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from reprise.core.agent import Agent, Plan
from reprise.core.method import Method
from reprise.core.networks import ensemble_values
from reprise.core.planner import Planner, Scene, best


@dataclass(frozen=True)
class QSwitch(Planner):
    """At every step the proposal with the highest Q is executed; learning is plain SAC."""

    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        """n* = argmax_n Q(s, a_n)."""
        score = jax.vmap(lambda action: q(agent, scene.obs, action))(scene.proposals.actions)
        chosen = best(score, scene.proposals.valid, key)
        held = plan._replace(score=score, bonus=jnp.zeros_like(score))
        # A step that changes nothing is no selection for the record: there is one at every step.
        return jax.lax.cond(chosen == plan.policy, lambda: held, lambda: held.switch(chosen, 0))


def q(agent: Agent, obs: Float[Array, "obs"], action: Float[Array, "action"]) -> Float[Array, ""]:
    """min_j Q_j(s, a) of the online networks, at an action that may be executed."""
    return ensemble_values(agent.critic, obs, action)[:, 0].min()


def qmp(h: int = 50, c: float = 10.0) -> Method:
    """Who looks best acts, for one step; h and c do not matter."""
    return Method(planner=QSwitch())
