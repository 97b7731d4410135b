"""Training the shipped priors again: `reprise priors build NAME`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from reprise.assess import ZERO_SHOT
from reprise.errors import UserError, unknown
from reprise.evaluate import episode_seeds, evaluate
from reprise.execute import Listener, execute
from reprise.methods import prepare
from reprise.priors import Card, Policy, load, save
from reprise.spec import Run
from reprise.tasks import Task, find
from reprise.tasks.pointmaze import CORNERS, SIZES
from reprise.terminal import ProgressLine

STEPS = 20_000
EPISODES = 100
NEEDED = 0.95


def build(name: str, out: Path, seed: int = 0) -> list[Card]:
    """Train a named set of priors with Scratch and write them with their measured success."""
    sets = {"pointmaze": corners}
    if name not in sets:
        raise unknown("prior set", name, sets)
    return sets[name](out, seed)


def corners(out: Path, seed: int) -> list[Card]:
    """Four policies to the four corners, trained on the largest empty map, measured on all."""
    cards: list[Card] = []
    for corner in CORNERS:
        trained = _scratch(find(f"pointmaze/empty{max(SIZES)}-{corner}"), out / ".runs", seed)
        success = {
            (task := find(f"pointmaze/empty{size}-{corner}")).id: _success(trained, task, seed)
            for size in SIZES
        }
        if (worst := min(success.values())) < NEEDED:
            raise UserError(f"prior {corner!r} reaches its corner in only {worst:.0%} of episodes")
        card = replace(trained.card, name=corner, success=success)
        cards.append(save(out / corner, Policy(card, trained.weights, trained.biases)))
    return cards


def _scratch(task: Task, runs: Path, seed: int) -> Policy:
    """A policy for a task, learned without priors; an interrupted build goes on where it was."""
    setup = prepare("scratch", task)
    run = Run("scratch", setup.method, task.id, (), seed, STEPS, "small", setup.schedule)
    line = ProgressLine(run, STEPS)
    listener = Listener(lambda p, speed: line.progress(p, speed), line.evaluation, line.warning)
    folder = runs / f"{task.id.rpartition('/')[2]}-{run.id}"
    outcome = execute(run, task, folder, listener=listener, tensorboard=False)
    line.close()
    if outcome.interrupted:
        raise UserError("stopped; run the same command again to continue")
    return load(folder / "policy")


def _success(policy: Policy, task: Task, seed: int) -> float:
    """The share of episodes from uniformly drawn cells that end where the policy should go."""
    seeds = episode_seeds(seed, ZERO_SHOT, 0, EPISODES)
    return evaluate(lambda obs: np.tanh(policy(obs).mean), task, seeds).success_last  # pyright: ignore
