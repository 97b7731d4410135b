"""The demo, from its command to its page, on a few steps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reprise.cli.main import main


def test_the_demo_trains_both_compares_them_and_says_where_the_report_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for attempt in range(2):
        assert main(["demo", "--steps", "600", "--out", str(tmp_path)]) == 0
        said = capsys.readouterr().out
        page = Path(re.search(r"report: (\S+)", said.replace("\n", " "))[1])  # type: ignore[index]
        text = page.read_text()
        for name in ("smec", "scratch"):
            assert re.search(rf"{name}\b.*never", said)
            assert (tmp_path / name / "policy" / "policy.json").exists()
            assert name in text
        written = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/metrics.csv")}
        if attempt == 0:
            first = written
    # The second call found both runs complete and trained nothing.
    assert written == first and len(written) == 2
