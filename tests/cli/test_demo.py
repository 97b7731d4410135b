"""The demo, from its command to its page, on a few steps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reprise import suites
from reprise.cli.main import main


def test_the_demo_trains_both_compares_them_and_says_where_the_report_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first: dict[Path, int] = {}
    for attempt in range(2):
        assert main(["demo", "--steps", "600", "--out", str(tmp_path)]) == 0
        said = capsys.readouterr().out
        page = Path(re.search(r"report: (\S+)", said.replace("\n", " "))[1])  # type: ignore[index]
        text = page.read_text()
        for name in ("smec", "scratch"):
            assert re.search(rf"{name}\b.*never", said)
            run = tmp_path / "runs" / f"pointmaze-two-{name}-s1"
            assert (run / "policy" / "policy.json").exists()
            assert name in text
        written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/metrics.csv")}
        assert len(written) == 2
        # The second call found both runs complete and trained nothing.
        assert attempt == 0 or written == first
        first = written
    assert suites.load(tmp_path)["name"] == "demo"
