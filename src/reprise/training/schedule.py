"""When things happen in a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from reprise.boundary.errors import UserError, require


@dataclass(frozen=True)
class Schedule:
    """When things happen, in environment steps."""

    warmup: int = 10_000
    """Steps of uniformly random actions at the start."""
    action_repeat: int = 1
    """Environment steps for which an action is held, also a prior's; h counts actions."""
    learning_starts: int = 1_000
    """Steps before the first update, which is computed while the next step is taken."""
    updates_per_step: float = 1.0
    """Updates per environment step; 0.5 is one in every second step."""
    batch: int = 128
    """Transitions per update."""
    success_share: float = 0.0
    """The share of each batch drawn from the best episodes: those that succeeded, or where a task
    has no notion of success, those with the highest returns."""
    capacity: int = 1_000_000
    """Transitions kept for replay."""
    log_every: int = 1_000
    """Steps per row of metrics.csv."""
    evaluate_every: int = 10_000
    """Steps between evaluations; 0 for none."""
    evaluation_episodes: int = 10
    """Episodes per evaluation."""
    checkpoint_every: int = 10_000
    """Steps between checkpoints; a kill loses at most this much."""
    value_states: int = 0
    """States per evaluation interval at which each value is compared with the return from there."""

    def __post_init__(self) -> None:
        intervals = ("log_every", "checkpoint_every")
        counts = ("batch", "capacity", "evaluation_episodes", "updates_per_step", "action_repeat")
        require(self, "positive", *counts, *intervals)
        require(self, "at least 0 and below 1", "success_share")
        require(self, "at least 0", "warmup", "learning_starts", "evaluate_every", "value_states")
        for name in ("log_every", "warmup"):
            if getattr(self, name) % self.action_repeat:
                flag, length = name.replace("_", "-"), self.action_repeat
                raise UserError(
                    f"{flag} is {getattr(self, name)}; not a multiple of action-repeat {length}"
                )
        if self.value_states > self.evaluate_every:
            most = f"evaluate-every {self.evaluate_every}"
            raise UserError(f"value-states is {self.value_states}; it must be at most {most}")
        for name in ("evaluate_every", "checkpoint_every"):
            if getattr(self, name) % self.log_every:
                flag, step = name.replace("_", "-"), self.log_every
                raise UserError(
                    f"{flag} is {getattr(self, name)}; not a multiple of log-every {step}"
                )

    def updates(self, step: int) -> int:
        """How many updates are computed during the action after this many steps."""
        if step < max(self.learning_starts, 1):
            return 0
        now, then = (
            step * self.updates_per_step,
            (step + self.action_repeat) * self.updates_per_step,
        )
        return math.floor(then) - math.floor(now)
