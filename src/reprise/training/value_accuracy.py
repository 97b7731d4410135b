"""What each head says about a state of training, and what its policy earns from there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from reprise.boundary.errors import EnvironmentFault, UserError
from reprise.core.agent import Agent, draw_noise, propose
from reprise.core.method import Method
from reprise.core.networks import ensemble_values
from reprise.core.types import Advice, Gaussian
from reprise.priors import Priors
from reprise.tasks import Arena, Task
from reprise.tasks.snapshot import Snapshot
from reprise.training.evaluate import Stage, advisers
from reprise.training.schedule import Schedule
from reprise.training.state import Loop

VALUES = 3
"""The purpose that sets these random numbers apart from training's and evaluation's."""
TAIL = 1e-3
"""The weight of the first reward that a rollout leaves out."""
SAMPLES = 10
"""Actions of the task policy averaged in an estimate, as SMEC's planner does."""

Act = Callable[[np.ndarray], np.ndarray]
"""One observation -> one action; not finite where the policy has nothing usable to say."""


class Start(NamedTuple):
    """A state of the simulator and what is seen of it."""

    obs: np.ndarray
    snapshot: Snapshot


class Rollout(NamedTuple):
    """What one policy earned from a state."""

    value: float
    """The discounted return; NaN if the policy fell silent on the way, or the simulator gave up."""
    steps: int


class Compared(NamedTuple):
    """One head at one state."""

    step: int
    policy: int
    """0: the task policy, i: prior i."""
    discount: float
    """The head's own: gamma, or gbar for a myopic one."""
    estimate: float
    realized: float
    steps: int
    """How long the rollout was."""


def monte_carlo(arena: Arena, start: Start, act: Act, discount: float, steps: int) -> Rollout:
    """The discounted return of one policy that acts alone from a captured state.

    A termination ends it, a time limit does not: heads bootstrap beyond it.
    """
    arena.restore(start.snapshot)
    obs, value, weight = start.obs, 0.0, 1.0
    for step in range(steps):
        try:
            reached = arena.step(act(obs))
        except EnvironmentFault:  # an action that is not finite is one, too
            return Rollout(math.nan, step)
        obs, value, weight = reached.obs, value + weight * float(reached.reward), weight * discount
        if reached.terminated:
            return Rollout(value, step + 1)
    return Rollout(value, steps)


def captured(arena: Arena) -> Snapshot:
    """The state of an episode, or one line on why there is none."""
    snapshot = arena.snapshot()
    if snapshot is None:
        raise UserError(
            f"task {arena.name!r} holds a state that cannot be captured; value-states must be 0"
        )
    return snapshot


def rollout_length(discount: float) -> int:
    """The steps after which a reward weighs less than TAIL."""
    return max(1, math.ceil(math.log(TAIL) / math.log(discount)))


@partial(jax.jit, static_argnums=0)
def estimates(
    method: Method, agent: Agent, obs: Array, advice: Advice, key: Array
) -> Float[Array, "heads"]:
    """What the planner takes each policy to be worth: the larger target twin at its own action.

    A critic with one head knows the task policy alone: what it says at a prior's action is not
    the prior's value.
    """

    def once(noise: Array) -> Float[Array, "policies"]:
        actions = propose(agent.actor, obs, advice, noise).actions
        heads = ensemble_values(agent.target, obs, actions[0]).shape[1]
        return method.critic.judge(agent.target, obs, actions[:heads]).max(axis=0)

    noise = draw_noise(key, advice, method.stochastic_priors, SAMPLES)
    return jax.vmap(once)(noise).mean(axis=0)


def accuracy(
    loop: Loop, method: Method, where: Task | Stage, priors: Priors, seed: int
) -> tuple[Compared, ...]:
    """Every head at the state where a run stands; the run itself is left as it is."""
    stage = where if isinstance(where, Stage) else Stage(where)
    start, root = Start(loop.obs.copy(), captured(loop.arena)), (seed, VALUES, loop.step)
    key = jax.random.key(int(np.random.SeedSequence(root).generate_state(1)[0]))
    said = np.asarray(estimates(method, loop.agent, loop.obs, loop.advice, key))
    discounts = np.asarray(method.critic.discounts(len(said))).tolist()
    keeps = np.asarray(method.critic.staying(len(said)))
    rows: list[Compared] = []
    try:
        (arena,) = stage.arenas(1)
        arena.reset(0)  # some environments build what a snapshot fills in their first reset
        for policy, (estimate, discount) in enumerate(zip(said, discounts, strict=True)):
            if policy and not loop.advice.valid[policy - 1]:
                continue
            rng = np.random.default_rng([*root, policy])
            act = handed_over(
                alone(policy, method, loop.agent, priors, rng),
                alone(0, method, loop.agent, priors, rng),
                float(keeps[policy]),
                rng,
            )
            earned = monte_carlo(arena, start, act, discount, rollout_length(discount))
            rows.append(Compared(loop.step, policy, discount, float(estimate), *earned))
    finally:
        if stage is not where:  # the caller's own stage stays open
            stage.close()
    return tuple(rows)


def alone(
    policy: int, method: Method, agent: Agent, priors: Priors, rng: np.random.Generator
) -> Act:
    """One policy as its head judges it: the task policy sampled, a prior as the method runs it."""
    if policy == 0:
        heard = advisers(method, agent.actor, priors)
        return lambda obs: _sample(_says(agent.actor, obs, _first(heard(obs[None], 0))), rng)
    single = Priors([priors.policies[policy - 1]])

    def act(obs: np.ndarray) -> np.ndarray:
        said, valid = single(obs[None], 0)
        one = Gaussian(said.mean[0, 0], said.log_std[0, 0])
        action = _sample(one, rng) if method.stochastic_priors else np.tanh(np.asarray(one.mean))
        return action if valid[0, 0] else np.full_like(action, np.nan)

    return act


def handed_over(act: Act, then: Act, keep: float, rng: np.random.Generator) -> Act:
    """One policy, that loses control to another with probability 1 - keep after each step."""
    if keep >= 1.0:
        return act
    lasts = rng.geometric(1.0 - keep)
    steps = itertools.count()
    return lambda obs: (act if next(steps) < lasts else then)(obs)


@jax.jit
def _says(actor: Any, obs: Array, advice: Advice) -> Gaussian:
    return actor(obs, advice)


def _first(advice: Advice) -> Advice:
    return jax.tree.map(lambda x: x[0], advice)


def _sample(said: Gaussian, rng: np.random.Generator) -> np.ndarray:
    mean, log_std = np.asarray(said.mean), np.asarray(said.log_std)
    noise = rng.standard_normal(mean.shape, np.float32)
    return np.tanh(mean + np.exp(log_std) * noise)


class Moments(NamedTuple):
    """The steps at which a run compares its heads."""

    seed: int
    schedule: Schedule

    def __contains__(self, step: object) -> bool:
        if not isinstance(step, int) or not self.schedule.value_states or step == 0:
            return False
        interval = (step - 1) // self.schedule.evaluate_every
        return step in moments(self.seed, self.schedule, interval)


@lru_cache(maxsize=4)
def moments(seed: int, schedule: Schedule, interval: int) -> frozenset[int]:
    """The steps of one interval between evaluations, drawn at random.

    Even ones would meet every episode of a fixed length at the same few places.
    """
    rng = np.random.default_rng([seed, VALUES, interval])
    held = schedule.action_repeat
    drawn = rng.choice(schedule.evaluate_every // held, schedule.value_states, replace=False)
    begin = interval * schedule.evaluate_every
    return frozenset(begin + held * (1 + int(place)) for place in drawn)
