"""What `suite`, `continual` and `report` answer, without a run being made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fake_suite
from reprise import suites
from reprise.cli import main
from reprise.commands import comparing
from reprise.launch import Outcome, State
from reprise.suites import Suite, folder_of
from reprise.suites.record import settle
from reprise.terminal import ProgressLine


def ended(monkeypatch: pytest.MonkeyPatch, **whys: str) -> None:
    """Every run has been made, but for those of some methods."""

    def play(suite: Suite, out: Path, *others: Any) -> Outcome:
        out.mkdir(parents=True, exist_ok=True)
        settle(suite, out)
        states: dict[str, State] = {}
        for cell in suite.cells:
            why = whys.get(cell.label)
            states[cell.name] = State.FAILED if why else State.COMPLETE
            if why:
                folder_of(out, cell.name).mkdir(parents=True)
                (folder_of(out, cell.name) / "failure.txt").write_text(why)
        return Outcome(states, None)

    monkeypatch.setattr(comparing.suites, "play", play)


# Square brackets in a name or a path are no styles.


def test_why_a_run_failed_is_shown_to_the_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    why = "not installed: pip install 'reprise[metaworld]' [/x]"
    ended(monkeypatch, cup=why)
    out = tmp_path / "[bold]"
    assert main(["suite", "point", "--scale", "smoke", "--out", str(out)]) == 1
    said = capsys.readouterr().out
    assert why in said and str(out) in said.replace("\n", "")
    assert "7 of 8 runs complete" in said


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
