"""Meta-World's priors, from its scripted experts or without any help."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from reprise.boundary.errors import UserError
from reprise.lab.make.dagger import Lessons, dagger
from reprise.lab.make.trained import measured, trained
from reprise.priors import Card, Policy, load, save
from reprise.priors.formats.scripted import expert, teacher
from reprise.priors.shipped import MAIN, MORE, WEAK
from reprise.runs.judge import ZERO_SHOT
from reprise.tasks import Task, find
from reprise.training.evaluate import episode_seeds

EPISODES = 50
NEEDED = 0.95
GATE = 3
"""Purpose of the seeds on which a policy is accepted; its success is then measured on others."""


class Wanted(NamedTuple):
    """A policy for a task of Meta-World: how often it must succeed, and how it is made."""

    task: str
    least: float
    most: float
    first: int
    """The first round whose policy is looked at."""
    practice: float
    """How often the policy before it must have succeeded in practice to look at one."""
    courses: tuple[Lessons, ...]
    """Courses of DAgger, tried in this order."""
    budgets: tuple[int, ...]
    """Steps of SAC, tried in this order."""

    def fits(self, success: float) -> bool:
        """Whether a policy with that success is what is wanted."""
        return self.least <= success <= self.most


def _good(task: str) -> Wanted:
    return Wanted(task, NEEDED, 1.0, 3, 0.75, (Lessons(),), (300_000, 600_000, 1_000_000))


def _weak(task: str, shown: int, updates: range) -> Wanted:
    """A policy that was shown little and never corrected, and has studied it just enough."""
    courses = tuple(Lessons(shown=shown, updates=some, rounds=0) for some in updates)
    return Wanted(task, 0.2, 0.6, 0, 0.0, courses, tuple(range(50_000, 300_001, 50_000)))


HARD = {"stick-pull": (6, range(800, 2001, 200)), "coffee-pull": (3, range(200, 501, 50))}
"""Tasks of the paper's study of prior sets: episodes shown to their weak policy, and updates."""
METAWORLD = {
    **{name: _good(name) for name in (*MAIN, *MORE, *HARD)},
    **{name + WEAK: _weak(name, *little) for name, little in HARD.items()},
}


def arms(out: Path, seed: int, by: str) -> list[Card]:
    """Policies for Meta-World, `by` dagger or sac; an interrupted build goes on where it was."""
    cards: list[Card] = []
    for name, wanted in METAWORLD.items():
        origin = f"reprise {by}, seed {seed}"
        if (out / name / "policy.json").exists() and load(out / name).card.origin == origin:
            cards.append(load(out / name).card)
            continue
        learn = _learned(wanted, out / ".runs", seed) if by == "sac" else _taught(wanted, seed)
        policy, success = _accepted(name, wanted, learn, seed)
        card = replace(policy.card, name=name, origin=origin, success=success)
        cards.append(save(out / name, replace(policy, card=card)))
    return cards


def _accepted(
    name: str, wanted: Wanted, candidates: Iterator[Policy], seed: int
) -> tuple[Policy, dict[str, float]]:
    """The first that is wanted by two measurements, and what the second one said."""
    task = find(f"metaworld/{wanted.task}")
    for number, policy in enumerate(candidates):
        gate = _share(policy, task, episode_seeds(seed, GATE, number, EPISODES))
        if wanted.fits(gate):
            success = _share(policy, task, episode_seeds(seed, ZERO_SHOT, number, EPISODES))
            if wanted.fits(success):
                return policy, {task.id: success}
    raise UserError(f"no {name!r} succeeds in {wanted.least:.0%} to {wanted.most:.0%} of episodes")


def _share(policy: Policy, task: Task, seeds: list[int]) -> float:
    """How often a policy succeeds; nothing is played on after a success."""
    ending = replace(task, make=lambda: _Ending(task.make()))
    share = measured(policy, ending, seeds).success_any
    _tell(f"{task.id}: succeeds in {share:.0%} of {len(seeds)} episodes")
    return share


def _taught(wanted: Wanted, seed: int) -> Iterator[Policy]:
    """Policies taught by the expert, from the round on in which practice looks right."""
    task, card = find(f"metaworld/{wanted.task}"), expert(wanted.task).card
    for lessons in wanted.courses:
        for made in dagger(teacher(wanted.task), task, card, lessons, seed):
            _tell(f"{wanted.task}: round {made.number}, success in practice {made.practice:.0%}")
            if made.number >= wanted.first and made.practice >= wanted.practice:
                yield made.policy


def _learned(wanted: Wanted, runs: Path, seed: int) -> Iterator[Policy]:
    """Policies learned without priors, on larger and larger budgets."""
    for steps in wanted.budgets:
        yield trained(find(f"metaworld/{wanted.task}"), runs, seed, steps)


class _Ending(gym.Wrapper[Any, Any, Any, Any]):
    """Over at the first success: as often successful as the whole episode, and sooner done."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated or bool(info["success"]), truncated, info


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
