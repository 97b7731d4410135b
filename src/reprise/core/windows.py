"""Stretches of rows in the replay buffer, found by index arithmetic: nothing is stored twice."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from reprise.core.replay import ReplayBuffer
from reprise.core.types import Ahead

TRIES = 64
"""Random places looked at for each window wanted."""


class Windows(NamedTuple):
    """Stretches of steps of one selection, cut short only by the end of an episode."""

    start: np.ndarray
    """The number of the first row, counted from the run's first."""
    which: np.ndarray
    """The place of its length among those asked for."""
    steps: np.ndarray
    """Rows in it; fewer than the length if the episode ended."""


def fit(
    replay: ReplayBuffer, start: np.ndarray, length: np.ndarray, overlapping: bool
) -> np.ndarray:
    """The rows of the window of this length from this row on; 0 where there is no such window.

    All rows of a window follow from one selection and none is of the random warm-up. Without
    `overlapping` a window starts at a multiple of its length after the selection.
    """
    held, source = replay.look(start, lambda t: (t.place.held, t.source))
    eligible = np.flatnonzero((source >= 0) & (overlapping | (held % length == 0)))
    steps = np.zeros(len(start), np.int64)
    steps[eligible] = _reach(replay, start[eligible], held[eligible], length[eligible])
    return steps


def _reach(
    replay: ReplayBuffer, start: np.ndarray, held: np.ndarray, length: np.ndarray
) -> np.ndarray:
    ahead = np.arange(length.max(initial=1))[None]
    rows = start[:, None] + ahead
    # `held` counts up by one as long as nobody selects: one comparison per row finds every border.
    together = replay.look(rows, lambda t: t.place.held) == held[:, None] + ahead
    steps = (together & (rows < replay.added) & (ahead < length[:, None])).sum(axis=1)
    over = replay.look(start + steps - 1, lambda t: t.place.last)
    return np.where((steps == length) | over, steps, 0)


def ahead(replay: ReplayBuffer, start: np.ndarray, own: int, other: int) -> Ahead:
    """What followed each row while the same policy acted, however often it was selected.

    Up to `own` steps of the task policy, up to `other` of a prior, one of the random warm-up.
    """
    reach = np.arange(max(own, other))[None]
    rows = np.minimum(start[:, None] + reach, replay.added - 1)
    source, last, rewards = replay.look(rows, lambda t: (t.source, t.place.last, t.reward))
    first = source[:, :1]
    longest = np.where(first == 0, own, np.where(first > 0, other, 1))
    # What comes after an episode's last row is another episode.
    over = np.cumsum(last, axis=1) - last > 0
    unbroken = (source == first) & ~over & (start[:, None] + reach < replay.added)
    taken = np.minimum.accumulate(unbroken & (reach < longest), axis=1)
    steps = taken.sum(axis=1)
    end: Any = replay.look(start + steps - 1, lambda t: (t.terminated, t.next_obs, t.next_advice))
    return Ahead(np.where(taken, rewards, np.float32(0.0)), steps.astype(np.int32), *end)  # pyright: ignore


def sample(
    replay: ReplayBuffer,
    lengths: tuple[int, ...],
    count: int,
    rng: np.random.Generator,
    *,
    overlapping: bool,
) -> Windows:
    """Up to `count` windows, uniformly among all those of these lengths that the buffer holds."""
    asked = np.asarray(lengths)
    start = replay.added - len(replay) + rng.integers(len(replay), size=TRIES * count)
    which = rng.integers(len(lengths), size=TRIES * count)
    if not overlapping:  # most places are no multiple: leave them out before looking further
        keep = replay.look(start, lambda t: t.place.held) % asked[which] == 0
        start, which = start[keep], which[keep]
    start, which = start[: 4 * count], which[: 4 * count]
    steps = fit(replay, start, asked[which], overlapping)
    found = np.flatnonzero(steps)[:count]
    return Windows(start[found], which[found], steps[found])
