"""Many priors from a few, to see what a number of them costs, and what useless ones do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from reprise.boundary.errors import UserError
from reprise.core.layers import Linear
from reprise.priors.formats.own import Policy
from reprise.priors.library import Priors


def repeated(few: Priors, count: int) -> list[Policy]:
    """So many policies: the given networks again and again, under numbered names."""
    return [
        replace(original, card=replace(original.card, name=f"p{number:02d}"))
        for number, original in enumerate(_in_rotation(few, count))
    ]


def untrained(few: Priors, count: int) -> list[Policy]:
    """So many policies of the given networks' sizes that have learned nothing; always the same."""
    return [_fresh(like, number) for number, like in enumerate(_in_rotation(few, count))]


def _in_rotation(few: Priors, count: int) -> list[Policy]:
    networks = [policy for policy in few.policies if isinstance(policy, Policy)]
    if count and not networks:
        names = ", ".join(few.names) or "none"
        raise UserError(f"priors ({names}) hold no network to repeat; try zoo:pointmaze")
    return [networks[number % len(networks)] for number in range(count)]


def _fresh(like: Policy, number: int) -> Policy:
    """The same network as it is before it learns."""
    rng = np.random.default_rng(number)
    layers = [Linear(inputs, outputs, rng) for inputs, outputs in map(np.shape, like.weights)]
    name, origin = f"untrained{number:02d}", "random weights"
    card = replace(like.card, name=name, origin=origin, task="", success={})
    weights = tuple(np.asarray(layer.weight) for layer in layers)
    return Policy(card, weights, tuple(np.asarray(layer.bias) for layer in layers))
