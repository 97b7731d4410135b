"""Random keys for every step of a run: nothing random on the JAX side needs to be saved."""

from __future__ import annotations

import jax
import numpy as np


class Keys:
    """Random keys that depend on the seed and the step alone, made a thousand at a time."""

    BLOCK = 1024

    def __init__(self, seed: int):
        self._root, self._block, self._rows = jax.random.key(seed), -1, np.empty((0, 2, 2))

    def __call__(self, step: int) -> np.ndarray:
        """Two keys: one to act with, one to learn with."""
        block, row = divmod(step, self.BLOCK)
        if block != self._block:
            keys = jax.random.split(jax.random.fold_in(self._root, block), (self.BLOCK, 2))
            self._block, self._rows = block, np.asarray(jax.random.key_data(keys))
        return self._rows[row]
