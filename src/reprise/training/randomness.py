"""What the loop needs to know of a method: which columns its updates read, and its randomness."""

from __future__ import annotations

from typing import Any

import jax

from reprise.core.method import DECIDING, LEARNING, Chance, Method
from reprise.core.types import Advice, Gaussian, Spec, Transition
from reprise.training.keys import Keys, Noise


def columns_read(method: Method, row: Transition) -> Transition:
    """Whether an update depends on it, for each leaf of a row: the rest is not sampled."""
    here, there = method.actor.uses_advice, method.actor.uses_advice or method.critic.uses_advice
    noisy = here or (there and method.stochastic_priors)
    flags: Any = jax.tree.map(lambda leaf: True, row)
    unread: Any = jax.tree.map(lambda leaf: False, row.place)
    return flags._replace(
        advice=Advice(Gaussian(here, here), here),  # pyright: ignore
        next_advice=Advice(Gaussian(there, noisy), there),  # pyright: ignore
        source=method.critic.looks_ahead,
        place=unread,
    )


ACTING, LEARNING_FROM = 0, 1
"""Purposes that set the randomness of decisions apart from that of updates."""


class Chances:
    """All that is random in a run on the JAX side: the seed and a count decide it alone."""

    def __init__(self, method: Method, spec: Spec, batch: int, seed: int) -> None:
        speakers = spec.policies if method.stochastic_priors else 1
        one = speakers, spec.action
        self._acting = Noise(seed, one, purpose=ACTING), Keys(seed, DECIDING, ACTING)
        rows = (2, batch, *one)
        self._learning = (
            Noise(seed, rows, purpose=LEARNING_FROM),
            Keys(seed, LEARNING, LEARNING_FROM),
        )

    def decision(self, step: int) -> Chance:
        """Of the decision in this step."""
        noise, keys = self._acting
        return Chance(noise(step)[0], keys(step))

    def update(self, number: int) -> Chance:
        """Of the update with this number."""
        noise, keys = self._learning
        return Chance(noise(number)[0], keys(number))
