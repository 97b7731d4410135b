"""The table of docs/architecture.md that follows one step is what a real run does."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

import reprise
from reprise.cli.main import main
from reprise.priors import save
from toys import policy

ROOT = Path(__file__).parent.parent
SOURCE = Path(reprise.__file__).parent
TEXT = (ROOT / "docs" / "architecture.md").read_text()


class Visit(NamedTuple):
    """A function of a file."""

    file: str
    name: str


TABLE = [Visit(*row) for row in re.findall(r"^\| \d+ \| `([^`]+)` \| `([^`]+)` \|", TEXT, re.M)]
OPTIONS = (
    "--critic.hidden 16 --actor.hidden 16 --schedule.batch 16 --schedule.warmup 50 "
    "--schedule.learning-starts 50 --schedule.log-every 50 --schedule.checkpoint-every 100 "
    "--schedule.evaluate-every 0 --schedule.evaluation-episodes 1 --steps 100 --no-tensorboard"
)


def followed(*argv: str) -> list[Visit]:
    """Every call of a function of the table, in order, until a command has been through it."""
    wanted, calls, known = set(TABLE), list[Visit](), dict[CodeType, Visit | None]()
    left = list(TABLE)

    def look(code: CodeType) -> Visit | None:
        path = Path(code.co_filename)
        if not path.is_relative_to(SOURCE):
            return None
        visit = Visit(path.relative_to(SOURCE).as_posix(), code.co_qualname)
        return visit if visit in wanted else None

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            if code not in known:
                known[code] = look(code)
            if visit := known[code]:
                calls.append(visit)
                if visit == left[0]:
                    left.pop(0)
                if not left:
                    sys.setprofile(None)

    sys.setprofile(watch)
    try:
        assert main(list(argv)) == 0
    finally:
        sys.setprofile(None)
    return calls


def in_order(table: list[Visit], calls: list[Visit]) -> list[Visit]:
    """The rows of the table that the calls do not reach, one after the other."""
    left = list(table)
    for call in calls:
        if left and call == left[0]:
            left.pop(0)
    return left


def test_the_table_is_short_and_turns_back_to_no_file_twice() -> None:
    files = Counter(visit.file for visit in TABLE)
    assert 10 <= len(TABLE) == len(set(TABLE)) and len(files) <= 15
    assert max(files.values()) <= 2
    assert [name for name in files if not (SOURCE / name).exists()] == []


def test_a_training_passes_through_the_table_in_its_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise.cli.train.can_report", lambda: False)
    save(tmp_path / "old", policy("swing", 0, obs=3))
    run = tmp_path / "run"
    where = ("--priors", str(tmp_path / "old"), "--out", str(run))
    calls = followed("train", "gym/Pendulum-v1", *where, *OPTIONS.split())
    assert in_order(TABLE, calls) == [], capsys.readouterr().err
    assert len((run / "metrics.csv").read_text().splitlines()) == 3
    assert in_order(TABLE[::-1], calls), "the order says something"


def test_the_picture_shows_every_room() -> None:
    picture = (ROOT / "docs" / "images" / "rooms.svg").read_text()
    shown = re.findall(r'font-weight="bold" fill="#223">(\w+)</text>', picture)
    contract = re.search(r"layers = \[(.*?)\n\]", (ROOT / "pyproject.toml").read_text(), re.S)
    assert contract and shown == re.findall(r'"(\w+)"', contract[1])[1:]
    assert "images/rooms.svg" in TEXT
