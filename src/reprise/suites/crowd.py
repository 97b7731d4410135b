"""Many priors from a few: the same policies under numbered names, to see what a number costs."""

from __future__ import annotations

from pathlib import Path

from reprise.priors import load, repeated, resolve, save
from reprise.suites.suite import Library


def gathered(library: Library, folder: Path) -> tuple[str, ...]:
    """References to as many priors as the library asks for; copies are written to a folder."""
    if not library.crowd:
        return library.refs
    place = folder / f"{library.crowd}"
    for copy in repeated(resolve(library.refs), library.crowd):
        if not _there(place / copy.card.name):
            save(place / copy.card.name, copy)
    return (str(place.absolute()),)


def _there(folder: Path) -> bool:
    return (folder / "policy.json").exists() and load(folder).card.name == folder.name
