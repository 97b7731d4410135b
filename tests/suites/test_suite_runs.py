"""Suites in real processes: killed, continued, on Ray, gathered into tables, seen in a browser."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from browser import EMPTY, NEEDS_BROWSER, WIDTHS, fits, launched, opened, outside
from digest import digest, replay
from pace import paced
from reprise.boundary.errors import UserError
from reprise.cli.main import main
from reprise.findings import results
from reprise.findings.gather import forward_transfers, gather
from reprise.findings.gathered import HEAD
from reprise.runs.folder import Manifest, claimed, read_recipe, settle_recipe
from reprise.runs.recipe import library
from reprise.suites import load
from reprise.suites.launch import cluster

pytestmark = pytest.mark.timeout(1_200)  # a busy machine compiles slowly
TASKS = ("pointmaze/u", "pointmaze/medium")
CELLS = [f"{t.replace('/', '-')}-{m}-s0" for t in TASKS for m in ("smec", "scratch")]
FIRST, ALONE, SECOND, _ = CELLS
ROWS = 6
"""Rows of metrics.csv in each run, with a checkpoint after each."""
KILLS = 5
CONTINUAL = ("continual", *TASKS)
ONE = ("suite", "point", "--tasks", "pointmaze/u", "--methods", "scratch")
RAY = ("--ray", "local")
MAIN = ("suite", "main", "--tasks", "pointmaze/u", "--methods", "smec", "scratch")
"""The suite's own sixteen runs on its own tasks take minutes; these two are compiled already."""
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Compiled code is kept between processes and hardly optimized, so that a run costs little."""
    quick = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("xla")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
        "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    }
    return os.environ | {"NPROC": "1"} | quick


def start(out: Path, env: dict[str, str], *command: str) -> subprocess.Popen[str]:
    """A suite of its own process group, as a shell would start it."""
    words = [sys.executable, "-m", "reprise", *(command or CONTINUAL), "--scale", "smoke"]
    words += ["--jobs", "2", "--out", str(out)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        words, env=env, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def finish(process: subprocess.Popen[str]) -> str:
    said, complaints = process.communicate(timeout=600)
    assert process.returncode == 0, said + complaints
    return said


def ctrl_c(process: subprocess.Popen[str]) -> str:
    """As a terminal does: to everybody in the group; what was said on the way out."""
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert said.endswith("saved; the same command continues\n") and "Traceback" not in said, said
    return said


@pytest.fixture(scope="module")
def straight(warm: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed suite."""
    out = tmp_path_factory.mktemp("suite") / "straight"
    said = finish(start(out, warm))
    assert "4 of 4 runs complete" in said
    assert "transfer" in said
    return out


def same(suite: Path, other: Path, names: Sequence[str] = CELLS) -> None:
    for name in names:
        assert digest(suite / "runs" / name) == digest(other / "runs" / name), name
        assert replay(suite / "runs" / name) == replay(other / "runs" / name), name


def rows(out: Path, names: Sequence[str] = CELLS) -> int:
    """How far some runs have come, in rows of their metrics."""
    files = [out / "runs" / name / "metrics.csv" for name in names]
    return sum(file.read_text().count("\n") - 1 for file in files if file.exists())


def owners(out: Path, names: Sequence[str] = CELLS) -> list[int]:
    """The processes that are making some runs."""
    found: list[str] = []
    for name in names:
        try:
            found.append((out / "runs" / name / ".owner").read_text())
        except FileNotFoundError:
            continue
    return [int(text) for text in found if text]


def wait_for(process: subprocess.Popen[str], what: Callable[[], object]) -> None:
    while process.poll() is None and not what():
        time.sleep(0.01)


def ends(out: Path) -> dict[str, str]:
    """When each complete run ended."""
    found = {p.parent.name: Manifest(p.parent) for p in out.glob("runs/*/manifest.json")}
    return {name: m.record["ended"] for name, m in found.items() if m.complete}


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
    for kill, moment in enumerate(np.sort(rng.integers(1, 3 * ROWS, KILLS))):
        process = start(out, paced(warm, 0.3))
        wait_for(process, lambda moment=moment: rows(out) >= moment)
        time.sleep(float(rng.uniform(0.0, 0.5)))
        assert process.poll() is None, "it was over before it could be killed"
        process.kill()
        for worker in owners(out) if kill % 2 else []:  # else they notice, save and end
            os.kill(worker, signal.SIGKILL)
        process.communicate()
        done |= ends(out)
    finish(start(out, warm))
    assert done.items() <= ends(out).items()
    same(out, straight)


def test_ctrl_c_saves_the_runs_and_the_same_command_continues(
    straight: Path, warm: dict[str, str], tmp_path: Path
) -> None:
    process = start(tmp_path, paced(warm, 1.0), *ONE)
    wait_for(process, lambda: rows(tmp_path, [ALONE]) >= 2)
    ctrl_c(process)
    assert Manifest(tmp_path / "runs" / ALONE).record["state"] == "interrupted"
    saved = (tmp_path / "runs" / ALONE / "checkpoints").glob("step-*")
    assert len(list(saved)) == 2, "what tests/paced waits for has this name"
    finish(start(tmp_path, warm, *ONE))
    same(tmp_path, straight, [ALONE])


def test_ctrl_c_before_a_run_has_begun_is_as_quiet(warm: dict[str, str], tmp_path: Path) -> None:
    process = start(tmp_path, warm, *ONE)
    assert process.stderr and "running:" in process.stderr.readline()
    time.sleep(0.2)  # the worker is still importing
    ctrl_c(process)


def test_a_second_suite_in_the_same_folder_is_refused(warm: dict[str, str], tmp_path: Path) -> None:
    with claimed(tmp_path):
        process = start(tmp_path, warm)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 2
    assert f"is in use by process {os.getpid()}" in said and said.count("\n") == 1


# Ray.


@pytest.fixture(scope="module")
def by_ray(warm: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same suite on Ray, whose workers are killed meanwhile."""
    # Those of Scratch are left alone; the others lose their worker, and go on by themselves.
    out = tmp_path_factory.mktemp("suite") / "ray"
    row = ("suite", "continual", "--tasks", *TASKS)
    rng, process = np.random.default_rng(2), start(out, paced(warm, 0.3), *row, *RAY)
    own, killed = [FIRST, SECOND], list[int]()
    for moment in np.sort(rng.choice(np.arange(1, 2 * ROWS, 2), KILLS, replace=False)):
        wait_for(process, lambda moment=moment: rows(out, own) >= moment)
        time.sleep(float(rng.uniform(0.0, 0.1)))
        wait_for(process, lambda: owners(out, own))
        for worker in owners(out, own):
            os.kill(worker, signal.SIGKILL)
            killed.append(worker)
        wait_for(process, lambda: not set(owners(out, own)) & set(killed))
    said = finish(process)
    assert len(killed) == len(set(killed)) == KILLS
    assert "4 of 4 runs complete" in said
    return out


@needs_ray
def test_ray_gives_the_same_files_also_if_its_workers_are_killed(
    straight: Path, by_ray: Path
) -> None:
    same(by_ray, straight)


@needs_ray
def test_ctrl_c_saves_the_runs_on_ray(straight: Path, warm: dict[str, str], tmp_path: Path) -> None:
    process = start(tmp_path, paced(warm, 1.0), *ONE, *RAY)
    wait_for(process, lambda: rows(tmp_path, [ALONE]) >= 2)
    ctrl_c(process)
    assert Manifest(tmp_path / "runs" / ALONE).record["state"] == "interrupted"
    finish(start(tmp_path, warm, *ONE))  # begun there, continued here
    same(tmp_path, straight, [ALONE])


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'reprise\[ray\]'"):
        cluster.connect("local", 1)


def test_a_run_of_a_suite_that_was_moved_finds_its_priors(straight: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(straight, tmp_path / "moved"))
    run = out / "runs" / SECOND
    recipe = run / "run.json"
    gone = recipe.read_text().replace(str(straight.resolve()), "/gone/suite")
    recipe.write_text(gone)
    assert "run:/gone/suite/runs/" in gone
    found = read_recipe(run)
    assert [prior.ref for prior in found.priors] == [f"run:{out.resolve() / 'runs' / FIRST}"]
    assert list(library(found).names) == ["u"]
    settle_recipe(found, run)  # the same recipe: it can be continued
    assert str(out.resolve()) in recipe.read_text()


# In a browser.


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


def in_browser(test: Callable[..., None]) -> Callable[..., None]:
    for mark in NEEDS_BROWSER:
        test = mark(test)
    return test


def look(browser: Any, suite: Path, panels: set[str], *beside: Path) -> Any:
    """The page of a suite, with these panels, and sound in all that every page must be."""
    page = suite / "report.html"
    assert main(["report", str(suite), *map(str, beside), "--out", str(page)]) == 0
    seen = opened(browser, page.as_uri())
    assert panels <= set(seen.page.locator(".panel").evaluate_all("all => all.map(p => p.id)"))
    assert seen.page.locator(".plot svg.main-svg").count() > 0
    assert seen.page.locator(EMPTY).count() == 0
    assert seen.page.locator("#missing").count() == 0
    assert all(fits(seen.page, width) for width in WIDTHS)
    assert seen.said == [] and outside(seen.asked) == []
    return seen.page


ALWAYS = {"learning", "milestones", "utilization", "switches", "cost"}


@needs_ray
@in_browser
def test_the_page_of_a_row_of_tasks_made_on_ray(browser: Any, by_ray: Path) -> None:
    page = look(browser, by_ray, ALWAYS | {"continual", "zero-shot"})
    assert page.locator("#continual .plot svg.main-svg").count() > 0
    assert "4 of 4" in page.locator(".cards").text_content()
    assert page.locator("#runs tbody tr").count() == 4


@in_browser
def test_the_page_of_the_main_suite_and_of_a_run_beside_it(
    browser: Any, warm: dict[str, str], straight: Path, tmp_path: Path
) -> None:
    said = finish(start(tmp_path, warm, *MAIN))
    assert "2 of 2 runs complete" in said
    # The one is the same run again, the other is new.
    beside = [straight / "runs" / name for name in (ALONE, CELLS[3])]
    page = look(browser, tmp_path, ALWAYS | {"claims", "zero-shot"}, *beside)
    assert "3 of 3" in page.locator(".cards").text_content()
    assert page.locator("#runs tbody tr").count() == 3
    titles = page.locator("#learning .view:not([hidden]) figcaption").all_text_contents()
    assert [title.partition(",")[0] for title in titles] == list(TASKS)


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
    assert found.values.empty
    assert found.cells.set_index("cell").loc[SECOND, "prior_use_late"] > 0


def test_results_are_written_as_tables_that_fit_beside_a_text(
    straight: Path, tmp_path: Path
) -> None:
    found = gather(straight)
    assert results.dump(found, tmp_path / "a") == ["summary", "curves", "use", "zero_shot"]
    results.dump(found, tmp_path / "b")
    tables = {path.stem: pd.read_csv(path) for path in (tmp_path / "a").glob("*.csv")}
    for name, table in tables.items():
        assert list(table.columns[:3]) == ["task", "label", "seed"]
        other = (tmp_path / "b" / f"{name}.csv").read_bytes()
        assert (tmp_path / "a" / f"{name}.csv").read_bytes() == other
    assert list(tables["summary"]["method"]) == ["smec", "scratch"] * 2
    assert list(tables["curves"]["step"]) == [150, 300] * 4
    use, raw = tables["use"], gather(straight).use
    assert sorted(set(use["step"])) == [150, 300]
    own = use[(use["task"] == TASKS[1]) & (use["policy"] == "u") & (use["step"] == 300)]
    late = raw[(raw["cell"] == SECOND) & (raw["policy"] == "u") & (raw["step"] > 150)]
    assert own["share"].item() == pytest.approx(late["share"].mean())


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
        (f"{task}-{label}-{seed}", task, seed, label, step, success)
        for task, seed, label, heights in [
            ("a", 0, "smec", (0.5, 1.0)),
            ("a", 0, "scratch", (0.0, 1.0)),
            ("a", 1, "smec", (0.0, 0.0)),
            ("b", 0, "smec", (1.0, 1.0)),
        ]
        for step, success in zip((10.0, 20.0), heights, strict=True)
    ]
    curves = pd.DataFrame(rows, columns=["cell", "task", "seed", "label", "step", "success_any"])
    cells = pd.DataFrame({"cell": curves["cell"].unique(), "state": "complete"})
    (found,) = forward_transfers(curves, cells).to_dict("records")
    assert (found["task"], found["seed"], found["method"]) == ("a", 0, "smec")
    assert (found["area"], found["area_scratch"], found["transfer"]) == (0.75, 0.5, 0.5)
