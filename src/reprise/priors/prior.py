"""What a prior is, whatever its origin: a card, and a way to ask it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np


class PriorCard(Protocol):
    """What is known about a prior before it is asked."""

    @property
    def name(self) -> str:
        """What it is called in reports and columns."""
        ...

    @property
    def kind(self) -> str:
        """The format it came in."""
        ...

    @property
    def sha256(self) -> str:
        """The hash of its file."""
        ...

    @property
    def obs_dim(self) -> int:
        """How many numbers it observes."""
        ...

    @property
    def action_dim(self) -> int:
        """How many numbers it gives."""
        ...


class Prior(Protocol):
    """A frozen policy of any origin."""

    @property
    def card(self) -> PriorCard:
        """What is known about it."""
        ...


class ForeignCard(NamedTuple):
    """What is known about a prior that is not one of our networks."""

    name: str
    kind: str
    sha256: str
    obs_dim: int
    action_dim: int


class PriorRecord(NamedTuple):
    """Where a prior came from: what a run's recipe keeps of it."""

    name: str
    ref: str
    format: str
    sha256: str


class Foreign(NamedTuple):
    """A prior that is not one of our networks: a function from observations to actions."""

    card: PriorCard
    act: Callable[[np.ndarray], np.ndarray]
    """(n, obs) -> (n, action) in [-1, 1]; what it really returns is checked at every call."""
