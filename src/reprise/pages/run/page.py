"""What a page says about one run or several: figures as SVG, cards and numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from reprise.findings.milestones import compare
from reprise.findings.tables import RunTables, titles
from reprise.pages import words
from reprise.pages.cards import Card, PriorCard, headline, prior_cards
from reprise.pages.chart import Panel, Table
from reprise.pages.crowd import cast
from reprise.pages.frame import Content, fragment
from reprise.pages.palette import colors
from reprise.pages.run.panels import Scene, overview, panels
from reprise.pages.sections import Section, rows, sections

if TYPE_CHECKING:
    from reprise.tasks.task import Picture


class Told(NamedTuple):
    """Everything the page says about one run."""

    anchor: str
    title: str
    cards: list[Card]
    sections: list[Section]
    priors: list[PriorCard]
    recipe: str
    manifest: str


def content(runs: Sequence[RunTables], picture: Picture | None) -> Content:
    """Several runs are compared first and then shown one by one."""
    several, paint = len(runs) > 1, colors(cast(runs))
    scenes = [Scene(run, _own_picture(runs, run, picture), paint) for run in runs]
    title = ", ".join(sorted({str(run.recipe.get("task", "unknown task")) for run in runs}))
    named = zip(titles(runs), scenes, strict=True)
    main = fragment(
        "run.html.jinja",
        title=title,
        runs=[_told(place, *pair) for place, pair in enumerate(named, 1)],
        overview=sections([overview(runs, paint)], {})[0] if several else None,
        comparison=rows(Table("", "", _comparison(runs))) if several else None,
    )
    return Content(title, main, {})


def all_panels(runs: Sequence[RunTables], picture: Picture | None) -> list[Panel]:
    """Every panel of the page, named by run and figure."""
    paint = colors(cast(runs))
    if len(runs) == 1:
        return panels(Scene(runs[0], picture, paint))
    named = zip(map(words.file_name, titles(runs)), runs, strict=True)
    return [overview(runs, paint)] + [
        panel._replace(slug=f"{name}-{panel.slug}")
        for name, run in named
        for panel in panels(Scene(run, _own_picture(runs, run, picture), paint))
    ]


def _own_picture(
    runs: Sequence[RunTables], run: RunTables, picture: Picture | None
) -> Picture | None:
    """The one picture that is given belongs to the first run's task and to no other."""
    return picture if run.recipe.get("task") == runs[0].recipe.get("task") else None


def _told(place: int, title: str, scene: Scene) -> Told:
    run, anchor = scene.run, f"run-{place}"
    some = [panel._replace(slug=f"{anchor}-{panel.slug}") for panel in panels(scene)]
    return Told(
        anchor=anchor,
        title=title,
        cards=headline(run),
        sections=sections(some, {}),
        priors=prior_cards(run, scene.paint),
        recipe=json.dumps(run.recipe, indent=2, ensure_ascii=False),
        manifest=json.dumps(run.manifest, indent=2, ensure_ascii=False),
    )


def _comparison(runs: Sequence[RunTables]) -> pd.DataFrame:
    wordings = {
        "final_success": ("Final success", words.percent),
        "best_success": ("Best success", words.percent),
        "final_return": ("Final return", words.number),
        "first_success": ("First success (step)", words.count),
        "steps_to_90": ("Steps to 90 %", words.count),
        "prior_use_early": ("Prior use, early", words.percent),
        "prior_use_late": ("Prior use, late", words.percent),
        "steps": ("Steps", words.count),
        "seconds": ("Time", words.duration),
    }
    told = [
        {"Run": str(row["run"]), "State": str(row["state"])}
        | {title: say(row[name]) for name, (title, say) in wordings.items()}
        for row in compare(runs).to_dict("records")
    ]
    return pd.DataFrame(told)
