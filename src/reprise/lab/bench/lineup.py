"""Who is measured: Scratch, and SMEC with some numbers of priors, exact and sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from reprise.core.method import Method
from reprise.core.values import Categorical, Scalar
from reprise.methods import Preset, prepare
from reprise.methods.smec import sampled
from reprise.tasks import Task


class Entry(NamedTuple):
    """A method, and how many priors it has."""

    method: Method
    priors: int


def lineup(
    task: Task, preset: Preset, counts: Sequence[int], heads_per_row: int
) -> dict[str, Entry]:
    """`scratch`, `smec-kN` with all heads learning from every row, `smec-kN-sampled` with some.

    Where values are histograms, also `smec-kN-scalar`: what the same step costs with plain ones.
    """
    smec = sampled(prepare("smec", task, preset).method, None)
    fewer = sampled(smec, heads_per_row)
    entries = {"scratch": Entry(prepare("scratch", task, preset).method, 0)}
    for count in counts:
        entries[f"smec-k{count}"] = Entry(smec, count)
        if count:
            entries[f"smec-k{count}-sampled"] = Entry(fewer, count)
        if isinstance(smec.critic.values, Categorical):
            entries[f"smec-k{count}-scalar"] = Entry(_plain(smec), count)
    return entries


def _plain(method: Method) -> Method:
    """With one number per value, learned from one step, and no handback."""
    core: Any = {"values": Scalar(), "other_values": Scalar(), "bounded": False}
    reach: Any = {"n_step": 1, "other_n_step": 1, "handback": False}
    return replace(method, critic=replace(method.critic, **core, **reach))
