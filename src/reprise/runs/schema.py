"""The tables of a run folder: every CSV file, its columns, and what each of them says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

Kind = Literal["number", "count", "name"]
Per = Literal["run", "policy", "accident"]


class Column(NamedTuple):
    """One column of a file, or one for every policy or kind of accident."""

    name: str
    meaning: str
    kind: Kind = "number"
    per: Per = "run"

    def spelled(self, whose: str) -> str:
        """Its header for a policy, or a kind of accident, by name."""
        return f"{self.name}_{whose}" if self.per == "policy" else whose

    @property
    def pattern(self) -> str:
        """Its header with a blank for what it is about."""
        return self.name if self.per == "run" else self.spelled(f"<{self.per}>")


class Table(NamedTuple):
    """A CSV file of a run folder."""

    name: str
    row: str
    """What one row is."""
    columns: tuple[Column, ...]

    @property
    def file(self) -> str:
        """Its name in the folder."""
        return f"{self.name}.csv"

    @property
    def single(self) -> tuple[str, ...]:
        """The columns that every run has once."""
        return tuple(column.name for column in self.columns if column.per == "run")

    @property
    def names(self) -> frozenset[str]:
        """The columns that hold names, not numbers."""
        return frozenset(column.name for column in self.columns if column.kind == "name")

    def of(self, column: str, policies: Iterable[str]) -> list[str]:
        """The headers of one column for some policies."""
        found = {one.name: one for one in self.columns if one.per == "policy"}[column]
        return [found.spelled(policy) for policy in policies]

    def header(self, policies: Sequence[str], accidents: Sequence[str] = ()) -> list[str]:
        """Every column of a run as it is spelled in the file, in order."""
        those: dict[Per, Sequence[str]] = {"policy": policies, "accident": accidents}
        return [
            name
            for column in self.columns
            for name in (
                [column.name] if column.per == "run" else map(column.spelled, those[column.per])
            )
        ]


def _step(meaning: str) -> Column:
    return Column("step", meaning, "count")


EPISODE = Column("episode", "its number, from 0", "count")

METRICS = Table(
    "metrics",
    "a log interval of training",
    (
        _step("training step at its end"),
        Column("episodes", "episodes finished since training began", "count"),
        Column("episode_return", "mean return of the episodes that ended in it"),
        Column("success", "share of them with a success at any time"),
        Column("critic_loss", "mean over its updates"),
        Column("actor_loss", "mean over its updates"),
        Column("alpha", "temperature: the weight of the entropy"),
        Column("entropy", "estimated entropy of the task policy"),
        Column("steps_per_second", "speed; the only column that equal runs do not share"),
        Column(
            "use", "share of its steps on which the policy acted; 0 in the warm-up", per="policy"
        ),
        Column("value", "the policy's mean score at its selections", per="policy"),
        Column("", "accidents of one kind, where the task counts them", "count", "accident"),
    ),
)

EVAL = Table(
    "eval",
    "an evaluation of the task policy, alone",
    (
        _step("training step at which it was made"),
        Column("episodes", "how many were played", "count"),
        Column("success_any", "share of them with a success at any time"),
        Column("success_last", "share of them with a success in their last step"),
        Column("first_success_step", "mean step of the first success in an episode", "count"),
        Column("return_mean", "mean return"),
        Column("return_std", "standard deviation of the return"),
        Column("return_discounted", "mean discounted return"),
        Column("value_start", "what the critic predicts for it, at the starts of the episodes"),
        Column("sampled_success_any", "success_any with actions drawn from the policy"),
        Column("sampled_success_last", "success_last with actions drawn from the policy"),
        Column("sampled_return_mean", "return_mean with actions drawn from the policy"),
    ),
)

SWITCHES = Table(
    "switches",
    "a selection: who acts next",
    (
        _step("training step at which it was made"),
        EPISODE,
        Column("t", "time step in the episode", "count"),
        Column("from", "the policy in control before; start: none yet", "name"),
        Column("to", "the policy selected", "name"),
        Column("score", "what the policy was judged to be worth", per="policy"),
        Column("bonus", "what was added for exploration; empty if untried", per="policy"),
    ),
)

TRACKS = Table(
    "tracks",
    "a time step of one of about fifty episodes, and of the first successes with the help of a "
    "prior, where tasks have positions",
    (
        _step("training step at which the episode ended"),
        EPISODE,
        Column("t", "time step in the episode", "count"),
        Column("policy", "who acted; random: the warm-up", "name"),
        Column("x", "position"),
        Column("y", "position"),
        Column("success", "whether the episode succeeded; nothing where tasks do not say"),
    ),
)

VALUES = Table(
    "values",
    "one policy's value in one state, with `--schedule.value-states`",
    (
        _step("training step of the state"),
        Column("policy", "whose value it is", "name"),
        Column("discount", "the critic's own for this policy"),
        Column("estimate", "what the critic predicts"),
        Column("realized", "discounted return of a rollout from the same state"),
        Column("steps", "length of the rollout", "count"),
    ),
)

TABLES = (METRICS, EVAL, SWITCHES, TRACKS, VALUES)
