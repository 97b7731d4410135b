"""Suites in real processes: killed, continued, on Ray, and gathered into tables."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from digest import digest, replay
from reprise.folder import Manifest
from reprise.gather import HEAD, forward_transfers, gather
from reprise.suites import load

pytestmark = pytest.mark.timeout(1_200)  # a busy machine compiles slowly
TASKS = ("pointmaze/u", "pointmaze/medium")
CELLS = [f"{t.replace('/', '-')}-{m}-s0" for t in TASKS for m in ("smec", "scratch")]
FIRST, _, SECOND, _ = CELLS


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Compiled code is kept between processes, so that a run costs little."""
    small_too = {
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
    }
    folder = str(tmp_path_factory.mktemp("xla"))
    return os.environ | {"JAX_COMPILATION_CACHE_DIR": folder, "NPROC": "1"} | small_too


def start(out: Path, env: dict[str, str], *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "reprise", "continual", *TASKS, "--scale", "smoke"]
    command += ["--jobs", "2", "--out", str(out), *more]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    said, complaints = process.communicate(timeout=600)
    assert process.returncode == 0, said + complaints
    return said


@pytest.fixture(scope="module")
def straight(warm: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed suite."""
    out = tmp_path_factory.mktemp("suite") / "straight"
    said = finish(start(out, warm))
    assert "4 of 4 runs complete" in said
    assert "transfer" in said
    return out


def same(suite: Path, other: Path) -> None:
    for name in CELLS:
        assert digest(suite / "runs" / name) == digest(other / "runs" / name), name
        assert replay(suite / "runs" / name) == replay(other / "runs" / name), name


def test_the_library_grows_by_the_policy_of_the_task_before(straight: Path) -> None:
    recipes = [json.loads((straight / f"runs/{name}/run.json").read_text()) for name in CELLS]
    assert [[p["name"] for p in r["priors"]] for r in recipes] == [[], [], ["u"], []]
    assert (straight / "runs" / SECOND / "metrics.csv").read_text().count("use_u") == 1
    ended, began = Manifest(straight / "runs" / FIRST), Manifest(straight / "runs" / SECOND)
    assert ended.record["ended"] <= began.record["started"]


def test_kills_at_random_moments_change_nothing_and_repeat_nothing(
    straight: Path, warm: dict[str, str], tmp_path: Path
) -> None:
    rng, out = np.random.default_rng(1), tmp_path / "suite"
    done: dict[str, str] = {}
    for kill in range(3):
        process = start(out, warm)
        # The moments are spread over the whole suite by waiting for its files, then a little.
        while process.poll() is None and _progress(out) <= kill:
            time.sleep(0.05)
        time.sleep(float(rng.uniform(0.0, 2.0)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done |= _ends(out)
    finish(start(out, warm))
    assert done.items() <= _ends(out).items()
    same(out, straight)


def _progress(out: Path) -> int:
    """How many runs have begun to learn or are over."""
    return sum(p.read_text().count("\n") > 3 for p in out.glob("runs/*/metrics.csv"))


def _ends(out: Path) -> dict[str, str]:
    """When each complete run ended."""
    found = {p.parent.name: Manifest(p.parent) for p in out.glob("runs/*/manifest.json")}
    return {name: m.record["ended"] for name, m in found.items() if m.complete}


def test_a_stopped_suite_saves_its_runs_and_continues(
    straight: Path, warm: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "suite"
    process = start(out, warm)
    while process.poll() is None and not _progress(out):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert "the same command continues" in said
    states = {Manifest(p.parent).record["state"] for p in out.glob("runs/*/manifest.json")}
    assert "interrupted" in states and states <= {"interrupted", "complete"}
    finish(start(out, warm))
    same(out, straight)


def test_a_second_suite_in_the_same_folder_is_refused(
    straight: Path, warm: dict[str, str], tmp_path: Path
) -> None:
    from reprise.folder import claimed

    with claimed(tmp_path):
        process = start(tmp_path, warm)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 2
    assert f"is in use by process {os.getpid()}" in said and said.count("\n") == 1


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (reprise[ray])")
def test_ray_gives_the_same_files(straight: Path, warm: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "suite"
    finish(start(out, warm, "--ray", "local"))
    same(out, straight)


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_it_says_what_to_install(warm: dict[str, str], tmp_path: Path) -> None:
    process = start(tmp_path / "suite", warm, "--ray", "local")
    _, said = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "pip install 'reprise[ray]'" in said and said.count("\n") == 1


# Tables.


def test_tables_have_every_row_of_every_run_under_its_cell(straight: Path) -> None:
    found = gather(straight)
    assert list(found.cells["cell"]) == CELLS == [c["name"] for c in load(straight)["cells"]]
    assert set(found.cells["state"]) == {"complete"}
    assert list(found.cells["step"]) == [300] * 4
    for table in found[1:]:
        assert tuple(table.columns[: len(HEAD)]) == HEAD
    assert list(found.curves["step"]) == [150.0, 300.0] * 4
    shares = found.use[(found.use["cell"] == SECOND) & (found.use["step"] > 150)]
    assert set(shares["policy"]) == {"task", "u"}
    assert np.allclose(shares.groupby("step")["share"].sum(), 1.0)
    assert set(found.switches["cell"]) == {FIRST, SECOND}
    assert list(found.zero_shot["prior"]) == ["u"]
    assert set(found.zero_shot["cell"]) == {SECOND}
    assert gather(straight, switches=False).switches.empty


def test_tables_of_an_unfinished_suite_say_how_far_it_is(straight: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(straight, tmp_path / "suite"))
    shutil.rmtree(out / "runs" / SECOND)
    (out / "runs" / CELLS[3] / "failure.txt").write_text("Traceback\nValueError: no\n")
    (out / "runs" / CELLS[1] / "metrics.csv").write_text("step,episo")
    found = gather(out).cells.set_index("cell")
    assert list(found["state"]) == ["complete", "complete", "waiting", "failed"]
    assert found.loc[CELLS[3], "failure"] == "ValueError: no"
    assert list(found["step"]) == [300, 0, 0, 300]
    shutil.rmtree(out / "runs")
    empty = gather(out)
    assert len(empty.cells) == 4 and all(table.empty for table in empty[2:])
    assert tuple(empty.curves.columns[: len(HEAD)]) == HEAD


def test_forward_transfer_compares_with_scratch_on_the_same_task_and_seed() -> None:
    rows = [
        (task, seed, label, step, success)
        for task, seed, label, heights in [
            ("a", 0, "smec", (0.5, 1.0)),
            ("a", 0, "scratch", (0.0, 1.0)),
            ("a", 1, "smec", (0.0, 0.0)),
            ("b", 0, "smec", (1.0, 1.0)),
        ]
        for step, success in zip((10.0, 20.0), heights, strict=True)
    ]
    curves = pd.DataFrame(rows, columns=["task", "seed", "label", "step", "success_any"])
    (found,) = forward_transfers(curves).to_dict("records")
    assert (found["task"], found["seed"], found["method"]) == ("a", 0, "smec")
    assert (found["area"], found["area_scratch"], found["transfer"]) == (0.75, 0.5, 0.5)
