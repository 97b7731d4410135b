"""Many priors from a few, to see what a number of them costs."""

from __future__ import annotations

from dataclasses import replace

from reprise.errors import UserError
from reprise.priors.library import Priors
from reprise.priors.policy import Policy


def repeated(few: Priors, count: int) -> list[Policy]:
    """So many policies: the given networks again and again, under numbered names."""
    networks = [policy for policy in few.policies if isinstance(policy, Policy)]
    if count and not networks:
        names = ", ".join(few.names) or "none"
        raise UserError(f"priors ({names}) hold no network to repeat; try zoo:pointmaze")
    originals = [networks[number % len(networks)] for number in range(count)]
    return [
        replace(original, card=replace(original.card, name=f"p{number:02d}"))
        for number, original in enumerate(originals)
    ]
