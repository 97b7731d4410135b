"""Ant priors: one policy learns to walk to a corner; turned by quarters it walks to all four.

The ant has four equal legs and the empty map four equal corners, so a quarter turn of everything
about the middle is a symmetry of the simulation. It only permutes numbers and flips signs: the
turned policy is the same network with its first and last layer rearranged.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from reprise.boundary.errors import UserError
from reprise.lab.make.trained import measured, trained
from reprise.priors import Card, Policy, save
from reprise.runs.judge import ZERO_SHOT
from reprise.tasks import find
from reprise.tasks.legs import turning
from reprise.training.evaluate import episode_seeds

STEPS = 200_000
EPISODES = 50
NEEDED = 0.9
LEARNED = "ne"
TURNS = {"ne": 0, "nw": 1, "sw": 2, "se": 3}
"""Counterclockwise quarter turns from the corner that is learned to each corner."""


def ants(out: Path, seed: int) -> list[Card]:
    """Four policies to the four corners of the empty map: one trained, three turned."""
    learned = trained(find(f"antmaze/empty-{LEARNED}"), out / ".runs", seed, STEPS)
    cards: list[Card] = []
    for corner, quarters in TURNS.items():
        task = find(f"antmaze/empty-{corner}")
        policy = turn(learned, quarters)
        seeds = episode_seeds(seed, ZERO_SHOT, 0, EPISODES)
        share = measured(policy, task, seeds).success_any
        if share < NEEDED:
            raise UserError(f"prior {corner!r} reaches its corner in only {share:.0%} of episodes")
        how = f", turned by {90 * quarters} degrees" if quarters else ""
        card = replace(policy.card, name=corner, task=task.id, success={task.id: share})
        card = replace(card, origin=learned.card.origin + how)
        cards.append(save(out / corner, replace(policy, card=card)))
    return cards


def turn(policy: Policy, quarters: int) -> Policy:
    """The policy that does in the turned world what this one does in ours."""
    seen, done = (part.astype(np.float32) for part in turning(quarters))
    # Observations are turned back first: obs @ seen, which the first layer may as well do.
    first, *between, last = policy.weights
    weights = (seen @ first, *between, _turn_outputs(last, done))
    biases = (*policy.biases[:-1], _turn_outputs(policy.biases[-1], done))
    return replace(policy, weights=weights, biases=biases)


def _turn_outputs(outputs: np.ndarray, done: np.ndarray) -> np.ndarray:
    """A last layer's columns: means change sides and signs, deviations have no sign."""
    mean, log_std = np.split(outputs, 2, axis=-1)
    return np.concatenate([mean @ done.T, log_std @ np.abs(done).T], axis=-1)
