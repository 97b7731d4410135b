"""A prior is a stranger: whatever it answers, training goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reprise.core.types import Gaussian

PATIENCE = 3
WINDOW = 1_000
"""A prior that fails PATIENCE times in WINDOW calls is set aside for good."""


@dataclass
class Faults:
    """What went wrong with each prior so far; plain data, so that a checkpoint can hold it."""

    calls: int
    faults: list[int]
    clipped: list[int]
    """Answers with a value out of [-1, 1]."""
    recent: list[list[int]]
    """The calls at which each prior last failed, up to PATIENCE of them."""
    aside: list[int | None]
    """The call after which a prior was set aside."""
    last: list[str]

    @classmethod
    def none(cls, priors: int) -> Faults:
        """Nothing has gone wrong yet."""
        zeros, blank = [0] * priors, [""] * priors
        return cls(0, zeros, zeros.copy(), [[] for _ in blank], [None] * priors, blank)

    @classmethod
    def revive(cls, record: dict[str, Any]) -> Faults:
        """The faults that `record()` described."""
        return cls(**record)

    def record(self) -> dict[str, Any]:
        """Plain data for a checkpoint."""
        return asdict(self)

    @property
    def set_aside(self) -> list[int]:
        """The priors that are no longer asked."""
        return [i for i, call in enumerate(self.aside) if call is not None]

    @property
    def any(self) -> bool:
        """Whether anything at all went wrong."""
        return any(self.faults) or any(self.clipped)

    def table(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """One row per prior, for people."""
        columns = (self.faults, self.clipped, self.aside, self.last)
        keys = ("name", "faults", "clipped", "set_aside_after_calls", "last")
        return [dict(zip(keys, row, strict=True)) for row in zip(names, *columns, strict=True)]

    def note(self, prior: int, reason: str) -> None:
        """Count a failure; the PATIENCE-th in WINDOW calls sets the prior aside."""
        self.faults[prior] += 1
        self.last[prior] = reason[:200]
        self.recent[prior] = [*self.recent[prior], self.calls][-PATIENCE:]
        if len(self.recent[prior]) == PATIENCE and self.calls - self.recent[prior][0] < WINDOW:
            self.aside[prior] = self.calls


class Unusable(Exception):
    """An answer that cannot be used, and why."""


def checked(answer: Any, shape: tuple[int, int]) -> tuple[np.ndarray, int]:
    """A foreign answer as float32 actions in [-1, 1], and how many rows had to be clipped."""
    if not isinstance(answer, np.ndarray):
        raise Unusable(f"returned {type(answer).__name__}, not an array")
    if answer.shape != shape:
        raise Unusable(f"returned shape {answer.shape}, not {shape}")
    if answer.dtype.kind not in "fiu":
        raise Unusable(f"returned {answer.dtype}, not numbers")
    actions = answer.astype(np.float32)
    if not np.isfinite(actions).all():
        raise Unusable("returned a non-finite action")
    outside = np.abs(actions).max(axis=1, initial=0.0) > 1.0
    return np.clip(actions, -1.0, 1.0), int(outside.sum())


def attempt(
    ask: Callable[[np.ndarray], Any], obs: np.ndarray, action_dim: int
) -> tuple[Gaussian, int]:
    """One foreign prior's answer and how many rows were clipped; Unusable if there is none."""
    try:
        answer = ask(obs.copy())  # a copy: what a stranger does to its input is its own affair
    except Exception as error:
        raise Unusable(f"raised {type(error).__name__}: {error}") from error
    actions, clipped = checked(answer, (len(obs), action_dim))
    return Gaussian.deterministic(actions), clipped
