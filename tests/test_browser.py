"""Pages in a real browser: no errors, no requests, legible on a phone, and what moves does move."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fake_run import maze, write_run
from fake_suite import SCRIPT, in_a_row, suite
from reprise import atlas, report
from reprise.pages import suite_content
from reprise.report.panels import PANELS
from reprise.watch import Subject, Watch, serve

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None  # type: ignore[assignment]

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None or sync_playwright is None,
        reason="needs Chromium and Playwright (apt-get install chromium; pip install playwright)",
    ),
    # Playwright's own loop leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PATIENCE = 120_000
"""Milliseconds: machines that test may be busy."""
WIDTHS = (360, 768, 1440)


class Seen(NamedTuple):
    """A page, and what it said and asked for."""

    page: Any
    said: list[str]
    asked: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    assert sync_playwright is not None
    with sync_playwright() as play:
        options = ["--no-sandbox", "--disable-gpu"]
        found = play.chromium.launch(executable_path=CHROMIUM, args=options, timeout=PATIENCE)
        yield found
        found.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return suite(tmp_path_factory.mktemp("browser") / "suite", odd=SCRIPT)


@pytest.fixture(scope="module")
def suite_page(browser: Any, folder: Path) -> Seen:
    return opened(browser, atlas.write([folder], folder.parent / "suite.html").as_uri())


def opened(browser: Any, address: str) -> Seen:
    """The page once its figures are drawn."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_default_timeout(PATIENCE)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda m: said.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append("a dialog"), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="load")
    return Seen(page, said, asked)


def fits(page: Any, width: int) -> bool:
    """Whether the page is no wider than the screen, once its figures have been drawn again."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")
    drawn = "all => all.every(one => one.scrollWidth <= one.clientWidth + 1)"
    return page.locator(".view:not([hidden]) .plot").evaluate_all(drawn)


def outside(asked: list[str]) -> list[str]:
    return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]


def test_a_suite_is_drawn_without_errors_or_requests(suite_page: Seen) -> None:
    page = suite_page.page
    assert page.locator(".panel").evaluate_all("all => all.map(one => one.id)") == [
        "learning", "milestones", "claims", "utilization", "switches", "values", "cost",
        "zero-shot",
    ]  # fmt: skip
    assert page.locator(".view:not([hidden]) .plot").count() > 8
    assert page.locator(".view:not([hidden]) .plot:not(:has(svg.main-svg))").count() == 0
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
    assert suite_page.page.locator("script").count() == 3  # the figures, Plotly and ours
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
    seen = opened(browser, atlas.write([in_a_row(tmp_path / "s")], tmp_path / "p.html").as_uri())
    assert seen.page.locator("#continual .plot svg.main-svg").count() > 0
    assert seen.said == []


def test_the_page_of_a_run_is_legible_and_silent(browser: Any, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", priors=(SCRIPT, "se"), steps=9_000)
    seen = opened(browser, report.write([run], tmp_path / "r.html", maze()).as_uri())
    assert seen.page.locator(".figure svg").count() == len(PANELS)
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
