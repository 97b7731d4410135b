"""Facts about results that outlive their runs: kept, read back, added to, not made again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from fake_suite import write_true, write_values
from reprise.boundary import files
from reprise.boundary.errors import UserError
from reprise.cli.main import main
from reprise.findings import results
from reprise.findings.gather import gather
from reprise.pages.suite.page import content
from reprise.runs.folder import Manifest
from reprise.suites import SCALES, Choice, Suite, suite

STEPS = 9_000
FIRST = "pointmaze-u-smec-s0"


def part(*tasks: str, seeds: int = 2) -> Suite:
    choice = Choice(tasks, ("smec", "scratch"), seeds=seeds, steps=STEPS)
    return suite("point", SCALES["smoke"], choice)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_true(tmp_path_factory.mktemp("made") / "suite", part("pointmaze/u"))
    write_values(folder / "runs" / FIRST, ["task", "ne"])
    return folder


@pytest.fixture
def kept(made: Path, tmp_path: Path) -> Path:
    results.dump(gather(made), tmp_path / "kept")
    return tmp_path / "kept"


def test_what_was_kept_reads_as_if_the_runs_were_there(made: Path, kept: Path) -> None:
    found, runs = gather(kept), gather(made)
    for name in ("cells", "curves", "zero_shot", "values"):
        mine, theirs = getattr(found, name), getattr(runs, name)
        pd.testing.assert_frame_equal(mine, theirs, check_dtype=False, rtol=1e-7)
    assert found.suite | {"schema": 1} == runs.suite | {"schema": 1}
    averaged = results.by_evaluation(runs)
    pd.testing.assert_frame_equal(found.use, averaged, check_dtype=False, rtol=1e-6)
    assert found.switches.empty and len(runs.switches)


def test_kept_twice_it_is_the_same_to_the_byte(kept: Path, tmp_path: Path) -> None:
    results.dump(gather(kept), tmp_path / "again")
    for path in kept.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_a_page_of_kept_results_has_their_curves_and_no_timeline(
    kept: Path, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    folders = ["--csv", str(tmp_path / "csv"), "--png", str(tmp_path / "png")]
    assert main(["report", str(kept), "--out", str(out), *folders]) == 0
    page = out.read_text()
    assert "Learning curves" in page and "Who was in control" in page and "4 of 4" in page
    assert "When control changed hands" not in page
    assert len(pd.read_csv(tmp_path / "csv" / "runs.csv")) == 4
    assert (tmp_path / "png" / "learning.png").is_file()


def test_results_and_a_suite_go_on_one_page_and_a_shared_cell_counts_once(
    made: Path, kept: Path, tmp_path: Path
) -> None:
    other = write_true(tmp_path / "other", part("pointmaze/two", "pointmaze/u", seeds=1))
    found = gather(other, kept)
    assert len(found.cells) == 6 and found.cells["cell"].is_unique
    assert found.curves.groupby("cell").ngroups == 6
    assert set(found.switches["cell"]) == {FIRST, "pointmaze-two-smec-s0"}, "a run knows more"
    assert set(found.cells["suites"]) == {"point"}
    assert "6 of 6" in content(found).main
    Manifest(other / "runs" / FIRST).note(state="running")
    for folders in ((other, kept), (kept, other)):
        again = gather(*folders)
        assert set(again.cells["state"]) == {"complete"} and len(again.cells) == 6
        assert FIRST not in set(again.switches["cell"]), "complete results go before half a run"


def test_only_what_is_missing_is_made(kept: Path, made: Path) -> None:
    whole = part("pointmaze/u", "pointmaze/two")
    left = results.missing(whole, kept)
    assert {cell.run.task for cell in left.cells} == {"pointmaze/two"} and len(left.cells) == 4
    assert results.missing(whole, made / "nothing") == whole
    longer = suite("point", SCALES["smoke"], Choice(("pointmaze/u",), ("smec",), 1, 2 * STEPS))
    with pytest.raises(UserError, match="another recipe"):  # before hours are spent, not after
        results.missing(longer, kept)
    summary = pd.read_csv(kept / "summary.csv").assign(recipe="")
    summary.to_csv(kept / "summary.csv", index=False)
    assert results.missing(whole, kept) == whole, "who knows which recipe it was"


def test_a_kill_while_results_are_written_loses_none(
    made: Path, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of its writes: what the summary lists is there, the rest is made again."""
    whole, write = part("pointmaze/u"), files.write_text
    for writes in range(7):
        folder, left = tmp_path / str(writes), writes

        def killed(path: Path, text: str) -> None:
            nonlocal left
            if left == 0:
                raise KeyboardInterrupt
            left -= 1
            write(path, text)

        monkeypatch.setattr(files, "write_text", killed)
        try:
            results.dump(gather(made), folder)
        except KeyboardInterrupt:
            assert results.missing(whole, folder) == whole
        else:
            assert not results.missing(whole, folder).cells
            assert set(gather(folder).curves["cell"]) == {cell.name for cell in whole.cells}
        finally:
            monkeypatch.setattr(files, "write_text", write)
    assert left == 0, "six writes: the head, four tables and the summary"


def test_tables_that_do_not_say_whose_they_are_are_not_overwritten(kept: Path) -> None:
    (kept / "results.json").unlink()
    with pytest.raises(UserError, match=r"no results\.json"):
        results.missing(part("pointmaze/u"), kept)


def test_an_unfinished_cell_and_what_others_need_are_made(made: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(made, tmp_path / "copy")
    Manifest(copy / "runs" / FIRST).note(state="running")
    results.dump(gather(copy), tmp_path / "kept")
    assert FIRST not in set(gather(tmp_path / "kept").cells["cell"])
    whole = part("pointmaze/u")
    left = results.missing(whole, tmp_path / "kept")
    assert [cell.name for cell in left.cells] == [FIRST]
    first, second, *others = whole.cells
    needy = replace(whole, cells=(second, *others, replace(first, needs=(second.name,))))
    left = results.missing(needy, tmp_path / "kept")
    assert [cell.name for cell in left.cells] == [second.name, FIRST]


def test_a_suite_adds_to_its_results_and_then_has_nothing_to_do(
    made: Path, kept: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The runs of the second task are complete in the suite's folder: nothing is trained here."""
    out = write_true(tmp_path / "out", part("pointmaze/two"))
    command = ["suite", "point", "--tasks", "pointmaze/u", "pointmaze/two", "--methods", "smec"]
    command += ["scratch", "--seeds", "2", "--steps", str(STEPS), "--scale", "smoke"]
    command += ["--out", str(out), "--results", str(kept)]
    assert main([*command, "--dry-run"]) == 0
    told = capsys.readouterr()
    assert "4 runs;" in told.out and "4 of 8 runs are in" in told.err
    assert main(command) == 0
    assert len(pd.read_csv(kept / "summary.csv")) == 8
    before = {path.name: path.read_bytes() for path in kept.iterdir()}
    shutil.rmtree(out)
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["runs"] == 0 and "8 of 8 runs are in" in told.err
    assert not out.exists()
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_results_of_another_recipe_are_one_line(
    made: Path, kept: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    summary = pd.read_csv(kept / "summary.csv")
    summary["recipe"] = "0" * 12
    summary.to_csv(kept / "summary.csv", index=False)
    assert main(["report", str(kept), str(made), "--out", str(tmp_path / "r.html")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and FIRST in said and "another recipe" in said
    (kept / "results.json").write_text('{"schema": 1, "name": 3}')
    assert main(["report", str(kept), "--out", str(tmp_path / "r.html")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "results.json" in said


def test_every_committed_folder_of_results_can_be_read() -> None:
    root = Path(__file__).parents[2] / "results"
    folders = sorted(path.parent for path in root.rglob("results.json"))
    assert len(folders) >= 2
    for folder in folders:
        found = gather(folder)
        assert set(found.curves["cell"]) == set(found.cells["cell"])
        assert set(found.cells["state"]) == {"complete"}
