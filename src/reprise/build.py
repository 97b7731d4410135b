"""Making the shipped priors again: `reprise priors build NAME`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np

from reprise.antpriors import ants
from reprise.assess import ZERO_SHOT
from reprise.dagger import Lessons, dagger
from reprise.errors import UserError, unknown
from reprise.evaluate import Evaluation, episode_seeds, evaluate
from reprise.execute import Listener, execute
from reprise.methods import prepare
from reprise.priors import Card, Policy, load, save
from reprise.priors.scripted import expert, teacher
from reprise.spec import Run
from reprise.tasks import Task, find
from reprise.tasks.pointmaze import CORNERS, SIZES
from reprise.terminal import ProgressLine

By = Literal["dagger", "sac"]
NEEDED = 0.95
EPISODES = 50
GATE = 3
"""Purpose of the seeds on which a policy is accepted; its success is then measured on others."""


def build(name: str, out: Path, seed: int = 0, by: By | None = None) -> list[Card]:
    """Make a named set of priors and write them with their measured success."""
    sets: dict[str, Callable[[Path, int, By | None], list[Card]]] = {
        "pointmaze": corners,
        "metaworld": manipulation,
        "antmaze": walkers,
    }
    if name not in sets:
        raise unknown("prior set", name, sets)
    return sets[name](out, seed, by)


def corners(out: Path, seed: int, by: By | None = None) -> list[Card]:
    """Four policies to the four corners, trained on the largest empty map, measured on all."""
    if by == "dagger":
        raise UserError("by is 'dagger'; point mazes have no expert to learn from: use sac")
    cards: list[Card] = []
    for corner in CORNERS:
        largest = find(f"pointmaze/empty{max(SIZES)}-{corner}")
        trained = _scratch(largest, out / ".runs", seed, steps=20_000)
        tasks = [find(f"pointmaze/empty{size}-{corner}") for size in SIZES]
        seeds = episode_seeds(seed, ZERO_SHOT, 0, 100)
        success = {task.id: _measured(trained, task, seeds).success_last for task in tasks}
        if (worst := min(success.values())) < NEEDED:
            raise UserError(f"prior {corner!r} reaches its corner in only {worst:.0%} of episodes")
        card = replace(trained.card, name=corner, success=success)
        cards.append(save(out / corner, replace(trained, card=card)))
    return cards


def walkers(out: Path, seed: int, by: By | None = None) -> list[Card]:
    """Four ants to the four corners of their empty map."""
    if by == "dagger":
        raise UserError("by is 'dagger'; ant mazes have no expert to learn from: use sac")
    return ants(out, seed)


class Wanted(NamedTuple):
    """A policy for a task of Meta-World: how often it must succeed, and how it is made."""

    task: str
    least: float
    most: float
    first: int
    """The first round whose policy is looked at, if the one before it did well in practice."""
    lessons: Lessons
    budgets: tuple[int, ...]
    """Steps of SAC, tried in this order."""

    def fits(self, success: float) -> bool:
        """Whether a policy with that success is what is wanted."""
        return self.least <= success <= self.most


def _good(task: str) -> Wanted:
    return Wanted(task, NEEDED, 1.0, 3, Lessons(), (300_000, 600_000, 1_000_000))


def _weak(task: str) -> Wanted:
    """The first policy that succeeds at times, on a course of single episodes and few updates."""
    lessons = Lessons(shown=1, practiced=1, updates=100, rounds=100)
    return Wanted(task, 0.2, 0.6, 0, lessons, tuple(range(50_000, 300_001, 50_000)))


HARD = ("stick-pull", "coffee-pull")
GOOD = ("reach", "push", "pick-place", "push-back", "hammer", "shelf-place", *HARD)
METAWORLD = {name: _good(name) for name in GOOD} | {f"{name}-weak": _weak(name) for name in HARD}


def manipulation(out: Path, seed: int, by: By | None = None) -> list[Card]:
    """Policies for Meta-World, from its scripted experts (the default) or by SAC."""
    cards: list[Card] = []
    for name, wanted in METAWORLD.items():
        method = by or "dagger"
        origin = f"reprise {method}, seed {seed}"
        if (out / name / "policy.json").exists() and load(out / name).card.origin == origin:
            cards.append(load(out / name).card)  # an interrupted build goes on where it was
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
        seeds = episode_seeds(seed, GATE, number, EPISODES)
        gate = _measured(
            policy, replace(task, make=lambda: _Ending(task.make())), seeds
        ).success_any
        _tell(f"{name}: succeeds in {gate:.0%} of {EPISODES} episodes")
        if wanted.fits(gate):
            found = _measured(policy, task, episode_seeds(seed, ZERO_SHOT, number, EPISODES))
            _tell(f"{name}: measured {found}")
            if wanted.fits(found.success_any):
                return policy, {task.id: found.success_any}
    raise UserError(f"no {name!r} succeeds in {wanted.least:.0%} to {wanted.most:.0%} of episodes")


def _taught(wanted: Wanted, seed: int) -> Iterator[Policy]:
    """Policies taught by the expert, from the round on in which practice looks right."""
    task, card = find(f"metaworld/{wanted.task}"), expert(wanted.task).card
    for made in dagger(teacher(wanted.task), task, card, wanted.lessons, seed):
        _tell(f"{wanted.task}: round {made.number}, success in practice {made.practice:.0%}")
        if made.number >= wanted.first and made.practice >= wanted.least - 0.2:
            yield made.policy


def _learned(wanted: Wanted, runs: Path, seed: int) -> Iterator[Policy]:
    """Policies learned without priors, on larger and larger budgets."""
    for steps in wanted.budgets:
        yield _scratch(find(f"metaworld/{wanted.task}"), runs, seed, steps)


def _scratch(task: Task, runs: Path, seed: int, steps: int) -> Policy:
    """A policy for a task, learned without priors; an interrupted build goes on where it was."""
    setup = prepare("scratch", task)
    run = Run("scratch", setup.method, task.id, (), seed, steps, "small", setup.schedule)
    line = ProgressLine(run, steps)
    listener = Listener(lambda p, speed: line.progress(p, speed), line.evaluation, line.warning)
    folder = runs / f"{task.id.rpartition('/')[2]}-{run.id}"
    outcome = execute(run, task, folder, listener=listener, tensorboard=False)
    line.close()
    if outcome.interrupted:
        raise UserError("stopped; run the same command again to continue")
    return load(folder / "policy")


def _measured(policy: Policy, task: Task, seeds: list[int]) -> Evaluation:
    """What a policy achieves alone."""
    return evaluate(lambda obs: np.tanh(policy(obs).mean), task, seeds)  # pyright: ignore


class _Ending(gym.Wrapper[Any, Any, Any, Any]):
    """Over at the first success: as often successful as the whole episode, and sooner done."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated or bool(info["success"]), truncated, info


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
