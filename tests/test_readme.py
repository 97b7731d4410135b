"""Every block of Python in the README runs, with fewer steps."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_there_is_something_to_run() -> None:
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_the_readme_runs(block: str, tmp_path: Path) -> None:
    quick = block.replace("60_000", "1_100")
    done = subprocess.run(
        [sys.executable, "-c", quick], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_the_start_page_of_the_docs_is_the_readme() -> None:
    def words(path: Path) -> list[str]:
        return re.sub(r"\]\([^)]*\)", "]", path.read_text()).split()

    assert words(ROOT / "docs/index.md") == words(ROOT / "README.md")


def test_files_that_the_docs_quote_are_there() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    quoted = {(page.name, name) for page in pages
              for name in re.findall(r"\b(?:benchmarks|results)/[\w/.-]+\.(?:py|csv)\b",
                                     page.read_text())}  # fmt: skip
    assert len(quoted) > 5
    assert [pair for pair in sorted(quoted) if not (ROOT / pair[1]).is_file()] == []


def test_the_docs_know_the_ant_mazes_of_the_priors_alone() -> None:
    rows = (ROOT / "results/zero_shot.csv").read_text().splitlines()
    ants = [row.split(",") for row in rows if row.startswith("antmaze/")]
    assert len(ants) == 12 and {float(row[5]) for row in ants} == {0.0}
    (line,) = (row for row in (ROOT / "docs/reproduce.md").read_text().splitlines()
               if row.startswith("| Figure 12"))  # fmt: skip
    assert "three ant mazes" in line
