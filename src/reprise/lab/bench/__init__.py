"""How fast it is, and what a prior costs: measured in turns, on this machine."""

from __future__ import annotations

from reprise.lab.bench.parts import PARTS, Part, Request, measure

__all__ = ["PARTS", "Part", "Request", "measure"]
