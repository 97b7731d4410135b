"""Pages in a real browser: no errors, no requests, legible on a phone, and what moves does move."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import EMPTY, NEEDS_BROWSER, WIDTHS, Seen, fits, launched, opened, outside
from fake_run import maze, write_run
from fake_suite import SCRIPT, in_a_row, suite
from reprise.pages import run as report
from reprise.pages import suite as whole_page
from reprise.pages.run.panels import KINDS
from reprise.pages.watch import Subject, Watch, serve
from reprise.pages.write import Wanted, suite_content

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return suite(tmp_path_factory.mktemp("browser") / "suite", odd=SCRIPT)


@pytest.fixture(scope="module")
def suite_page(browser: Any, folder: Path) -> Seen:
    page = whole_page.write([folder], Wanted(folder.parent / "suite.html"))
    return opened(browser, page.as_uri())


def test_a_suite_is_drawn_without_errors_or_requests(suite_page: Seen) -> None:
    page = suite_page.page
    assert page.locator(".panel").evaluate_all("all => all.map(one => one.id)") == [
        "learning", "milestones", "claims", "utilization", "switches", "where", "values",
        "cost", "zero-shot",
    ]  # fmt: skip
    assert page.locator(".view:not([hidden]) .plot").count() > 8
    assert page.locator(EMPTY).count() == 0
    assert suite_page.said == [] and outside(suite_page.asked) == []


def test_the_slider_moves_the_timeline(suite_page: Seen) -> None:
    page = suite_page.page
    chart = page.locator("#switches .chart").first
    rows = "one => [...one.querySelectorAll('.ytick text')].map(text => text.textContent)"
    before, stage = chart.evaluate(rows), chart.locator("output").text_content()
    chart.locator("input").focus()
    page.keyboard.press("End")
    assert chart.locator("output").text_content() != stage
    page.wait_for_function(
        "old => document.querySelector('#switches .ytick text').textContent !== old", arg=before[0]
    )
    assert set(chart.evaluate(rows)).isdisjoint(before)


def test_buttons_choose_the_statistic_and_hide_lines(suite_page: Seen) -> None:
    page = suite_page.page
    page.locator("#learning .choice button").nth(1).click()
    assert page.locator("#learning .view[data-view='1'] .plot svg.main-svg").count() > 0
    assert page.locator("#learning .view[data-view='0']").is_hidden()
    page.locator("#learning .choice button").nth(0).click()
    count = ("() => document.querySelectorAll("
             "'#learning .view:not([hidden]) .scatterlayer .trace').length")  # fmt: skip
    before = page.evaluate(count)
    button = page.locator("#learning .view:not([hidden]) .lines button").first
    button.click()
    page.wait_for_function(f"{count} < {before}")
    assert page.evaluate(count) > 0
    button.click()
    page.wait_for_function(f"{count} === {before}")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_suite_is_legible_on_every_screen(suite_page: Seen, width: int) -> None:
    assert fits(suite_page.page, width)


def test_a_policy_called_script_is_inert_and_still_named(suite_page: Seen) -> None:
    names = suite_page.page.locator("#utilization .lines button").all_text_contents()
    assert SCRIPT in [name.strip() for name in names]
    assert suite_page.page.locator("script").count() == 4  # the figures, Plotly twice, ours
    assert "a dialog" not in suite_page.said


def test_without_javascript_the_tables_are_there_and_no_empty_figures(
    browser: Any, folder: Path, suite_page: Seen
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder.parent / "suite.html").as_uri())
    assert page.locator("noscript p").is_visible()
    assert page.locator("#milestones table").first.is_visible()
    assert not page.locator(".plot").first.is_visible()
    context.close()


def test_tasks_in_a_row_are_drawn(browser: Any, tmp_path: Path) -> None:
    page = whole_page.write([in_a_row(tmp_path / "s")], Wanted(tmp_path / "p.html"))
    seen = opened(browser, page.as_uri())
    assert seen.page.locator("#continual .plot svg.main-svg").count() > 0
    assert seen.said == []


def test_the_page_of_a_run_is_legible_and_silent(browser: Any, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", priors=(SCRIPT, "se"), steps=9_000)
    seen = opened(browser, report.write([run], Wanted(tmp_path / "r.html"), maze()).as_uri())
    assert seen.page.locator(".figure svg").count() == len(KINDS)
    assert all(fits(seen.page, width) for width in WIDTHS)
    assert seen.said == [] and outside(seen.asked) == []
    assert seen.page.locator("script").count() == 0


def test_a_watched_suite_renews_itself(browser: Any, folder: Path) -> None:
    server = serve(Watch(Subject([folder], lambda: suite_content([folder]))))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        seen = opened(browser, server.url)
        seen.page.wait_for_selector("body[data-live=yes]")
        (folder / "runs" / "pointmaze-two-smec-s1" / "failure.txt").write_text(
            "OSError: a change\n"
        )
        seen.page.wait_for_function("() => document.body.textContent.includes('OSError: a change')")
        seen.page.wait_for_selector(".plot svg.main-svg")
        assert seen.said == [] and {u.rpartition("/")[0] + "/" for u in seen.asked
                                    if not u.startswith("data:")} == {server.url}  # fmt: skip
        seen.page.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
