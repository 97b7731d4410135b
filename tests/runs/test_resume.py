"""Stopping and continuing: nothing is lost but time, and nothing is different."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cutting import Enough, cut_at
from digest import digest, replay
from pace import paced
from reprise.boundary.errors import UserError
from reprise.methods.smec import smec
from reprise.priors import resolve, save
from reprise.runs.execute import Listener, Outcome, execute
from reprise.runs.folder import Manifest, read_recipe
from reprise.runs.recipe import Run
from reprise.tasks import Task
from toys import BRISK, line, policy, small

STEPS = 300


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("priors")
    for i, name in enumerate(("left", "right")):
        save(folder / name, policy(name, i))
    return folder


def recipe(library: Path, steps: int = STEPS) -> Run:
    method, records = small(smec(7, 1.0)), resolve([str(library)]).records
    return Run("smec", method, "toy/line", records, 4, steps, "small", BRISK)


def play(run: Run, folder: Path, task: Task | None = None, **options: object) -> Outcome:
    return execute(run, task or line(30), folder, tensorboard=False, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def straight(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("straight") / "run"
    play(recipe(library), folder)
    return folder


def interrupted(run: Run, folder: Path, step: int) -> None:
    with pytest.raises(Enough):
        play(run, folder, listener=cut_at(step))


@pytest.mark.parametrize("step", [50, 100, 250])
def test_a_run_that_died_continues_to_the_same_files(
    step: int, library: Path, straight: Path, tmp_path: Path
) -> None:
    interrupted(recipe(library), tmp_path / "run", step)
    play(recipe(library), tmp_path / "run")
    assert digest(tmp_path / "run") == digest(straight)
    assert replay(tmp_path / "run") == replay(straight)


def test_a_run_continues_though_its_priors_have_moved(
    library: Path, straight: Path, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    shutil.copytree(library, old)
    interrupted(recipe(old), tmp_path / "run", 150)
    old.rename(new)
    play(recipe(new), tmp_path / "run")
    assert digest(tmp_path / "run") == digest(straight)
    assert read_recipe(tmp_path / "run") == recipe(new)  # so that it can be evaluated there


def test_a_run_does_not_continue_with_another_prior_of_the_same_name(
    library: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(library, other)
    interrupted(recipe(other), tmp_path / "run", 1)
    before = (tmp_path / "run/run.json").read_bytes()
    save(other / "left", policy("left", 7))
    with pytest.raises(UserError, match="another recipe"):
        play(recipe(other), tmp_path / "run")
    assert (tmp_path / "run/run.json").read_bytes() == before


def test_the_hours_of_a_run_that_died_are_not_forgotten(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count(0.0, 10.0)  # whoever looks at the clock finds it ten seconds later
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr("reprise.runs.execute.time", clock)
    interrupted(recipe(library), tmp_path / "run", 250)
    spent = Manifest(tmp_path / "run").record["seconds"]
    assert spent >= 40.0  # reports at 50, 100, 150 and 200, each with a checkpoint
    next_began = next(ticks)
    outcome = play(recipe(library), tmp_path / "run")
    assert outcome.seconds == spent + next(ticks) - next_began - 20.0
    assert Manifest(tmp_path / "run").record["seconds"] == outcome.seconds


def test_a_run_that_died_before_its_first_checkpoint_starts_again(
    library: Path, straight: Path, tmp_path: Path
) -> None:
    interrupted(recipe(library), tmp_path / "run", 1)
    assert not list((tmp_path / "run/checkpoints").glob("step-*"))
    play(recipe(library), tmp_path / "run")
    assert digest(tmp_path / "run") == digest(straight)


def test_a_complete_run_is_not_run_again(library: Path, straight: Path) -> None:
    before = digest(straight)
    outcome = play(recipe(library), straight, listener=cut_at(0))
    assert outcome.steps == STEPS
    assert digest(straight) == before


def test_tables_have_neither_gaps_nor_duplicates(straight: Path) -> None:
    found = digest(straight)
    assert [int(row["step"]) for row in found["metrics"]] == list(range(50, STEPS + 1, 50))
    assert [int(row["step"]) for row in found["eval"]] == [100, 200, 300]
    steps = [int(row["step"]) for row in found["switches"]]
    assert len(set(steps)) == len(steps)
    assert steps == sorted(steps)


def test_evaluation_never_disturbs_training(library: Path, straight: Path, tmp_path: Path) -> None:
    rarely = replace(recipe(library), schedule=replace(BRISK, evaluate_every=0))
    play(rarely, tmp_path / "run")
    last = f"checkpoints/step-{STEPS:09d}"
    for name in ("agent.safetensors", "loop.safetensors"):
        assert (tmp_path / "run" / last / name).read_bytes() == (
            straight / last / name
        ).read_bytes()


DAMAGE = {
    "empty": lambda data: b"",
    "one byte": lambda data: data[:1],
    "half": lambda data: data[: len(data) // 2],
    "one bit": lambda data: data[:-9] + bytes([data[-9] ^ 4]) + data[-8:],
    "all but one byte": lambda data: data[:-1],
}
FILES = ("agent.safetensors", "loop.safetensors", "state.json", "manifest.json")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_detected_and_the_one_before_it_used(
    name: str, damage: str, library: Path, straight: Path, tmp_path: Path
) -> None:
    folder = _stopped(library, tmp_path)
    victim = folder / "checkpoints/step-000000150" / name
    victim.write_bytes(DAMAGE[damage](victim.read_bytes()))
    warnings: list[str] = []
    play(recipe(library), folder, listener=Listener(warning=warnings.append))
    assert len(warnings) == 1
    assert "step-000000150" in warnings[0]
    assert digest(folder) == digest(straight)


_template: dict[Path, Path] = {}


def _stopped(library: Path, tmp_path: Path) -> Path:
    """A run that died at step 200 with checkpoints of steps 100 and 150."""
    if library not in _template:
        template = library.parent / "stopped"
        interrupted(recipe(library), template, 200)
        _template[library] = template
    return Path(shutil.copytree(_template[library], tmp_path / "run"))


def test_a_damaged_replay_segment_is_detected(
    library: Path, straight: Path, tmp_path: Path
) -> None:
    folder = _stopped(library, tmp_path)
    newest = sorted((folder / "checkpoints/replay").iterdir())[-1]
    newest.write_bytes(newest.read_bytes()[:-4])
    warnings: list[str] = []
    play(recipe(library), folder, listener=Listener(warning=warnings.append))
    assert newest.name in warnings[0]
    assert digest(folder) == digest(straight)
    assert replay(folder) == replay(straight)


def test_if_no_checkpoint_is_sound_it_says_so(library: Path, tmp_path: Path) -> None:
    folder = _stopped(library, tmp_path)
    for path in (folder / "checkpoints").glob("step-*/agent.safetensors"):
        path.write_bytes(b"")
    with pytest.raises(UserError, match=r"no checkpoint in .* can be read"):
        play(recipe(library), folder, listener=Listener(warning=lambda text: None))


def test_a_kill_while_saving_leaves_the_checkpoints_before_it(
    library: Path, straight: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Die at each of the disk operations of a save, one after another."""
    folder = tmp_path / "run"
    interrupted(recipe(library), folder, 100)
    for point in range(14):
        with monkeypatch.context() as patch, pytest.raises(Enough):
            _die_at_disk_operation(point, patch)
            play(recipe(library), folder, listener=cut_at(200))
        assert list((folder / "checkpoints").glob("step-*"))
    play(recipe(library), folder)
    assert digest(folder) == digest(straight)


def _die_at_disk_operation(number: int, patch: pytest.MonkeyPatch) -> None:
    left = [number]

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            if left[0] == 0:
                raise Enough
            left[0] -= 1
            return real(*args)

        return call

    for name in ("fsync", "rename", "replace"):
        patch.setattr(os, name, counted(getattr(os, name)))


def test_only_the_last_two_checkpoints_and_their_rows_are_kept(straight: Path) -> None:
    kept = sorted(path.name for path in (straight / "checkpoints").glob("step-*"))
    assert kept == ["step-000000250", "step-000000300"]
    listed = json.loads((straight / "checkpoints" / kept[-1] / "manifest.json").read_text())
    on_disk = {path.name for path in (straight / "checkpoints/replay").iterdir()}
    assert on_disk == {segment["file"] for segment in listed["replay"]}
    assert not list((straight / "checkpoints").glob(".*tmp"))


def test_a_ring_that_wrapped_around_continues_exactly(library: Path, tmp_path: Path) -> None:
    tiny = replace(recipe(library), schedule=replace(BRISK, capacity=70))
    play(tiny, tmp_path / "straight")
    interrupted(tiny, tmp_path / "cut", 200)
    play(tiny, tmp_path / "cut")
    assert digest(tmp_path / "cut") == digest(tmp_path / "straight")


# Real processes, real signals.

MAZE = {
    "--priors": "zoo:pointmaze",
    "--steps": "600",
    "--seed": "3",
    "--critic.hidden": "16",
    "--actor.hidden": "16",
    "--schedule.warmup": "100",
    "--schedule.learning-starts": "50",
    "--schedule.batch": "16",
    "--schedule.log-every": "50",
    "--schedule.checkpoint-every": "50",
    "--schedule.evaluate-every": "200",
    "--schedule.evaluation-episodes": "1",
}


def reprise(folder: Path, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    options = [word for pair in MAZE.items() for word in pair]
    command = [sys.executable, "-m", "reprise", "train", "pointmaze/u", *options]
    command += ["--no-tensorboard", "--out", str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture(scope="module")
def maze(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """An undisturbed run in a process of its own, and the seconds it took with a warm cache."""
    folder = tmp_path_factory.mktemp("maze")
    for name in ("cold", "run"):
        began = time.perf_counter()
        process = reprise(folder / name)
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    return folder / "run", time.perf_counter() - began


@pytest.mark.timeout(1_200)
def test_twenty_kills_at_random_moments_change_nothing(
    maze: tuple[Path, float], tmp_path: Path
) -> None:
    straight, seconds = maze
    rng, folder, kills = np.random.default_rng(0), tmp_path / "run", 0
    finished: list[Path] = []
    while kills < 20 or not finished:
        process, began = reprise(folder), time.perf_counter()
        try:
            process.wait(float(rng.uniform(0.4, 1.0)) * seconds if kills < 20 else 300)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            kills += 1
        _, said = process.communicate()
        # Killed between the end of the run and its report, the run is complete all the same.
        if process.returncode == 0 or "is complete" in said:
            if process.returncode == 0:
                seconds = time.perf_counter() - began  # other machines, other times
            finished.append(Path(shutil.move(folder, tmp_path / f"finished-{len(finished)}")))
        else:
            assert process.returncode == -signal.SIGKILL, said
    for run in finished:
        assert digest(run) == digest(straight)
        assert replay(run) == replay(straight)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_says_how_to_resume(
    number: signal.Signals,
    code: int,
    maze: tuple[Path, float],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    process = reprise(folder, paced(os.environ, 0.5))
    metrics = folder / "metrics.csv"
    while not metrics.exists() or metrics.read_text().count("\n") < 4:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"reprise resume {folder}" in said.replace("\n", "")
    assert json.loads((folder / "manifest.json").read_text())["state"] == "interrupted"
    again = subprocess.run(
        [sys.executable, "-m", "reprise", "resume", str(folder), "--no-tensorboard"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert digest(folder) == digest(maze[0])
    assert replay(folder) == replay(maze[0])
