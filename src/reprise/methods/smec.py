"""SMEC: Selective Myopic bEhavior Control (On the Value of Myopic Behavior in Policy Reuse)."""

from __future__ import annotations

from dataclasses import replace

from reprise.core.critic import HybridCritic, SoftCritic
from reprise.core.method import Method
from reprise.core.planner import Uniform, ValueGuided


def smec(h: int = 50, c: float = 10.0) -> Method:
    """The paper's method in the paper's symbols; h appears once."""
    return Method(critic=HybridCritic(horizon=h), planner=ValueGuided(commit=h, ucb=c))


def handback(h: int = 50, c: float = 10.0) -> Method:
    """Judge a prior by h steps of its own, on average, and the task policy after them.

    Both horizons are gamma's, so that no reward is too far away and none needs to be positive.
    """
    return replace(smec(h, c), critic=HybridCritic(horizon=h, handback=True))


def sampled(method: Method, heads_per_row: int | None) -> Method:
    """The same, but this many prior heads learn from each transition, in turns; None: all."""
    if not isinstance(method.critic, HybridCritic):
        raise TypeError(f"{type(method.critic).__name__} has no heads of priors")
    return replace(method, critic=replace(method.critic, heads_per_row=heads_per_row))


def single_value(h: int, c: float) -> Method:
    """One head judges everybody: no disentangled evaluation."""
    return replace(smec(h, c), critic=SoftCritic())


def no_truncation(h: int, c: float) -> Method:
    """gbar = gamma: priors are judged with the full horizon."""
    return replace(smec(h, c), critic=HybridCritic(horizon=None))


def no_ucb(h: int, c: float) -> Method:
    """c = 0: values alone decide."""
    return smec(h, 0.0)


def random(h: int, c: float) -> Method:
    """A random policy every h steps."""
    return Method(planner=Uniform(commit=h))
