"""The examples of CONTRIBUTING.md: files of the plugin, which tests use, and a panel that runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import fake_suite
from reprise.findings.gather import gather
from reprise.pages.suite.page import content
from reprise.pages.suite.panels import panels

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
BLOCKS = dict(re.findall(r"```python\n# (\S+)\n(.*?)```", TEXT, re.DOTALL))
PLUGIN = [path for path in BLOCKS if path.startswith("examples/plugin/")]


def test_there_is_an_example_for_everything_that_can_be_added() -> None:
    headings = re.findall(r"^### A (.*)$", TEXT, re.MULTILINE)
    assert headings == ["method", "task", "format of priors", "suite", "page"]
    assert len(BLOCKS) == len(headings) and len(PLUGIN) == 4


@pytest.mark.parametrize("path", PLUGIN)
def test_an_example_is_the_file_that_the_tests_install_and_train(path: str) -> None:
    assert (ROOT / path).read_text() == BLOCKS[path]


def test_the_panel_of_the_example_is_drawn(tmp_path: Path) -> None:
    ((_, block),) = [item for item in BLOCKS.items() if item[0] not in PLUGIN]
    (tmp_path / "hours.py").write_text(block)
    found = gather(fake_suite.suite(tmp_path / "suite"))
    made = runpy.run_path(str(tmp_path / "hours.py"))["panel"](found)
    (table,) = made.tables
    assert set(table.rows["label"]) == {"smec", "scratch"} and (table.rows["hours"] > 0).all()
    page = content(found, [*panels(found), made])
    assert "How long it took" in page.main and any("hours" in key for key in page.figures)
