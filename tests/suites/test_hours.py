"""A suite within a number of hours: the runs that tell most first, and no longer than that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from test_launch import Actors, chain

from reprise import suites
from reprise.cli.main import main
from reprise.cli.suite import Suite as SuiteOptions
from reprise.cli.suite import _plan
from reprise.findings import telling
from reprise.findings.gathered import COLUMNS_OF, HEAD, Gathered
from reprise.suites import SCALES, Choice, suite
from reprise.suites.launch import Job, Outcome, Plan, State, launch

TASKS = ("pointmaze/two", "pointmaze/s")


def plan_of(seeds: int) -> suites.Suite:
    return suite("point", SCALES["small"], Choice(TASKS, ("smec", "scratch"), seeds))


def found(heights: dict[tuple[str, str], list[float]]) -> Gathered:
    """What complete runs with level curves would leave: (task, label) -> a height per seed."""
    rows = [
        {"cell": suites.cell_name(task, label, seed), "label": label, "task": task, "seed": seed,
         "success_any": height, "return_mean": 0.0, "state": "complete", "step": step}
        for (task, label), runs in heights.items()
        for seed, height in enumerate(runs)
        for step in (1_000, 2_000)
    ]  # fmt: skip
    curves = pd.DataFrame(rows)
    blank = {name: pd.DataFrame(columns=[*HEAD, *columns]) for name, columns in COLUMNS_OF.items()}
    return Gathered({}, **{**blank, "cells": curves.drop_duplicates("cell"), "curves": curves})


def arranged(seeds: int, heights: dict[tuple[str, str], list[float]]) -> list[str]:
    """The names of the runs that wait, in the order in which they would be started."""
    whole = plan_of(seeds)
    made = {suites.cell_name(*line, seed) for line, h in heights.items() for seed in range(len(h))}
    jobs = [Job(c.name, c.run, (), Path(c.name)) for c in whole.cells if c.name not in made]
    order = telling.order(whole, lambda: found(heights))
    return [job.name.removeprefix("pointmaze-") for job in order(jobs)]


def test_one_seed_of_everything_comes_first() -> None:
    names = arranged(2, {("pointmaze/two", "smec"): [0.9], ("pointmaze/two", "scratch"): [0.1]})
    assert {name[-2:] for name in names[:2]} == {"s0"}
    assert {name[-2:] for name in names[2:]} == {"s1"}


def test_a_close_comparison_comes_before_one_with_a_gap() -> None:
    close = {("pointmaze/s", "smec"): [0.50], ("pointmaze/s", "scratch"): [0.48]}
    apart = {("pointmaze/two", "smec"): [0.9], ("pointmaze/two", "scratch"): [0.1]}
    assert arranged(2, apart | close)[:2] == ["s-smec-s1", "s-scratch-s1"]
    far = {("pointmaze/s", "smec"): [0.9], ("pointmaze/s", "scratch"): [0.0]}
    assert arranged(2, apart | far)[:2] == ["two-smec-s1", "two-scratch-s1"]


def test_a_settled_comparison_waits_for_all_open_ones() -> None:
    settled = {("pointmaze/two", "smec"): [0.9, 0.8], ("pointmaze/two", "scratch"): [0.1, 0.2]}
    open_yet = {("pointmaze/s", "smec"): [0.9, 0.1], ("pointmaze/s", "scratch"): [0.3, 0.2]}
    names = arranged(5, settled | open_yet)
    assert [name.partition("-")[0] for name in names] == ["s"] * 6 + ["two"] * 6


def test_a_first_seed_comes_before_the_second_of_what_is_kept_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {("pointmaze/two", "smec"): [0.9], ("pointmaze/two", "scratch"): [0.1]}
    whole, told = plan_of(2), found(kept)
    spared = tuple(cell for cell in whole.cells if cell.name not in set(told.cells["cell"]))
    monkeypatch.setattr("reprise.findings.gather.gather", lambda *folders, **options: told)
    options = SuiteOptions(name="point", hours=1.0)
    plan = _plan(whole, replace(whole, cells=spared), tmp_path, options)
    jobs = [Job(c.name, c.run, (), Path(c.name)) for c in reversed(spared)]
    assert {job.run.seed for job in plan.order(jobs)[:2]} == {0}, "of the other maze"


def test_nothing_is_settled_by_one_seed_or_by_half_a_comparison() -> None:
    lines = ("smec", "scratch")
    assert not telling.standing({"smec": [0.9], "scratch": [0.0]}, lines).settled
    assert telling.standing({"smec": [0.9, 0.9]}, lines) == telling.UNKNOWN
    assert telling.standing({"smec": [0.9, 0.8], "scratch": [0.1, 0.2]}, lines).settled


def test_runs_start_in_the_order_of_the_plan(tmp_path: Path) -> None:
    actors = Actors(places=1)
    launch(chain(tmp_path), actors, plan=Plan(lambda waiting: waiting[::-1]))
    assert actors.started == ["y", "x", "a", "b", "c"], "but never before those they need"


def test_when_time_is_up_what_runs_saves_and_nothing_more_is_started(tmp_path: Path) -> None:
    actors = Actors(places=1, ends=lambda job, time: False)
    outcome: Outcome = launch(chain(tmp_path), actors, plan=Plan(hours=1e-9))
    assert actors.started == ["a"]
    assert actors.stopped == 1, "asked to save, once"
    assert set(outcome.states.values()) == {State.WAITING}
    assert outcome.interrupted is None


def test_a_dry_run_says_what_fits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["suite", "point", "--methods", "smec", "scratch", "--dry-run", "--jobs", "1"]
    command += ["--out", str(tmp_path / "suite")]
    assert main([*command, "--hours", "0.5"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "runs fit into 30 min; left out:" in said
    assert "yes" in said
    assert main([*command, "--hours", "1000"]) == 0
    assert "left out" not in capsys.readouterr().out
    assert main([*command, "--hours", "-1"]) == 2
    assert "hours is -1.0; it must be positive" in capsys.readouterr().err


def test_a_suite_whose_time_is_up_says_so_and_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["suite", "point", "--scale", "smoke", "--methods", "scratch", "--jobs", "1"]
    command += ["--out", str(tmp_path / "suite")]
    assert main([*command, "--hours", "1e-6"]) == 0, "that is no failure"
    assert "time is up with 1 runs to go; the same command goes on" in capsys.readouterr().err
    assert main([*command, "--hours", "1"]) == 0
    assert "1 of 1 runs complete" in capsys.readouterr().out
