"""Prior policies: where they come from, and how all of them are asked at once."""

from __future__ import annotations

from reprise.priors.formats.own import Card, Policy, load, save
from reprise.priors.guard import Faults
from reprise.priors.library import Priors
from reprise.priors.made import repeated, untrained
from reprise.priors.prior import Foreign, PriorRecord
from reprise.priors.references import resolve
from reprise.priors.shipped import shipped, zoo

__all__ = [
    "Card",
    "Faults",
    "Foreign",
    "Policy",
    "PriorRecord",
    "Priors",
    "load",
    "repeated",
    "resolve",
    "save",
    "shipped",
    "untrained",
    "zoo",
]
