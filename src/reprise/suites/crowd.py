"""Many priors from a few: the same policies under numbered names, to see what a number costs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from reprise.errors import UserError
from reprise.priors import Policy, load, resolve, save
from reprise.suites.suite import Library


def gathered(library: Library, folder: Path) -> tuple[str, ...]:
    """References to as many priors as the library asks for; copies are written to a folder."""
    if not library.crowd:
        return library.refs
    originals = [p for p in resolve(library.refs).policies if isinstance(p, Policy)]
    if not originals:
        raise UserError(f"priors {', '.join(library.refs)} hold no network to repeat")
    place = folder / f"{library.crowd}"
    for number in range(library.crowd):
        original, name = originals[number % len(originals)], f"p{number:02d}"
        copy = replace(original, card=replace(original.card, name=name))
        if not _there(place / name):
            save(place / name, copy)
    return (str(place.absolute()),)


def _there(folder: Path) -> bool:
    return (folder / "policy.json").exists() and load(folder).card.name == folder.name
