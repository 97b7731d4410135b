"""Making the shipped priors again: `reprise priors build NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from reprise.boundary.errors import UserError, unknown
from reprise.lab.make.antmaze import ants
from reprise.lab.make.metaworld import arms
from reprise.lab.make.pointmaze import points
from reprise.priors import Card

By = Literal["dagger", "sac"]
ALONE = {"pointmaze": points, "antmaze": ants}
"""Sets for whose tasks there are no experts."""
TAUGHT = {"metaworld": arms}

__all__ = ["build"]


def build(name: str, out: Path, seed: int = 0, by: By | None = None) -> list[Card]:
    """Make a named set of priors and write them with their measured success."""
    if name in TAUGHT:
        return TAUGHT[name](out, seed, by or "dagger")
    if name not in ALONE:
        raise unknown("prior set", name, ALONE | TAUGHT)
    if by == "dagger":
        raise UserError(f"by is 'dagger'; {name} has no experts to learn from: use sac")
    return ALONE[name](out, seed)
