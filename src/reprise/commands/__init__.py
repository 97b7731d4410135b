"""Every command of `reprise`, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from reprise.commands import (
    benching,
    checking,
    comparing,
    judging,
    listing,
    proving,
    running,
    showing,
)


class Command(NamedTuple):
    """Its options, what it does with them, and the defaults that depend on the arguments."""

    options: type[Any]
    run: Callable[[Any], int]
    defaults: Callable[[list[str]], Any] = lambda argv: None


COMMANDS: dict[str, Command] = {
    "demo": Command(showing.Demo, showing.demo),
    "train": Command(running.Train, running.train, running.train_defaults),
    "resume": Command(running.Resume, running.resume),
    "evaluate": Command(judging.Evaluate, judging.evaluate),
    "suite": Command(comparing.Suite, comparing.suite),
    "continual": Command(comparing.Continual, comparing.continual),
    "report": Command(showing.Report, showing.report),
    "watch": Command(showing.Watch, showing.watch),
    "tasks list": Command(listing.Tasks, listing.tasks),
    "methods list": Command(listing.Methods, listing.methods),
    "priors list": Command(listing.Priors, listing.priors),
    "priors check": Command(checking.Check, checking.check),
    "priors build": Command(listing.Build, listing.build),
    "priors export": Command(checking.Export, checking.export),
    "theory": Command(proving.Theory, proving.theory),
    "bench": Command(benching.Bench, benching.bench),
}
