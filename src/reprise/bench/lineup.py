"""Who is measured: Scratch, and SMEC with some numbers of priors, exact and sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from reprise.critic import HybridCritic
from reprise.errors import UserError
from reprise.method import Method
from reprise.methods import Preset, prepare
from reprise.priors import Policy, Priors
from reprise.tasks import Task


class Entry(NamedTuple):
    """A method, and how many priors it has."""

    method: Method
    priors: int


def lineup(
    task: Task, preset: Preset, counts: Sequence[int], heads_per_row: int
) -> dict[str, Entry]:
    """`scratch`, `smec-kN` with all heads learning from every row, `smec-kN-sampled` with some."""
    smec = prepare("smec", task, preset).method
    if not isinstance(smec.critic, HybridCritic):
        raise TypeError("SMEC has a hybrid critic")
    sampled = replace(smec, critic=replace(smec.critic, heads_per_row=heads_per_row))
    entries = {"scratch": Entry(prepare("scratch", task, preset).method, 0)}
    for count in counts:
        entries[f"smec-k{count}"] = Entry(smec, count)
        if count:
            entries[f"smec-k{count}-sampled"] = Entry(sampled, count)
    return entries


def crowd(few: Priors, count: int) -> Priors:
    """So many priors: the given ones again and again, under numbered names."""
    networks = [policy for policy in few.policies if isinstance(policy, Policy)]
    if count and not networks:
        raise UserError("none of the priors is a network that could be repeated; try zoo:pointmaze")
    return Priors(
        [
            replace(original, card=replace(original.card, name=f"p{number:02d}"))
            for number in range(count)
            for original in (networks[number % len(networks)],)
        ]
    )
