"""Facts about the page of a suite, on folders written by `fake_suite`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fake_suite import SCRIPT, cell, in_a_row, suite, with_sets, write_cell, write_suite
from reprise import suites
from reprise.cli.main import main
from reprise.findings import published
from reprise.findings.gather import gather
from reprise.findings.gathered import HEAD, Gathered
from reprise.findings.milestones import of_line
from reprise.pages import frame, interactive, printed
from reprise.pages.chart import Areas, Bars, Group, Line, Lines, Timeline, legend
from reprise.pages.frame import shell
from reprise.pages.suite import (
    claims,
    curves,
    milestones,
    paper,
    promises,
    returns,
    studies,
    use,
    verdicts,
    write,
)
from reprise.pages.suite.page import content
from reprise.pages.suite.panels import panels
from reprise.pages.words import UNKNOWN
from reprise.pages.write import Wanted
from reprise.tasks.metaworld import TWELVE


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return suite(tmp_path_factory.mktemp("suite") / "point")


@pytest.fixture(scope="module")
def written(whole: Path) -> Path:
    """Page, tables and figures of it."""
    out = whole.parent / "written"
    write([whole], Wanted(out / "page.html", out / "csv", out / "figures"))
    return out


def slugs(folder: Path) -> list[str]:
    return [panel.slug for panel in panels(gather(folder))]


def test_only_panels_that_have_data_appear(whole: Path, tmp_path: Path) -> None:
    assert slugs(whole) == [
        "learning", "milestones", "claims", "utilization", "switches", "where", "values",
        "cost", "zero-shot",
    ]  # fmt: skip
    assert slugs(write_suite(tmp_path, [cell("pointmaze/u", "smec", 0, 100)])) == []


def test_tasks_in_a_row_have_their_transfer(tmp_path: Path) -> None:
    folder = in_a_row(tmp_path)
    assert "continual" in slugs(folder)
    panel = next(p for p in panels(gather(folder)) if p.slug == "continual")
    through = panel.views[""][0]
    assert isinstance(through, Lines) and through.marks == (9_000.0,)
    assert np.nanmax(through.lines[0].x) == 9_000 + 8_000
    assert panel.tables[0].rows["task"].tolist() == ["pointmaze/u", "pointmaze/two"]


def test_sets_of_priors_have_their_shares(tmp_path: Path) -> None:
    folder = with_sets(tmp_path)
    panel = next(p for p in panels(gather(folder)) if p.slug == "prior-sets")
    table = panel.tables[0].rows
    assert table.groupby("label", sort=False)["policy"].apply(list).to_dict() == {
        "set1": ["task", "push"], "set2": ["task", "push", "reach"]
    }  # fmt: skip


def test_a_curve_is_the_mean_of_the_complete_runs(tmp_path: Path) -> None:
    cells = [cell("pointmaze/u", "smec", seed, 9_000) for seed in range(3)]
    for facts in cells:
        write_cell(tmp_path, facts)
    unfinished = tmp_path / cells[2]["run"]
    manifest = json.loads((unfinished / "manifest.json").read_text()) | {"state": "running"}
    (unfinished / "manifest.json").write_text(json.dumps(manifest))
    found = gather(write_suite(tmp_path, cells))
    (bundle,) = curves.bundles(found)
    assert bundle.runs.shape == (2, 4) and bundle.steps.tolist() == [2000, 4000, 6000, 8000]
    rates = found.curves[found.curves["seed"] < 2].groupby("step")["success_any"].mean()
    line = curves.spread(bundle, "smec", "#000000")
    assert line.y == pytest.approx(rates.to_numpy())
    nobody = found._replace(cells=found.cells.assign(state="running"))
    assert curves.bundles(nobody)[0].runs.shape[0] == 3


def test_returns_are_shown_where_something_is_earned_without_success(tmp_path: Path) -> None:
    dense, sparse = "metaworld/push-wall", "pointmaze/two"
    cells = [cell(task, "smec", seed, 9_000) for task in (dense, sparse) for seed in (0, 1)]
    for facts in cells:
        write_cell(tmp_path, facts)
    found = gather(write_suite(tmp_path, cells))
    earned = found.curves.assign(success_any=0.0, return_mean=0.0)
    assert returns.panel(found._replace(curves=earned)) is None
    where = earned["task"].eq(dense)
    earned.loc[where, "return_mean"] = 10.0 + 20.0 * earned.loc[where, "seed"]
    panel = returns.panel(found._replace(curves=earned))
    assert panel is not None
    rows = panel.tables[0].rows
    assert set(rows["task"]) == {dense} and set(rows["runs"]) == {2}
    assert set(rows["mean"]) == {20.0} and set(rows["std"]) == {10.0}
    (chart,) = panel.views[""]
    assert isinstance(chart, Lines) and not chart.share
    assert panel.slug in [one.slug for one in panels(found._replace(curves=earned))]


def test_an_unfinished_line_is_drawn_but_not_judged(tmp_path: Path) -> None:
    cells = [cell("pointmaze/u", n, seed, 9_000) for n in ("smec", "scratch") for seed in range(2)]
    for facts in cells:
        write_cell(tmp_path, facts)
    found = gather(write_suite(tmp_path, cells))
    assert [b.complete for b in curves.bundles(found)] == [True, True]
    half = found.cells["state"].mask(found.cells["label"] == "scratch", "failed")
    found = found._replace(cells=found.cells.assign(state=half))
    assert [b.complete for b in curves.bundles(found)] == [True, False]
    assert [b.label for b in milestones.judged(found)] == ["smec"]
    evidence = verdicts.look(found)
    assert set(evidence.areas) == {"smec"}
    assert verdicts.above(evidence, "smec", "scratch") == (
        "no task has complete runs of both", "open",
    )  # fmt: skip
    panel = claims.panel(found)
    assert panel is not None and "smec is above scratch" in set(
        panel.tables[0].rows["the_paper_says"]
    )


@pytest.mark.parametrize(
    ("heights", "verdict"),
    [
        ((0.50, 0.52, 0.48, 0.50), "agrees"),
        ((0.1, 0.9, 0.5, 0.6), "open"),
        ((0.3, 0.31, 0.32, 0.33), "differs"),
        ((0.3, 0.31, 0.32), "open"),  # far apart, but by chance once in ten
    ],
)
def test_lines_are_alike_if_the_interval_of_their_difference_is_narrow_around_none(
    whole: Path, heights: tuple[float, ...], verdict: str
) -> None:
    areas = {
        "a": {"t": np.array(heights)},
        "b": {"t": np.array([0.49, 0.51, 0.50, 0.5])[: len(heights)]},
    }
    evidence = verdicts.Evidence(gather(whole), areas)
    finding = verdicts.alike(evidence, "a", "b")
    assert finding is not None and finding.verdict == verdict
    alone = {name: {"t": own["t"][:1]} for name, own in areas.items()}
    single = verdicts.alike(evidence._replace(areas=alone), "a", "b")
    assert single is not None and single.verdict == "open" and "nan" not in single.here


def test_weaning_is_judged_by_complete_runs_alone(tmp_path: Path) -> None:
    cells = [cell("pointmaze/u", "smec", seed, 1_000) for seed in range(2)]
    found = gather(write_suite(tmp_path, cells))
    states, steps = ["complete", "running"], np.arange(100.0, 1_001.0, 100.0)
    shares = {0: np.linspace(1.0, 0.0, 10), 1: np.where(steps > 500, 9.0, 0.0)}
    use = pd.concat(
        pd.DataFrame({"step": steps, "share": shares[facts["seed"]], "policy": "ne"}).assign(
            cell=facts["name"], task=facts["task"], label="smec", method="smec"
        )
        for facts in cells
    )
    found = found._replace(cells=found.cells.assign(state=states), use=use)
    finding = verdicts.weaned(verdicts.look(found))
    assert finding is not None and finding.verdict == "agrees"
    nobody = found._replace(cells=found.cells.assign(state="running"))
    assert verdicts.weaned(verdicts.look(nobody)) is None


def test_an_unfinished_suite_says_what_is_missing(whole: Path) -> None:
    page = content(gather(whole)).main
    assert "2 of 8 runs are missing" in page and "OSError: no space" in page
    assert "6 of 8" in page and "1 failed, 1 waiting" in page


def test_the_paper_stands_beside_our_cost(written: Path) -> None:
    table = pd.read_csv(written / "csv" / "cost.csv")
    box = table[table["task"] == "metaworld/box-close"].set_index("label")
    assert box.loc["smec", "paper_hours"] == 8.01
    assert box.loc["smec", "paper_times_scratch"] == pytest.approx(8.01 / 6.43)
    assert table.loc[table["task"] == "pointmaze/two", "paper_hours"].isna().all()
    assert box.loc["smec", "hours"] == pytest.approx(241.3 / 9_000 * 1e6 / 3600)
    assert paper.hours("metaworld/box-close", "mamba") is None


def test_time_is_compared_with_scratch_of_the_same_seed() -> None:
    seconds = {"smec": (20.0, 300.0, 30.0), "scratch": (10.0, 100.0), "qmp": (40.0,)}
    cells = pd.DataFrame(
        [
            ("pointmaze/u", label, seed, "complete", 100, spent)
            for label, each in seconds.items()
            for seed, spent in enumerate(each)
        ],
        columns=["task", "label", "seed", "state", "steps", "seconds"],
    )
    none = pd.DataFrame()
    table = studies.prices(Gathered({}, cells, *[none] * 6)).set_index("label")
    assert table["times_scratch"].to_dict() == {"smec": 2.5, "scratch": 1.0, "qmp": 4.0}
    alone = cells[cells["label"] != "scratch"]
    table = studies.prices(Gathered({}, alone, *[none] * 6))
    assert table["times_scratch"].isna().all()


def test_time_is_a_claim_only_where_runs_have_the_machine_to_themselves(whole: Path) -> None:
    found = gather(whole)
    for name, told in (("point", False), ("cost", True)):
        panel = claims.panel(found._replace(cells=found.cells.assign(suites=name)))
        says = [] if panel is None else panel.tables[0].rows["in_the_paper"].tolist()
        assert ("Table 2" in says) == told


def test_every_figure_has_a_table_and_every_table_a_file(whole: Path, written: Path) -> None:
    found = panels(gather(whole))
    names = {table.name for panel in found for table in panel.tables} | {"runs"}
    assert {file.stem for file in (written / "csv").iterdir()} == names
    assert all(panel.tables for panel in found)
    drawn = {panel.slug for panel in found if panel.views}
    stems = {file.stem for file in (written / "figures").iterdir()}
    further = {"learning-interquartile", "utilization-while"}
    paths = {f"where-{task}" for task in ("metaworld-box-close", "pointmaze-two")}
    assert stems == drawn - {"where"} | further | paths
    kinds = {f.suffix: f.read_bytes()[:4] for f in (written / "figures").iterdir()}
    assert kinds == {".pdf": b"%PDF", ".png": b"\x89PNG"}


def test_the_same_suite_gives_the_same_bytes(whole: Path, written: Path, tmp_path: Path) -> None:
    write([whole], Wanted(tmp_path / "page.html", tmp_path / "csv", tmp_path / "figures"))
    first = {f.relative_to(written): f.read_bytes() for f in written.rglob("*.*")}
    again = {f.relative_to(tmp_path): f.read_bytes() for f in tmp_path.rglob("*.*")}
    assert first == again


def test_the_page_needs_nothing_else_and_runs_only_its_own_scripts(written: Path) -> None:
    page = (written / "page.html").read_text()
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    policy = re.search(r"script-src ([^;]*);", page)
    allowed = [frame.plotly(), *scripts]
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in allowed]
    assert policy and policy[1].split() == [f"'sha256-{name}'" for name in hashes]
    assert len(scripts) == 1 and "connect-src 'none'" in page
    assert len(page) < 2 * 2**20 and "<noscript>" in page
    rest = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert set(re.findall(r"(?:src|href)=\"([^#][^\"]*)\"", rest)) == {"data:,"}


def test_what_travels_compressed_comes_out_as_it_was(whole: Path, written: Path) -> None:
    page = (written / "page.html").read_text()
    blocks = dict(re.findall(r'<script type="text/plain" id="(\w+)">([^<>&]*)</script>', page))
    meant = str.maketrans(",./", "<>&")
    texts = {
        name: zlib.decompress(base64.b85decode(block.translate(meant))).decode()
        for name, block in blocks.items()
    }
    assert texts["plotly"] == frame.plotly()
    assert texts["figures"] == json.dumps(content(gather(whole)).figures, separators=(",", ":"))


def test_a_policy_called_script_is_only_text(tmp_path: Path) -> None:
    folder = suite(tmp_path, odd=SCRIPT)
    found = content(gather(folder))
    page = shell(found)
    assert "<script>alert" not in page and "alert(1)&lt;/script&gt;" in page
    assert page.count("</script>") == 3
    names = {t["name"] for f in found.figures.values() for t in f["data"] if "name" in t}
    assert not any("<" in name for name in names)


def test_the_last_episode_of_a_timeline_has_come_as_far_as_its_run(tmp_path: Path) -> None:
    facts = cell("pointmaze/u", "smec", 0, 9_000)
    run = write_cell(tmp_path, facts)
    header, *_ = (run / "switches.csv").read_text().splitlines()
    rows = [f"{step},0,{step - 1},task,ne" for step in (101, 151)]
    (run / "switches.csv").write_text("\n".join([header.partition(",score")[0], *rows, ""]))
    metrics = (run / "metrics.csv").read_text().splitlines()
    cut = metrics[1].replace("1000,", "180,", 1)
    (run / "metrics.csv").write_text("\n".join([metrics[0], cut, ""]))
    panel = next(p for p in panels(gather(write_suite(tmp_path, [facts]))) if p.slug == "switches")
    (chart,) = panel.views[""]
    assert isinstance(chart, Timeline)
    ((_, parts),) = chart.stages[0].episodes
    assert [tuple(part) for part in parts] == [("random", 0, 100), ("ne", 100, 180)]


def test_one_run_has_no_spread(tmp_path: Path) -> None:
    cells = [cell("pointmaze/u", "smec", seed, 9_000) for seed in range(2)]
    for facts in cells:
        write_cell(tmp_path, facts)
    for few, spread in ((cells[:1], False), (cells, True)):
        found = panels(gather(write_suite(tmp_path, few)))
        (table,) = next(panel for panel in found if panel.slug == "cost").tables
        assert table.shown is not None and ("±" in table.shown["hours"].item()) == spread
        assert table.rows["std"].notna().item() == spread


def test_a_timeline_goes_through_training_and_merges_neighbors(whole: Path) -> None:
    panel = next(p for p in panels(gather(whole)) if p.slug == "switches")
    for chart in panel.views[""]:
        assert isinstance(chart, Timeline) and len(chart.stages) > 1
        rows = [parts for stage in chart.stages for _, parts in stage.episodes]
        assert all(a.policy != b.policy for p in rows for a, b in pairwise(p))
        figure = interactive.figure(chart)
        assert [s["name"] for s in figure["stages"]] == [s.name for s in chart.stages]


def test_a_method_has_one_color_everywhere(whole: Path) -> None:
    seen: dict[str, set[str]] = {}
    for panel in panels(gather(whole)):
        for charts in panel.views.values():
            for name, mark in legend(charts).items():
                seen.setdefault(name, set()).add(mark.color)
    assert {"smec", "scratch", "task", "ne"} <= set(seen)
    assert all(len(colors) == 1 for colors in seen.values()), seen


def test_steps_are_of_the_median_run_and_who_never_came_there_counts_as_last() -> None:
    steps = np.array([10.0, 20.0, 30.0])
    runs = np.array([[0.0, 1.0, 1.0], [0.0, 0.5, 0.9], [0.0, 0.0, 0.0]])
    row = of_line(steps, runs)
    assert (row["first_success_step"], row["runs_with_success"]) == (20.0, 2)
    assert (row["steps_to_90"], row["runs_at_90"]) == (30.0, 2)
    assert row["iqm_low"] <= row["iqm"] <= row["iqm_high"]
    worse = of_line(steps, runs[1:] * 0.9)
    assert np.isnan(worse["steps_to_90"]) and worse["runs_at_90"] == 0
    assert milestones.interval(0.5, np.nan, np.nan) == milestones.spread(0.5, 0.0, 1) == "50 %"


def test_a_claim_is_judged_by_interval_and_permutations(tmp_path: Path) -> None:
    cells = [cell("pointmaze/u", label, 0, 100) for label in ("smec", "scratch", "qmp")]
    found = gather(write_suite(tmp_path, cells))
    high, low = np.array([0.8, 0.9, 0.85, 0.95]), np.array([0.1, 0.2, 0.3, 0.4])

    def judge(ours: object, theirs: object) -> str:
        areas = {"smec": {"pointmaze/u": ours}, "scratch": {"pointmaze/u": theirs}}
        evidence = verdicts.Evidence(found, areas)  # type: ignore[arg-type]
        finding = verdicts.above(evidence, "smec", "scratch")
        assert finding is not None
        return finding.verdict

    assert [judge(high, low), judge(low, high), judge(high, high)] == ["agrees", "differs", "open"]
    for few in (1, 2, 3):  # even the clearest split of three and three is one in ten
        assert judge(high[:few], low[:few]) == judge(low[:few], high[:few]) == "open"
    evidence = verdicts.Evidence(found, {"smec": {"pointmaze/u": high}})
    assert verdicts.above(evidence, "smec", "scratch") is None


def test_settings_are_shown_on_the_tasks_that_all_have_without_a_verdict(tmp_path: Path) -> None:
    labels = ("h=H/50", "h=H/20", "h=H/10")
    cells = [cell("pointmaze/u", label, seed, 9_000, method="smec") for label in labels
             for seed in range(2)]  # fmt: skip
    for facts in cells:
        write_cell(tmp_path, facts)
    panel = claims.panel(gather(write_suite(tmp_path, cells, "sensitivity-h")))
    assert panel is not None
    rows = panel.tables[0].rows.set_index("the_paper_says")
    assert not any(says.startswith("only") for says in rows.index)
    alike = rows.loc["longer h are much alike"]
    assert alike["verdict"] == "no test" and all(f"{n} " in alike["here"] for n in labels)
    one, two = np.array([0.2, 0.4]), np.array([0.9])
    areas = {"c=1": {"u": one, "two": two}, "c=5": {"u": one}}
    finding = verdicts.height_of_settings(verdicts.Evidence(gather(tmp_path), areas))
    assert finding == ("mean heights: c=1 30 %, c=5 30 %", "no test")


def test_who_alone_is_above_scratch_has_no_verdict_and_needs_every_line(tmp_path: Path) -> None:
    cells = [cell("u", label, 0, 100) for label in ("smec", "scratch", "qmp")]
    found = gather(write_suite(tmp_path, cells))
    high, low = np.array([0.8, 0.9]), np.array([0.1, 0.2])

    def alone(**areas: dict[str, np.ndarray]) -> tuple[str, str] | None:
        return verdicts.only_one_above_scratch(verdicts.Evidence(found, areas))

    both, base = {"u": high, "two": high}, {"u": low, "two": low}
    mixed = {"u": low / 2, "two": high}
    assert alone(smec=both, scratch=base, qmp=mixed) == ("mean above on all of 2: smec", "no test")
    assert alone(smec=both, scratch=base, qmp=both) == (
        "mean above on all of 2: smec, qmp", "no test",
    )  # fmt: skip
    for qmp in ({}, {"s": high}, {"u": high}):
        finding = alone(smec=both, scratch=base, qmp=qmp)
        assert finding is not None and finding[1] == "open"
    finding = alone(smec=both, scratch=base)
    assert finding is not None and finding[1] == "open"
    assert alone(smec=both, qmp=both) is None


def with_values(found: Gathered, rows: Sequence[tuple[str, float, str, float, float]]) -> Gathered:
    """Cell, step, policy, estimate and realized return of each compared state."""
    cells = found.cells.set_index("cell")
    columns = ["cell", "step", "policy", "estimate", "realized"]
    table = pd.DataFrame(rows, columns=columns).assign(discount=0.9, steps=50)
    facts = {n: [cells.loc[c, n] for c in table["cell"]] for n in HEAD[1:]}
    return found._replace(values=table.assign(**facts))


def test_values_are_those_gathered_at_stages_of_their_run(tmp_path: Path) -> None:
    cells = [cell("pointmaze/u", "smec", seed, 2_000) for seed in range(2)]
    a, b = (facts["name"] for facts in cells)
    found = gather(write_suite(tmp_path, cells))
    assert promises.panel(found) is None
    rows = [(a, 10, "ne", 1.0, 3.0), (b, 100, "ne", 5.0, 3.0), (a, 101, "ne", 2.0, 2.0)]
    panel = promises.panel(with_values(found, rows))
    assert panel is not None
    table = panel.tables[0].rows
    assert table[["step", "estimate", "realized", "error"]].to_numpy().tolist() == [
        [100, 3, 3, 2], [200, 2, 2, 0]  # off by 2 to either side is not right
    ]  # fmt: skip


def test_errors_of_values_do_not_cancel_and_are_tested_run_by_run(tmp_path: Path) -> None:
    lines = ("smec", "smec/no-truncation")
    cells = [cell("pointmaze/u", n, seed, 900) for n in lines for seed in range(4)]
    found = gather(write_suite(tmp_path, cells, "value-accuracy"))
    found = found._replace(cells=found.cells.assign(state="complete"))
    rows = [(cells[0]["name"], 9.0, "task", 100.0, 1.0)]
    for facts in cells:
        far = (0.5 if facts["label"] == "smec" else 2.0) + facts["seed"] / 100
        rows += [(facts["name"], 9.0, "ne", 1.0 + sign * far, 1.0) for sign in (-1, 1)]

    def judge(rows: list[tuple[str, float, str, float, float]]) -> tuple[str, str] | None:
        evidence = verdicts.look(with_values(found, rows))
        return verdicts.truer_with_short_horizons(evidence)

    errors = promises.relative_errors(with_values(found, rows))
    assert errors["smec"]["pointmaze/u"] == pytest.approx([0.5, 0.51, 0.52, 0.53])
    assert errors["smec/no-truncation"]["pointmaze/u"] == pytest.approx([2.0, 2.01, 2.02, 2.03])
    finding = judge(rows)
    assert finding is not None and finding[1] == "agrees" and "0.52 with short" in finding[0]
    finding = judge([row for row in rows if not row[0].endswith("s3")])
    assert finding is not None and finding[1] == "open"  # three runs against three
    nobody = found._replace(cells=found.cells.assign(state="running"))
    assert promises.relative_errors(with_values(nobody, rows)) == {}
    finding = verdicts.truer_with_short_horizons(verdicts.look(with_values(nobody, rows)))
    assert finding is not None and finding.verdict == "open"
    assert verdicts.truer_with_short_horizons(verdicts.look(found)) is None


def test_the_priors_share_of_each_tenth_is_that_by_hand(whole: Path) -> None:
    found = gather(whole)
    table = use.by_tenth(found).set_index(["task", "label"])
    own = found.use[(found.use["task"] == "pointmaze/two") & (found.use["label"] == "smec")]
    priors = own[own["policy"] != "task"].groupby("step")["share"].sum()
    assert set(table.index) == {("metaworld/box-close", "smec"), ("pointmaze/two", "smec")}
    own = table.loc[("pointmaze/two", "smec")]
    assert own[7] == pytest.approx(priors[6_000.0]) and own[7] > 0  # (5,400, 6,300] of 9,000
    assert np.isnan(own[1])  # no row is logged before step 1,000


def test_the_spread_of_shares_is_that_of_all_other_tables(tmp_path: Path) -> None:
    cells = [cell("pointmaze/u", "smec", seed, 9_000) for seed in range(2)]
    for facts in cells:
        write_cell(tmp_path, facts)
    found = gather(write_suite(tmp_path, cells))
    shares = np.where(found.use["seed"].eq(0), 0.2, 0.6)
    panel = use.areas(found._replace(use=found.use.assign(share=shares)))
    assert panel is not None
    table = panel.tables[1].rows
    assert len(table) > 1 and table["mean"].to_numpy() == pytest.approx(0.4)
    assert table["std"].to_numpy() == pytest.approx(0.2) and table["runs"].eq(2).all()


def test_a_long_training_is_drawn_at_few_places(whole: Path) -> None:
    found = gather(whole)
    rows = found.use[found.use["label"] == "smec"]
    steps = np.arange(1_000.0, 1_001_000.0, 1_000.0)
    long = pd.DataFrame({"step": steps, "policy": "ne", "share": 0.25}).assign(
        **{name: rows[name].iloc[0] for name in ("cell", "label", "method", "task", "seed")}
    )
    panel = use.areas(found._replace(use=long))
    assert panel is not None
    (chart,) = panel.views["Whole training"]
    assert isinstance(chart, Areas) and len(chart.x) == use.INTERVALS + 1
    assert chart.layers["ne"] == pytest.approx(0.25) and chart.x[-1] == 1e6


@pytest.mark.parametrize("tasks", [2, 5, 15])
def test_numbers_over_many_bars_do_not_overlap_and_the_legend_fits(tasks: int) -> None:
    groups = tuple(Group(f"a prior {i}", "#E69F00", np.full(tasks, 0.1 * i)) for i in range(7))
    names = tuple(f"metaworld/task-{i}" for i in range(tasks))
    figure = printed.sheet((Bars("Each prior alone", names, groups, "success"),))
    figure.draw_without_rendering()
    (ax,) = figure.axes
    boxes = sorted((text.get_window_extent() for text in ax.texts), key=lambda box: box.x0)
    assert len(boxes) == (7 * tasks if tasks < 15 else 0)
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))
    key = figure.legends[0].get_window_extent()
    assert key.x0 >= 0 and key.x1 <= figure.bbox.width


def test_where_lines_meet_the_first_is_on_top() -> None:
    x = np.arange(3.0)
    chart = Lines("t", tuple(Line(name, "#0072B2", x, x) for name in "abc"))
    above = [curve["zorder"] for curve in interactive.figure(chart)["data"]]
    on_paper = [line.get_zorder() for line in printed.sheet((chart,)).axes[0].lines]
    assert above == sorted(set(above), reverse=True)
    assert on_paper == sorted(set(on_paper), reverse=True)


@pytest.mark.parametrize(("count", "shade"), [(1, 0.16), (3, 0.16), (8, 0.06)])
def test_many_bands_are_fainter_than_few(count: int, shade: float) -> None:
    x = np.arange(3.0)
    lines = tuple(Line(f"m{i}", "#0072b2", x, x, x - 1.0, x + 1.0) for i in range(count))
    bands = [t for t in interactive.figure(Lines("t", lines))["data"] if t.get("fill") == "toself"]
    assert [band["fillcolor"] for band in bands] == [f"rgba(0, 114, 178, {shade:g})"] * count


def test_a_band_is_broken_where_numbers_are_missing() -> None:
    x, y = np.arange(5.0), np.array([0.0, 1.0, np.nan, 1.0, 0.0])
    figure = interactive.figure(Lines("t", (Line("n", "#0072B2", x, y, y - 1, y + 1),)))
    band, curve = figure["data"]
    assert band["x"] == [0, 1, 1, 0, None, 3, 4, 4, 3, None]
    assert curve["y"] == [0, 1, None, 1, 0]


def test_the_command_writes_a_suite_and_refuses_what_does_not_fit(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = write_suite(tmp_path / "empty", [cell("pointmaze/u", "smec", 0, 100)])
    out = tmp_path / "r.html"
    assert main(["report", str(small), "--out", str(out), "--csv", str(tmp_path / "csv")]) == 0
    assert "No run has recorded anything yet." in out.read_text()
    assert [file.name for file in (tmp_path / "csv").iterdir()] == ["runs.csv"]
    for argv, gist in (
        ([str(whole), str(tmp_path)], f"{tmp_path} is not a run, a suite or kept results"),
        ([], "no run given"),
    ):
        assert main(["report", *argv]) == 2
        assert gist in capsys.readouterr().err


@pytest.mark.parametrize("name", claims.BY_SUITE)
def test_claims_are_about_lines_that_their_suite_has(name: str) -> None:
    lines = {cell.label for cell in suites.suite(name, suites.SCALES["paper"]).cells}
    compared = [getattr(claim.judge, "keywords", {}) for claim in claims.BY_SUITE[name]]
    named = {line for pair in compared for line in pair.values()}
    assert named <= lines
    assert named or name not in ("main", "point", "sampled-heads"), "these compare lines"


def published_lines(folder: Path, suite: str, steps: int) -> list[Line]:
    """The dashed lines of a suite with one task of Meta-World."""
    one = cell("metaworld/push-wall", "scratch", 0, steps)
    write_suite(folder, [one], name=suite)
    write_cell(folder, one)
    panel = curves.panel(gather(folder))
    assert panel is not None
    charts = [chart for chart in panel.views[curves.MEAN] if isinstance(chart, Lines)]
    assert ("Dashed: public result files" in panel.caption) == any(
        line.dashed for chart in charts for line in chart.lines
    )
    return [line for chart in charts for line in chart.lines if line.dashed]


def test_published_curves_stand_beside_the_papers_tasks(tmp_path: Path) -> None:
    lines = published_lines(tmp_path / "main", "main", 200_000)
    names = ["SAC (published)", "TD-MPC2 (published)", "BRC (published)"]
    assert [line.name.partition(":")[0] for line in lines] == names
    assert all("episodes of 200 steps" in line.name for line in lines), "protocols differ"
    assert max(line.x.max() for line in lines) == 200_000
    assert published_lines(tmp_path / "short", "main", 20_000) == []
    assert published_lines(tmp_path / "other", "random", 200_000) == []


def test_every_source_has_the_twelve_tasks() -> None:
    for name in TWELVE:
        assert len(published.curves(f"metaworld/{name}", 1e6)) == len(published.SOURCES), name
    assert published.curves("antmaze/u", 1e6) == []


def test_the_page_says_how_many_runs_are_behind_each_cell() -> None:
    rows = [("a", "smec", "complete"), ("a", "smec", "running"), ("b", "scratch", "complete")]
    table = milestones.seeds(pd.DataFrame(rows, columns=["task", "label", "state"]))
    assert table.rows.to_dict("list") == {
        "task": ["a", "b"], "label": ["smec", "scratch"], "complete": [1, 1], "planned": [2, 1],
    }  # fmt: skip
    assert table.shown is not None
    assert table.shown.to_numpy().tolist() == [["a", "1 of 2", UNKNOWN], ["b", UNKNOWN, "1"]]
