"""Point-maze priors: four policies to the four corners of the largest empty map."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reprise.boundary.errors import UserError
from reprise.lab.make.trained import measured, trained
from reprise.priors import Card, save
from reprise.runs.judge import ZERO_SHOT
from reprise.tasks import find
from reprise.tasks.pointmaze import CORNERS, SIZES
from reprise.training.evaluate import episode_seeds

STEPS = 20_000
EPISODES = 100
NEEDED = 0.95


def points(out: Path, seed: int) -> list[Card]:
    """One policy per corner, trained on the largest empty map, measured on all."""
    cards: list[Card] = []
    for corner in CORNERS:
        largest = find(f"pointmaze/empty{max(SIZES)}-{corner}")
        policy = trained(largest, out / ".runs", seed, STEPS)
        tasks = [find(f"pointmaze/empty{size}-{corner}") for size in SIZES]
        seeds = episode_seeds(seed, ZERO_SHOT, 0, EPISODES)
        success = {task.id: measured(policy, task, seeds).success_last for task in tasks}
        if (worst := min(success.values())) < NEEDED:
            raise UserError(f"prior {corner!r} reaches its corner in only {worst:.0%} of episodes")
        card = replace(policy.card, name=corner, success=success)
        cards.append(save(out / corner, replace(policy, card=card)))
    return cards
