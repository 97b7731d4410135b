"""Who was in control when, inside single episodes of training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reprise.findings.tables import numbers


class Stretch(NamedTuple):
    """One policy in control from a time in the episode up to another."""

    policy: str
    begin: int
    end: int


class Episode(NamedTuple):
    """The selections of one episode; `ended` says whether its length is known."""

    number: int
    step: int
    stretches: tuple[Stretch, ...]
    ended: bool


class Path(NamedTuple):
    """Where one episode went, and who acted at each point."""

    number: int
    step: int
    t: NDArray[np.float64]
    points: NDArray[np.float64]
    policies: list[str]
    success: bool = False

    def stretches(self) -> list[Stretch]:
        """The path cut where the acting policy changes, in places of the arrays."""
        names = self.policies
        cuts = [0, *(i for i in range(1, len(names)) if names[i] != names[i - 1]), len(names)]
        return [Stretch(names[a], a, b) for a, b in pairwise(cuts)]

    def reached(self, goal: tuple[float, float], radius: float) -> float | None:
        """The first time within a radius of the goal."""
        near = np.hypot(*(self.points - np.asarray(goal)).T) <= radius
        return float(self.t[near][0]) if near.any() else None


def spread(items: Sequence[int], count: int) -> list[int]:
    """At most `count` items, evenly spaced, with the first and the last among them."""
    places = np.linspace(0, len(items) - 1, min(count, len(items))).round().astype(int)
    return [items[i] for i in places]


def numbered(table: pd.DataFrame) -> list[int]:
    """The episodes that occur in a table, in order."""
    return [int(number) for number in np.unique(numbers(table, "episode"))]


def telling(tracks: pd.DataFrame, count: int, helped: int = 2) -> list[int]:
    """Some episodes from early to late, the first successes with a prior's help among them."""
    known = numbered(tracks)
    acted = ~tracks["policy"].isin(["task", "random"])
    first = numbered(tracks[acted & (tracks["success"] == 1.0)])[:helped]
    return sorted({*first, *spread([n for n in known if n not in first], count - len(first))})


def paths(tracks: pd.DataFrame, episodes: Sequence[int]) -> list[Path]:
    """The recorded paths of the given episodes."""
    return [_path(number, tracks[tracks["episode"] == number]) for number in episodes]


def control(
    switches: pd.DataFrame, tracks: pd.DataFrame, count: int, reached: float | None = None
) -> list[Episode]:
    """A few episodes spread over training, those with a recorded path before others.

    The last one has come as far as the step that the run has reached, if that is known.
    """
    chosen = numbered(switches)
    tracked = set(numbered(tracks))
    both = [number for number in chosen if number in tracked]
    picked = spread(both if len(both) >= min(count, len(chosen)) else chosen, count)
    return [_episode(number, switches, tracks, reached) for number in picked]


def _path(number: int, rows: pd.DataFrame) -> Path:
    points = np.stack([numbers(rows, "x"), numbers(rows, "y")], axis=1)
    names = [str(name) for name in rows["policy"]]
    success = bool((rows["success"] == 1.0).any())
    return Path(number, int(numbers(rows, "step")[0]), numbers(rows, "t"), points, names, success)


def _episode(
    number: int, switches: pd.DataFrame, tracks: pd.DataFrame, reached: float | None
) -> Episode:
    rows = switches[switches["episode"] == number]
    begins = [int(t) for t in numbers(rows, "t")]
    length = _length(number, switches, tracks)
    if length is None and reached is not None:
        length = int(reached - _origin(rows)) + 1
    # Of an episode in progress only the beginnings of its stretches are known.
    last = length if length is not None else begins[-1] + 1
    names = [str(name) for name in rows["to"]]
    bounds = zip(names, begins, [*begins[1:], max(last, begins[-1] + 1)], strict=True)
    # Every episode begins with a selection, but for the one in which the warm-up ends.
    warm = (Stretch("random", 0, begins[0]),) if begins[0] > 0 else ()
    stretches = (*warm, *(Stretch(*bound) for bound in bounds))
    return Episode(number, int(numbers(rows, "step")[0]), stretches, length is not None)


def _length(number: int, switches: pd.DataFrame, tracks: pd.DataFrame) -> int | None:
    path = tracks[tracks["episode"] == number]
    following = switches[switches["episode"] == number + 1]
    if len(following):
        return int(_origin(following) - _origin(switches[switches["episode"] == number]))
    return int(numbers(path, "t").max()) + 1 if len(path) else None


def _origin(rows: pd.DataFrame) -> float:
    """The training step at which an episode began."""
    return float(numbers(rows, "step")[0] - numbers(rows, "t")[0])
