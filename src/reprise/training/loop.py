"""The loop: act, learn while the environment steps, store. Callbacks are the caller's `for` loop.

Step t of every method, in this order:

1. The behavior's decision in s_t is dispatched, with everything learned so far, update t - 1
   included: JAX returns before it has been computed.
2. Update t is dispatched behind it, on transitions 0 .. t - 1.
3. The decision is read. While the update is computed, the environment takes step t, the priors
   advise in s_{t+1}, transition t is stored, and the rows of update t + 1 are drawn.
4. The update's losses are read, which waits for it: a loss that is not finite stops step t.

At a report nothing is under way and nothing drawn in advance: a checkpoint holds everything.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from reprise.core import windows
from reprise.core.agent import Agent, Decision
from reprise.core.method import Method
from reprise.core.replay import Packed
from reprise.core.types import Advice, Episode, Gaussian, Place, Selection, Spec, Transition
from reprise.io.errors import EnvironmentFault
from reprise.priors import Priors
from reprise.tasks import Arena, Task
from reprise.training.evaluate import episode_seeds
from reprise.training.randomness import Chances
from reprise.training.schedule import Schedule
from reprise.training.state import Interval, Loop, begin

TRAINING = 0
"""The purpose that sets training episodes' seeds apart from evaluation's."""


class RewardSignWarning(UserWarning):
    """Values of different horizons are compared although rewards fall below R_min."""


class Progress(NamedTuple):
    """A report from the loop; `loop` is the live state, valid until the next one."""

    step: int
    agent: Agent
    metrics: dict[str, float]
    use: np.ndarray
    """The share of the steps on which each policy acted since the last report, the task policy
    first; all 0 in the random warm-up. Empty, as `metrics`, if the report is not scheduled."""
    value: np.ndarray
    """Each policy's mean score at the selections; NaN where there were none."""
    episodes: tuple[Episode, ...]
    selections: tuple[Selection, ...]
    scheduled: bool
    """False if the loop only paused because the caller asked it to."""
    loop: Loop


def never() -> bool:
    """Nobody asks the loop to pause."""
    return False


def train(
    method: Method,
    task: Task,
    priors: Priors | None = None,
    *,
    steps: int,
    seed: int = 0,
    schedule: Schedule | None = None,
    resume: Callable[[Loop], None] | None = None,
    pause: Callable[[], bool] = never,
) -> Iterator[Progress]:
    """Learn a task; yields every `schedule.log_every` steps, and at once when `pause()` is true."""
    schedule, priors = schedule or Schedule(), priors or Priors()
    arena = task.repeated(schedule.action_repeat).open()
    priors.fit(arena.obs_dim, arena.action_dim, task.id)
    loop = begin(method, arena, priors, schedule, steps=steps, seed=seed)
    spec = Spec(arena.obs_dim, arena.action_dim, len(priors))
    chances = Chances(method, spec, schedule.batch, seed)
    if resume:
        resume(loop)
    try:
        if loop.fresh:
            _reset(loop, arena, priors, seed)
        players = _Players(method, arena, priors, chances, schedule, seed)
        yield from _run(loop, players, steps, pause)
    except EnvironmentFault as fault:
        raise EnvironmentFault(f"{task.id}: {fault}, training step {loop.step + 1}") from fault
    finally:
        arena.close()


class _Players(NamedTuple):
    """Who takes part in a step and does not change."""

    method: Method
    arena: Arena
    priors: Priors
    chances: Chances
    schedule: Schedule
    seed: int


def _run(
    loop: Loop, players: _Players, steps: int, pause: Callable[[], bool]
) -> Iterator[Progress]:
    warned, schedule = False, players.schedule
    while loop.step < steps:
        decision = _decide(loop, players)
        for _ in range(schedule.updates(loop.step)):
            _learn(loop, players)
        reward = _interact(loop, players, decision)
        whole = loop.step % schedule.log_every == 0
        scheduled = whole or loop.step >= steps
        reporting = scheduled or pause()
        if schedule.updates(loop.step) and not reporting:
            loop.upcoming = _rows(loop, players)
        loop.note_losses()
        if not warned and _unfair(reward, players):
            warned = True
            _warn(reward, players.method)
        if reporting:
            yield _report(loop, scheduled, whole)


def _interact(loop: Loop, players: _Players, decision: Decision) -> float:
    """One step of the environment, stored with the advice of every prior."""
    action, source = decision.read()
    step = players.arena.step(action)
    advice = _advice(loop, players.priors, step.obs)
    before: Any = (loop.obs, loop.advice, np.int32(source), action)
    after: Any = (step.reward, np.float32(step.terminated), step.obs, advice)
    over = step.terminated or step.truncated
    place = Place.of(int(loop.plan.held) - 1, over)  # the plan has ticked since
    loop.replay.add(Transition(*before, *after, place=place))
    loop.step += players.arena.repeat
    loop.note_selection(decision.before)
    method = players.method
    earned = float(step.reward) - method.reward_lower_bound  # as values are compared
    loop.plan = loop.plan.earn(earned, method.critic.discount)
    loop.obs, loop.advice = step.obs, advice
    loop.note_step(source, step, players.arena.position)
    if loop.extremes:
        loop.extremes.note(float(step.reward), over)
    if over:
        loop.close_episode(method.critic.discount, step.terminated)
        _reset(loop, players.arena, players.priors, players.seed)
    return float(step.reward)


def _decide(loop: Loop, players: _Players) -> Decision:
    before = loop.plan
    if loop.step < players.schedule.warmup:
        rng = np.random.default_rng([players.seed, loop.step])
        loop.plan = before.tick()
        action = rng.uniform(-1.0, 1.0, players.arena.action_dim).astype(np.float32)
        return Decision(action, -1, before)
    told: Any = (before, loop.obs, loop.advice, players.chances.decision(loop.step))
    loop.plan, chosen = players.method.act(loop.flat, *told)
    return Decision(chosen, loop.plan.policy, before)


def _learn(loop: Loop, players: _Players) -> None:
    """Dispatch one update; whoever reads its losses waits for it."""
    schedule, method = players.schedule, players.method
    batch, loop.upcoming = loop.upcoming or _rows(loop, players), None
    improve = loop.updates % method.actor_delay == 0
    drawn = method.planner.draw(loop.replay, schedule.batch, (players.seed, loop.updates))
    chance, now = players.chances.update(loop.updates), method.at(loop.updates)
    loop.widen()
    loop.flat, losses = now.update(loop.flat, batch, chance, improve, drawn)
    loop.losses |= losses
    loop.updates += 1


def _rows(loop: Loop, players: _Players) -> Packed:
    """A batch, with what followed each row if the critic wants to know."""
    schedule, critic, replay = players.schedule, players.method.critic, loop.replay
    rows, best = replay.draw(schedule.batch, schedule.success_share)
    packed = replay.take(rows, best)
    if not critic.looks_ahead:
        return packed
    return replace(packed, ahead=windows.ahead(replay, rows, critic.n_step, critic.other_n_step))


def _reset(loop: Loop, arena: Arena, priors: Priors, seed: int) -> None:
    loop.plan = loop.plan.begin()
    loop.obs = arena.reset(episode_seeds(seed, TRAINING, loop.episode, 1)[0])
    loop.advice = _advice(loop, priors, loop.obs)
    loop.fresh = False


def _advice(loop: Loop, priors: Priors, obs: np.ndarray) -> Advice:
    """What every prior would do here: asked once per visited state, ever."""
    says, valid = priors(obs[None], loop.arena.action_dim, loop.faults)
    return Advice(Gaussian(says.mean[0], says.log_std[0]), valid[0])


def _report(loop: Loop, scheduled: bool, whole: bool) -> Progress:
    found = loop.tally.summary() if scheduled else Interval({}, np.zeros(0), np.zeros(0))
    if whole:  # an interval that the end cuts short is still open for a run that goes on
        loop.tally.restart()
    episodes, selections = loop.hand_over()
    return Progress(loop.step, loop.agent, *found, episodes, selections, scheduled, loop)


def _unfair(reward: float, players: _Players) -> bool:
    method = players.method
    compared = method.planner.compares_values and len(players.priors) > 0
    return compared and reward < method.reward_lower_bound


def _warn(reward: float, method: Method) -> None:
    warnings.warn(
        f"reward {reward:.4g} is below the lower bound {method.reward_lower_bound:g}: long and "
        "short horizons cannot be compared fairly; declare --reward-lower-bound",
        RewardSignWarning,
        stacklevel=2,
    )
