"""Ant priors: one policy learns to walk to a corner; turned by quarters it walks to all four.

The ant has four equal legs and the empty map four equal corners, so a quarter turn of everything
about the middle, with the legs renamed so that the ant still faces the same way, is a symmetry of
the simulation. It only permutes numbers and flips signs: the turned policy is the same network
with its first and last layer rearranged.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from reprise.errors import UserError
from reprise.priors import Card, Policy, save
from reprise.tasks import find
from reprise.trained import success, trained

STEPS = 600_000
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
        share = success(policy, task, seed, EPISODES).success_any
        if share < NEEDED:
            raise UserError(f"prior {corner!r} reaches its corner in only {share:.0%} of episodes")
        how = f", turned by {90 * quarters} degrees" if quarters else ""
        card = replace(policy.card, name=corner, task=task.id, success={task.id: share})
        card = replace(card, origin=learned.card.origin + how)
        cards.append(save(out / corner, replace(policy, card=card)))
    return cards


def turn(policy: Policy, quarters: int) -> Policy:
    """The policy that does in the turned world what this one does in ours."""
    seen, done = turned_observation(quarters), turned_action(quarters)
    # Turned back by the transpose and multiplied from the left, observations meet `seen @ w`.
    first, *between, last = policy.weights
    weights = (seen @ first, *between, _turn_outputs(last, done))
    biases = (*policy.biases[:-1], _turn_outputs(policy.biases[-1], done))
    return replace(policy, weights=weights, biases=biases)


def _turn_outputs(outputs: np.ndarray, done: np.ndarray) -> np.ndarray:
    """A last layer's columns: means change sides and signs, deviations have no sign."""
    mean, log_std = np.split(outputs, 2, axis=-1)
    return np.concatenate([mean @ done.T, log_std @ np.abs(done).T], axis=-1)


def turned_observation(quarters: int) -> np.ndarray:
    """What an observation becomes when the world is turned and the legs are renamed."""
    plane = np.array([[0, -1], [1, 0]])
    same, legs = np.eye(1), _next_leg()
    position = (plane, same)
    # A quaternion (w, x, y, z) turns like its vector part: the ant keeps its heading w, z.
    orientation = (same, plane, same)
    # Linear velocity, angular velocity (in the ant's own frame), joints.
    velocity = (plane, same, plane, same, legs)
    return _power(_blocks(*position, *orientation, legs, *velocity), quarters)


def turned_action(quarters: int) -> np.ndarray:
    """What an action becomes; the motors begin with the fourth leg, the joints with the first."""
    return _power(np.roll(_next_leg(), (2, 2), (0, 1)), quarters)


def _next_leg() -> np.ndarray:
    """Each leg's hip and ankle, given to the next leg counterclockwise.

    Hips all turn about the same axis. The ankles' axes are (-1, 1), (1, 1), (-1, 1), (1, 1): a
    quarter turn makes the first the second's opposite, the second the third, and so on in turns.
    """
    matrix = np.zeros((8, 8))
    for leg in range(4):
        following = (leg + 1) % 4
        matrix[2 * following, 2 * leg] = 1.0
        matrix[2 * following + 1, 2 * leg + 1] = -1.0 if leg % 2 == 0 else 1.0
    return matrix


def _blocks(*parts: np.ndarray) -> np.ndarray:
    """A matrix with these along its diagonal."""
    size = sum(len(part) for part in parts)
    whole, begin = np.zeros((size, size)), 0
    for part in parts:
        end = begin + len(part)
        whole[begin:end, begin:end] = part
        begin = end
    return whole


def _power(matrix: np.ndarray, quarters: int) -> np.ndarray:
    return np.linalg.matrix_power(matrix, quarters % 4).astype(np.float32)
