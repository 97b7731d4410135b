"""Random settings: small MDPs, policies, discounts and horizons from an explicit generator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reprise.lab.theory.setting import Setting
from reprise.lab.theory.tabular import Array, Mdp

GAMMAS = (0.8, 0.9, 0.99)
# Bounds the memory of one batch, whatever number of MDPs is asked for.
_CHUNK = 20_000


def draw(mdps: int, rng: np.random.Generator) -> Iterator[Setting]:
    """Settings that hold `mdps` random MDPs together, grouped by their sizes S, A and K."""
    for start in range(0, mdps, _CHUNK):
        count = min(_CHUNK, mdps - start)
        sizes = rng.integers([2, 2, 1], [7, 4, 4], size=(count, 3))
        shapes, counts = np.unique(sizes, axis=0, return_counts=True)
        for (states, actions, priors), n in zip(shapes.tolist(), counts.tolist(), strict=True):
            yield _batch(n, (states, actions, priors), rng)


def _batch(n: int, sizes: tuple[int, int, int], rng: np.random.Generator) -> Setting:
    states, actions, priors = sizes
    concentration = rng.choice([0.1, 1.0], size=(n, 1, 1, 1))
    gamma = rng.choice(GAMMAS, size=n)
    r = _rewards(n, states, actions, rng)
    return Setting(
        mdp=Mdp(_dirichlet(concentration, (n, states, actions, states), rng), r),
        pi=_dirichlet(0.3, (n, states, actions), rng),
        priors=_dirichlet(0.3, (n, priors, states, actions), rng),
        gamma=gamma,
        gbar=gamma * rng.uniform(size=n),
        h=rng.integers(1, 6, size=n),
        k=rng.integers(0, 4, size=n),
        r_min=r.min(axis=(1, 2)),
        r_max=r.max(axis=(1, 2)),
        error=rng.uniform(size=n),
        noise=rng.uniform(-1.0, 1.0, size=(n, 1 + priors, states)),
    )


def _rewards(n: int, states: int, actions: int, rng: np.random.Generator) -> Array:
    """Uniform on [0, 1]; half of the MDPs keep their largest reward and three in ten others."""
    r = rng.uniform(size=(n, states, actions))
    dropped = (rng.random((n, 1, 1)) < 0.5) & (rng.random(r.shape) < 0.7)
    # An MDP that pays nothing at all would satisfy every bound, true or printed, with zero.
    return np.where(dropped & (r < r.max(axis=(1, 2), keepdims=True)), 0.0, r)


def _dirichlet(
    concentration: float | Array, shape: tuple[int, ...], rng: np.random.Generator
) -> Array:
    """Dirichlet rows with a concentration per MDP, which Generator.dirichlet cannot batch."""
    weights = rng.standard_gamma(concentration, size=shape)
    return weights / weights.sum(axis=-1, keepdims=True)
