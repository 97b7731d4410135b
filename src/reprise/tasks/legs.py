"""The ant's symmetries, as matrices on its observations (29) and actions (8).

An ant has four equal legs and no front. Giving each leg the name of the next one changes what is
written down and nothing else; turning the whole empty map by a quarter changes nothing either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Symmetry(NamedTuple):
    """What becomes of an observation and of an action, as `matrix @ vector`."""

    observation: np.ndarray
    action: np.ndarray


def renaming(quarters: int) -> Symmetry:
    """The same ant with its heading counted from another leg: less by `quarters` * 90 degrees."""
    legs, plane, one = _next_leg(quarters), _turn(quarters), np.eye(1)
    half = -np.pi / 4 * quarters
    c, s = np.cos(half), np.sin(half)
    # The quaternion (w, x, y, z) times that of a turn about the ant's own upright axis.
    heading = np.array([[c, 0, 0, -s], [0, c, s, 0], [0, -s, c, 0], [s, 0, 0, c]])
    pose = (np.eye(3), heading, legs)
    motion = (np.eye(3), plane, one, legs)  # its angular velocity is in its own frame
    return Symmetry(_blocks(*pose, *motion), _motors(legs))


def turning(quarters: int) -> Symmetry:
    """The world turned counterclockwise about the middle, legs renamed: the heading stays."""
    legs, plane, one = _next_leg(quarters), _turn(quarters), np.eye(1)
    pose = (plane, one, one, plane, one, legs)  # x y, z, quaternion w, x y, z, joints
    motion = (plane, one, plane, one, legs)
    return Symmetry(_blocks(*pose, *motion), _motors(legs))


def _turn(quarters: int) -> np.ndarray:
    """The plane turned counterclockwise."""
    return np.linalg.matrix_power(np.array([[0.0, -1.0], [1.0, 0.0]]), quarters % 4)


def _next_leg(quarters: int) -> np.ndarray:
    """Each leg's hip and ankle as those of the leg `quarters` further counterclockwise.

    Hips all turn about the same axis. The ankles' axes are (-1, 1), (1, 1), (-1, 1), (1, 1): a
    quarter turn makes the first the second's opposite, the second the third, and so on in turns.
    """
    matrix = np.zeros((8, 8))
    for leg in range(4):
        following = (leg + 1) % 4
        matrix[2 * following, 2 * leg] = 1.0
        matrix[2 * following + 1, 2 * leg + 1] = -1.0 if leg % 2 == 0 else 1.0
    return np.linalg.matrix_power(matrix, quarters % 4)


def _motors(legs: np.ndarray) -> np.ndarray:
    """The motors begin with the fourth leg, the joints with the first."""
    return np.roll(legs, (2, 2), (0, 1))


def _blocks(*parts: np.ndarray) -> np.ndarray:
    """A matrix with these along its diagonal."""
    size = sum(len(part) for part in parts)
    whole, begin = np.zeros((size, size)), 0
    for part in parts:
        end = begin + len(part)
        whole[begin:end, begin:end] = part
        begin = end
    return whole


NAMINGS = tuple(renaming(quarters) for quarters in range(8))
"""Eight, since a quaternion returns to its sign only after two full turns."""


def by_compass(pose: np.ndarray) -> Symmetry:
    """The naming in which an ant of that `qpos` heads east, give or take 45 degrees."""
    heading = 2.0 * np.arctan2(pose[6], pose[3])
    return NAMINGS[round(heading / (np.pi / 2)) % 8]
