"""Every command of `reprise`, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from reprise.cli import bench, evaluate, lists, priors, report, suite, theory, train


class Command(NamedTuple):
    """Its options, what it does with them, and the defaults that depend on the arguments."""

    options: type[Any]
    run: Callable[[Any], int]
    defaults: Callable[[list[str]], Any] = lambda argv: None


COMMANDS: dict[str, Command] = {
    "demo": Command(report.Demo, report.demo),
    "train": Command(train.Train, train.train, train.train_defaults),
    "resume": Command(train.Resume, train.resume),
    "evaluate": Command(evaluate.Evaluate, evaluate.evaluate),
    "suite": Command(suite.Suite, suite.suite),
    "continual": Command(suite.Continual, suite.continual),
    "report": Command(report.Report, report.report),
    "watch": Command(report.Watch, report.watch),
    "tasks list": Command(lists.Tasks, lists.tasks),
    "methods list": Command(lists.Methods, lists.methods),
    "suites list": Command(lists.Suites, lists.suites_list),
    "priors list": Command(lists.Priors, lists.priors),
    "priors formats": Command(lists.Formats, lists.formats),
    "priors check": Command(priors.Check, priors.check),
    "priors build": Command(lists.Build, lists.build),
    "priors export": Command(priors.Export, priors.export),
    "theory": Command(theory.Theory, theory.theory),
    "bench": Command(bench.Bench, bench.bench),
}
