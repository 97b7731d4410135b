"""What a method asks of a run: the leaves of a row that its updates read, and its randomness."""

from __future__ import annotations

from typing import Any

import jax

from reprise.keys import Keys, Noise
from reprise.method import DECIDING, LEARNING, Chance, Method
from reprise.types import Advice, Gaussian, Spec, Transition


def read(method: Method, row: Transition) -> Transition:
    """Whether an update depends on it, for each leaf of a row: the rest is not sampled."""
    here, there = method.actor.hears, method.actor.hears or method.critic.hears
    noisy = here or (there and method.stochastic_priors)
    flags: Any = jax.tree.map(lambda leaf: True, row)
    unread: Any = jax.tree.map(lambda leaf: False, row.place)
    return flags._replace(
        advice=Advice(Gaussian(here, here), here),  # pyright: ignore
        next_advice=Advice(Gaussian(there, noisy), there),  # pyright: ignore
        source=False,
        place=unread,
    )


class Chances:
    """All that is random in a run on the JAX side: the seed and the step decide it alone."""

    def __init__(self, method: Method, spec: Spec, batch: int, seed: int):
        speakers = spec.policies if method.stochastic_priors else 1
        one = speakers, spec.action
        self._noise = Noise(seed, one, (2, batch, *one))
        self._keys = Keys(seed, DECIDING + LEARNING)

    def __call__(self, step: int) -> tuple[Chance, Chance]:
        """Of the decision and of the update in this step."""
        deciding, learning = self._noise(step)
        keys = self._keys(step)
        return (deciding, keys[:DECIDING]), (learning, keys[DECIDING:])
