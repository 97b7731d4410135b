"""Which priors' heads learn from which rows, where not all of them learn from every row."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from reprise.core.types import PyTree

HeadIds = Int[Array, "groups m"]
"""Row r teaches the heads of the priors in line r modulo the number of lines."""


def in_turns(priors: int, m: int, first: Int[Array, ""]) -> HeadIds:
    """m priors for each row, who take turns from this one on.

    If the first is a random one, a row meets each prior with probability m / K.
    """
    groups = priors // math.gcd(priors, m)
    turns = (first + jnp.arange(groups * m, dtype=jnp.int32)) % priors
    return turns.reshape(groups, m)


def each_row(function: Callable[..., PyTree], head_ids: HeadIds | None, *columns: PyTree) -> PyTree:
    """function(priors, *row) of every row, where `priors` are those whose heads it teaches.

    Rows that teach the same heads are computed together, because one product with a head's
    weights is much cheaper than one for each row. The last group is filled up with the first rows
    again, and what comes of them is left out.
    """
    if head_ids is None:
        return jax.vmap(partial(function, None))(*columns)
    rows = len(jax.tree.leaves(columns)[0])
    head_ids = head_ids[:rows]
    groups = len(head_ids)
    full = -(-rows // groups) * groups

    def grouped(column: Array) -> Array:
        filled = column if full == rows else jnp.asarray(column)[np.arange(full) % rows]
        return filled.reshape(-1, groups, *column.shape[1:])

    def flat(column: Array) -> Array:
        return column.reshape(full, *column.shape[2:])[:rows]

    alike = jax.vmap(function, in_axes=(None, *(0 for _ in columns)))
    every = jax.vmap(alike, in_axes=(0, *(1 for _ in columns)), out_axes=1)
    found: Any = every(head_ids, *jax.tree.map(grouped, columns))
    return jax.tree.map(flat, found)
