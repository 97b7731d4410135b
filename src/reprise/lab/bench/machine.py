"""What the machine could do at best, and how much memory was used."""

from __future__ import annotations

import resource
import sys

import jax
import jax.numpy as jnp

from reprise.lab.bench.timing import Turn

SIDE = 1_024
"""Rows and columns of the matrices whose product is the measure."""
PRODUCTS = 4
"""Products per turn."""
FLOPS = 2.0 * SIDE**3
"""Multiplications and additions in one of them."""


def product() -> Turn:
    """A contestant that multiplies large float32 matrices with the library that learns."""
    left = jnp.full((SIDE, SIDE), 0.5)
    multiply = jax.jit(lambda x, y: x @ y)

    def turn() -> int:
        for _ in range(PRODUCTS):
            multiply(left, left).block_until_ready()
        return PRODUCTS

    return turn


def peak_memory(children: bool = False) -> float:
    """The most megabytes that this process, or any that it waited for, held at once."""
    who = resource.RUSAGE_CHILDREN if children else resource.RUSAGE_SELF
    unit = 1.0 if sys.platform == "darwin" else 1_024.0
    return resource.getrusage(who).ru_maxrss * unit / 2**20
