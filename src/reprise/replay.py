"""A ring of pytrees in NumPy memory. It stores whatever a transition is made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from reprise.types import PyTree


class ReplayBuffer:
    """Uniform replay; it owns one random generator, whose state is plain JSON."""

    def __init__(self, capacity: int, example: PyTree, seed: int):
        # np.empty asks for address space, not memory: pages come as rows are written.
        def slots(x: Any) -> np.ndarray:
            return np.empty((capacity, *np.shape(x)), np.asarray(x).dtype)

        self._slots = jax.tree.map(slots, example)
        self._columns, self._shape = jax.tree.flatten(self._slots)
        self.capacity = capacity
        self.added = 0
        self.rng = np.random.default_rng(seed)

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, item: PyTree) -> None:
        """Write one row, over the oldest one if the ring is full."""
        row = self.added % self.capacity
        for column, value in zip(self._columns, jax.tree.leaves(item), strict=True):
            column[row] = value
        self.added += 1

    def sample(self, n: int) -> PyTree:
        """Rows drawn uniformly with replacement."""
        rows = self.rng.integers(len(self), size=n)
        return jax.tree.unflatten(self._shape, [column[rows] for column in self._columns])

    def look(self, rows: np.ndarray, read: Callable[[PyTree], PyTree]) -> PyTree:
        """Only what `read` takes of the rows with these numbers, counted from the first ever added.

        A number that was overwritten or not yet written gives another row: the caller's to know.
        """
        where = rows % self.capacity
        return jax.tree.map(lambda column: column[where], read(self._slots))

    def rows(self, start: int, stop: int) -> PyTree:
        """The rows added from the `start`-th to the `stop`-th, oldest first."""
        oldest = self.added - len(self)
        if not oldest <= start <= stop <= self.added:
            raise IndexError(f"rows {start}:{stop} are not among {oldest}:{self.added}")
        where = np.arange(start, stop) % self.capacity
        return jax.tree.map(lambda column: column[where], self._slots)

    def put(self, start: int, rows: PyTree) -> None:
        """Write rows back where `rows(start, ...)` read them, as when a run is resumed."""
        count = len(jax.tree.leaves(rows)[0])
        where = np.arange(start, start + count) % self.capacity
        for column, values in zip(self._columns, jax.tree.leaves(rows), strict=True):
            column[where] = values
        self.added = max(self.added, start + count)

    @property
    def nbytes(self) -> int:
        """Bytes if every row is written."""
        return sum(column.nbytes for column in self._columns)
