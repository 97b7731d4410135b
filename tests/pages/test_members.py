"""Facts about pages of several folders: suites, runs, and both together."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fake_suite import in_a_row, write_true, write_true_run
from reprise.boundary.errors import UserError
from reprise.cli.main import main
from reprise.findings.gather import gather
from reprise.findings.sources import members, sort_out
from reprise.pages.chart import Lines
from reprise.pages.palette import run_colors
from reprise.pages.suite import claims, continual
from reprise.pages.suite.page import content
from reprise.pages.suite.panels import panels
from reprise.runs.folder import Manifest
from reprise.suites import SCALES, Choice, Suite, suite

STEPS = 9_000


def part(*tasks: str, name: str = "point", methods: tuple[str, ...] = ("smec", "scratch")) -> Suite:
    return suite(name, SCALES["smoke"], Choice(tasks, methods, seeds=2, steps=STEPS))


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_true(tmp_path_factory.mktemp("members") / "one", part("pointmaze/u"))


@pytest.fixture(scope="module")
def other(one: Path) -> Path:
    """Another task, and one cell of the first suite again."""
    whole = part("pointmaze/two", "pointmaze/u")
    cells = tuple(c for c in whole.cells if c.run.task != "pointmaze/u" or c.run.seed == 1)
    return write_true(one.parent / "other", replace(whole, cells=cells))


@pytest.fixture(scope="module")
def run(one: Path) -> Path:
    """A run of a method that neither suite has."""
    (cell,) = suite("point", SCALES["smoke"], Choice(("pointmaze/u",), ("qmp",), steps=STEPS)).cells
    return write_true_run(one.parent / "qmp", cell.run)


def test_two_suites_give_one_page_of_all_their_cells(one: Path, other: Path) -> None:
    found = gather(one, other)
    assert len(found.cells) == 8 and found.cells["cell"].is_unique
    assert found.curves.groupby("cell").ngroups == 8
    assert found.suite == {"name": "point", "title": found.suite["title"], "scale": "smoke"}
    panel = claims.panel(found)
    assert panel is not None and "suite" not in panel.tables[0].rows
    ours = panel.tables[0].rows.set_index("the_paper_says").loc["smec is above scratch", "here"]
    assert "of 2 tasks" in ours
    page = content(found).main
    assert "8 of 8" in page and "2 tasks together, 4 runs each" in page


def test_a_run_beside_a_suite_is_a_line_by_its_method(one: Path, run: Path) -> None:
    found = gather(run, one)
    assert list(found.cells["label"].unique()) == ["smec", "scratch", "qmp"]
    beside = found.cells[found.cells["label"] == "qmp"].iloc[0]
    assert (beside["priors"], beside["suites"]) == ("zoo:pointmaze", "")
    panel = claims.panel(found)
    assert panel is not None and "smec is above qmp" in set(panel.tables[0].rows["the_paper_says"])
    assert "1 run beside" in content(found).main


def test_one_shared_task_is_not_summed_up_beside_itself(one: Path, other: Path, run: Path) -> None:
    found = gather(one, other, run)  # qmp has one of the two tasks
    titles = [chart.title for chart in next(iter(panels(found)[0].views.values()))]
    assert titles == ["pointmaze/u, 1 to 2 runs each", "pointmaze/two, 2 runs each"]


def test_what_is_named_twice_counts_once(one: Path, run: Path, tmp_path: Path) -> None:
    inside = one / "runs" / "pointmaze-u-smec-s0"
    (tmp_path / "link").symlink_to(inside)
    alone = gather(one).cells
    for folders in (
        (one, one),
        (inside, one),
        (one, tmp_path / "link", inside / ".." / inside.name),
    ):
        pd.testing.assert_frame_equal(gather(*folders).cells, alone)
    copy = shutil.copytree(inside, tmp_path / "copy")
    pd.testing.assert_frame_equal(gather(copy, one).cells, alone)
    assert sort_out([run, run / ".", run]).runs == (run,)


def test_of_a_cell_in_two_places_the_further_one_counts(one: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(one, tmp_path / "copy")
    name = "pointmaze-u-smec-s0"
    Manifest(copy / "runs" / name).note(state="running")
    shutil.rmtree(copy / "runs" / "pointmaze-u-scratch-s0")
    for folders in ((one, copy), (copy, one)):
        places = {member.cell["name"]: member.place for member in members(folders).members}
        assert places[name].is_relative_to(one)
        assert set(gather(*folders).cells["state"]) == {"complete"}


@pytest.mark.parametrize("what", ["steps", "priors"])
def test_a_cell_by_two_recipes_is_one_line_with_both_folders(
    what: str, one: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = part("pointmaze/u").cells[0].run
    if what == "steps":
        odd = write_true_run(tmp_path / "odd", replace(recipe, steps=STEPS + 1))
    else:
        odd = write_true_run(tmp_path / "odd", recipe, ("ne",))
    assert main(["report", str(odd), str(one), "--out", str(tmp_path / "r.html")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "smec on pointmaze/u with seed 0" in said
    assert str(odd) in said and str(one / "runs" / "pointmaze-u-smec-s0") in said
    assert not (tmp_path / "r.html").exists()


def test_each_suite_has_its_own_claims(one: Path, tmp_path: Path) -> None:
    ablation = part("pointmaze/u", name="ablation-ucb", methods=("smec", "smec/no-ucb"))
    found = gather(one, write_true(tmp_path, ablation))
    panel = claims.panel(found)
    assert panel is not None
    rows = set(panel.tables[0].rows[["suite", "the_paper_says"]].itertuples(index=False, name=None))
    above = {pair for pair in rows if "above s" in pair[1]}
    assert above == {
        ("point", "smec is above scratch"), ("ablation-ucb", "smec is above smec/no-ucb")
    }  # fmt: skip
    smec = found.cells[found.cells["label"] == "smec"]
    assert set(smec["suites"]) == {"point ablation-ucb"} and len(smec) == 2
    assert "Suites point and ablation-ucb together" in content(found).main


def test_a_row_of_tasks_is_told_from_tasks_beside_it(one: Path, tmp_path: Path) -> None:
    row, beside = in_a_row(tmp_path / "row"), part("pointmaze/s")
    found = gather(row, write_true(tmp_path / "s", beside))
    assert continual.rows_of_tasks(found.cells) == [("pointmaze/u", "pointmaze/two")]
    panel = continual.panel(found)
    assert panel is not None
    through, *_ = panel.views[""]
    assert isinstance(through, Lines) and through.marks == (9_000.0,)
    assert list(panel.tables[0].rows["task"]) == ["pointmaze/u", "pointmaze/two"]
    assert continual.rows_of_tasks(gather(one).cells) == []


def test_longer_rows_hold_shorter_ones_and_others_stand_beside_them() -> None:
    needs = {"a": "", "b": "a", "c": "a b", "x": "", "y": "x", "d": "a"}
    cells = pd.DataFrame({"cell": list(needs), "task": list(needs), "needs": needs.values()})
    assert continual.rows_of_tasks(cells) == [("a", "b", "c"), ("x", "y"), ("a", "d")]


def test_runs_and_suites_are_reported_in_any_mix(
    one: Path, other: Path, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, folders in enumerate(([one, other], [run, other, one], [run, run])):
        page = tmp_path / f"{number}.html"
        assert main(["report", *map(str, folders), "--out", str(page)]) == 0, capsys.readouterr()
    assert (tmp_path / "0.html").read_text() != (tmp_path / "1.html").read_text()
    assert "qmp" in (tmp_path / "1.html").read_text()


def test_a_mix_is_watched_too(
    one: Path, other: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Its page is made before the port is asked for.
    assert main(["watch", str(run), str(one), str(other), "--port", "99999"]) == 2
    assert "port is 99999" in capsys.readouterr().err


def test_a_folder_that_is_neither_is_named(one: Path, run: Path, tmp_path: Path) -> None:
    lacks, absent = "it has none of run.json, suite.json and results.json", "no such folder"
    for folder, why in ((tmp_path, lacks), (tmp_path / "nothing", absent), (one / "runs", lacks)):
        with pytest.raises(UserError, match="is not a run, a suite or kept results") as error:
            sort_out([one, run, folder])
        assert str(folder) in str(error.value) and why in str(error.value)


def test_runs_alone_can_be_gathered_too(run: Path) -> None:
    assert list(gather(run).cells["label"]) == ["qmp"]


def test_as_many_lines_as_two_suites_have_differ_in_color() -> None:
    names = [f"line {i}" for i in range(12)]
    assert len(set(run_colors(names).values())) == 12
