"""Random MDPs whose values a table can hold."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from reprise.lab.theory import tabular
from reprise.lab.theory.tabular import Mdp
from stubs import GivenQ

S, A = 5, 3


class TableQ(GivenQ):
    """Q as a table: states and actions arrive as one-hot vectors."""

    sizes = (S, A)

    table: jax.Array

    def __call__(self, obs: jax.Array, action: jax.Array) -> jax.Array:
        return jnp.einsum("s,sah,a->h", obs, self.table, action)


def world(seed: int, policies: int) -> tuple[Mdp, np.ndarray]:
    """An MDP with rewards in [0, 1], and deterministic policies (policies, S, A)."""
    rng = np.random.default_rng(seed)
    mdp = Mdp(rng.dirichlet(np.full(S, 0.3), (S, A)), rng.uniform(0, 1, (S, A)))
    return mdp, tabular.one_hot(rng.integers(A, size=(policies, S)), A)
