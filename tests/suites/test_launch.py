"""Many runs: in order, once more after a failure, never twice, and on again after a stop."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from reprise import suites
from reprise.boundary import files
from reprise.boundary.errors import UserError
from reprise.priors import resolve
from reprise.runs import recipe
from reprise.runs.recipe import Run
from reprise.suites import SCALES, Choice, suite
from reprise.suites.grid import grid, plain
from reprise.suites.launch import Job, Outcome, State, Workers, cluster, failure, launch
from reprise.suites.launch.job import perform

Ending = Callable[[Job, int], bool]
"""(job, how many times it was started) -> whether it got through."""


class Actors(Workers):
    """Workers that only pretend, and remember what they were asked."""

    def __init__(self, places: int = 2, ends: Ending = lambda job, time: True):
        self.places, self.ends = places, ends
        self.started: list[str] = []
        self.most, self.stopped, self.closed = 0, 0, False
        self.running: list[Job] = []

    def start(self, job: Job) -> None:
        self.started.append(job.name)
        self.running.append(job)
        self.most = max(self.most, len(self.running))

    def finished(self, patience: float) -> list[str]:
        job = self.running.pop(0)
        if self.ends(job, self.started.count(job.name)):
            job.folder.mkdir(parents=True, exist_ok=True)
            files.write_json(job.folder / "manifest.json", {"state": "complete"})
        return [job.name]

    def stop(self) -> None:
        self.stopped += 1

    def close(self) -> None:
        self.closed = True


def a_run(task: str = "pointmaze/u") -> Run:
    return grid(plain("scratch"), [task], SCALES["smoke"])[0].run


def job(folder: Path, name: str, *needs: str) -> Job:
    return Job(name, a_run(), (), folder / name, needs)


def chain(folder: Path) -> list[Job]:
    """b needs a, c needs both; x and y are on their own."""
    names = {"a": (), "b": ("a",), "c": ("a", "b"), "x": (), "y": ()}
    return [job(folder, name, *needs) for name, needs in names.items()]


def play(folder: Path, actors: Actors) -> Outcome:
    return launch(chain(folder), actors)


def test_a_run_waits_for_those_it_needs(tmp_path: Path) -> None:
    actors = Actors(places=1)
    found = play(tmp_path, actors)
    assert set(found.states.values()) == {State.COMPLETE}
    assert [name for name in actors.started if name in "abc"] == ["a", "b", "c"]
    assert actors.closed


def test_places_that_a_waiting_run_leaves_free_are_used(tmp_path: Path) -> None:
    actors = Actors(places=2)
    play(tmp_path, actors)
    assert actors.started[:2] == ["a", "x"]
    assert actors.most == 2


def test_a_run_of_another_suite_is_taken_over_if_its_recipe_is_the_same(tmp_path: Path) -> None:
    whole = suite("point", SCALES["smoke"], Choice(methods=("scratch",)))
    (cell,) = whole.cells
    (own,) = suite("random", SCALES["smoke"], Choice((cell.run.task,), ("scratch",))).cells
    assert own == cell, "one recipe under one name"
    folder = tmp_path / "runs" / cell.name
    folder.mkdir(parents=True)
    files.write_json(folder / "manifest.json", {"state": "complete"})
    files.write_json(folder / "run.json", recipe.dump(cell.run))
    actors = Actors()
    assert set(suites.play(whole, tmp_path, lambda: actors).states.values()) == {State.COMPLETE}
    assert actors.started == []
    files.write_json(folder / "run.json", recipe.dump(replace(cell.run, steps=7)))
    with pytest.raises(UserError, match="holds a run of another recipe; move it away"):
        suites.play(whole, tmp_path, lambda: actors)


def test_a_run_with_other_priors_is_not_taken_over(tmp_path: Path) -> None:
    whole = suite("point", SCALES["smoke"], Choice(methods=("smec",)))
    (cell,) = whole.cells
    folder = tmp_path / "runs" / cell.name
    folder.mkdir(parents=True)
    files.write_json(folder / "manifest.json", {"state": "complete"})
    theirs = resolve(cell.library.refs, task=cell.run.task).records
    moved = tuple(prior._replace(ref="elsewhere") for prior in theirs)
    files.write_json(folder / "run.json", recipe.dump(replace(cell.run, priors=moved)))
    assert set(suites.play(whole, tmp_path, Actors).states.values()) == {State.COMPLETE}
    for others in (theirs[:-1], (*theirs[:-1], theirs[-1]._replace(sha256="0" * 64))):
        files.write_json(folder / "run.json", recipe.dump(replace(cell.run, priors=others)))
        with pytest.raises(UserError, match="holds a run of another recipe; move it away"):
            suites.play(whole, tmp_path, Actors)


def test_a_complete_run_is_never_repeated(tmp_path: Path) -> None:
    play(tmp_path, Actors())
    again = Actors()
    found = play(tmp_path, again)
    assert again.started == []
    assert set(found.states.values()) == {State.COMPLETE}


def test_a_failed_run_is_tried_once_more(tmp_path: Path) -> None:
    actors = Actors(ends=lambda job, time: job.name != "a" or time == 2)
    found = play(tmp_path, actors)
    assert actors.started.count("a") == 2
    assert set(found.states.values()) == {State.COMPLETE}


def test_a_run_that_fails_twice_stops_only_those_that_need_it(tmp_path: Path) -> None:
    actors = Actors(ends=lambda job, time: job.name != "b")
    found = play(tmp_path, actors)
    blocked = {"b": State.FAILED, "c": State.BLOCKED}
    assert found.states == {name: blocked.get(name, State.COMPLETE) for name in "abcxy"}
    assert actors.started.count("b") == 2
    assert "c" not in actors.started
    assert failure(tmp_path / "b") == "its process died"


def test_a_run_that_gets_further_each_time_is_continued_however_often(tmp_path: Path) -> None:
    def slowly(job: Job, time: int) -> bool:
        if job.name == "a":
            (job.folder / f"checkpoints/step-{time:09d}").mkdir(parents=True)
        return job.name != "a" or time == 7

    actors = Actors(ends=slowly)
    assert set(play(tmp_path, actors).states.values()) == {State.COMPLETE}
    assert actors.started.count("a") == 7


def test_a_run_that_always_fails_at_the_same_place_is_given_up(tmp_path: Path) -> None:
    def stuck(job: Job, time: int) -> bool:
        if job.name == "x":
            (job.folder / "checkpoints/step-000000150").mkdir(parents=True, exist_ok=True)
        return job.name != "x"

    actors = Actors(ends=stuck)
    assert play(tmp_path, actors).states["x"] is State.FAILED
    assert actors.started.count("x") == 3  # once to get there, twice in vain


def test_a_signal_stops_the_rest_and_is_passed_on_once(tmp_path: Path) -> None:
    def interrupt(job: Job, time: int) -> bool:
        if job.name == "a":
            os.kill(os.getpid(), signal.SIGTERM)
        return job.name == "a"

    actors = Actors(ends=interrupt)
    found = play(tmp_path, actors)
    assert found.interrupted == signal.SIGTERM
    assert actors.stopped == 1
    assert actors.started == ["a", "x"]
    assert found.states == {"a": "complete", **dict.fromkeys("bcxy", State.WAITING)}
    assert actors.closed


@pytest.mark.parametrize(
    ("task", "priors", "why"),
    [
        ("pointmaze/u", ("no/such/folder",), "unknown prior 'no/such/folder'"),
        ("gym/NoSuchThing-v0", (), "unknown Gymnasium environment"),
    ],
)
def test_what_goes_wrong_is_written_into_the_folder_of_the_run(
    task: str, priors: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    run = a_run()
    bad = Job("bad", Run(**{**vars(run), "task": task}), priors, tmp_path / "bad")
    assert perform(bad.message) == str(tmp_path / "bad")
    assert why in failure(tmp_path / "bad")
    assert not bad.complete


def test_a_worker_waits_for_a_folder_that_is_still_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reprise.boundary.errors import FolderInUse
    from reprise.suites.launch import job as module

    calls: list[Path] = []

    def busy_twice(run: Run, task: object, folder: Path, **options: object) -> None:
        calls.append(folder)
        if len(calls) < 3:
            raise FolderInUse("in use")

    monkeypatch.setattr(module, "execute", busy_twice)
    perform(job(tmp_path, "a").message)
    assert len(calls) == 3
    assert failure(tmp_path / "a") == ""
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    calls.clear()
    perform(job(tmp_path, "a").message)
    assert failure(tmp_path / "a") == "in use"


def test_a_launch_that_breaks_lets_its_runs_save(tmp_path: Path) -> None:
    class Broken(Exception):
        """Somebody who is told of it cannot bear it."""

    def tell(job: Job, state: State) -> None:
        if state is State.COMPLETE:
            raise Broken

    actors = Actors()
    with pytest.raises(Broken):
        launch(chain(tmp_path), actors, tell)
    assert actors.stopped == 1 and actors.closed


@pytest.mark.parametrize(
    ("cores", "jobs", "places"), [(0.0, None, 1), (8.0, None, 8), (0.0, 3, 3), (2.0, 3, 3)]
)
def test_a_cluster_that_still_has_to_grow_gets_runs(
    cores: float, jobs: int | None, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = SimpleNamespace(
        cluster_resources=lambda: {"CPU": cores}, remote=lambda **options: lambda function: function
    )
    monkeypatch.setattr(cluster, "connect", lambda address, places: ray)
    assert cluster.Cluster("auto", jobs).places == places


def test_a_failure_may_be_forgotten_while_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "exists", lambda path: True)  # as it was a moment ago
    assert failure(tmp_path) == ""
    (tmp_path / "failure.txt").write_text("\n")
    assert failure(tmp_path) == "it did not say why"
