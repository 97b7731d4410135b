"""The guarantees of SMEC, corrected, and checked on random tabular MDPs by exact linear solves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from reprise.lab.theory.checks import Check, Claim, Tally
from reprise.lab.theory.claims import CORRECTED, NAMED, PRINTED, TOO_STRONG
from reprise.lab.theory.draws import draw
from reprise.lab.theory.setting import Setting

__all__ = ["Check", "Findings", "check"]


@dataclass(frozen=True)
class Findings:
    """Every claim's check, and the seconds they took together."""

    checks: tuple[Check, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether every true claim held, every false one failed, and all of them applied."""
        return bool(self.checks) and all(check.ok for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """The answer of `reprise theory --json`."""
        entries = [check.as_json() for check in self.checks]
        return {"ok": self.ok, "checks": entries, "seconds": self.seconds}


def check(
    mdps: int = 2000, seed: int = 0, told: Callable[[int], None] = lambda done: None
) -> Findings:
    """Put every claim to `mdps` random MDPs, and the printed theorems to the counterexamples.

    `told` hears how many MDPs are done.
    """
    if mdps < 1:
        raise ValueError(f"mdps={mdps}: the check needs at least one MDP")
    started = time.perf_counter()
    settings = draw(mdps, np.random.default_rng(seed))
    random = _on_random(CORRECTED + TOO_STRONG + PRINTED, settings, told)
    named = [claim.check([claim.tally(setting())]) for claim, setting in NAMED]
    return Findings((*random, *named), time.perf_counter() - started)


def _on_random(
    claims: tuple[Claim, ...], settings: Iterable[Setting], told: Callable[[int], None]
) -> list[Check]:
    tallies: list[list[Tally]] = [[] for _ in claims]
    done = 0
    for setting in settings:
        for claim, counted in zip(claims, tallies, strict=True):
            counted.append(claim.tally(setting))
        done += len(setting.gamma)
        told(done)
    return [claim.check(counted) for claim, counted in zip(claims, tallies, strict=True)]
