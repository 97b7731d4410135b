"""A real browser for tests: pages opened, and what they said and asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sync_playwright = None  # type: ignore[assignment]

NEEDS_BROWSER = [
    pytest.mark.skipif(
        CHROMIUM is None or sync_playwright is None,
        reason="needs Chromium and Playwright (apt-get install chromium; pip install playwright)",
    ),
    # Playwright's own loop leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
"""The marks of a test that opens a browser."""
PATIENCE = 120_000
"""Milliseconds: machines that test may be busy."""
WIDTHS = (360, 768, 1440)
EMPTY = ".view:not([hidden]) .plot:not(:has(svg.main-svg))"
"""Places of figures that were not drawn."""


class Seen(NamedTuple):
    """A page, and what it said and asked for."""

    page: Any
    said: list[str]
    asked: list[str]


@contextmanager
def launched() -> Iterator[Any]:
    """A browser, closed at the end."""
    assert sync_playwright is not None
    with sync_playwright() as play:
        options = ["--no-sandbox", "--disable-gpu"]
        found = play.chromium.launch(executable_path=CHROMIUM, args=options, timeout=PATIENCE)
        yield found
        found.close()


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
    page.wait_for_selector("body:not(:has(#plotly)), body[data-drawn=yes]")
    return Seen(page, said, asked)


def fits(page: Any, width: int) -> bool:
    """Whether the page is no wider than the screen, once its figures have been drawn again."""
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")
    drawn = "all => all.every(one => one.scrollWidth <= one.clientWidth + 1)"
    return page.locator(".view:not([hidden]) .plot").evaluate_all(drawn)


def outside(asked: list[str]) -> list[str]:
    """What a page from disk has no business asking for."""
    return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
