"""A ring of pytrees in NumPy memory. It stores whatever a transition is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from reprise.core.types import PyTree


class Field(NamedTuple):
    """Where a leaf of a row lies: in which table, from which column on."""

    table: int
    start: int
    shape: tuple[int, ...]
    kind: np.dtype[Any]

    def cut(self, tables: tuple[Any, ...]) -> Any:
        """The leaf, for all rows of the tables; a view of them in NumPy.

        Zeros if its table is not among them: nobody reads it, and under jit it costs nothing.
        """
        if self.table >= len(tables):
            return np.zeros((len(tables[0]), *self.shape), self.kind)
        rows = tables[self.table]
        width = int(np.prod(self.shape))
        return rows[:, self.start : self.start + width].reshape(len(rows), *self.shape)


class Layout(NamedTuple):
    """How a row's leaves lie in tables: one per type of number, those that are sampled first."""

    tree: Any
    fields: tuple[Field, ...]

    def split(self, tables: tuple[Any, ...]) -> PyTree:
        """The tree whose leaves the tables hold."""
        return jax.tree.unflatten(self.tree, [one.cut(tables) for one in self.fields])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Packed:
    """Rows as few tables: a jitted function takes three arrays faster than fifteen."""

    tables: tuple[Any, ...]
    best: Any
    """How many of them, the first ones, were drawn from the best episodes."""
    layout: Layout = field(metadata={"static": True})
    ahead: Any = None
    """What followed them, if a critic wants to know."""

    def unpack(self) -> PyTree:
        """The rows as a tree of columns."""
        return self.layout.split(self.tables)


class Table(NamedTuple):
    """What lies together: numbers of one type that are sampled, or that are not."""

    left_out: bool
    kind: np.dtype[Any]


def arrange(example: PyTree, read: PyTree) -> tuple[Layout, dict[Table, int]]:
    """The layout of rows like `example`, and how wide each table is.

    `read` has a truth value for each leaf: whether it is sampled.
    """
    leaves, tree = jax.tree.flatten(example)
    arrays = [np.asarray(leaf) for leaf in leaves]
    tables = [Table(not wanted, array.dtype) for array, wanted in zip(
        arrays, jax.tree.leaves(read), strict=True
    )]  # fmt: skip
    # What is sampled comes first; the sort keeps the order of first appearance otherwise.
    widths = dict.fromkeys(sorted(tables, key=lambda table: table.left_out), 0)
    order, fields = list(widths), list[Field]()
    for array, table in zip(arrays, tables, strict=True):
        fields.append(Field(order.index(table), widths[table], array.shape, array.dtype))
        widths[table] += array.size
    return Layout(tree, tuple(fields)), widths


class Highlights:
    """Where the rows of the best episodes lie: by their numbers, so that nothing is kept twice."""

    TOP = 0.1
    """The share of all episodes that count as best where nobody says what success is."""

    def __init__(self) -> None:
        self.episodes = np.empty((0, 4))
        """First row, row after the last, success (NaN: unknown) and return of each episode."""
        self._starts, self._ends = np.empty(0, np.int64), np.zeros(0, np.int64)

    def note(self, start: int, stop: int, success: float, total: float) -> None:
        """An episode is over."""
        self.episodes = np.vstack([self.episodes, (start, stop, success, total)])
        self._find()

    def put(self, episodes: np.ndarray) -> None:
        """Go on with these."""
        self.episodes = episodes.reshape(-1, 4)
        self._find()

    def forget(self, oldest: int) -> None:
        """Rows before this one are overwritten."""
        kept = self.episodes[self.episodes[:, 1] > oldest]
        if len(kept) < len(self.episodes):
            self.put(kept)

    def _find(self) -> None:
        best = self.episodes[self._best()]
        self._starts, lengths = best[:, 0].astype(np.int64), best[:, 1] - best[:, 0]
        self._ends = np.cumsum(lengths.astype(np.int64))

    def _best(self) -> np.ndarray:
        success, total = self.episodes[:, 2], self.episodes[:, 3]
        if not len(total) or not np.isnan(success).all():
            return success > 0.0
        return (total >= np.quantile(total, 1.0 - self.TOP)) & (total > np.median(total))

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Numbers of rows, uniformly among all rows of the best episodes; none if there is none."""
        if not len(self._ends):
            return np.empty(0, np.int64)
        places = rng.integers(self._ends[-1], size=count)
        which = np.searchsorted(self._ends, places, side="right")
        return self._starts[which] + places - (self._ends[which] - self._lengths(which))

    def _lengths(self, which: np.ndarray) -> np.ndarray:
        return np.diff(self._ends, prepend=0)[which]


class ReplayBuffer:
    """Rows drawn uniformly, or some of them from the best episodes.

    It owns one random generator, whose state is plain JSON.
    """

    def __init__(
        self, capacity: int, example: PyTree, seed: int, read: PyTree | None = None
    ) -> None:
        if read is None:
            read = jax.tree.map(lambda leaf: True, example)
        self._layout, widths = arrange(example, read)
        # np.empty asks for address space, not memory: pages come as rows are written.
        self._tables = tuple(np.empty((capacity, n), table.kind) for table, n in widths.items())
        self._sampled = self._tables[: sum(not table.left_out for table in widths)]
        self._slots = self._layout.split(self._tables)
        self._columns = jax.tree.leaves(self._slots)
        self.capacity = capacity
        self.added = 0
        self.rng = np.random.default_rng(seed)
        self.highlights = Highlights()

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def add(self, item: PyTree) -> None:
        """Write one row, over the oldest one if the ring is full."""
        row = self.added % self.capacity
        for column, value in zip(self._columns, jax.tree.leaves(item), strict=True):
            column[row] = value
        self.added += 1

    def sample(self, n: int, share: float = 0.0) -> Packed:
        """Rows drawn with replacement, this share of them from the best episodes, if there are any.

        Leaves that nobody reads are left out.
        """
        return self.take(*self.draw(n, share))

    def draw(self, n: int, share: float) -> tuple[np.ndarray, int]:
        """The numbers of the rows of a sample, and how many of them are of the best episodes."""
        oldest = self.added - len(self)
        rows, best = oldest + self.rng.integers(len(self), size=n), np.empty(0, np.int64)
        if share:
            best = self.highlights.draw(round(share * n), self.rng)
            best = best[best >= oldest]  # the beginning of an episode may be overwritten already
            rows[: len(best)] = best
        return rows, len(best)

    def take(self, rows: np.ndarray, best: int = 0) -> Packed:
        """The rows with these numbers, of which the first `best` are of the best episodes."""
        tables = tuple(table[rows % self.capacity] for table in self._sampled)
        return Packed(tables, np.int32(best), self._layout)

    def episode_ended(self, length: int, success: float, total: float) -> None:
        """The newest `length` rows were an episode."""
        self.highlights.forget(self.added - len(self))
        self.highlights.note(self.added - length, self.added, success, total)

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
        return sum(table.nbytes for table in self._tables)
