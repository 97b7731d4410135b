"""Writes suite folders that look like those of a launch, without training."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fake_run import write_run, write_table
from reprise import suites
from reprise.boundary import files
from reprise.priors import resolve
from reprise.runs import recipe
from reprise.suites import record

PRIORS = ("ne", "se", "sw")
CORNERS = ("ne", "nw", "se", "sw")
"""All of zoo:pointmaze."""
SCRIPT = "<script>alert(1)</script>"


def cell(task: str, label: str, seed: int, steps: int, **facts: Any) -> dict[str, Any]:
    """A cell as in suite.json."""
    name = f"{task.replace('/', '-')}-{label}-s{seed}"
    method = facts.pop("method", label)
    usual = {"priors": "none" if method == "scratch" else "zoo:pointmaze", "refs": [], "needs": []}
    return {"name": name, "label": label, "run": f"runs/{name}", "method": method, "task": task,
            "seed": seed, "steps": steps, "recipe": "0" * 12, **usual, **facts}  # fmt: skip


def write_suite(folder: Path, cells: Sequence[dict[str, Any]], name: str = "point") -> Path:
    """The record of a suite, whose runs may be written or not."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {"schema": 1, "name": name, "title": "A suite by hand", "scale": "small"}
    (folder / "suite.json").write_text(json.dumps({**record, "cells": list(cells)}))
    return folder


def write_cell(folder: Path, facts: dict[str, Any], priors: Sequence[str] = PRIORS) -> Path:
    """The run of a cell, complete."""
    own = () if facts["method"] == "scratch" else priors
    run = folder / facts["run"]
    write_run(run, facts["method"], own, facts["seed"], facts["steps"])
    return run


def write_true(folder: Path, part: suites.Suite) -> Path:
    """A suite with the recipes that it really has; its runs are still not trained."""
    facts = record.dump(part)
    for cell, told in zip(part.cells, facts["cells"], strict=True):
        write_true_run(folder / told["run"], cell.run, () if cell.label == "scratch" else CORNERS)
    (folder / "suite.json").write_text(json.dumps(facts))
    return folder


def write_true_run(folder: Path, run: recipe.Run, priors: Sequence[str] = CORNERS) -> Path:
    """A run with the recipe that it really has."""
    write_run(folder, run.name, priors, run.seed, run.steps)
    shipped = {one.name: one for one in resolve(["zoo:pointmaze"]).records}
    known = tuple(shipped[name] for name in priors)
    files.write_json(folder / "run.json", recipe.dump(replace(run, priors=known)))
    return folder


def suite(folder: Path, steps: int = 9_000, odd: str = "ne") -> Path:
    """Two tasks, two methods, two seeds; one run is waiting, one failed, one has values.csv."""
    cells = [
        cell(task, label, seed, steps)
        for seed in range(2)
        for task in ("metaworld/box-close", "pointmaze/two")
        for label in ("smec", "scratch")
    ]
    for facts in cells[:-2]:
        run = write_cell(folder, facts, (odd, "se", "sw"))
    write_values(run, ["task", odd])
    failed = folder / cells[-2]["run"]
    failed.mkdir(parents=True)
    (failed / "failure.txt").write_text("OSError: no space\n")
    return write_suite(folder, cells)


def write_values(run: Path, policies: Sequence[str]) -> None:
    """What each head promised and what came of it."""
    rows = [[step, name, 0.9, 1.0, 0.8, 50] for step in (1000, 5000, 9000) for name in policies]
    write_table(
        run / "values.csv",
        ["step", "policy", "discount", "estimate", "realized", "steps"],
        rows,
    )


def in_a_row(folder: Path, steps: int = 9_000) -> Path:
    """Two tasks one after the other, with Scratch beside them."""
    first, second = "pointmaze/u", "pointmaze/two"
    grown = cell(first, "smec", 0, steps, priors="none")
    cells = [
        grown, cell(first, "scratch", 0, steps),
        cell(second, "smec", 0, steps, priors="earlier tasks", needs=[grown["name"]]),
        cell(second, "scratch", 0, steps),
    ]  # fmt: skip
    for facts in cells:
        write_cell(folder, facts, ("u",))
    return write_suite(folder, cells, "continual")


def with_sets(folder: Path, steps: int = 9_000) -> Path:
    """One task with two sets of priors."""
    sets = {"set1": ("push",), "set2": ("push", "reach")}
    cells = [cell("pointmaze/two", n, 0, steps, method="smec", priors=n) for n in sets]
    for facts in cells:
        write_cell(folder, facts, sets[facts["label"]])
    return write_suite(folder, cells, "prior-sets")
