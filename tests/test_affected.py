"""`make quick`: the tests that a change concerns, within a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from affected import affected

FILES = {
    "src/reprise/__init__.py": "from reprise.far import door\nfrom reprise.wall import brick",
    "src/reprise/far/__init__.py": "",
    "src/reprise/far/door.py": "",
    "src/reprise/wall.py": "brick = 1",
    "src/reprise/house.py": "from reprise.far import door\nfrom reprise import wall",
    "src/reprise/street.py": "import reprise.house",
    "tests/toys.py": "import reprise.wall",
    "tests/test_door.py": "from reprise.far.door import key",
    "tests/test_house.py": "from reprise.house import roof",
    "tests/test_street.py": "from reprise.street import lamp",
    "tests/test_toys.py": "import toys",
    "tests/test_all.py": "import reprise",
    "tests/test_readme.py": "ROOT / 'README.md'",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ("src/reprise/far/door.py", ["test_door", "test_house"]),
        ("src/reprise/wall.py", ["test_house", "test_toys"]),
        ("src/reprise/street.py", ["test_street"]),
        ("tests/toys.py", ["test_toys"]),
        ("tests/test_all.py", ["test_all"]),
        ("README.md", ["test_readme"]),
        ("src/reprise/gone.py", []),
    ],
)
def test_the_tests_of_a_change_are_the_near_ones(
    tree: Path, changed: str, names: list[str]
) -> None:
    assert [path.stem for path in affected(tree, [changed])] == names


def test_the_nearest_come_first(tree: Path) -> None:
    found = affected(tree, ["src/reprise/house.py", "tests/test_street.py"])
    assert [path.stem for path in found] == ["test_street", "test_house"]


def test_a_test_that_takes_too_long_is_stopped_and_left_out(tmp_path: Path) -> None:
    here = (Path(__file__).parent / "conftest.py").read_text()
    (tmp_path / "conftest.py").write_text(here.replace("GRACE = 20.0", "GRACE = 0.1"))
    (tmp_path / "test_long.py").write_text("import time\ndef test_a(): time.sleep(60)\n")
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", "--within", "9", "."]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 skipped" in done.stdout and "the time of --within is over" in done.stdout


def test_when_the_time_is_over_the_rest_is_left_out_and_said(tmp_path: Path) -> None:
    here = Path(__file__).parent
    (tmp_path / "conftest.py").write_text((here / "conftest.py").read_text())
    (tmp_path / "test_two.py").write_text(
        "import time\ndef test_a(): time.sleep(0.3)\ndef test_b(): raise RuntimeError\n"
    )
    line = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", "--within", "0.2", "."]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 skipped" in done.stdout and "the time of --within is over" in done.stdout
