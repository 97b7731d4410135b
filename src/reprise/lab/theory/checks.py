"""What a claim is, and the record of how it fared on the MDPs it was put to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from reprise.lab.theory.one_switch import Margins
from reprise.lab.theory.setting import Setting

Expected = Literal["hold", "fail"]

# Values reach 100 and are solved in float64, which leaves errors near 1e-12; the violations of a
# false statement are larger by many orders of magnitude.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Check:
    """How one claim fared; a case is a (state, prior) pair, or a state if no prior is named."""

    name: str
    statement: str
    expected: Expected
    mdps: int
    applied: int
    """Cases that satisfied the hypothesis."""
    violations: int
    """Cases among them in which the claim was false by more than the tolerance."""
    mdps_violated: int
    min_margin: float | None
    """None if the hypothesis was never satisfied."""

    @property
    def ok(self) -> bool:
        """Whether the claim did what was expected, on at least one case."""
        return self.applied > 0 and (self.violations > 0) == (self.expected == "fail")

    def as_json(self) -> dict[str, str | int | float | None]:
        """The entry of `reprise theory --json`."""
        return {
            "name": self.name,
            "mdps": self.mdps,
            "applied": self.applied,
            "violations": self.violations,
            "mdps_violated": self.mdps_violated,
            "expected": self.expected,
            "min_margin": self.min_margin,
        }


class Tally(NamedTuple):
    """The counts of one batch."""

    mdps: int
    applied: int
    violations: int
    mdps_violated: int
    min_margin: float


def _as_drawn(setting: Setting) -> Setting:
    return setting


class Claim(NamedTuple):
    """A statement, whether it should survive, and the margins that decide."""

    name: str
    statement: str
    expected: Expected
    margins: Callable[[Setting], Margins]
    given: Callable[[Setting], Setting] = _as_drawn
    """What is done to a drawn setting first, such as making its rewards negative."""

    def tally(self, setting: Setting) -> Tally:
        """Put the claim to one batch."""
        return count(self.margins(self.given(setting)))

    def check(self, tallies: Sequence[Tally]) -> Check:
        """Sum the tallies of all batches."""
        applied = sum(t.applied for t in tallies)
        return Check(
            name=self.name,
            statement=self.statement,
            expected=self.expected,
            mdps=sum(t.mdps for t in tallies),
            applied=applied,
            violations=sum(t.violations for t in tallies),
            mdps_violated=sum(t.mdps_violated for t in tallies),
            min_margin=min(t.min_margin for t in tallies) if applied else None,
        )


def count(margins: Margins) -> Tally:
    """Count the cases of one batch that applied and the ones that were violated."""
    margin = margins.margin.reshape(len(margins.margin), -1)
    applies = margins.applies.reshape(margin.shape)
    # "Not at least" instead of "less than": a NaN is a violation, never a pass.
    broken = applies & ~(margin >= -TOLERANCE)
    return Tally(
        mdps=len(margin),
        applied=int(applies.sum()),
        violations=int(broken.sum()),
        mdps_violated=int(broken.any(axis=1).sum()),
        min_margin=float(np.min(margin, where=applies, initial=np.inf)),
    )
