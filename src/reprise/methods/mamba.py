"""MAMBA: a max-aggregated baseline over old policies (Cheng et al., 2020), off-policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from reprise.boundary.errors import UserError
from reprise.core.agent import Agent, Plan, Proposals
from reprise.core.critic import Critic
from reprise.core.method import Method
from reprise.core.planner import Planner, Scene, best
from reprise.core.types import Spec, Transition
from reprise.core.values import Targets

FOREVER = 2**30
"""More steps than an episode has."""


@dataclass(frozen=True)
class BaselineCritic(Critic):
    """Heads of all policies at gamma; head 0 leans on the best prior's value one step ahead."""

    uses_advice: ClassVar[bool] = True

    mix: float = 0.9
    """lambda: 0 improves on the best prior by one step, 1 is plain SAC."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.mix <= 1.0:
            raise UserError(f"mix is {self.mix!r}; it must be from 0 to 1")

    def heads(self, spec: Spec) -> int:
        """One per policy."""
        return spec.policies

    def outlook(self, agent: Agent, t: Transition, following: Proposals, key: Array) -> Targets:
        """Head 0 expects (1 - lambda) f(s') + lambda Q_0(s', a'), head k expects Q_k(s', a_k).

        Unrolled, head 0 is f(s) + A^lambda(s, a): what MAMBA's policy gradient follows.
        """
        values = self.judge(agent.target, t.next_obs, following.actions).min(axis=0)
        own = values[0] + self.entropy_bonus(agent, following)
        baseline = jnp.where(following.valid[1:], values[1:], -jnp.inf).max(initial=-jnp.inf)
        mixed = (1.0 - self.mix) * baseline + self.mix * own
        # Where no prior has anything to say there is no baseline: plain SAC.
        values = values.at[0].set(jnp.where(following.valid[1:].any(), mixed, own))
        return Targets(values, following.valid.astype(jnp.float32))


@dataclass(frozen=True)
class RollInOut(Planner):
    """In every second episode a random prior takes over at a random step."""

    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        """Nobody -> the task policy -> in even episodes, after t_sw steps, a random prior."""
        k_when, k_who = jax.random.split(key)
        silent = jnp.full_like(plan.score, jnp.nan)
        until = self.roll_in(plan, k_when) - plan.clock
        nobody = plan.policy == plan.chosen.size
        plan = jax.lax.cond(
            nobody, lambda: plan.switch(jnp.int32(0), until)._replace(score=silent), lambda: plan
        )
        valid = scene.proposals.valid
        others = valid.at[0].set(False)
        who = best(jnp.zeros(valid.size), jnp.where(others.any(), others, valid), k_who)
        due = (plan.policy == 0) & (plan.remaining <= 0) & others.any()
        lost = ~valid[plan.policy]
        return jax.lax.cond(due | lost, lambda: plan.switch(who, 0), lambda: plan)

    def roll_in(self, plan: Plan, key: Array) -> Int[Array, ""]:
        """t_sw ~ Geometric(1 / mean length of the finished episodes), from 1 on."""
        finished = jnp.maximum(plan.episode - 1, 1)
        length = (plan.steps - plan.clock) / finished
        when = jax.random.geometric(key, 1.0 / jnp.maximum(length, 1.0))
        mixed = (plan.episode % 2 == 0) & (plan.chosen.size > 1)
        return jnp.where(mixed, jnp.minimum(when, FOREVER), FOREVER).astype(jnp.int32)


def mamba(h: int = 50, c: float = 10.0) -> Method:
    """The off-policy counterpart on SMEC's heads; h and c do not matter."""
    return Method(critic=BaselineCritic(), planner=RollInOut())
