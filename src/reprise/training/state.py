"""Everything a run has in its hands between two steps: what a checkpoint must hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from reprise.boundary.errors import UserError
from reprise.core.agent import Agent, Plan, with_bounds
from reprise.core.compiled import FlatAgent
from reprise.core.method import Method, Metrics
from reprise.core.replay import Packed, ReplayBuffer
from reprise.core.types import Advice, Episode, Place, Selection, Spec, Transition
from reprise.core.values import Bounds
from reprise.priors import Faults, Priors
from reprise.tasks import Arena, Step
from reprise.training.evaluate import success_any
from reprise.training.randomness import columns_read
from reprise.training.schedule import Schedule


class Extremes:
    """The least and the greatest discounted return seen so far, at each head's discount.

    What a task's values can be follows from its rewards; where nobody knows those, from this.
    """

    ROOM = 0.25
    """How much further than what was seen values may go, relative to its range."""

    def __init__(self, discounts: np.ndarray) -> None:
        self.discounts = discounts
        self.running = np.zeros_like(discounts)
        """The discounted sum of the rewards of this episode so far, the latest counting whole."""
        self.low, self.high = np.zeros_like(discounts), np.zeros_like(discounts)
        self.grown = False
        """Whether they have become wider since somebody looked."""

    def note(self, reward: float, over: bool) -> None:
        """One more reward."""
        self.running = reward + self.discounts * self.running
        low, high = np.minimum(self.low, self.running), np.maximum(self.high, self.running)
        self.grown |= bool((low < self.low).any() or (high > self.high).any())
        self.low, self.high = low, high
        if over:
            self.running = np.zeros_like(self.discounts)

    def capture(self) -> np.ndarray:
        """Everything in one array, but for whether it has grown."""
        return np.stack([self.running, self.low, self.high])

    def restore(self, captured: np.ndarray, grown: bool) -> None:
        """Go on from there."""
        self.running, self.low, self.high = captured
        self.grown = grown

    def bounds(self) -> Bounds:
        """The values that count as possible."""
        self.grown = False
        room = self.ROOM * (self.high - self.low) + 1e-6
        low, high = (x.astype(np.float32) for x in (self.low - room, self.high + room))
        return Bounds(low, high)  # pyright: ignore


class Interval(NamedTuple):
    """What training came to since the last report."""

    metrics: dict[str, float]
    use: np.ndarray
    """The share of the steps on which each policy acted; all 0 in the random warm-up."""
    value: np.ndarray
    """Each policy's mean score at the selections; NaN where there were none."""


class Tally:
    """Sums since the last report, as arrays so that a checkpoint can hold them."""

    def __init__(self, policies: int, mishaps: tuple[str, ...] = ()) -> None:
        self.mishaps = dict.fromkeys(mishaps, 0)
        """Accidents of each kind."""
        self.use = np.zeros(policies, np.int64)
        self.value = np.zeros(policies)
        self.selections = np.zeros((), np.int64)
        self.episodes: list[tuple[float, float]] = []
        """(return, success) of the episodes that ended."""
        self.losses: dict[str, tuple[float, int]] = {}
        """(sum, count) of each loss."""
        self.finished = 0
        """Episodes finished since the run began."""
        self.steps = 0

    def summary(self) -> Interval:
        """What it comes to."""
        row: dict[str, float] = {"episodes": self.finished}
        returns, successes = zip(*self.episodes, strict=True) if self.episodes else ((), ())
        row["episode_return"] = float(np.mean(returns)) if returns else float("nan")
        row["success"] = float(np.mean(successes)) if successes else float("nan")
        row |= {name: total / count for name, (total, count) in self.losses.items()}
        seen = int(self.selections)
        value = self.value / seen if seen else np.full_like(self.value, np.nan)
        return Interval(row | self.mishaps, self.use / max(self.steps, 1), value)

    def restart(self) -> None:
        """Begin the next interval."""
        finished = self.finished
        self.__init__(len(self.use), tuple(self.mishaps))
        self.finished = finished


@dataclass
class Loop:
    """The live state of a run; `train` moves it, checkpoints read and write it."""

    flat: FlatAgent
    """What has been learned so far, in the form that compiled functions take fastest."""
    plan: Plan
    replay: ReplayBuffer
    arena: Arena
    obs: np.ndarray
    advice: Advice
    tally: Tally
    faults: Faults
    step: int = 0
    updates: int = 0
    episode: int = 0
    fresh: bool = True
    """No episode is under way: the next thing to do is a reset."""
    losses: Metrics = field(default_factory=dict[str, jax.Array])
    rewards: list[float] = field(default_factory=list[float])
    successes: list[float] = field(default_factory=list[float])
    sources: list[int] = field(default_factory=list[int])
    track: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    ended: list[Episode] = field(default_factory=list[Episode])
    selected: list[Selection] = field(default_factory=list[Selection])
    made: int = 0
    """Selections made so far."""
    extremes: Extremes | None = None
    """The returns seen so far, where nobody knows which are possible."""
    upcoming: Packed | None = None
    """The rows of the next update, if they are drawn already; None whenever the loop reports."""

    @property
    def agent(self) -> Agent:
        """What has been learned so far."""
        return self.flat.whole()

    @agent.setter
    def agent(self, agent: Agent) -> None:
        """Go on with another agent."""
        self.flat = FlatAgent.of(agent)

    def widen_bounds(self) -> None:
        """Where the range of rewards is unknown, allow values within the returns seen so far."""
        if self.extremes and self.extremes.grown:
            self.agent = with_bounds(self.agent, self.extremes.bounds())

    def note_selection(self, before: Plan) -> None:
        """Record the planner's choice if it made one at this step."""
        made = int(np.asarray(self.plan.chosen).sum())
        if made == self.made:
            return
        self.made = made
        score, bonus = np.asarray(self.plan.score), np.asarray(self.plan.bonus)
        previous, chosen, clock = int(before.policy), int(self.plan.policy), int(before.clock)
        self.selected.append(
            Selection(self.step, self.episode, clock, previous, chosen, score, bonus)
        )
        self.tally.value += score
        self.tally.selections += 1

    def note_step(self, source: int, step: Step, position: tuple[float, float] | None) -> None:
        """Record who acted and what came of it."""
        self.tally.steps += 1
        if source >= 0:
            self.tally.use[source] += 1
        for name, count in zip(self.tally.mishaps, step.mishaps, strict=True):
            self.tally.mishaps[name] += count
        self.rewards.append(float(step.reward))
        self.successes.append(step.success)
        self.sources.append(source)
        if position:
            self.track.append(position)

    def note_losses(self) -> None:
        """Add the losses of this step's update, if there was one, to the sums."""
        for name, value in self.losses.items():
            total, count = self.tally.losses.get(name, (0.0, 0))
            if not np.isfinite(latest := float(value)):
                raise UserError(
                    f"{name} became {latest} at step {self.step}; try a smaller --learning-rate "
                    "(the last checkpoint is kept)"
                )
            self.tally.losses[name] = (total + latest, count + 1)
        self.losses = {}

    def close_episode(self, gamma: float, terminated: bool) -> None:
        """Turn the episode under way into a record, and make room for the next."""
        weights = gamma ** np.arange(len(self.rewards))
        if terminated:
            self.plan = self.plan.settle(0.0, True)
        first = self.successes.index(1.0) + 1 if 1.0 in self.successes else -1
        first = first if first < 0 else first * self.arena.repeat
        success = success_any(self.successes)
        self.ended.append(
            Episode(
                number=self.episode,
                step=self.step,
                total=float(np.sum(self.rewards)),
                discounted=float(np.dot(weights, self.rewards)),
                length=len(self.rewards),
                success_any=success,
                success_last=self.successes[-1],
                first_success=first,
                sources=np.asarray(self.sources, np.int16),
                track=np.asarray(self.track, np.float32).reshape(-1, 2),
            )
        )
        self.replay.episode_ended(len(self.rewards), success, self.ended[-1].total)
        self.tally.episodes.append((self.ended[-1].total, success))
        self.tally.finished += 1
        self.forget_episode()

    def forget_episode(self) -> None:
        """Start counting a new episode."""
        self.episode += 1
        self.rewards, self.successes, self.sources, self.track = [], [], [], []
        self.fresh = True

    def take_news(self) -> tuple[tuple[Episode, ...], tuple[Selection, ...]]:
        """What happened since the last report; each record is handed over once."""
        news = tuple(self.ended), tuple(self.selected)
        self.ended, self.selected = [], []
        return news


def begin(
    method: Method, arena: Arena, priors: Priors, schedule: Schedule, *, steps: int, seed: int
) -> Loop:
    """The state before the first step."""
    spec = Spec(arena.obs_dim, arena.action_dim, len(priors))
    obs, action = np.zeros(spec.obs, np.float32), np.zeros(spec.action, np.float32)
    silence = np.zeros((spec.priors, spec.action), np.float32)
    advice = Advice.of(silence, silence)
    zero = np.float32(0.0)
    before: Any = (obs, advice, np.int32(0), action, zero, zero)
    row = Transition(*before, obs, advice, Place.of(0, False))  # pyright: ignore
    agent, critic = method.init(jax.random.key(seed), spec), method.critic
    learned = critic.bounded and critic.reward_range is None
    extremes = Extremes(np.asarray(critic.discounts(critic.heads(spec)))) if learned else None
    return Loop(
        flat=FlatAgent.of(agent),
        plan=Plan.start(spec),
        replay=ReplayBuffer(min(schedule.capacity, steps), row, seed, columns_read(method, row)),
        arena=arena,
        obs=obs,
        advice=advice,
        tally=Tally(spec.policies, arena.mishaps),
        faults=Faults.none(spec.priors),
        extremes=extremes,
    )
