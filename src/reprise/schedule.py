"""When things happen in a run."""

from __future__ import annotations

from dataclasses import dataclass

from reprise.errors import UserError, require


@dataclass(frozen=True)
class Schedule:
    """When things happen, in environment steps."""

    warmup: int = 10_000
    """Steps of uniformly random actions at the start."""
    learning_starts: int = 1_000
    """Steps before the first update, which is computed while the next step is taken."""
    batch: int = 128
    """Transitions per update."""
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
        require(self, "positive", "batch", "capacity", "evaluation_episodes", *intervals)
        require(self, "at least 0", "warmup", "learning_starts", "evaluate_every", "value_states")
        if self.value_states > self.evaluate_every:
            most = f"evaluate-every {self.evaluate_every}"
            raise UserError(f"value-states is {self.value_states}; it must be at most {most}")
        for name in ("evaluate_every", "checkpoint_every"):
            if getattr(self, name) % self.log_every:
                flag, step = name.replace("_", "-"), self.log_every
                raise UserError(
                    f"{flag} is {getattr(self, name)}; not a multiple of log-every {step}"
                )

    def learns(self, step: int) -> bool:
        """Whether an update is computed during the step after so many."""
        return step >= max(self.learning_starts, 1)
