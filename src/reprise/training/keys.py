"""What is random in every step of a run: nothing of it on the JAX side needs to be saved."""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import prod

import jax
import numpy as np


class Keys:
    """Random keys that depend on the seed, the purpose and the step alone, made in advance.

    A step may be any count, such as that of the updates.
    """

    BLOCK = 1024

    def __init__(self, seed: int, count: int, purpose: int = 0) -> None:
        self._root, self._block = jax.random.fold_in(jax.random.key(seed), purpose), -1
        self._count, self._rows = count, np.empty((0, count, 2), np.uint32)

    def __call__(self, step: int) -> np.ndarray:
        """All keys of a step."""
        block, row = divmod(step, self.BLOCK)
        if block != self._block:
            shape = self.BLOCK, self._count
            keys = jax.random.split(jax.random.fold_in(self._root, block), shape)
            self._block, self._rows = block, np.asarray(jax.random.key_data(keys))
        return self._rows[row]


class Noise:
    """Standard normal numbers that depend on the seed and the step alone, made in advance.

    JAX's generator is a loop of tiny kernels on a CPU: a thousand steps at once take hardly longer
    than one, and an update with its noise at hand is that much shorter.
    """

    BLOCK = 2**20
    """Numbers made at a time, about."""
    STREAM = 2**31 - 1
    """Sets them apart from the keys of the same seed, whose purposes count from 0."""

    def __init__(self, seed: int, *shapes: tuple[int, ...], purpose: int = 0) -> None:
        self._root = jax.random.fold_in(jax.random.key(seed), self.STREAM - purpose)
        self._shapes, self._ends = shapes, [0, *accumulate(prod(shape) for shape in shapes)]
        self._steps, self._block = max(1, self.BLOCK // max(1, self._ends[-1])), -1
        self._rows = np.empty((0, 0), np.float32)

    def __call__(self, step: int) -> list[np.ndarray]:
        """An array of each shape."""
        block, row = divmod(step, self._steps)
        if block != self._block:
            shape = self._steps, self._ends[-1]
            numbers = jax.random.normal(jax.random.fold_in(self._root, block), shape)
            self._block, self._rows = block, np.asarray(numbers)
        numbers, spans = self._rows[row], zip(self._shapes, pairwise(self._ends), strict=True)
        return [numbers[start:end].reshape(shape) for shape, (start, end) in spans]
