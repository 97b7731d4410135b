"""A suite is a list of cells: the runs behind one figure or table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from reprise.boundary.errors import UserError
from reprise.methods import Preset
from reprise.runs.recipe import Run
from reprise.tasks import find


class Library(NamedTuple):
    """Some priors under one name."""

    label: str = "none"
    refs: tuple[str, ...] = ()
    crowd: int = 0
    """If more than 0: repeated under numbered names until there are this many, to see the cost."""
    strangers: int = 0
    """Untrained networks that join them, to see whether useless priors do harm."""


NOBODY = Library()


@dataclass(frozen=True)
class Cell:
    """One run of a suite."""

    label: str
    """The line of the figure, or the row of the table, that it belongs to."""
    run: Run
    """Its recipe without priors: they are looked up when it starts."""
    library: Library = NOBODY
    needs: tuple[str, ...] = ()
    """Cells that come first, and whose learned policies join its priors in this order."""

    @property
    def name(self) -> str:
        """What its folder is called."""
        return cell_name(self.run.task, self.label, self.run.seed)


def cell_name(task: str, label: str, seed: int) -> str:
    """One name for each line, task and seed, made of letters that every folder may have."""
    parts = (task, label, f"s{seed}")
    return "-".join(re.sub(r"[^a-z0-9.]+", "-", part.lower()).strip("-") for part in parts)


@dataclass(frozen=True)
class Suite:
    """The runs behind a figure or table, each after those it needs."""

    name: str
    title: str
    scale: str
    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        known: set[str] = set()
        for cell in self.cells:
            if cell.name in known or not known.issuperset(cell.needs):
                raise UserError(f"suite {self.name!r}: cell {cell.name!r} comes twice or too early")
            known.add(cell.name)


class Choice(NamedTuple):
    """What somebody asks for instead of what a suite and its scale would give."""

    tasks: tuple[str, ...] = ()
    """Instead of the suite's own."""
    methods: tuple[str, ...] = ()
    """Only these lines, by label or by method."""
    seeds: int | None = None
    """How many, from 0."""
    steps: int | None = None
    """Environment steps of each run."""


EVERYTHING = Choice()


class Budget(NamedTuple):
    """How many tasks of a family, and how many seeds of each."""

    tasks: int
    seeds: int


@dataclass(frozen=True)
class Scale:
    """How much of a suite is run, and with which networks and steps."""

    name: str
    preset: Preset
    dear: Budget
    """For the tasks of the paper, which take hours."""
    cheap: Budget
    """For the others, which take minutes."""
    tiny: bool = False
    """A few hundred steps of networks that learn nothing: only to see everything work."""

    def budget(self, task: str) -> Budget:
        """What a task may cost."""
        return self.dear if find(task).costly else self.cheap

    def pick(self, tasks: Iterable[str]) -> list[str]:
        """The first tasks of each family, as many as the scale affords."""
        chosen: list[str] = []
        for task in tasks:
            family = find(task).family
            alike = sum(find(other).family == family for other in chosen)
            chosen += [task] * (alike < self.budget(task).tasks)
        return chosen


ALL = 1_000
SCALES = {
    scale.name: scale
    for scale in (
        Scale("smoke", "small", Budget(1, 1), Budget(1, 1), tiny=True),
        Scale("small", "small", Budget(1, 2), Budget(ALL, 5)),
        Scale("paper", "paper", Budget(ALL, 5), Budget(ALL, 5)),
    )
}
