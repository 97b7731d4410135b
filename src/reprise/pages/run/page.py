"""What a page says about one run or several: figures as SVG, cards and numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from reprise.findings.tables import RunTables, compare, numbers, titles
from reprise.pages import wording
from reprise.pages.cards import Card, PriorCard, headline, honesty, prior_cards
from reprise.pages.crowd import cast
from reprise.pages.drawing import svg
from reprise.pages.frame import Content, fragment
from reprise.pages.palette import colors
from reprise.pages.run.figures import learning_curve
from reprise.pages.run.panels import LEARNING_CAPTION, PANELS, Scene
from reprise.runs.schema import EVAL

if TYPE_CHECKING:
    from reprise.tasks.task import Picture


class Drawn(NamedTuple):
    """A figure on the page, or the sentence in its place."""

    slug: str
    title: str
    caption: str
    figure: Markup | None
    excuse: str


class Section(NamedTuple):
    """Everything the page says about one run."""

    anchor: str
    title: str
    cards: list[Card]
    panels: list[Drawn]
    honesty: str
    priors: list[PriorCard]
    evaluations: list[list[str]]
    recipe: str
    manifest: str


def content(runs: Sequence[RunTables], picture: Picture | None) -> Content:
    """Several runs are compared first and then shown one by one."""
    paint = colors(cast(runs))
    names = titles(runs)
    sections = [
        _section(f"run-{place}", name, Scene(run, own_picture(runs, run, picture), paint))
        for place, (name, run) in enumerate(zip(names, runs, strict=True), 1)
    ]
    several = len(runs) > 1
    tasks = sorted({str(run.recipe.get("task", "unknown task")) for run in runs})
    main = fragment(
        "run.html.jinja",
        tasks=tasks,
        sections=sections,
        several=several,
        overlay=_overlay(runs, paint) if several else None,
        overlay_caption=LEARNING_CAPTION,
        comparison=_comparison(runs) if several else [],
        evaluation_columns=EVAL.single,
    )
    return Content(", ".join(tasks), main, {})


def _overlay(runs: Sequence[RunTables], paint: Mapping[str, str]) -> Markup:
    return Markup(svg(lambda: learning_curve(runs, paint), "all-runs", LEARNING_CAPTION))


def own_picture(
    runs: Sequence[RunTables], run: RunTables, picture: Picture | None
) -> Picture | None:
    """The one picture that is given belongs to the first run's task and to no other."""
    return picture if run.recipe.get("task") == runs[0].recipe.get("task") else None


def _section(anchor: str, title: str, scene: Scene) -> Section:
    run = scene.run
    return Section(
        anchor=anchor,
        title=title,
        cards=headline(run),
        panels=_panels(anchor, scene),
        honesty=honesty(run),
        priors=prior_cards(run, scene.paint),
        evaluations=_evaluations(run),
        recipe=json.dumps(run.recipe, indent=2, ensure_ascii=False),
        manifest=json.dumps(run.manifest, indent=2, ensure_ascii=False),
    )


def _panels(anchor: str, scene: Scene) -> list[Drawn]:
    drawn: list[Drawn] = []
    for panel in PANELS:
        figure = None
        if panel.ready(scene.run):
            name = f"{anchor}-{panel.slug}"
            figure = Markup(svg(lambda draw=panel.draw: draw(scene), name, panel.caption))
        drawn.append(Drawn(panel.slug, panel.title, panel.caption, figure, panel.excuse))
    return drawn


def _evaluations(run: RunTables) -> list[list[str]]:
    say = {"count": wording.count, "number": wording.number}
    formatted = [[say[c.kind](v) for v in numbers(run.eval, c.name)] for c in EVAL.columns]
    return [list(row) for row in zip(*formatted, strict=True)]


def _comparison(runs: Sequence[RunTables]) -> list[Mapping[str, str]]:
    wordings = {
        "final_success": ("Final success", wording.percent),
        "best_success": ("Best success", wording.percent),
        "final_return": ("Final return", wording.number),
        "first_success": ("First success (step)", wording.count),
        "steps_to_90": ("Steps to 90 %", wording.count),
        "prior_use_early": ("Prior use, early", wording.percent),
        "prior_use_late": ("Prior use, late", wording.percent),
        "steps": ("Steps", wording.count),
        "seconds": ("Time", wording.duration),
    }
    return [
        {"Run": str(row["run"]), "State": str(row["state"])}
        | {title: say(row[name]) for name, (title, say) in wordings.items()}
        for row in compare(runs).to_dict("records")
    ]
