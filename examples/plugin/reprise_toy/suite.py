"""A suite: the runs behind a comparison."""

from reprise.suites import Cell, Choice, Scale
from reprise.suites.grid import grid, plain


def cells(scale: Scale, choice: Choice) -> list[Cell]:
    """Turns against no reuse, in both corners."""
    tasks = ("toy/north-east", "toy/south-west")
    return grid(plain("round-robin", "scratch"), tasks, scale, choice)
