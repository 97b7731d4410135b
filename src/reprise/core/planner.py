"""How a method behaves: who acts, and for how long. Eqs. (2) and (3) are here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from reprise.boundary.errors import UserError, require
from reprise.core.agent import Agent, Plan, Proposals
from reprise.core.replay import ReplayBuffer
from reprise.core.types import PyTree, Spec, Transition, hook

Judge = Callable[[int], Float[Array, "samples ensemble policies"]]
"""How many samples of each policy's action -> the values of those actions in this state."""


class Scene(NamedTuple):
    """What a planner sees: the state, what each policy would do in it, and what that is worth."""

    obs: Float[Array, "obs"]
    proposals: Proposals
    judge: Judge
    """Costs nothing unless it is called."""


class Choice(NamedTuple):
    """A policy and the reasons for it."""

    policy: Int[Array, ""]
    score: Float[Array, "policies"]
    bonus: Float[Array, "policies"]


class Lesson(NamedTuple):
    """What a learned planner may learn from at an update, and how the method learns."""

    batch: Transition
    drawn: PyTree
    """What `draw` returned."""
    improve: bool
    """Whether actors and temperatures learn at this update."""
    discount: float
    smoothing: float
    """How far target networks move."""
    descend: Callable[[Any, Any, PyTree], tuple[Any, PyTree]]
    """(parameters, gradients, Adam's state) -> the parameters and the state after one step."""


class Planner(ABC):
    """Who acts? `select` is the whole question; only a learned planner needs the rest."""

    compares_values: bool = False
    """Whether it weighs policies against each other by value (and so needs rewards >= 0)."""

    @hook
    def with_hidden(self, hidden: tuple[int, ...]) -> Planner:
        """The same choice with hidden layers of these widths, if it has networks."""
        return self

    @hook
    def with_correction(self, correction: float) -> Planner:
        """The same choice, with this correction, if it compares values."""
        return self

    @hook
    def init(self, key: Array, spec: Spec) -> PyTree:
        """Parameters of a learned planner."""
        return ()

    @abstractmethod
    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        """The plan for this step; the policy it names must be a valid one."""

    @hook
    def draw(self, replay: ReplayBuffer, count: int, seed: tuple[int, ...]) -> PyTree:
        """What a learned planner wants from the buffer at an update, besides the batch."""
        return ()

    @hook
    def update(self, agent: Agent, lesson: Lesson, key: Array) -> PyTree:
        """One learning step of a learned planner."""
        return agent.planner


def renew_every(commit: int, plan: Plan, scene: Scene, choose: Callable[[], Choice]) -> Plan:
    """Call `choose` at step 0 of an episode and at every multiple of `commit` after it.

    A policy that says nothing usable loses control at once, until the next multiple.
    """

    def renew() -> Plan:
        choice = choose()
        # Counted from the reset, also when the random warm-up ends in the middle of an episode.
        held = plan.settle(choice.score[0]).switch(choice.policy, commit - plan.clock % commit)
        promise = jnp.where(choice.policy == 0, choice.score[0], jnp.nan)
        return held._replace(score=choice.score, bonus=choice.bonus, promise=promise)

    # Before the first selection of an episode nobody is in control: the index is clipped then.
    lost = ~scene.proposals.valid[plan.policy]
    return jax.lax.cond((plan.remaining <= 0) | lost, renew, lambda: plan)


def ucb_bonus(plan: Plan, c: float) -> Float[Array, "policies"]:
    """c * sqrt(log(2T) / (N_v + N_{v- -> v})), Eq. (3); infinite for a choice never made."""
    visits = plan.chosen + plan.switched[plan.policy]
    total = jnp.maximum(plan.chosen.sum(), 1).astype(jnp.float32)
    spread = jnp.sqrt(jnp.log(2.0 * total) / jnp.maximum(visits, 1).astype(jnp.float32))
    return jnp.where(visits > 0, c * spread, jnp.inf)


def best(
    scores: Float[Array, "policies"], valid: Bool[Array, "policies"], key: Array
) -> Int[Array, ""]:
    """argmax over the valid, with ties (untried policies above all) broken at random."""
    scores = jnp.where(valid, scores, -jnp.inf)
    lottery = jax.random.uniform(key, scores.shape)
    winners = valid & (scores == scores.max())
    return jnp.argmax(jnp.where(winners, lottery, -1.0)).astype(jnp.int32)


@dataclass(frozen=True)
class TaskPolicy(Planner):
    """The task policy always acts."""

    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        return plan._replace(policy=jnp.zeros((), jnp.int32))


@dataclass(frozen=True)
class ValueGuided(Planner):
    """Value-guided behavior planning: Eq. (2); with ucb > 0, Eq. (3)."""

    commit: int = 50
    """h, the steps for which the chosen policy keeps control."""
    ucb: float = 0.0
    """c, the weight of the UCB bonus."""
    samples: int = 10
    """Actions of the task policy averaged when it is judged."""
    correction: float = 0.0
    """How much of what the task policy promises in vain is taken off its value, 0 to 1."""

    compares_values = True

    def __post_init__(self) -> None:
        require(self, "positive", "commit", "samples")
        require(self, "at least 0", "ucb")
        if not 0.0 <= self.correction <= 1.0:
            raise UserError(f"correction is {self.correction!r}; it must be from 0 to 1")

    def with_correction(self, correction: float) -> ValueGuided:
        return replace(self, correction=correction)

    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        return renew_every(self.commit, plan, scene, lambda: self.choose(plan, scene, key))

    def choose(self, plan: Plan, scene: Scene, key: Array) -> Choice:
        """The policy with the highest value (the larger of the twins) plus bonus."""
        score = scene.judge(self.samples).max(axis=1).mean(axis=0)
        # Absent, not multiplied by zero, when c = 0: the bonus of an untried policy is infinite.
        bonus = ucb_bonus(plan, self.ucb) if self.ucb else jnp.zeros_like(score)
        doubt = self.correction * (1.0 - plan.trust)
        # Who is worth less than nothing would gain by being doubted.
        trusted = score.at[0].add(-doubt * jnp.maximum(score[0], 0.0)) if self.correction else score
        return Choice(best(trusted + bonus, scene.proposals.valid, key), score, bonus)


@dataclass(frozen=True)
class Uniform(Planner):
    """A random policy for each commitment (Appendix D.5)."""

    commit: int = 50
    """h, the steps for which the chosen policy keeps control."""

    def __post_init__(self) -> None:
        require(self, "positive", "commit")

    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        def choose() -> Choice:
            valid = scene.proposals.valid
            nothing = jnp.full(valid.size, jnp.nan)
            return Choice(best(jnp.zeros(valid.size), valid, key), nothing, nothing)

        return renew_every(self.commit, plan, scene, choose)
