"""What `suite`, `continual` and `report` answer, without a run being made."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fake_suite
from reprise import suites
from reprise.cli import suite as comparing
from reprise.cli.main import main
from reprise.findings.gather import forward_transfers, gather
from reprise.runs.folder import Manifest
from reprise.runs.terminal import ProgressLine
from reprise.suites import Suite
from reprise.suites.launch import Outcome, State
from reprise.suites.record import CELL, settle

TASKS = ("pointmaze/u", "pointmaze/two")


def ended(monkeypatch: pytest.MonkeyPatch, whys: dict[str, str]) -> None:
    """Every run has been made, but for some by their names."""

    def play(suite: Suite, out: Path, *others: Any) -> Outcome:
        out.mkdir(parents=True, exist_ok=True)
        settle(suite, out)
        states: dict[str, State] = {}
        for facts in suites.load(out)["cells"]:
            name = facts["name"]
            states[name] = State.FAILED if name in whys else State.COMPLETE
            run = fake_suite.write_cell(out, facts)
            if name in whys:
                (run / "failure.txt").write_text(whys[name])
        return Outcome(states, None)

    monkeypatch.setattr(comparing.suites, "play", play)


# Square brackets in a name or a path are no styles.


def test_why_a_run_failed_is_shown_to_the_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    why = "not installed: pip install 'reprise[metaworld]' [/x]"
    ended(monkeypatch, {"pointmaze-medium-cup-s0": why})
    out = tmp_path / "[bold]"
    assert main(["suite", "point", "--scale", "smoke", "--out", str(out)]) == 1
    said = capsys.readouterr().out
    assert why in said and f"7 of 8 runs complete: {out}\n" in said


def test_the_path_of_a_report_is_shown_to_the_letter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, page = fake_suite.suite(tmp_path / "suite"), tmp_path / "[" / "x].html"
    page.parent.mkdir()
    assert main(["report", str(folder), "--out", str(page)]) == 0
    assert f"report: {page}\n" in capsys.readouterr().out


def test_a_warning_is_shown_to_the_letter(capsys: pytest.CaptureFixture[str]) -> None:
    run = suites.suite("point", suites.SCALES["smoke"]).cells[0].run
    ProgressLine(run, 1).warning("prior 'a[/x]' is set aside")
    assert "prior 'a[/x]' is set aside" in capsys.readouterr().err


# The page at the end.


def test_a_suite_ends_with_its_page_which_stays_until_something_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    why = {"pointmaze-medium-cup-s0": "no space left"}
    ended(monkeypatch, why)
    command = ["suite", "point", "--scale", "smoke", "--out", str(tmp_path)]
    assert main(command) == 1
    page = tmp_path / "report.html"
    assert f"report: {page}\n" in capsys.readouterr().out
    assert "no space left" in page.read_text()
    over = Outcome({cell["name"]: State.COMPLETE for cell in suites.load(tmp_path)["cells"]}, None)
    monkeypatch.setattr(comparing.suites, "play", lambda *others: over)
    page.write_text("as it was")
    assert main(command) == 0
    assert f"report: {page}\n" in capsys.readouterr().out and page.read_text() == "as it was"
    next(tmp_path.glob("runs/*/failure.txt")).unlink()
    Manifest(next(tmp_path.glob("runs/*-smec-s0"))).note(state="running")
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failed"] == {}
    assert "no space left" not in page.read_text() and "1 running" in page.read_text()


# How much reuse helped.


def test_only_complete_runs_are_compared(tmp_path: Path) -> None:
    folder = fake_suite.in_a_row(tmp_path)
    found = gather(folder)
    assert list(forward_transfers(found.curves, found.cells)["task"]) == list(TASKS)
    for name, left in {"pointmaze-two-smec-s0": TASKS[0], "pointmaze-u-scratch-s0": None}.items():
        manifest = Manifest(folder / "runs" / name)
        manifest.note(state="running")
        found = gather(folder)
        table = forward_transfers(found.curves, found.cells)
        assert list(table["task"]) == ([left] if left else [])


def test_continual_says_which_runs_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["continual", *TASKS, "--scale", "smoke", "--steps", "9000", "--out"]
    missing = "pointmaze-two-scratch-s0"
    ended(monkeypatch, {missing: "no space"})
    assert main([*command, str(tmp_path / "some")]) == 1
    said = capsys.readouterr().out
    assert f"{missing}: no space\n" in said
    assert f"not complete: {missing}\n" in said
    assert "pointmaze/u " in said and "pointmaze/two " not in said
    ended(monkeypatch, {})
    assert main([*command, str(tmp_path / "all")]) == 0
    said = capsys.readouterr().out
    assert "pointmaze/two " in said and "not complete" not in said


# How many runs at a time.


def test_what_measures_time_makes_one_run_at_a_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(comparing.os, "cpu_count", lambda: 6)
    asked: list[int | None] = []
    monkeypatch.setattr(comparing, "Processes", asked.append)
    monkeypatch.setattr(comparing, "Cluster", lambda address, places: asked.append(places))
    for name, jobs, ray in itertools.product(("cost", "point"), (None, 3), (None, "auto")):
        comparing.Suite(name=name, jobs=jobs, ray=ray).workers()
    assert asked == [1, 1, 3, 3, 6, None, 3, 3]
    dry = ["--scale", "smoke", "--dry-run", "--json"]
    for words, warned in {("cost",): 0, ("cost", "--jobs", "2"): 1, ("point",): 0}.items():
        assert main(["suite", *words, *dry]) == 0
        assert capsys.readouterr().err.count("make one run at a time\n") == warned


# A record that somebody damaged.


def lacking(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda record: record["cells"][1].pop(name)


DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no cells": (lambda record: record.pop("cells"), "cells is missing"),
    "no name": (lambda record: record.pop("name"), "name is missing"),
    "cells by name": (lambda record: record.update(cells={}), "cells is {}, not a list"),
    "a cell is a name": (lambda record: record["cells"].insert(0, "a"), "cell 0 is not a JSON"),
    "a seed in words": (lambda record: record["cells"][0].update(seed="one"), "seed is 'one'"),
    **{
        f"no {name}": (lacking(name), f"cell 1: {name} is missing")
        for name in CELL
        if name != "name"
    },
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("command", ["report", "watch", "suite"])
def test_a_damaged_record_is_one_line(
    command: str, damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fake_suite.suite(tmp_path)
    record = json.loads((folder / "suite.json").read_text())
    spoil, gist = DAMAGE[damage]
    spoil(record)
    (folder / "suite.json").write_text(json.dumps(record))
    words = ["point", "--scale", "small", "--out"] if command == "suite" else []
    assert main([command, *words, str(folder)]) == 2
    said = capsys.readouterr().err
    assert gist in said and str(folder / "suite.json") in said
    assert said.count("\n") == 1
