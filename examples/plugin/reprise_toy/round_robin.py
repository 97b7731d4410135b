"""A method: every policy has its turn, for h steps each."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array

from reprise.core.agent import Agent, Plan
from reprise.core.method import Method
from reprise.core.planner import Choice, Planner, Scene, renew_every


@dataclass(frozen=True)
class RoundRobin(Planner):
    """The policies take turns, the task policy first; who has nothing to say is skipped."""

    commit: int = 50
    """h, the steps for which a policy keeps control."""

    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        def choose() -> Choice:
            valid = scene.proposals.valid
            turns = plan.clock // self.commit + jnp.arange(valid.size)
            following = turns % valid.size
            first = jnp.argmax(valid[following])
            nothing = jnp.full(valid.size, jnp.nan)
            return Choice(following[first].astype(jnp.int32), nothing, nothing)

        return renew_every(self.commit, plan, scene, choose)


def method(h: int, c: float) -> Method:
    """Learning is plain SAC; h is a tenth of an episode, and c does not matter."""
    return Method(planner=RoundRobin(commit=h))
