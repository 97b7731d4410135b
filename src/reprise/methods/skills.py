"""SkillS: a learned scheduler sequences old policies and the new one (Vezzani et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from reprise.boundary.errors import require
from reprise.core import windows
from reprise.core.agent import Agent, Plan
from reprise.core.method import Method
from reprise.core.planner import Lesson, Planner, Scene
from reprise.core.replay import ReplayBuffer
from reprise.core.types import Spec, Transition
from reprise.core.windows import Windows
from reprise.methods import scheduler
from reprise.methods.scheduler import Controller, Jump

LONGEST = 0.95
"""How likely the longest duration is before anything is learned."""


class Stretch(NamedTuple):
    """A window of the replay buffer: one skill, run for some steps."""

    obs: Float[Array, "*batch obs"]
    valid: Bool[Array, "*batch priors"]
    """Which priors had something usable to say at its first state, and at its last."""
    skill: Int[Array, "*batch"]
    which: Int[Array, "*batch"]
    """The place of its length among the lengths."""
    rewards: Float[Array, "*batch longest"]
    """Zeros after the last step."""
    steps: Int[Array, "*batch"]
    """n, which the end of the episode may have made smaller than the length."""
    terminated: Float[Array, "*batch"]
    next_obs: Float[Array, "*batch obs"]
    next_valid: Bool[Array, "*batch priors"]
    weight: Float[Array, "*batch"]
    """0 in rows that only fill a batch."""


@dataclass(frozen=True)
class LearnedController(Planner):
    """Chooses who acts and for how long, and learns that from the task's reward."""

    lengths: tuple[int, ...] = (10, 25, 50)
    """Durations to choose from, in steps."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers."""
    overlapping: bool = False
    """Learn from all windows of a segment; else from consecutive chunks, as the original."""

    def __post_init__(self) -> None:
        require(self, "positive", "lengths", "hidden")

    def with_hidden(self, hidden: tuple[int, ...]) -> Planner:
        """The scheduler's networks are as wide as the others."""
        return replace(self, hidden=hidden)

    def init(self, key: Array, spec: Spec) -> Controller:
        """At first every skill is as likely as another, and the longest duration likely."""
        others = max(len(self.lengths) - 1, 1)
        longest = np.asarray(self.lengths) == max(self.lengths)
        share = np.log(np.where(longest, LONGEST, (1.0 - LONGEST) / others))
        bias = jnp.tile(jnp.asarray(share, jnp.float32), spec.policies)
        return scheduler.begin(key, (spec.obs, *self.hidden, bias.size), bias)

    def select(self, agent: Agent, plan: Plan, scene: Scene, key: Array) -> Plan:
        """z = (i, k) ~ pS(.|s) at the start of an episode and when a duration is over."""
        valid = scene.proposals.valid

        def renew() -> Plan:
            controller: Controller = agent.planner
            log_p = scheduler.log_probs(controller.actor, scene.obs, self.allowed(valid))
            skill, which = jnp.divmod(jax.random.categorical(key, log_p), len(self.lengths))
            values = scheduler.least(controller.critic, scene.obs)
            score = values.reshape(valid.size, -1).max(axis=1)
            noted = plan._replace(score=score, bonus=jnp.zeros_like(score))
            return noted.switch(skill, jnp.asarray(self.lengths)[which])

        lost = ~valid[plan.policy]
        return jax.lax.cond((plan.remaining <= 0) | lost, renew, lambda: plan)

    def allowed(self, valid: Bool[Array, "policies"]) -> Bool[Array, "choices"]:
        """The choices (i, k) whose skill has something usable to say."""
        return jnp.repeat(valid, len(self.lengths))

    def draw(self, replay: ReplayBuffer, count: int, seed: tuple[int, ...]) -> Stretch:
        """Windows of executed skills: a long execution is several short ones of its skill."""
        rng = np.random.default_rng(seed)
        kind = {"overlapping": self.overlapping}
        return stretch(
            replay,
            windows.sample(replay, self.lengths, count, rng, **kind),
            max(self.lengths),
            count,
        )

    def update(self, agent: Agent, lesson: Lesson, key: Array) -> Controller:
        """One step of the scheduler, on the windows that `draw` found."""
        if not lesson.drawn:
            return agent.planner
        batch = jax.vmap(lambda s: self.jump(s, lesson.discount))(lesson.drawn)
        controller = scheduler.improve_critic(agent.planner, batch, lesson)
        return scheduler.improve_actor(controller, batch, lesson) if lesson.improve else controller

    def jump(self, s: Stretch, discount: float) -> Jump:
        """(s_t, z, R, s_{t+n}) of one window, with gamma^n for what comes after it."""
        reward = jnp.sum(discount ** jnp.arange(s.rewards.size) * s.rewards)
        after = discount**s.steps * (1.0 - s.terminated)
        choice = s.skill * len(self.lengths) + s.which
        task = jnp.ones(1, jnp.bool_)
        now, then = (self.allowed(jnp.concatenate([task, v])) for v in (s.valid, s.next_valid))
        return Jump(s.obs, now, choice, reward, after, s.next_obs, then, s.weight)


def stretch(replay: ReplayBuffer, found: Windows, longest: int, count: int) -> Stretch:
    """The rows of some windows, filled up to `count` with rows that do not count."""

    def first(t: Transition) -> Any:
        return t.obs, t.advice.valid, t.source

    def final(t: Transition) -> Any:
        return t.terminated, t.next_obs, t.next_advice.valid

    obs, valid, skill = replay.look(found.start, first)
    ahead = np.arange(longest)[None]
    rewards = replay.look(found.start[:, None] + ahead, lambda t: t.reward)
    rewards = np.where(ahead < found.steps[:, None], rewards, np.float32(0.0))
    which, steps = found.which.astype(np.int32), found.steps.astype(np.int32)
    end = replay.look(found.start + found.steps - 1, final)
    weight = np.ones(len(steps), np.float32)
    columns: Any = (obs, valid, skill, which, rewards, steps, *end, weight)
    whole = Stretch(*columns)
    missing = count - len(steps)
    return jax.tree.map(lambda x: np.pad(x, [(0, missing)] + [(0, 0)] * (x.ndim - 1)), whole)


def skills(h: int = 50, c: float = 10.0) -> Method:
    """Durations of h/5, h/2 and h steps; c does not matter."""
    return Method(
        planner=LearnedController(lengths=tuple(sorted({max(h // n, 1) for n in (5, 2, 1)})))
    )
