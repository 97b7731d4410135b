"""A user's own modules: imported because the command line says so, never because a file does."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest

from reprise.boundary.errors import UserError
from reprise.cli.main import main
from reprise.cli.modules import import_asked
from reprise.cli.numbers import whole
from reprise.tasks import find

MODULE = """
import gymnasium as gym
import numpy as np
from gymnasium import spaces

class Walk(gym.Env):
    observation_space = spaces.Box(-1, 1, (1,), np.float32)
    action_space = spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, False, False, {}

gym.register("Walk-v0", Walk, max_episode_steps=5)
"""
NAME = "my_walks"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module, which nothing has imported."""
    (tmp_path / f"{NAME}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop(NAME, None)
    gymnasium.registry.pop("Walk-v0", None)


@pytest.mark.usefixtures("here")
def test_a_module_on_the_command_line_is_imported_and_its_task_found() -> None:
    argv = [f"gym/{NAME}:Walk-v0", "--seed", "1"]
    assert import_asked(argv, "train") == argv
    task = find(f"gym/{NAME}:Walk-v0")
    assert (task.id, task.horizon) == (f"gym/{NAME}:Walk-v0", 5)
    task.open().close()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("words", [["--import", NAME], [f"--import={NAME}"]])
def test_import_makes_its_environments_known(words: list[str]) -> None:
    assert import_asked(["gym/Walk-v0", *words, "--json"], "train") == ["gym/Walk-v0", "--json"]
    assert find("gym/Walk-v0").horizon == 5


def test_a_run_folder_that_names_a_module_imports_nothing(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", f"gym/{NAME}:Walk-v0", "--help-me"]) == 2
    sys.modules.pop(NAME)
    run = here / "run"
    run.mkdir()
    record = {"schema": 1, "name": "scratch", "method": {}, "task": f"gym/{NAME}:Walk-v0"}
    (run / "run.json").write_text(json.dumps(record))
    capsys.readouterr()
    for command in ("resume", "evaluate", "report"):
        main([command, str(run)])
        assert NAME not in sys.modules
    assert main(["resume", str(run)]) == 2
    assert f"add --import {NAME}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--import"], "needs a module's name"),
        (["--import", "no_such_module_of_mine"], "'no_such_module_of_mine' cannot be imported"),
    ],
)
def test_what_cannot_be_imported_is_one_line(words: list[str], said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        import_asked(words, "train")
    assert "\n" not in str(error.value)


def test_a_suite_asks_for_a_plugin() -> None:
    with pytest.raises(UserError, match="by a plugin"):
        import_asked(["point", "--import", "json"], "suite")


def test_a_forgotten_gym_is_suggested() -> None:
    with pytest.raises(UserError, match=r"it is gym/Pendulum-v1$"):
        find("Pendulum-v1")


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("1e4", 10_000), ("2.5e3", 2_500), ("60_000", 60_000)]
)
def test_whole_numbers_are_read_as_people_write_them(text: str, value: int) -> None:
    assert whole(text) == value


@pytest.mark.parametrize("text", ["1.5", "1e-3", "many", "nan", "inf", "1e99", ""])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="number"):
        whole(text)


def test_an_option_takes_them(capsys: pytest.CaptureFixture[str]) -> None:
    line = "suite point --scale smoke --steps 1e3 --dry-run --json"
    assert main(line.split()) == 0
    assert {run["steps"] for run in json.loads(capsys.readouterr().out)["runs"]} == {1_000}


@pytest.mark.parametrize("command", ["methods list", "priors list", "suites list"])
def test_a_table_fits_eighty_columns_with_every_name_on_one_line(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(command.split()) == 0
    people = capsys.readouterr().out.splitlines()
    assert main([*command.split(), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert max(map(len, people)) <= 80
    first = [row.get("ref") or row["name"] for row in rows]
    assert set(first) <= {line.split()[0] for line in people if line.strip()}
    monkeypatch.setenv("COLUMNS", "160")
    assert main(command.split()) == 0
    assert "not shown" not in capsys.readouterr().out
