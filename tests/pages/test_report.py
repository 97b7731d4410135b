"""Facts about reports, on runs that were written by hand or by `fake_run`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fake_run import maze, write_run, write_table
from reprise.boundary.errors import UserError
from reprise.findings.milestones import compare, of_run
from reprise.findings.tables import RunTables, load, titles
from reprise.pages import run as report
from reprise.pages.cards import headline
from reprise.pages.crowd import cast
from reprise.pages.episodes import control
from reprise.pages.frame import shell
from reprise.pages.mazes import MAZE_EPISODES, maze_paths
from reprise.pages.palette import RANDOM, TASK, colors
from reprise.pages.run import figures, scenes
from reprise.pages.run.accuracy import stretches, value_accuracy
from reprise.pages.run.page import content
from reprise.pages.write import Wanted
from reprise.tasks import Picture

SCRIPT = "<script>alert(1)</script>"
METRICS = ["step", "episodes", "episode_return", "success", "use_task", "use_ne"]
EVAL = ["step", "success_any", "return_mean"]


def render(runs: Sequence[RunTables], picture: Picture | None) -> str:
    return shell(content(runs, picture))


@pytest.fixture(scope="module")
def smec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("smec") / "run", steps=30_000)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("scratch") / "run", "scratch", (), steps=30_000)


def by_hand(folder: Path) -> RunTables:
    """Twenty thousand steps: a warm-up of 4k, 5k of the prior alone, then the task policy."""
    record = {"name": "smec", "task": "t", "seed": 0, "priors": [{"name": "ne"}], "steps": 20_000}
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "manifest.json").write_text(json.dumps({"state": "running", "seconds": 12.5}))
    rows = []
    for step in range(1000, 20_001, 1000):
        prior = 4000 < step <= 9000
        use = [0, 0] if step <= 4000 else [0.2, 0.8] if prior else [0.9, 0.1]
        rows.append([step, 1, "", 0.5 if step == 7000 else "" if step < 7000 else 0, *use])
    write_table(folder / "metrics.csv", METRICS, rows)
    rates = [0, 0, 0.5, 0.95, 0.8, 1.0, 0.9, 0.8, 0.9, 1.0]
    write_table(folder / "eval.csv", EVAL, [[2000 * i, r, 7] for i, r in enumerate(rates, 1)])
    switch = [[4000, 8, 0, "start", "ne"], [4050, 8, 50, "ne", "task"], [4300, 9, 0, "start", "ne"]]
    write_table(folder / "switches.csv", ["step", "episode", "t", "from", "to"], switch)
    return load(folder)


def test_milestones_are_what_one_counts_by_hand(tmp_path: Path) -> None:
    found = of_run(by_hand(tmp_path))
    assert found["final_success"] == pytest.approx((1.0 + 0.9 + 0.8 + 0.9 + 1.0) / 5)
    assert found["best_success"] == 1.0
    assert found["first_success"] == 6000  # an evaluation, before the first one in training
    assert found["steps_to_90"] == 8000
    assert found["prior_use_early"] == pytest.approx(0.8)
    assert found["prior_use_late"] == pytest.approx(0.1)
    assert found["seconds"] == 12.5


@pytest.mark.parametrize(("steps", "said"), [(6_000, "6,000"), (24_000, "10,000")])
def test_the_late_steps_are_no_more_than_there_were(tmp_path: Path, steps: int, said: str) -> None:
    run = load(write_run(tmp_path / "run", "smec", ("ne",), 0, steps))
    (late,) = (card for card in headline(run) if card.label == "Prior use, late")
    assert late.meaning == f"of the last {said} steps"


def test_compare_has_one_row_per_run_with_names_that_differ(smec: Path, scratch: Path) -> None:
    runs = [load(smec), load(scratch)]
    table = compare(runs)
    assert list(table["run"]) == ["smec", "scratch"]
    assert table["prior_use_early"].notna().tolist() == [True, False]
    again = runs[0]._replace(recipe=runs[0].recipe | {"seed": 5})
    assert titles([runs[0], again]) == ["smec, seed 0", "smec, seed 5"]
    assert len(set(titles([runs[0], runs[0]]))) == 2


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_a_folder_without_a_recipe_is_an_error_that_names_the_file(
    tmp_path: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.json"):
        load(tmp_path)


def test_a_line_counts_with_its_newline_and_a_policy_may_be_called_null(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    whole = "step,episode,t,from,to\n10,0,0,start,null\n"
    (tmp_path / "switches.csv").write_text(whole + "20,0,1")
    table = load(tmp_path).switches
    assert table["to"].tolist() == ["null"]


def test_colors_are_fixed_for_the_task_policy_and_differ_for_64_priors() -> None:
    names = [f"prior{i}" for i in range(64)]
    found = colors(["task", *names])
    assert found["task"] == TASK and found["random"] == RANDOM
    assert len({found[name] for name in names} | {TASK, RANDOM}) == 66
    assert all(re.fullmatch("#[0-9A-F]{6}", color) for color in found.values())


def test_figures_hold_what_their_data_hold(smec: Path, scratch: Path) -> None:
    runs = [load(smec), load(scratch)]
    run, paint = runs[0], colors(cast(runs))
    curve = figures.learning_curve(runs, paint)
    assert len(curve.axes) == 2
    assert len(curve.axes[0].lines) == 2 * 2 + 3  # two runs, two ways to act; three priors
    layers = figures.utilization(run, paint).axes[0].collections
    assert len(layers) == 5  # four policies and the warm-up
    honesty, scores = figures.values(run, paint).axes
    assert (len(honesty.lines), len(scores.lines)) == (2, 4)
    assert len(figures.losses(run.metrics).axes) == 4


def test_the_accuracy_of_values_is_a_row_per_policy_and_its_means_are_those_by_hand(
    smec: Path, tmp_path: Path
) -> None:
    run = load(smec)
    axes = value_accuracy(run, colors(cast([run]))).axes
    assert len(axes) == 2 * 4
    assert [len(ax.lines) for ax in axes] == [2, 2] * 4  # the error has its zero
    write_table(
        tmp_path / "values.csv",
        ["step", "policy", "discount", "estimate", "realized", "steps"],
        [[10, "task", 0.9, 3, 1, 5], [20, "task", 0.9, 5, 1, 5], [90, "task", 0.9, 2, 4, 5],
         [95, "task", 0.9, 2, "", 0], *([step, "task", 0.9, 1, 1, 5] for step in range(91, 98))],
    )  # fmt: skip
    (tmp_path / "run.json").write_text("{}")
    course = stretches(load(tmp_path).values, 180.0)  # ten states: two stretches of 90 steps
    assert course["step"].tolist() == pytest.approx([40.0, 94.0])
    assert course["error"].tolist() == pytest.approx([4.0 / 3.0, 0.0])  # errors 2, 4 and -2
    assert course["spread"].tolist() == pytest.approx([2 * np.std([2, 4, -2], ddof=1) / 3**0.5, 0])
    alone = stretches(load(tmp_path).values.head(1), 180.0)
    assert alone["error"].tolist() == [2.0] and np.isnan(alone["spread"][0])


def test_the_episode_in_which_the_warm_up_ends_begins_with_it(smec: Path) -> None:
    run = load(smec)
    late = run.switches[(run.switches["episode"] > 20) | (run.switches["t"] >= 100)]
    first = control(late, run.tracks, 200)[0]
    assert first.stretches[0] == ("random", 0, 100)
    assert control(run.switches, run.tracks, 200)[0].stretches[0].policy != "random"


def test_the_timeline_has_a_bar_per_selection_that_ends_where_the_next_begins(smec: Path) -> None:
    run = load(smec)
    episodes = control(run.switches, run.tracks, scenes.TIMELINE_EPISODES)
    assert len(episodes) == scenes.TIMELINE_EPISODES
    assert all(e.ended and e.stretches[-1].end == 300 for e in episodes)
    axes = scenes.timeline(run.switches, run.tracks, maze(), colors(cast([run]))).axes
    assert len(axes[0].patches) == sum(len(e.stretches) for e in episodes) == 8 * 6


def test_the_maze_shows_six_stages_with_every_wall(smec: Path) -> None:
    run = load(smec)
    tiles = maze_paths(run.tracks, maze(), colors(cast([run]))).axes
    assert [len(ax.patches) for ax in tiles] == [len(maze().walls)] * MAZE_EPISODES


def test_transitions_count_every_selection_once(smec: Path) -> None:
    run = load(smec)
    switches = run.switches
    rows, columns, counts = scenes.count_transitions(run)
    assert rows == ["start", "task", "ne", "se", "sw"] and columns == rows[1:]
    assert counts.sum() == len(switches) and switches["bonus_task"].isna().all()
    assert counts[0].sum() == switches["episode"].nunique()
    assert len(scenes.transitions(run).axes[0].texts) == counts.size


def test_many_priors_are_shown_by_name_or_counted_as_others(tmp_path: Path) -> None:
    run = load(write_run(tmp_path, priors=[f"p{i}" for i in range(64)], steps=12_000))
    _, columns, counts = scenes.count_transitions(run)
    assert columns[-1] == "other priors" and len(columns) == 1 + 10 + 1
    assert counts.sum() == len(run.switches)
    assert len(figures.utilization(run, colors(cast([run]))).axes[0].collections) == 13


def test_a_page_of_two_runs_needs_nothing_else_and_repeats_no_name(
    smec: Path, scratch: Path
) -> None:
    page = render([load(smec), load(scratch)], maze())
    assert not re.findall(r"(?:src|href)=\"(?!#|data:,)", page) and "<script" not in page
    assert "url(" not in page.replace("url(#", "")
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))
    assert {name[1:] for name in re.findall(r'href="(#[^"]+)"', page)} <= set(names)


def test_a_hostile_name_is_only_text_and_the_same_bytes_every_time(tmp_path: Path) -> None:
    names = [SCRIPT, '" onload="x', "$\\frac$ $", "_hidden", "bell\a"]
    run = load(write_run(tmp_path, name=SCRIPT, priors=names, steps=7_500))
    page = render([run], maze())
    assert page == render([run], maze())
    assert "<script" not in page and not re.search(r"<[^>]*\sonload=\"x", page)
    drawing = page[page.index("<svg") : page.rindex("</svg>")]
    assert "&lt;script&gt;alert(1)&lt;/script" in drawing


def test_a_run_that_has_only_begun_has_a_sentence_for_every_figure(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"name": "smec", "task": "gym/X"}))
    page = render([load(tmp_path)], None)
    assert page.count('<p class="excuse">') == 8 + 1  # the figures, and the priors
    assert "<svg" not in page


def test_a_run_in_progress_without_success_or_values_is_reported(tmp_path: Path) -> None:
    by_hand(tmp_path)
    write_table(tmp_path / "eval.csv", EVAL, [[2000, "", 7.5]])
    page = render([load(tmp_path)], maze())
    assert "Final return" in page and "Final success" not in page
    assert page.count("<svg") == 6  # all but the paths and the values


def test_scratch_has_no_selections_but_paths_and_curves(scratch: Path) -> None:
    page = render([load(scratch)], maze())
    assert "This run has no priors." in page
    assert page.count("<svg") == 6


def test_writing_leaves_the_page_and_the_pictures_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    by_hand(tmp_path / "run")
    (tmp_path / "run" / "metrics.csv").unlink()
    wanted = Wanted(tmp_path / "a" / "r.html", tmp_path / "csv", None, tmp_path / "png")
    out = report.write([tmp_path / "run"], wanted, None)
    assert [file.name for file in out.parent.iterdir()] == ["r.html"]
    assert {file.stem for file in (tmp_path / "png").iterdir()} == {
        "learning-curve", "switch-timeline", "who-follows-whom", "value-honesty"
    }  # fmt: skip
    assert [file.name for file in (tmp_path / "csv").iterdir()] == ["evaluations.csv"]
