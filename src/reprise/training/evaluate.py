"""Evaluation: a policy alone, on environments and seeds of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from reprise.core.method import Method
from reprise.priors import Priors
from reprise.tasks import Arena, Task

Act = Callable[[np.ndarray], np.ndarray]
"""Observations (n, obs) -> actions (n, action)."""


class Evaluation(NamedTuple):
    """What some episodes of one policy came to; NaN where a task has no notion of success."""

    episodes: int
    success_any: float
    success_last: float
    first_success_step: float
    return_mean: float
    return_std: float
    return_discounted: float
    """Mean realized discounted return: what head 0 claims to know."""
    value_start: float
    """Mean of head 0 at the starts of the same episodes."""
    sampled_success_any: float = float("nan")
    """The same with actions drawn from the policy, as in training, not its mode."""
    sampled_success_last: float = float("nan")
    sampled_return_mean: float = float("nan")

    def beside(self, sampled: Evaluation) -> Evaluation:
        """This one of the mode, and what the policy earned when its actions were drawn."""
        return self._replace(
            sampled_success_any=sampled.success_any,
            sampled_success_last=sampled.success_last,
            sampled_return_mean=sampled.return_mean,
        )


class Stage:
    """Arenas of one task, kept from one evaluation to the next: to build a simulator takes long.

    Every episode begins with a seeded reset, which leaves nothing of what was played before.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._kept = task, list[Arena]()

    def arenas(self, count: int) -> list[Arena]:
        """So many arenas, opened if there are not enough."""
        self._kept += [self._task.open() for _ in range(count - len(self._kept))]
        return self._kept[:count]

    def close(self) -> None:
        """Close them all; they are opened anew if asked for again."""
        while self._kept:
            self._kept.pop().close()


class _Tally:
    """What one episode adds up to while it is played."""

    def __init__(self) -> None:
        self.total, self.discounted, self.weight = 0.0, 0.0, 1.0
        self.successes: list[float] = []
        self.over = False


def evaluate(
    act: Act,
    task: Task | Stage,
    seeds: Sequence[int],
    *,
    gamma: float = 0.99,
    value: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Evaluation:
    """Play one episode per seed, all in step, so that a policy is asked once per step."""
    stage = task if isinstance(task, Stage) else Stage(task)
    try:
        arenas = stage.arenas(len(seeds))
        obs = np.stack([a.reset(s) for a, s in zip(arenas, seeds, strict=True)])
        start = value(obs, act(obs)) if value else np.full(len(arenas), np.nan)
        tallies = [_Tally() for _ in arenas]
        while not all(tally.over for tally in tallies):
            actions = act(obs)
            for i, (arena, tally) in enumerate(zip(arenas, tallies, strict=True)):
                if not tally.over:
                    obs[i] = _advance(arena, actions[i], tally, gamma)
    finally:
        if stage is not task:  # the caller's own stage stays open
            stage.close()
    return _summary(tallies, start, arenas[0].repeat)


def advisers(method: Method, actor: Any, priors: Priors) -> Priors:
    """The priors that a learned actor needs in order to act: none if it is a whole policy."""
    return priors if method.actor.export(actor) is None else Priors()


def _advance(arena: Arena, action: np.ndarray, tally: _Tally, gamma: float) -> np.ndarray:
    step = arena.step(action)
    tally.total += float(step.reward)
    tally.discounted += tally.weight * float(step.reward)
    tally.weight *= gamma
    tally.successes.append(step.success)
    tally.over = step.terminated or step.truncated
    return step.obs


def _summary(tallies: Sequence[_Tally], start: np.ndarray, repeat: int) -> Evaluation:
    firsts = [repeat * (t.successes.index(1.0) + 1) for t in tallies if 1.0 in t.successes]
    totals = np.array([t.total for t in tallies])
    return Evaluation(
        episodes=len(tallies),
        success_any=float(np.mean([success_any(t.successes) for t in tallies])),
        success_last=float(np.mean([t.successes[-1] for t in tallies])),
        first_success_step=float(np.mean(firsts)) if firsts else float("nan"),
        return_mean=float(totals.mean()),
        return_std=float(totals.std()),
        return_discounted=float(np.mean([t.discounted for t in tallies])),
        value_start=float(np.mean(start)),
    )


def success_any(successes: Sequence[float]) -> float:
    """Whether the flag was ever up; NaN if there is no flag."""
    return float("nan") if np.isnan(successes).all() else float(max(successes))


def episode_seeds(seed: int, purpose: int, step: int, count: int) -> list[int]:
    """Seeds for episodes that depend on nothing but these numbers."""
    return [int(x) for x in np.random.SeedSequence([seed, purpose, step]).generate_state(count)]
