"""`reprise tasks list`, `methods list`, `priors list` and `priors build`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from reprise.cli.tables import show
from reprise.lab.make import build as build_priors
from reprise.methods import ABLATIONS, METHODS
from reprise.priors import Card, load, shipped, zoo
from reprise.tasks import listed


@dataclass(frozen=True)
class Tasks:
    """List the tasks (any Gymnasium environment is gym/<id> besides)."""

    json: bool = False
    """Print JSON."""


def tasks(options: Tasks) -> int:
    """Every task with a name of its own."""
    rows: list[dict[str, Any]] = []
    for task in listed().values():
        arena = task.open()
        sizes = {"obs_dim": arena.obs_dim, "action_dim": arena.action_dim}
        arena.close()
        rows.append({"id": task.id, **sizes, "horizon": task.horizon, "sets": list(task.sets)})
    return show(rows, options.json)


@dataclass(frozen=True)
class Methods:
    """List the methods: how each evaluates, improves and behaves."""

    json: bool = False
    """Print JSON."""


def methods(options: Methods) -> int:
    """The table of three choices."""
    rows: list[dict[str, Any]] = []
    for name, row in (METHODS | ABLATIONS).items():
        method = row.build(50, 10.0)
        parts = {
            part: type(getattr(method, part)).__name__ for part in ("critic", "actor", "planner")
        }
        rows.append({"name": name, **parts, "paper": row.paper})
    return show(rows, options.json)


@dataclass(frozen=True)
class Priors:
    """List the policies that are shipped (zoo:<name>)."""

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
    """Train a shipped set of priors again; an interrupted build continues."""

    name: tyro.conf.Positional[str]
    """Which set: pointmaze, metaworld, antmaze."""
    out: Path = Path("priors")
    """Where the policies go."""
    by: Literal["dagger", "sac"] | None = None
    """How: from scripted experts, or without any help. By default, experts where there are some."""
    seed: int = 0
    """Seed of the trainings."""
    json: bool = False
    """Print JSON."""


def build(options: Build) -> int:
    """Train, measure, write."""
    cards = build_priors(options.name, options.out / options.name, options.seed, options.by)
    if options.json:
        print(json.dumps([asdict(card) for card in cards]))
        return 0
    return show([{**_facts(card), "sha256": card.sha256[:12]} for card in cards], False)
