"""The loop: act, learn while the environment steps, store. Callbacks are the caller's `for` loop.

`train` is all that most callers need. A `Training` is the same, held in the hand: its state can be
restored before it goes on, and it can be asked to report.

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
from collections.abc import Container, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np

from reprise.boundary.errors import EnvironmentFault
from reprise.core import windows
from reprise.core.agent import Agent, Decision
from reprise.core.method import Method
from reprise.core.replay import Packed
from reprise.core.types import Advice, Episode, Gaussian, Place, Selection, Spec, Transition
from reprise.priors import Priors
from reprise.tasks import Task
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
    """False if the caller asked for this report."""
    loop: Loop


def train(
    method: Method,
    task: Task,
    priors: Priors | None = None,
    *,
    steps: int,
    seed: int = 0,
    schedule: Schedule | None = None,
) -> Iterator[Progress]:
    """Learn a task; yields every `schedule.log_every` steps and at the end."""
    with Training(method, task, priors, steps=steps, seed=seed, schedule=schedule) as training:
        yield from training.reports()


class Training:
    """A task that is being learned, ready for its first step or for wherever it is restored to."""

    def __init__(
        self,
        method: Method,
        task: Task,
        priors: Priors | None = None,
        *,
        steps: int,
        seed: int = 0,
        schedule: Schedule | None = None,
    ) -> None:
        self.method, self.task, self.steps, self.seed = method, task, steps, seed
        self.schedule, self.priors = schedule or Schedule(), priors or Priors()
        self.arena = arena = task.repeated(self.schedule.action_repeat).open()
        self.priors.fit(arena.obs_dim, arena.action_dim, task.id)
        self.loop = begin(method, arena, self.priors, self.schedule, steps=steps, seed=seed)
        """The live state: whoever restores it does so before the first report."""
        spec = Spec(arena.obs_dim, arena.action_dim, len(self.priors))
        self._chances = Chances(method, spec, self.schedule.batch, seed)
        self.stops: Container[int] = ()
        """Steps after which it reports besides those of the schedule."""
        self._asked = self._warned = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.arena.close()

    def report_soon(self) -> None:
        """Report after the step that is under way, too; safe to call at any moment."""
        self._asked = True

    def reports(self) -> Iterator[Progress]:
        """Learn until the last step, and say how it goes."""
        loop = self.loop
        try:
            if loop.fresh:
                self._reset()
            while loop.step < self.steps:
                yield from self._step()
        except EnvironmentFault as fault:
            where = f"training step {loop.step + 1}"
            raise EnvironmentFault(f"{self.task.id}: {fault}, {where}") from fault

    def _step(self) -> Iterator[Progress]:
        """One step, and a report if it is time for one."""
        loop, schedule = self.loop, self.schedule
        decision = self._decide()
        for _ in range(schedule.updates(loop.step)):
            self._learn()
        self._interact(decision)
        whole = loop.step % schedule.log_every == 0
        scheduled = whole or loop.step >= self.steps
        reporting = scheduled or self._asked or loop.step in self.stops
        if schedule.updates(loop.step) and not reporting:
            loop.upcoming = self._rows()
        loop.note_losses()
        if reporting:
            self._asked = False
            yield _report(loop, scheduled, whole)

    def _decide(self) -> Decision:
        """Who acts, and how; perhaps still being computed."""
        loop, before = self.loop, self.loop.plan
        if loop.step < self.schedule.warmup:
            rng = np.random.default_rng([self.seed, loop.step])
            loop.plan = before.tick()
            action = rng.uniform(-1.0, 1.0, self.arena.action_dim).astype(np.float32)
            return Decision(action, -1, before)
        told: Any = (before, loop.obs, loop.advice, self._chances.decision(loop.step))
        loop.plan, chosen = self.method.act(loop.flat, *told)
        return Decision(chosen, loop.plan.policy, before)

    def _learn(self) -> None:
        """Dispatch one update; whoever reads its losses waits for it."""
        loop, schedule, method = self.loop, self.schedule, self.method
        batch, loop.upcoming = loop.upcoming or self._rows(), None
        improve = loop.updates % method.actor_delay == 0
        drawn = method.planner.draw(loop.replay, schedule.batch, (self.seed, loop.updates))
        chance, now = self._chances.update(loop.updates), method.at(loop.updates)
        loop.widen_bounds()
        loop.flat, losses = now.update(loop.flat, batch, chance, improve, drawn)
        loop.losses |= losses
        loop.updates += 1

    def _rows(self) -> Packed:
        """A batch, with what followed each row if the critic wants to know."""
        schedule, critic, replay = self.schedule, self.method.critic, self.loop.replay
        rows, best = replay.draw(schedule.batch, schedule.success_share)
        packed = replay.take(rows, best)
        if not critic.looks_ahead:
            return packed
        ahead = windows.ahead(replay, rows, critic.n_step, critic.other_n_step)
        return replace(packed, ahead=ahead)

    def _interact(self, decision: Decision) -> None:
        """One step of the environment, stored with the advice of every prior."""
        loop, method = self.loop, self.method
        action, source = decision.read()
        step = self.arena.step(action)
        advice = self._advice(step.obs)
        before: Any = (loop.obs, loop.advice, np.int32(source), action)
        after: Any = (step.reward, np.float32(step.terminated), step.obs, advice)
        over = step.terminated or step.truncated
        place = Place.of(int(loop.plan.held) - 1, over)  # the plan has ticked since
        loop.replay.add(Transition(*before, *after, place=place))
        loop.step += self.arena.repeat
        loop.note_selection(decision.before)
        earned = float(step.reward) - method.reward_lower_bound  # as values are compared
        loop.plan = loop.plan.earn(earned, method.critic.discount)
        loop.obs, loop.advice = step.obs, advice
        loop.note_step(source, step, self.arena.position)
        if loop.extremes:
            loop.extremes.note(float(step.reward), over)
        if over:
            loop.close_episode(method.critic.discount, step.terminated)
            self._reset()
        self._compare(float(step.reward))

    def _reset(self) -> None:
        """Begin an episode."""
        loop = self.loop
        loop.plan = loop.plan.begin()
        loop.obs = self.arena.reset(episode_seeds(self.seed, TRAINING, loop.episode, 1)[0])
        loop.advice = self._advice(loop.obs)
        loop.fresh = False

    def _advice(self, obs: np.ndarray) -> Advice:
        """What every prior would do here: asked once per visited state, ever."""
        says, valid = self.priors(obs[None], self.arena.action_dim, self.loop.faults)
        return Advice(Gaussian(says.mean[0], says.log_std[0]), valid[0])

    def _compare(self, reward: float) -> None:
        """Warn, once, of rewards for which values of different horizons cannot be compared."""
        bound = self.method.reward_lower_bound
        compared = self.method.planner.compares_values and len(self.priors) > 0
        if self._warned or not compared or reward >= bound:
            return
        self._warned = True
        warnings.warn(
            f"reward {reward:.4g} is below the lower bound {bound:g}: long and short horizons "
            "cannot be compared fairly; declare --reward-lower-bound",
            RewardSignWarning,
            stacklevel=2,
        )


def _report(loop: Loop, scheduled: bool, whole: bool) -> Progress:
    found = loop.tally.summary() if scheduled else Interval({}, np.zeros(0), np.zeros(0))
    if whole:  # an interval that the end cuts short is still open for a run that goes on
        loop.tally.restart()
    episodes, selections = loop.take_news()
    return Progress(loop.step, loop.agent, *found, episodes, selections, scheduled, loop)
