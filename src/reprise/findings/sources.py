"""The cells of one page: those of suites as they are recorded, and runs beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from reprise.boundary.errors import UserError
from reprise.runs.folder import Manifest, placeless, read_recipe
from reprise.suites import record
from reprise.suites.suite import Cell, Library

RECIPE = "run.json"


class Given(NamedTuple):
    """The folders that somebody named, each once."""

    suites: tuple[Path, ...]
    runs: tuple[Path, ...]
    kept: tuple[Path, ...]
    """Results of suites, as `--results` writes them."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them, suites first: what they call a run goes before what it is by itself."""
        return (*self.suites, *self.runs, *self.kept)

    @property
    def compared(self) -> bool:
        """Whether there is more than single runs."""
        return bool(self.suites or self.kept)


class Member(NamedTuple):
    """A cell and the folder of its run, which may not exist yet."""

    cell: dict[str, Any]
    """As in suite.json, and under `suites` the names of those it is of; none for a run beside."""
    place: Path

    @property
    def progress(self) -> tuple[bool, bool]:
        """Whether it is complete, and whether it has begun."""
        begun = (self.place / RECIPE).is_file()
        return begun and Manifest(self.place).complete, begun


class Members(NamedTuple):
    """Everything that a page is about."""

    suite: dict[str, Any]
    """What a suite's record says before its cells, for all suites together."""
    members: tuple[Member, ...]
    kept: tuple[Path, ...]
    """Folders of results, whose cells have no runs here."""


def sort_out(folders: Sequence[Path]) -> Given:
    """Which of some folders are suites, runs or results; one that is nothing is an error."""
    distinct: dict[Path, Path] = {}
    for folder in folders:
        distinct.setdefault(folder.resolve(), folder)
    suites = tuple(one for one in distinct.values() if (one / record.FILE).is_file())
    kept = tuple(one for one in distinct.values() if (one / record.KEPT).is_file())
    runs = tuple(one for one in distinct.values() if one not in (*suites, *kept))
    for folder in runs:
        if not (folder / RECIPE).is_file():
            lacks = f"it has none of {RECIPE}, {record.FILE} and {record.KEPT}"
            why = lacks if folder.exists() else "there is no such folder"
            raise UserError(f"{folder} is not a run, a suite or kept results: {why}")
    return Given(suites, runs, kept)


def members(folders: Sequence[Path]) -> Members:
    """The cells of all suites and runs, each once."""
    given = sort_out(folders)
    records = [record.load(folder) for folder in given.suites]
    some = [
        Member(cell | {"suites": [suite["name"]]}, folder / cell["run"])
        for folder, suite in zip(given.suites, records, strict=True)
        for cell in suite["cells"]
    ]
    known = {member.place.resolve() for member in some}
    some += [_beside(run) for run in given.runs if run.resolve() not in known]
    found: dict[str, Member] = {}
    for member in some:
        name = member.cell["name"]
        found[name] = _one(found[name], member) if name in found else member
    heads = [*records, *(record.load_kept(folder) for folder in given.kept)]
    return Members(_together(heads), tuple(found.values()), given.kept)


def _beside(folder: Path) -> Member:
    """A run as a cell: its line is its method."""
    run = read_recipe(folder)
    refs = tuple(dict.fromkeys(prior.ref for prior in run.priors))
    library = Library(" ".join(refs) or "none", refs)
    cell = record.describe(Cell(run.name, replace(run, priors=()), library))
    return Member(cell | {"suites": []}, folder)


def _one(first: Member, second: Member) -> Member:
    """The same cell in two places counts once: where it has come further."""
    if not _same_recipe(first, second):
        cell = first.cell
        raise UserError(
            f"{first.place} and {second.place} are both {cell['label']} on {cell['task']} with "
            f"seed {cell['seed']}, by different recipes: report one of them without the other"
        )
    suites = list(dict.fromkeys([*first.cell["suites"], *second.cell["suites"]]))
    further = second if second.progress > first.progress else first
    return further._replace(cell=further.cell | {"suites": suites})


def _same_recipe(first: Member, second: Member) -> bool:
    """Of cells that have both begun, the priors are known and count, wherever they are."""
    if first.cell["recipe"] != second.cell["recipe"]:
        return False
    if not (first.progress[1] and second.progress[1]):
        return True
    return placeless(read_recipe(first.place)) == placeless(read_recipe(second.place))


def _together(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Parts of one suite keep its title."""
    if not records:
        return {"name": "runs", "title": "Runs", "scale": "their own"}
    told = {name: list(dict.fromkeys(str(one[name]) for one in records)) for name in record.HEAD
            if name != "cells"}  # fmt: skip
    names = told["name"]
    title = told["title"][0] if len(names) == 1 else f"Suites {' and '.join(names)} together"
    return {"name": ", ".join(names), "title": title, "scale": ", ".join(told["scale"])}
