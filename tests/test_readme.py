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
