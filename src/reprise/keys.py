"""Random keys for every step of a run: nothing random on the JAX side needs to be saved."""

from __future__ import annotations

import jax
import numpy as np


class Keys:
    """Random keys that depend on the seed and the step alone, made a thousand steps at a time."""

    BLOCK = 1024

    def __init__(self, seed: int, count: int):
        self._root, self._block = jax.random.key(seed), -1
        self._count, self._rows = count, np.empty((0, count, 2), np.uint32)

    def __call__(self, step: int) -> np.ndarray:
        """All keys of a step."""
        block, row = divmod(step, self.BLOCK)
        if block != self._block:
            shape = self.BLOCK, self._count
            keys = jax.random.split(jax.random.fold_in(self._root, block), shape)
            self._block, self._rows = block, np.asarray(jax.random.key_data(keys))
        return self._rows[row]
