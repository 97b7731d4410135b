"""`reprise bench`: timing in turns, and the shape of its answer on toys."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from reprise.boundary.errors import UserError
from reprise.cli import bench as benching
from reprise.cli.main import main
from reprise.lab.bench import PARTS, Request, measure, trainings
from reprise.lab.bench.shares import WATCHED, Stopwatch, watching
from reprise.lab.bench.timing import Speed, in_turns
from reprise.priors import Priors, repeated, resolve, save
from reprise.runs import terminal
from reprise.runs.terminal import PartsLine
from reprise.tasks import Task
from toys import HIDDEN, Line, line, policy

FIELDS = {
    "updates_per_second", "cost", "steps_per_second", "step_cost", "env_steps_per_second", "shares",
    "peak_fraction", "rss_mb", "two_at_once", "spread",
}  # fmt: skip


class FakeClock:
    """Time passes only when somebody works."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[str] = []

    def __call__(self) -> float:
        return self.now

    def worker(self, name: str, *seconds: float, units: int = 1) -> Any:
        """Somebody whose turns take so long, the first one included."""
        left = list(seconds)

        def turn() -> int:
            self.log.append(name)
            self.now += left.pop(0)
            return units

        return turn


def test_turns_alternate_and_the_first_does_not_count() -> None:
    clock = FakeClock()
    found = in_turns(
        {"a": clock.worker("a", 99.0, 1.0, 3.0, 2.0), "b": clock.worker("b", 50.0, 4.0, 4.0, 8.0)},
        3,
        clock,
    )
    assert clock.log == ["a", "b"] * 4
    assert found["a"].seconds == (1.0, 3.0, 2.0)
    assert found["b"].per_second == pytest.approx(0.25)


def test_who_listens_is_told_after_each_turn_how_far_all_are() -> None:
    clock, told = FakeClock(), list[float]()
    workers = {name: clock.worker(name, 0.0, 1.0) for name in "ab"}
    in_turns(workers, 1, clock, told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("watched", [True, False])
def test_a_bar_is_shown_on_a_terminal_alone(
    watched: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = StringIO()
    made = Console(file=screen, force_terminal=watched, width=100)
    monkeypatch.setattr(terminal, "console", lambda stderr: made)
    line = PartsLine("bench", 2)
    for part, share in (("updates", 0.0), ("updates", 0.5), ("updates", 1.0), ("pair", 0.0)):
        line.at(part, share)
    line.close()
    shown, said = screen.getvalue(), capsys.readouterr().err
    assert said == ("" if watched else "bench: updates\nbench: pair\n")
    assert ("bench: pair" in shown and "25%" in shown and "50%" in shown) == watched


def test_a_turn_of_many_units_is_divided_by_them() -> None:
    clock = FakeClock()
    found = in_turns({"a": clock.worker("a", 0.0, 10.0, units=5)}, 1, clock)
    assert found["a"].per_second == pytest.approx(0.5)


def test_a_ratio_is_taken_round_by_round() -> None:
    # The machine was ten times slower in the second round; the ratio was 2 all along.
    slow, fast = Speed((2.0, 20.0, 2.0)), Speed((1.0, 10.0, 1.0))
    assert slow.times(fast) == pytest.approx(2.0)
    assert fast.spread == pytest.approx(9.0)


def test_a_stopwatch_counts_the_outermost_call_alone() -> None:
    clock = FakeClock()
    stopwatch = Stopwatch(clock)
    inner = stopwatch.watch(clock.worker("inner", 1.0, 1.0), "step")
    outer = stopwatch.watch(lambda: inner() and clock.worker("outer", 2.0)(), "evaluate")
    outer()
    inner()
    assert stopwatch.seconds == {"evaluate": 3.0, "step": 1.0}


def test_what_is_watched_is_put_back_even_after_an_error() -> None:
    before = [getattr(owner, name) for owner, name, _ in WATCHED]
    with pytest.raises(RuntimeError), watching(Stopwatch()):
        assert [getattr(owner, name) for owner, name, _ in WATCHED] != before
        raise RuntimeError
    assert [getattr(owner, name) for owner, name, _ in WATCHED] == before


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Request:
    folder: Path = tmp_path_factory.mktemp("priors")
    for seed, name in enumerate(("left", "right")):
        save(folder / name, policy(name, seed))
    task = replace(line(20), small=(("hidden", HIDDEN),))
    return Request(
        sizes=task, task=task, priors=resolve([str(folder)]),
        environments={task.id: (task, Line)}, counts=(3,), rounds=1, updates=2, steps=40,
    )  # fmt: skip


def test_the_answer_has_every_field_and_every_contestant(
    toy: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = {"one": 10.0, "two": 15.0, "rss_mb": 99.0}
    monkeypatch.setattr(trainings, "two_at_once", lambda options: dict(pair))
    noted: list[tuple[str, float]] = []
    answer = measure(toy, lambda part, share: noted.append((part, share)))
    assert [part for part, share in noted if share == 0.0] == list(PARTS)
    for part in PARTS:
        told = [share for name, share in noted if name == part]
        assert told == sorted(told) and told[-1] == 1.0
    entries = {"scratch", "smec-k3", "smec-k3-sampled", "smec-k3-scalar"}
    assert len([share for name, share in noted if name == "steps"]) == 2 + len(entries) * 2
    assert set(answer) == FIELDS
    assert entries <= set(answer["updates_per_second"])
    assert answer["cost"]["scratch"] == 1.0
    assert set(answer["steps_per_second"]) == entries
    assert answer["step_cost"]["scratch"] == 1.0
    assert set(answer["env_steps_per_second"]["toy/line"]) == {"raw", "ours"}
    assert {"act", "advice", "step", "replay", "update", "evaluate", "log"} <= set(answer["shares"])
    assert sum(answer["shares"].values()) == pytest.approx(1.0)
    assert answer["peak_fraction"] > 0.0
    assert (answer["rss_mb"], answer["two_at_once"]) == (99.0, {"one": 10.0, "two": 15.0})
    assert all(rate > 0.0 for rate in answer["updates_per_second"].values())
    json.dumps(answer, allow_nan=False)
    assert next(table.title for table in benching.tables(answer)) == "Updates"


def test_what_was_not_asked_for_is_empty(toy: Request) -> None:
    answer = measure(replace(toy, parts=("environments",)))
    assert set(answer) == FIELDS
    assert answer["updates_per_second"] == answer["cost"] == answer["shares"] == {}
    assert answer["peak_fraction"] is None
    assert answer["rss_mb"] > 1.0


def test_the_command_prints_one_object_and_nothing_else(
    toy: Request, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benching, "request", lambda options: replace(toy, parts=options.parts))
    assert main(["bench", "--json", "--parts", "environments"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == FIELDS
    assert main(["bench", "--rounds", "0"]) == 2
    assert "rounds is 0; it must be positive" in capsys.readouterr().err


def test_the_sizes_of_an_update_are_those_of_push_wall_without_meta_world() -> None:
    asked = benching.request(benching.Bench(quick=True, parts=("updates",)))
    assert isinstance(asked.sizes, Task)
    arena = asked.sizes.open()
    assert (arena.obs_dim, arena.action_dim) == (39, 4)
    assert asked.child[-1] == "--quick"


def test_a_crowd_repeats_the_priors_it_is_given_under_names_of_their_own(toy: Request) -> None:
    few = toy.priors
    many = Priors(repeated(few, 5))
    assert len(set(many.names)) == len(many) == 5
    obs = np.ones((1, 2), np.float32)
    said, twice = few(obs, 1).says.mean[0], many(obs, 1).says.mean[0]
    np.testing.assert_allclose(twice, said[[0, 1, 0, 1, 0]], atol=1e-6)
    assert repeated(Priors(), 0) == []
    with pytest.raises(UserError, match="hold no network to repeat"):
        repeated(Priors(), 1)


def test_a_duel_is_judged_round_by_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    from duel import UPDATES, verdicts  # type: ignore[import-not-found]

    # The machine is twice as slow in the second round, for both sides alike.
    turns = [((6.0, 3.0), (3.0, 6.0)), ((12.0, 6.0), (6.0, 12.0)), ((6.0, 3.0), (3.0, 6.0))]
    first, second = verdicts(["old", "new"], [[*pair] for pair in turns])
    assert first == f"old: {6e3 / UPDATES:.2f} ms, times the first 1.000, processor 1.000"
    assert second == f"new: {3e3 / UPDATES:.2f} ms, times the first 0.500, processor 2.000"
