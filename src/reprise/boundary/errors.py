"""Errors a user can act on: one line that names the field, the value and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from math import isfinite
from typing import Any


class UserError(Exception):
    """Bad input. The command line prints it as one line and exits with 2."""


class FolderInUse(UserError):
    """A folder that another process writes to."""


class CheckpointError(UserError):
    """A checkpoint that is truncated, altered or of another run."""


class PolicyFileError(UserError):
    """A policy on disk that is damaged, of a newer schema, or not a policy."""


class EnvironmentFault(UserError):
    """The environment returned something that must not enter the buffer."""


def unknown(what: str, name: str, known: Iterable[str], hint: str = "") -> UserError:
    """The error for a name that does not exist, with the nearest names that do."""
    known = sorted(known)
    near = get_close_matches(name, known, n=3, cutoff=0.4) or known[:8]
    listing = f"; nearest: {', '.join(near)}" if near else ""
    return UserError(f"unknown {what} {name!r}{listing}{f' ({hint})' if hint else ''}")


def require(owner: object, rule: str, *names: str) -> None:
    """Check fields of an object against a rule by its name, or say which one breaks it."""
    for name in names:
        value = getattr(owner, name)
        for item in value if isinstance(value, tuple) else (value,):
            if not _RULES[rule](item):
                flag = name.replace("_", "-")
                raise UserError(f"{flag} is {value!r}; it must be {rule}")


_RULES: dict[str, Callable[[Any], bool]] = {
    "positive": lambda x: isfinite(x) and x > 0,
    "at least 0": lambda x: isfinite(x) and x >= 0,
    "between 0 and 1": lambda x: 0 < x < 1,
    "at least 0 and below 1": lambda x: 0 <= x < 1,
    "above 0 and at most 1": lambda x: 0 < x <= 1,
    "finite": isfinite,
}
