"""Run folders stand on their own: evaluated without their priors, saved, resumed, extended."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from digest import digest, replay
from reprise import Learner
from reprise.boundary.errors import UserError
from reprise.cli.main import main
from reprise.methods.smec import smec
from reprise.priors import resolve, save
from reprise.runs.execute import execute
from reprise.runs.folder import Manifest, extend, read_recipe
from reprise.runs.recipe import Run
from reprise.training.schedule import Schedule
from toys import BRISK, line, policy, small

PENDULUM = "gym/Pendulum-v1"


def said(*argv: str) -> tuple[int, str, str]:
    """What a command answers."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(argv))
    return code, out.getvalue(), err.getvalue()


def refused(*argv: str) -> str:
    """The one line with which a command is refused."""
    code, out, err = said(*argv)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    return err


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another working directory."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path


CODE = """
from pathlib import Path
import numpy as np
def policy():
    with (Path(__file__).parent.parent / "made").open("a") as made:
        made.write("once ")
    def push(obs):
        return np.zeros((len(obs), 1), np.float32)
    push.obs_dim, push.action_dim = 3, 1
    return push
"""


def trained(folder: Path, method: str = "smec") -> Path:
    """A run with a prior that is a file, and one that is code; then both files are gone."""
    old = folder / "old"
    save(old / "swing", policy("swing", 0, obs=3))
    (old / "push.py").write_text(CODE)
    words = (
        "--critic.hidden 16 --actor.hidden 16 --schedule.batch 16 --schedule.warmup 100 "
        "--schedule.learning-starts 100 --schedule.log-every 100 --schedule.evaluate-every 0 "
        "--schedule.evaluation-episodes 1 --steps 200 --trust-code --no-tensorboard"
    )
    command = ["train", PENDULUM, "--method", method, "--priors", str(old), *words.split()]
    code, _, err = said(*command, "--out", str(folder / "run"))
    assert code == 0, err
    shutil.rmtree(old)
    return folder / "run"


@pytest.fixture(scope="module")
def orphan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("orphan"))


def test_the_code_of_a_prior_runs_once_in_a_training(orphan: Path) -> None:
    assert (orphan.parent / "made").read_text() == "once "


def test_evaluate_and_report_need_no_prior_and_no_trust(orphan: Path, elsewhere: Path) -> None:
    moved = Path(shutil.copytree(orphan, elsewhere / "moved"))
    code, out, err = said("evaluate", str(moved), "--episodes", "1", "--json")
    assert code == 0, err
    assert json.loads(out)["steps"] == 200
    assert err == "", "no code of a prior was run"
    code, out, err = said("report", str(moved), "--out", "page.html")
    assert code == 0, err
    assert "push" in Path("page.html").read_text()


def test_a_learner_predicts_without_its_priors_and_asks_for_them_when_it_goes_on(
    orphan: Path,
) -> None:
    learner = Learner.load(orphan)
    assert learner.predict(np.zeros(3))[0].shape == (1,)
    with pytest.raises(UserError, match=r"old.*names no file or folder"):
        learner.learn(10)


def test_a_task_policy_that_is_built_of_its_priors_says_so(tmp_path: Path) -> None:
    run = trained(tmp_path, "multipolar")
    text = refused("evaluate", str(run), "--episodes", "1")
    assert "multipolar is built of its priors" in text and "old" in text


def brisk(learner: Learner) -> Learner:
    """The same learner with tiny networks and a quick schedule."""
    learner.run = replace(learner.run, method=small(learner.run.method), schedule=BRISK)
    return learner


@pytest.fixture(scope="module")
def learned() -> Learner:
    return brisk(Learner("smec", "pointmaze/u", "zoo:pointmaze", seed=1)).learn(200)


def test_a_saved_learner_is_resumed_by_the_command_line(learned: Learner, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    learned.save(folder)
    assert "--steps" in refused("resume", str(folder))
    code, _, err = said("resume", str(folder), "--steps", "300", "--no-tensorboard")
    assert code == 0, err
    straight = brisk(Learner("smec", "pointmaze/u", "zoo:pointmaze", seed=1)).learn(300)
    again = Learner.load(folder)
    assert again.num_timesteps == 300
    obs = np.array([0.3, -0.2, 0.0, 0.1])
    np.testing.assert_array_equal(again.predict(obs)[0], straight.predict(obs)[0])
    steps = [line.split(",")[0] for line in (folder / "metrics.csv").read_text().split()[1:]]
    assert steps == ["250", "300"], "tables begin where the run folder does"


def test_saving_replaces_what_was_saved_but_no_run(
    learned: Learner, orphan: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    short = brisk(Learner("smec", "pointmaze/u", "zoo:pointmaze", seed=2)).learn(60)
    short.save(folder)
    learned.save(folder)
    again = Learner.load(folder)
    assert again.num_timesteps == 200
    again.save(folder)  # onto itself
    again.save(tmp_path / "copy")
    assert Learner.load(tmp_path / "copy").num_timesteps == 200
    assert not list(folder.glob(".saving*"))
    with pytest.raises(UserError, match="is the folder of a run"):
        learned.save(orphan)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.png").write_bytes(b"")
    with pytest.raises(UserError, match="is not a run"):
        learned.save(tmp_path / "photos")


def test_a_folder_that_is_no_run_is_not_moved_into(elsewhere: Path) -> None:
    Path("photos").mkdir()
    Path("photos/cat.png").write_bytes(b"")
    command = ["train", PENDULUM, "--method", "scratch", "--steps", "100", "--out", "photos"]
    text = refused(*command)
    assert "photos is not a run" in text and "cat.png" in text and "--out" in text
    assert [path.name for path in Path("photos").iterdir()] == ["cat.png"]


# --- longer than it was meant to be ---


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("priors")
    for i, name in enumerate(("left", "right")):
        save(folder / name, policy(name, i))
    return folder


def recipe(library: Path, steps: int, schedule: Schedule) -> Run:
    records = resolve([str(library)]).records
    return Run("smec", small(smec(7, 1.0)), "toy/line", records, 4, steps, "small", schedule)


def play(run: Run, folder: Path, horizon: int = 30) -> None:
    execute(run, line(horizon), folder, tensorboard=False)


def untracked(found: dict[str, Any]) -> dict[str, Any]:
    """A digest without what depends on the length: which paths are kept."""
    found["state"].pop("tables")
    return {name: value for name, value in found.items() if name != "tracks"}


@pytest.mark.parametrize(
    ("first", "schedule"),
    [
        (200, BRISK),
        (130, BRISK),  # amid an interval of metrics.csv
        (150, BRISK),  # amid an interval of eval.csv
        (200, replace(BRISK, capacity=250)),  # a ring that grows before it is full
        (200, replace(BRISK, capacity=70)),  # a ring that is full
        (130, replace(BRISK, evaluate_every=0)),
    ],
)
def test_an_extended_run_is_the_run_it_would_have_been(
    first: int, schedule: Schedule, library: Path, tmp_path: Path
) -> None:
    long, short = recipe(library, 300, schedule), recipe(library, first, schedule)
    play(long, tmp_path / "straight")
    play(short, tmp_path / "run")
    assert extend(short, tmp_path / "run", 300) == long
    assert not Manifest(tmp_path / "run").complete
    play(read_recipe(tmp_path / "run"), tmp_path / "run")
    one, two = digest(tmp_path / "straight"), digest(tmp_path / "run")
    assert untracked(one) == untracked(two)
    assert replay(tmp_path / "straight") == replay(tmp_path / "run")
    assert read_recipe(tmp_path / "run").id == long.id
    record = Manifest(tmp_path / "run").record
    assert record["state"] == "complete" and record["earlier_ends"][0]["steps"] == first


def test_a_run_that_ends_amid_an_interval_still_shows_its_end(
    library: Path, tmp_path: Path
) -> None:
    play(recipe(library, 130, BRISK), tmp_path / "run")
    found = digest(tmp_path / "run")
    assert [row["step"] for row in found["metrics"]] == ["50", "100", "130"]
    assert [row["step"] for row in found["eval"]] == ["100", "130"]
    # Killed after its last checkpoint and before it was called complete, it keeps those rows.
    Manifest(tmp_path / "run").note(state="running")
    play(recipe(library, 130, BRISK), tmp_path / "run")
    assert digest(tmp_path / "run") == found


@pytest.mark.parametrize("steps", ["200", "150", "0"])
def test_a_run_does_not_become_shorter(steps: str, orphan: Path) -> None:
    before = (orphan / "run.json").read_bytes()
    text = refused("resume", str(orphan), "--steps", steps)
    assert str(orphan) in text and "200" in text
    assert (orphan / "run.json").read_bytes() == before


def test_the_command_line_extends_a_complete_run(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (
        f"train {PENDULUM} --method scratch --critic.hidden 16 --actor.hidden 16 --steps 100 "
        "--schedule.batch 16 --schedule.warmup 50 --schedule.log-every 50 --no-tensorboard "
        "--schedule.learning-starts 50 --schedule.evaluate-every 0 --schedule.evaluation-episodes 1"
    )
    assert said(*words.split(), "--out", "run")[0] == 0
    assert "resume run --steps N" in refused(*words.split(), "--out", "run")
    code, out, err = said("resume", "run", "--steps", "150", "--no-tensorboard", "--json")
    assert code == 0, err
    assert json.loads(out)["steps"] == 150
    assert json.loads(Path("run/run.json").read_text())["steps"] == 150
