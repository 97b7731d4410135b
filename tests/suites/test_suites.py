"""Suites as values, their folders, and how long they should take."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from reprise.boundary import files
from reprise.boundary.errors import UserError
from reprise.cli.main import main
from reprise.cli.suite import conclude
from reprise.methods import METHODS
from reprise.priors import PriorRecord, resolve
from reprise.runs.folder import read_recipe
from reprise.runs.recipe import Run, decode, dump, encode
from reprise.suites import FIGURES, SCALES, Cell, Choice, Suite, estimate, finish, jobs, load, suite
from reprise.suites.continual import sequence
from reprise.suites.forecast import SCRATCH, TIMES, Estimate
from reprise.suites.grid import Variant, cell, plain
from reprise.suites.launch import Outcome as LaunchOutcome
from reprise.suites.launch import State
from reprise.suites.record import settle
from reprise.tasks import find

SMOKE, SMALL, PAPER = SCALES["smoke"], SCALES["small"], SCALES["paper"]
RUNS = {
    "main": 8 * 15 * 5,
    "point": 8 * 3 * 5,
    "ablation-evaluation": 2 * 7 * 5,
    "ablation-horizon": 2 * 7 * 5,
    "ablation-ucb": 2 * 8 * 5,
    "sensitivity-h": 4 * 7 * 5,
    "sensitivity-c": 4 * 7 * 5,
    "random": 3 * 6 * 5,
    "prior-sets": 4 * 2 * 5,
    "utilisation": 15 * 5,
    "value-accuracy": 2 * 2 * 5,
    "cost": (8 + 5 + 5) * 5,
    "sampled-heads": 4 * 3 * 5,
    "backbone": 10 * 2 * 5,
    "continual": 2 * 6 * 5,
    "zero-shot": 15,
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_papers_scale_has_the_papers_runs(name: str) -> None:
    cells = suite(name, PAPER).cells
    assert len(cells) == RUNS[name]
    presets = {c.run.task.partition("/")[0]: c.run.preset for c in cells}
    assert all((preset == "small") == (home == "pointmaze") for home, preset in presets.items())


@pytest.mark.parametrize("name", FIGURES)
def test_smoke_is_one_seed_of_tiny_networks(name: str) -> None:
    cells = suite(name, SMOKE).cells
    assert len(cells) <= 24
    assert {c.run.seed for c in cells} == {0}
    assert all(c.run.steps <= 300 and max(c.run.method.critic.hidden) == 16 for c in cells)


def test_every_suite_says_what_it_is() -> None:
    titles = [suite(name, SMOKE).title for name in FIGURES]
    assert all(titles) and not any(title.endswith(".") for title in titles)


def test_seeds_come_one_after_another_so_that_a_part_is_a_comparison() -> None:
    cells = suite("point", SMALL).cells
    assert [c.run.seed for c in cells] == sorted(c.run.seed for c in cells)
    assert Counter(c.label for c in cells[:8]) == Counter(
        dict.fromkeys({c.label for c in cells}, 1)
    )


def test_recipes_survive_json() -> None:
    for name in FIGURES:
        for found in suite(name, SMOKE).cells:
            assert decode(Run, json.loads(json.dumps(encode(found.run)))) == found.run


def test_sensitivity_changes_h_in_both_places_and_c_in_one() -> None:
    lengths = {c.label: c.run.method for c in suite("sensitivity-h", SMOKE).cells}
    # In decisions, each of which is held for two steps.
    for label, h in {"h=H/50": 5, "h=H/20": 12, "h=H/10": 25, "h=H/5": 50}.items():
        assert lengths[label].planner.commit == lengths[label].critic.horizon == h  # type: ignore[attr-defined]
    coefficients = [c.run.method.planner.ucb for c in suite("sensitivity-c", SMOKE).cells]  # type: ignore[attr-defined]
    assert coefficients == [1.0, 5.0, 20.0, 50.0]


def test_prior_sets_grow_and_end_with_the_task_itself() -> None:
    cells = [c for c in suite("prior-sets", PAPER).cells if c.run.task == "metaworld/coffee-pull"]
    names = {c.label: resolve(c.library.refs, task=c.run.task).names for c in cells}
    assert [len(names[f"set{i}"]) for i in (1, 2, 3, 4)] == [3, 6, 7, 8]
    assert names["set4"][-2:] == ("coffee-pull-weak", "coffee-pull")


def test_every_prior_of_every_suite_exists() -> None:
    for name in FIGURES:
        for refs, task in {(c.library.refs, c.run.task) for c in suite(name, PAPER).cells}:
            assert len(resolve(refs, task=task).names) >= len(refs)


def test_value_accuracy_compares_values() -> None:
    for scale, states in ((SMOKE, 2), (SMALL, 10), (PAPER, 10)):
        cells = suite("value-accuracy", scale).cells
        assert {c.run.schedule.value_states for c in cells} == {states}
    others = [c for name in FIGURES if name != "value-accuracy" for c in suite(name, SMALL).cells]
    assert {c.run.schedule.value_states for c in others} == {0}


def test_the_backbone_differs_in_one_ingredient_at_a_time() -> None:
    cells = [c for c in suite("backbone", SMALL).cells if c.run.task == "antmaze/u"]
    lines = {c.label: c.run for c in cells if c.run.seed == 0}
    whole = lines.pop("smec")
    assert len(lines) == 9 and len({run.id for run in lines.values()} | {whole.id}) == 10
    uniform = lines.pop("uniform replay")
    assert uniform.schedule == replace(whole.schedule, success_share=0.0)
    assert all(run.schedule == whole.schedule for run in lines.values())
    for name, field in (("imitation", "imitation"), ("doubt of promises", "planner")):
        same = {field: getattr(whole.method, field)}
        assert replace(lines.pop(name).method, **same) == whole.method
    assert all(
        replace(run.method, critic=whole.method.critic) == whole.method for run in lines.values()
    )


# A part of a suite.


def test_a_part_of_a_suite_is_chosen_by_tasks_methods_seeds_and_steps() -> None:
    choice = Choice(("pointmaze/s", "gym/Pendulum-v1"), ("smec/no-ucb",), seeds=3, steps=700)
    cells = suite("ablation-ucb", SMALL, choice).cells
    facts = [(c.run.task, c.run.name, c.run.seed, c.run.steps) for c in cells]
    tasks = [(task, "smec/no-ucb") for task in choice.tasks]
    assert facts == [(*pair, seed, 700) for seed in range(3) for pair in tasks]


def test_a_part_has_the_same_runs_as_the_whole() -> None:
    for name in FIGURES:
        whole = suite(name, SMALL).cells
        first = whole[0]
        choice = Choice((first.run.task,), (first.label,), seeds=1)
        assert suite(name, SMALL, choice).cells == (first,)
    crowd = suite("cost", SMALL, Choice(methods=("k=64",))).cells
    assert {(c.label, c.run.task) for c in crowd} == {("k=64", "pointmaze/medium")}


def test_a_folder_takes_more_of_its_suite_later(tmp_path: Path) -> None:
    for methods in (("smec",), ("scratch",), ("smec", "scratch")):
        settle(suite("point", SMOKE, Choice(methods=methods)), tmp_path)
    assert [c["method"] for c in load(tmp_path)["cells"]] == ["smec", "scratch"]
    with pytest.raises(UserError, match="holds another suite"):
        settle(suite("point", SMOKE, Choice(steps=7)), tmp_path)
    settle(suite("point", SMOKE), tmp_path)
    assert len(load(tmp_path)["cells"]) == 8


def test_scratch_has_no_priors_and_everybody_else_has() -> None:
    for found in suite("point", SMOKE).cells:
        assert (found.library.refs == ()) == (found.run.name == "scratch")


def test_a_crowd_is_as_many_priors_as_it_says(tmp_path: Path) -> None:
    cells = [c for c in suite("cost", SMOKE).cells if c.label == "k=16"]
    (job,) = jobs(Suite("crowd", "", "smoke", tuple(cells)), tmp_path)
    found = resolve(job.priors)
    assert found.names == tuple(f"p{i:02d}" for i in range(16))
    assert jobs(Suite("crowd", "", "smoke", tuple(cells)), tmp_path) == [job]


def test_strangers_join_the_priors_and_have_learned_nothing(tmp_path: Path) -> None:
    cells = [c for c in suite("sampled-heads", SMOKE).cells if c.label == "smec k=16"]
    (job,) = jobs(Suite("strangers", "", "smoke", tuple(cells)), tmp_path)
    found = resolve(job.priors)
    assert found.names == ("ne", "nw", "se", "sw", *(f"untrained{i:02d}" for i in range(12)))
    weights = [policy.weights for policy in found.policies]  # type: ignore[union-attr]
    shapes = {tuple(w.shape for w in own) for own in weights}
    assert len(shapes) == 1, "only the weights tell them from the others"
    assert len({own[0].tobytes() for own in weights}) == 16
    assert jobs(Suite("strangers", "", "smoke", tuple(cells)), tmp_path) == [job]


def test_sampled_heads_are_all_that_sets_two_lines_apart() -> None:
    lines = {c.label: c for c in suite("sampled-heads", SMOKE).cells}
    for sampled, exact in (("smec sampled", "smec"), ("smec sampled k=16", "smec k=16")):
        method = lines[sampled].run.method
        assert lines[sampled].library == lines[exact].library
        assert method.critic.heads_per_row == 1  # type: ignore[attr-defined]
        critic = replace(method.critic, heads_per_row=None)  # type: ignore[call-arg]
        assert replace(method, critic=critic) == lines[exact].run.method


def test_a_continual_library_grows_by_one_policy_per_task(tmp_path: Path) -> None:
    tasks = ["pointmaze/u", "pointmaze/medium", "pointmaze/two"]
    cells = tuple(sequence(tasks, SMOKE, range(2)))
    found = {job.name: job for job in jobs(Suite("continual", "", "smoke", cells), tmp_path)}
    own = [found[f"{task.replace('/', '-')}-smec-s1"] for task in tasks]
    assert [len(job.priors) for job in own] == [0, 1, 2]
    assert [job.needs for job in own] == [tuple(j.name for j in own[:n]) for n in range(3)]
    assert own[2].priors == tuple(f"run:{job.folder}" for job in own[:2])
    alone = [job for job in found.values() if "scratch" in job.name]
    assert len(alone) == 6 and not any(job.needs or job.priors for job in alone)


def test_a_cell_must_come_after_what_it_needs_and_only_once() -> None:
    one = cell(plain("scratch")[0], "pointmaze/u", 0, SMOKE)
    with pytest.raises(UserError, match="comes twice or too early"):
        Suite("s", "", "smoke", (one, one))
    with pytest.raises(UserError, match="comes twice or too early"):
        Suite("s", "", "smoke", (replace(one, needs=("later",)),))


def test_a_folder_belongs_to_one_suite(tmp_path: Path) -> None:
    settle(suite("point", SMOKE), tmp_path)
    before = (tmp_path / "suite.json").read_bytes()
    settle(suite("point", SMOKE), tmp_path)
    assert (tmp_path / "suite.json").read_bytes() == before
    settle(replace(suite("point", SMOKE), title="As it was called before"), tmp_path)
    with pytest.raises(UserError, match=r"holds another suite \(point at scale smoke\)"):
        settle(suite("point", SMALL), tmp_path)
    first = load(tmp_path)["cells"][0]
    assert first["run"] == f"runs/{first['name']}" == "runs/pointmaze-medium-smec-s0"
    assert (first["method"], first["task"], first["seed"]) == ("smec", "pointmaze/medium", 0)
    assert (first["priors"], first["needs"]) == ("zoo:pointmaze", [])


def test_a_row_of_tasks_may_grow_but_not_fork(tmp_path: Path) -> None:
    def ask(*tasks: str, seeds: int = 2, method: str = "smec") -> None:
        choice = Choice(tuple(f"pointmaze/{task}" for task in tasks), seeds=seeds)
        settle(suite("continual", SMOKE, choice, method=method), tmp_path)

    ask("u", "medium")
    for other in (("u", "two"), ("two",), ("medium", "u")):
        with pytest.raises(UserError, match="choose another --out"):
            ask(*other)
    ask("u", "medium", "two")
    ask("u")
    ask("u", "medium", seeds=3)
    ask("u", "medium", "two", "s", method="cup")
    assert {c["task"] for c in load(tmp_path)["cells"]} == {
        f"pointmaze/{task}" for task in ("u", "medium", "two", "s")
    }
    with pytest.raises(UserError, match=r"holds the row pointmaze/u, .*/s, not pointmaze/u, p"):
        ask("u", "s")


def test_every_other_method_can_learn_tasks_in_a_row() -> None:
    tasks = ["pointmaze/u", "pointmaze/medium", "pointmaze/two"]
    for method in set(METHODS) - {"scratch", "multipolar"}:
        assert len(sequence(tasks, SMOKE, range(1), method)) == 6
    assert len(sequence(tasks[:2], SMOKE, range(1), "multipolar")) == 4  # nobody reuses its second


# How long it takes.


def hours(*needs: tuple[str, ...], each: float = 1.0) -> list[Estimate]:
    """Cells on seeds 0, 1, ... that need some of those before them."""
    variant = Variant("x", "scratch")
    found: list[Cell] = []
    for seed, before in enumerate(needs):
        named = tuple(found[int(i)].name for i in before)
        found.append(replace(cell(variant, "pointmaze/u", seed, SMOKE), needs=named))
    return [Estimate(one, each) for one in found]


def test_the_costs_are_those_that_were_measured() -> None:
    root = Path(__file__).parents[2] / "results"

    def cycles(name: str) -> dict[str, dict[str, str]]:
        with (root / name).open() as file:
            return {row["method"]: row for row in csv.DictReader(file) if row["kind"] == "cycle"}

    large, small = cycles("cost.csv"), cycles("cost-maze.csv")
    assert {name: float(row["ratio"]) for name, row in large.items()} == TIMES
    assert TIMES.keys() == set(METHODS)
    assert SCRATCH[400, 400, 400] == float(large["scratch"]["ms"])
    assert SCRATCH[128, 128] == float(small["scratch"]["ms"])
    updates = json.loads((root / "bench/updates-small.json").read_text())["updates_per_second"]
    assert pytest.approx(1e3 / updates["scratch"], abs=0.001) == SCRATCH[256, 256]
    played = json.loads((root / "bench/shares-and-environments.json").read_text())
    for task, rates in played["env_steps_per_second"].items():
        assert find(task).step_ms == pytest.approx(1e3 / rates["ours"], abs=0.001)


def test_workers_share_the_hours_but_not_those_of_a_chain() -> None:
    assert finish(hours((), (), (), ()), 1) == 4.0
    assert finish(hours((), (), (), ()), 2) == 2.0
    assert finish(hours((), ("0",), ("1",)), 3) == 3.0
    assert finish([], 2) == 0.0


def test_a_worker_is_not_kept_for_a_run_that_must_wait() -> None:
    assert finish(hours((), ("0",), (), ()), 2) == 2.0
    assert finish(hours((), ("0",), ("1",), (), (), ()), 2) == 3.0


def test_larger_networks_more_steps_and_slower_machines_take_longer() -> None:
    small, paper = (sum(e.hours for e in estimate(suite("random", s))) for s in (SMALL, PAPER))
    assert 0 < small < paper / 10
    twice = sum(e.hours for e in estimate(suite("random", SMALL), 2.0))
    assert twice == pytest.approx(2 * small)


def test_every_method_and_network_has_a_recorded_cost() -> None:
    for scale in (SMOKE, SMALL, PAPER):
        for name in FIGURES:
            assert all(e.hours > 0 for e in estimate(suite(name, scale)))


def test_a_dry_run_shows_every_run_and_starts_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ["--out", str(tmp_path / "suite"), "--jobs", "3", "--dry-run"]
    assert main(["suite", "point", "--scale", "small", *out, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert len(said["runs"]) == 120
    assert said["hours"]["1"] == pytest.approx(sum(r["hours"] for r in said["runs"]), abs=0.01)
    assert said["hours"]["64"] < said["hours"]["8"] < said["hours"]["3"] < said["hours"]["1"]
    assert "recorded" in said["basis"]
    assert not (tmp_path / "suite").exists()
    assert main(["suite", "point", "--scale", "smoke", *out]) == 0
    shown = capsys.readouterr().out
    assert "pointmaze-medium-ac-teach-s0" in shown and "8 runs" in shown


@pytest.mark.parametrize(
    ("argv", "gist"),
    [
        (["suite", "maine"], "unknown suite 'maine'; nearest: main"),
        (["suite"], "unknown suite ''"),
        (["suite", "main", "--jobs", "0"], "jobs is 0; it must be positive"),
        (["suite", "main", "--seeds", "0"], "seeds is 0; it must be positive"),
        (
            ["suite", "point", "--methods", "smack"],
            "method of suite 'point': 'smack'; nearest: smec",
        ),
        (["suite", "point", "--tasks", "pointmaze/nowhere"], "unknown task 'pointmaze/nowhere'"),
        (["suite", "cost", "--tasks", "pointmaze/u"], "task of suite 'cost': 'pointmaze/u'"),
        (["suite", "main", "--scale", "huge"], "scale"),
        (["continual", "--method", "scratch"], "method is 'scratch'"),
        (["continual", "pointmaze/nowhere"], "unknown task 'pointmaze/nowhere'"),
        (
            ["continual", "pointmaze/u", "antmaze/u"],
            "'antmaze/u' has 29 observations and 8 actions, 'pointmaze/u' has 4 and 2",
        ),
        (
            ["continual", *(f"pointmaze/{n}" for n in ("u", "two", "s")), "--method", "multipolar"],
            "method is 'multipolar'; its policies act only together with their priors",
        ),
    ],
)
def test_bad_input_is_one_line(
    argv: list[str], gist: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    said = capsys.readouterr().err
    assert gist in said and said.count("\n") == 1


# A suite that was moved.


def test_references_into_a_moved_suite_are_followed_and_others_left(tmp_path: Path) -> None:
    suite_folder = tmp_path / "new"
    for name in ("runs/a", "runs/b", "priors/4"):
        (suite_folder / name).mkdir(parents=True)
    kept = tmp_path / "elsewhere" / "runs" / "a"
    kept.mkdir(parents=True)
    refs = {
        "run:/gone/suite/runs/a": f"run:{suite_folder}/runs/a",
        "/gone/suite/priors/4": f"{suite_folder}/priors/4",
        f"run:{kept}": f"run:{kept}",  # still there
        "run:/gone/suite/runs/c": "run:/gone/suite/runs/c",  # nor is it here
        "/gone/other/4": "/gone/other/4",
        "zoo:pointmaze": "zoo:pointmaze",
    }
    priors = tuple(
        PriorRecord(f"p{i}", ref, "gaussian-mlp", "0" * 64) for i, ref in enumerate(refs)
    )
    run = replace(suite("point", SMOKE).cells[0].run, priors=priors)
    files.write_json(suite_folder / "runs/b/run.json", dump(run))
    found = read_recipe(suite_folder / "runs/b")
    assert [prior.ref for prior in found.priors] == list(refs.values())
    assert replace(found, priors=()) == replace(run, priors=())


def test_a_missing_report_extra_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("reprise.cli.suite.can_report", lambda: False)
    part = suite("point", SMOKE, Choice(methods=("scratch",)))
    settle(part, tmp_path)
    done = LaunchOutcome({cell.name: State.COMPLETE for cell in part.cells}, None)
    assert conclude(done, tmp_path, None, as_json=False) == 0
    assert capsys.readouterr().err.count("pip install 'reprise[report]'") == 1
