"""Numbers as a reader wants them."""

from __future__ import annotations

import math
import re

UNKNOWN = "\N{EN DASH}"


def percent(value: float | None) -> str:
    """A share as a percentage."""
    return UNKNOWN if _unknown(value) else f"{100 * float(value or 0):.0f} %"


def count(value: float | None) -> str:
    """A whole number with commas between thousands."""
    return UNKNOWN if _unknown(value) else f"{float(value or 0):,.0f}"


def number(value: float | None) -> str:
    """A measured number to three significant digits or two decimals."""
    if _unknown(value):
        return UNKNOWN
    known = float(value or 0)
    return f"{known:.2f}" if 0.01 <= abs(known) < 1e5 or known == 0 else f"{known:.3g}"


def duration(seconds: float | None) -> str:
    """A time span in at most two units."""
    if _unknown(seconds):
        return UNKNOWN
    whole = round(float(seconds or 0))
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def file_name(title: str) -> str:
    """A title in letters that every folder may have."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "run"


def _unknown(value: float | None) -> bool:
    return value is None or math.isnan(value)
