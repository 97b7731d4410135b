"""`reprise tasks list`, `methods list`, `priors list` and `priors build`."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from reprise.boundary.plugins import report
from reprise.cli.tables import show
from reprise.lab.make import build as build_priors
from reprise.methods import rows as methods_by_name
from reprise.priors import Card, load, shipped, zoo
from reprise.priors.references import FORMATS, added_formats
from reprise.suites import FIGURES, added_suites, title
from reprise.tasks import Task, families, listed

OURS = "reprise"
CHOICES = ("critic", "actor", "planner")


@dataclass(frozen=True)
class Tasks:
    """List the tasks. Any installed Gymnasium environment is also a task, gym/<id>."""

    json: bool = False
    """Print JSON."""


def tasks(options: Tasks) -> int:
    """Every task with a name of its own."""
    rows: list[dict[str, Any]] = []
    for task in listed().values():
        added = families().get(task.family)
        package = added.package if added else OURS
        with tolerant(package, f"task {task.id!r}"):
            facts = {"id": task.id, **_sizes(task), "horizon": task.horizon}
            rows.append(facts | {"sets": list(task.sets)} | _from(package))
    return show(rows, options.json)


def _sizes(task: Task) -> dict[str, int]:
    with closing(task.open()) as arena:
        return {"obs_dim": arena.obs_dim, "action_dim": arena.action_dim}


def _from(package: str) -> dict[str, str]:
    """The column of what is not ours."""
    return {} if package == OURS else {"package": package}


@contextmanager
def tolerant(package: str, what: str) -> Generator[None]:
    """A plugin that fails is reported, and the list goes on."""
    try:
        yield
    except Exception as error:
        if package == OURS:
            raise
        report(f"{what} of package {package!r} cannot be listed: {error}")


@dataclass(frozen=True)
class Methods:
    """List the methods and the three choices each consists of."""

    json: bool = False
    """Print JSON."""


def methods(options: Methods) -> int:
    """The table of three choices."""
    rows: list[dict[str, Any]] = []
    for name, row in methods_by_name().items():
        with tolerant(row.package, f"method {name!r}"):
            method = row.build(50, 10.0)
            parts = {part: type(getattr(method, part)).__name__ for part in CHOICES}
            rows.append({"name": name, **parts, "paper": row.paper} | _from(row.package))
    return show(rows, options.json)


@dataclass(frozen=True)
class Suites:
    """List the suites of experiments."""

    json: bool = False
    """Print JSON."""


def suites_list(options: Suites) -> int:
    """Every suite and its title."""
    rows = [{"name": name, "title": title(build)} for name, build in FIGURES.items()]
    for name, (package, build) in added_suites().items():
        rows.append({"name": name, "title": title(build)} | _from(package))
    return show(rows, options.json)


@dataclass(frozen=True)
class Formats:
    """List the file formats in which priors can be read."""

    json: bool = False
    """Print JSON."""


def formats(options: Formats) -> int:
    """Every format by the end of its file's name."""
    rows = [{"suffix": suffix, "what": what} for suffix, what in FORMATS.items()]
    for suffix, (package, read) in added_formats().items():
        rows.append({"suffix": suffix, "what": title(read)} | _from(package))
    return show(rows, options.json)


@dataclass(frozen=True)
class Priors:
    """List the policies that ship with reprise (zoo:<name>)."""

    json: bool = False
    """Print JSON."""


def priors(options: Priors) -> int:
    """Every shipped policy with its measured success."""
    cards = {name: load(zoo() / name).card for name in shipped()}
    rows = [{"ref": f"zoo:{name}", **_facts(card)} for name, card in cards.items()]
    return show(rows, options.json)


def _facts(card: Card) -> dict[str, Any]:
    sizes = {"obs_dim": card.obs_dim, "action_dim": card.action_dim}
    return {"name": card.name, **sizes, "task": card.task, "success": card.success}


@dataclass(frozen=True)
class Build:
    """Retrain a set of the shipped priors. An interrupted build continues."""

    name: tyro.conf.Positional[str]
    """Which set: pointmaze, metaworld or antmaze."""
    out: Path = Path("priors")
    """Folder in which to save the policies."""
    by: Literal["dagger", "sac"] | None = None
    """How to train: from scripted experts (dagger) or from scratch (sac). By default dagger if
    there are experts."""
    seed: int = 0
    """Random seed."""
    json: bool = False
    """Print JSON."""


def build(options: Build) -> int:
    """Train, measure, write."""
    cards = build_priors(options.name, options.out / options.name, options.seed, options.by)
    if options.json:
        print(json.dumps([asdict(card) for card in cards]))
        return 0
    return show([{**_facts(card), "sha256": card.sha256[:12]} for card in cards], False)
