"""The frame of every page: one shell, one style sheet, and the scripts that a page needs.

A page needs nothing but itself. What goes inside the frame is a fragment made from a template.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

ASSETS = "assets"
SAFE = str.maketrans("<>&", ",./")
"""Characters that mean something in HTML, and what stands for them."""


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
    allowed = [plotly(), *scripts] if scripts else []
    return fragment(
        "shell.html.jinja",
        title=body.title,
        main=Markup(body.main),
        packed={"plotly": Markup(_plotly_packed()), "figures": Markup(packed(_json(body.figures)))}
        if scripts
        else {},
        scripts=[Markup(script) for script in scripts],
        live=live,
        hashes=" ".join(f"'sha256-{_digest(script)}'" for script in allowed) or "'none'",
    )


def _scripts(body: Content, live: str) -> list[str]:
    if not body.figures and not live:
        return []
    return [_source("charts.js"), *([_source("live.js")] if live else [])]


def plotly() -> str:
    """The library that draws, as charts.js puts it into the page."""
    return get_plotlyjs()


@cache
def _plotly_packed() -> str:
    return packed(plotly())


def packed(text: str) -> str:
    """Text compressed, in characters that end no script: a fifth of it, or less."""
    squeezed = zlib.compress(text.encode(), 9)
    return base64.b85encode(squeezed).decode().translate(SAFE)


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
    return json.dumps(record, separators=(",", ":"))
