"""Many priors from a few: copies, to see what they cost, or untrained ones, of no use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reprise.priors import Policy, load, repeated, resolve, save, untrained
from reprise.suites.suite import Library


def gathered(library: Library, folder: Path) -> tuple[str, ...]:
    """References to all priors that the library asks for; those it makes up go into a folder."""
    refs = library.refs
    if library.crowd:
        refs = (_written(repeated(resolve(refs), library.crowd), folder / f"{library.crowd}"),)
    if library.strangers:
        made = untrained(resolve(library.refs), library.strangers)
        refs = (*refs, _written(made, folder / f"untrained-{library.strangers}"))
    return refs


def _written(policies: Iterable[Policy], place: Path) -> str:
    """A folder of these policies; what is there already stays."""
    for policy in policies:
        if not _there(place / policy.card.name):
            save(place / policy.card.name, policy)
    return str(place.absolute())


def _there(folder: Path) -> bool:
    return (folder / "policy.json").exists() and load(folder).card.name == folder.name
