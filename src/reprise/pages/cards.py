"""What a report says in words: headline cards, priors, and the value diagnostic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from reprise.findings.milestones import LATE, of_run
from reprise.findings.tables import (
    RunTables,
    faults,
    numbers,
    policies,
    usage,
    zero_shot,
)
from reprise.pages.words import UNKNOWN, count, duration, number, percent


class Card(NamedTuple):
    """One headline number and what it means."""

    label: str
    value: str
    meaning: str


class PriorCard(NamedTuple):
    """A prior's identity, what it can do alone, and how it was used."""

    name: str
    color: str
    facts: dict[str, str]


def headline(run: RunTables) -> list[Card]:
    """The numbers to read first."""
    known = of_run(run)
    steps = numbers(run.metrics, "step").max(initial=0.0)
    reached, late = count(steps), count(min(LATE, steps))
    state = str(run.manifest.get("state", "unknown"))
    return [
        Card("State", state, f"{reached} of {count(run.recipe.get('steps'))} steps recorded"),
        *_achievement(known),
        Card(
            "Prior use, early",
            percent(known["prior_use_early"]),
            "of the steps in the 5k after the first selection",
        ),
        Card("Prior use, late", percent(known["prior_use_late"]), f"of the last {late} steps"),
        Card("Time", duration(known["seconds"]), "of computing, as recorded by the run"),
    ]


def prior_cards(run: RunTables, paint: Mapping[str, str]) -> list[PriorCard]:
    """One card per prior, in the order of the recipe."""
    scores = zero_shot(run)
    cards: list[PriorCard] = []
    for prior in run.recipe.get("priors", []):
        name = str(prior["name"])
        alone = scores.get(name, {})
        facts = {
            "Format": str(prior.get("format", UNKNOWN)),
            "Origin": str(prior.get("ref", UNKNOWN)),
            "SHA-256": str(prior.get("sha256") or UNKNOWN)[:12],
            "Success alone": percent(alone.get("success_any")),
            "Return alone": number(alone.get("return_mean")),
            **_mishaps(run, name),
        }
        cards.append(PriorCard(name, paint.get(name, "#000000"), facts | _use(run, name)))
    return cards


def _mishaps(run: RunTables, name: str) -> dict[str, str]:
    """What the guard had to say about a prior; nothing if it never had to."""
    record = faults(run).get(name)
    if record is None or not (record["faults"] or record["clipped"]):
        return {}
    facts = {"Faults": count(record["faults"]), "Answers clipped": count(record["clipped"])}
    if (calls := record["set_aside_after_calls"]) is not None:
        facts["Set aside"] = f"after {count(calls)} calls: it {record['last']}"
    return facts


def honesty(run: RunTables) -> str:
    """The last evaluation's promise and what came of it, in one sentence."""
    known = run.eval.dropna(subset=["value_start", "return_discounted"])
    if not len(known):
        return "No evaluation has recorded both numbers yet."
    promised = float(numbers(known, "value_start")[-1])
    realized = float(numbers(known, "return_discounted")[-1])
    return (
        f"At step {count(numbers(known, 'step')[-1])} the critic promised {number(promised)} and "
        f"the episodes returned {number(realized)}: a gap of {number(promised - realized)}."
    )


def _achievement(known: Mapping[str, float | None]) -> list[Card]:
    last_five = "task policy alone, mean of the last five evaluations"
    if known["final_success"] is None:
        return [Card("Final return", number(known["final_return"]), last_five)]
    return [
        Card("Final success", percent(known["final_success"]), last_five),
        Card("Sampled", percent(known["final_sampled"]), "the same with sampled actions"),
        Card("Best success", percent(known["best_success"]), "in a single evaluation"),
        Card("First success", count(known["first_success"]), "step by which one was recorded"),
        Card("Steps to 90 %", count(known["steps_to_90"]), "first evaluation at 90 % or more"),
    ]


def _use(run: RunTables, name: str) -> dict[str, str]:
    """How much, when in training and when in the episode a prior acted."""
    everyone = usage(run)
    acted, own = everyone.sum(), everyone[:, policies(run).index(name)]
    times = numbers(run.switches, "t")[(run.switches["to"] == name).to_numpy(dtype=bool)]
    peak = numbers(run.metrics, "step")[int(own.argmax())] if own.any() else None
    return {
        "Share of all steps": percent(float(own.sum() / acted) if acted else None),
        "Selections": count(len(times)),
        "Most used around step": count(peak),
        "Typical t when chosen": count(float(np.median(times)) if len(times) else None),
    }
