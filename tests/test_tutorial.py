"""The tutorial: each of its commands works, in its order, and the report has what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from reprise.cli.main import main

TEXT = (Path(__file__).parents[1] / "docs/tutorial.md").read_text()
FENCED = re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [line for block in FENCED for line in block.splitlines() if line.startswith("reprise ")]
QUICK = {"20000": "600", "20": "1"}
"""Steps and episodes, fewer here."""
BRIEF = [
    *("--schedule.warmup", "100", "--schedule.batch", "16", "--schedule.log-every", "100"),
    *("--schedule.evaluate-every", "300", "--schedule.learning-starts", "300"),
    *("--schedule.evaluation-episodes", "1", "--critic.hidden", "16", "--actor.hidden", "16"),
]


def arguments(command: str) -> list[str]:
    """A command of the tutorial, in seconds instead of minutes."""
    words = [QUICK.get(word, word) for word in shlex.split(command)[1:]]
    brief = {"train": BRIEF, "priors": ["--episodes", "1"]}
    return [*words, *brief.get(words[0], [])]


def test_the_commands_work_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [shlex.split(command)[1] for command in COMMANDS] == [
        "priors", "train", "resume", "train", "evaluate", "report",
    ]  # fmt: skip
    for command in COMMANDS:
        code, said = main(arguments(command)), capsys.readouterr()
        if " resume " in command:
            assert code == 2 and "is complete" in said.err
        else:
            assert code == 0, said.err
        if " check " in command:
            assert all(name in said.out for name in ("ne", "nw", "se", "sw", "success any", "0%"))
    assert (tmp_path / "runs/first/report.html").exists()
    page = (tmp_path / "report.html").read_text()
    sections = re.findall(r"^\* \*\*(.*?)\*\*:", TEXT, re.MULTILINE)
    assert len(sections) == 5
    assert [name for name in sections if name not in page] == []
