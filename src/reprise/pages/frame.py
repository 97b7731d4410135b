"""The frame of every page: one shell, one style sheet, and the scripts that a page needs.

A page needs nothing but itself. What goes inside the frame is a fragment made from a template.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

ASSETS = "assets"


class Content(NamedTuple):
    """What is inside the frame; for a page that is watched, what changes."""

    title: str
    main: str
    figures: dict[str, Any]
    """What Plotly draws, by the key of its place; a page without them runs no script."""


def fragment(template: str, **values: Any) -> str:
    """The inside of a page. Everything is escaped but what comes as markup."""
    return _environment().get_template(template).render(values)


def shell(body: Content, live: str = "") -> str:
    """The whole page around some content; `live` is its version if it follows what is served."""
    scripts = _scripts(body, live)
    return fragment(
        "shell.html.jinja", title=body.title, main=Markup(body.main),
        figures=Markup(_json(body.figures)), scripts=[Markup(script) for script in scripts],
        live=live, hashes=" ".join(f"'sha256-{_digest(script)}'" for script in scripts) or "'none'",
    )  # fmt: skip


def _scripts(body: Content, live: str) -> list[str]:
    if not body.figures and not live:
        return []
    return [get_plotlyjs(), _source("charts.js"), *([_source("live.js")] if live else [])]


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("reprise.pages", ASSETS), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _source(name: str) -> str:
    return (files("reprise.pages") / ASSETS / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _json(record: Any) -> str:
    """JSON that no name in it can end early: nothing in it looks like a tag."""
    dumped = json.dumps(record, separators=(",", ":"))
    for sign in "<>&":
        dumped = dumped.replace(sign, f"\\u{ord(sign):04x}")
    return dumped
