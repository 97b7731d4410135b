"""Timing in turns: a machine that slows down for a while slows everybody down."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from reprise.training import cores

Turn = Callable[[], int]
"""Does some work and says how many units of it were done."""
Clock = Callable[[], float]
Tick = Callable[[float], None]
"""Is told between turns, while nothing is timed, which share of them is over."""


def unheard(share: float) -> None:
    """Nobody listens."""


class Speed(NamedTuple):
    """How long one unit took, once per round."""

    seconds: tuple[float, ...]

    @property
    def per_second(self) -> float:
        """Units per second in the median round."""
        return 1.0 / statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest round minus fastest, relative to the median one."""
        return (max(self.seconds) - min(self.seconds)) / statistics.median(self.seconds)

    def times(self, other: Speed) -> float:
        """How many times as long as the other's a unit takes: the median over rounds."""
        pairs = zip(self.seconds, other.seconds, strict=True)
        return statistics.median(mine / its for mine, its in pairs)


def in_turns(
    contestants: Mapping[str, Turn],
    rounds: int,
    clock: Clock = time.perf_counter,
    tick: Tick = unheard,
) -> dict[str, Speed]:
    """Everybody plays one turn that does not count (it compiles), then one in each round.

    As in a run, whatever computes without Python's knowledge has a core of its own.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    turns = [name for _ in range(1 + rounds) for name in contestants]
    with cores.claimed() as core:
        for played, name in enumerate(turns):
            began = clock()
            units = contestants[name]()
            if played >= len(contestants):
                seconds[name].append((clock() - began) / units)
            core.settle()
            tick((played + 1) / len(turns))
    return {name: Speed(tuple(each)) for name, each in seconds.items()}
