"""All measurements of `reprise bench`, and what they say together."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from reprise.lab.bench import environments, machine, peers, shares, trainings
from reprise.lab.bench.environments import Maker
from reprise.lab.bench.timing import Speed, Tick, Turn, in_turns, unheard
from reprise.lab.bench.updates import Workload, learners
from reprise.methods import Preset
from reprise.priors import Priors
from reprise.tasks import Task

Part = Literal["updates", "steps", "environments", "shares", "pair"]
PARTS: tuple[Part, ...] = get_args(Part)
PRODUCT = "matrix-product"


@dataclass(frozen=True)
class Request:
    """What to measure, on which tasks, and how long."""

    sizes: Task
    """Updates are measured with the sizes of its observations and actions."""
    task: Task
    """Trainings are measured on it, with the priors."""
    priors: Priors
    environments: dict[str, tuple[Task, Maker]]
    preset: Preset = "small"
    parts: tuple[Part, ...] = PARTS
    counts: tuple[int, ...] = (0, 3, 8, 16, 64)
    """Numbers of priors."""
    heads_per_row: int = 1
    rounds: int = 5
    updates: int = 50
    """Per turn."""
    steps: int = 500
    """Per turn."""
    child: list[str] = field(default_factory=list[str])
    """Options for the processes of the part `pair`."""
    tick: Tick = unheard
    """Is told how far a part has come."""


def measure(
    request: Request, note: Callable[[Part, float], None] = lambda part, share: None
) -> dict[str, Any]:
    """The JSON of `reprise bench`; what was not asked for is empty or null.

    `note` is told of each part from 0, when it begins, to 1.
    """
    answer: dict[str, Any] = {
        "updates_per_second": {}, "cost": {}, "steps_per_second": {}, "step_cost": {},
        "env_steps_per_second": {}, "shares": {}, "peak_fraction": None, "rss_mb": None,
        "two_at_once": {}, "spread": {},
    }  # fmt: skip
    for part in PARTS:
        if part in request.parts:
            note(part, 0.0)
            told = replace(request, tick=partial(note, part))
            for name, found in MEASURES[part](told).items():
                known = answer[name]
                answer[name] = known | found if isinstance(known, dict) else found
            note(part, 1.0)
    if answer["rss_mb"] is None:
        answer["rss_mb"] = machine.peak_memory()
    return answer


def updates(request: Request) -> dict[str, Any]:
    """Updates per second of everybody, the ratio to Scratch, and the share of the peak."""
    work = Workload(request.sizes, request.preset, request.updates)
    others = peers.installed(work)
    ours = learners(work, request.counts, request.heads_per_row, every_update="sb3" in others)
    contestants: dict[str, Turn] = {**ours, **others, PRODUCT: machine.product()}
    found = in_turns(contestants, request.rounds, tick=request.tick)
    peak, scratch = found.pop(PRODUCT), found["scratch"]
    achieved = ours["scratch"].flops() * scratch.per_second
    return {
        "updates_per_second": {name: speed.per_second for name, speed in found.items()},
        "cost": {name: speed.times(scratch) for name, speed in found.items()},
        "peak_fraction": achieved / (machine.FLOPS * peak.per_second),
        "spread": spreads(found | {PRODUCT: peak}, "updates"),
    }


def steps(request: Request) -> dict[str, Any]:
    """Training steps per second, and how many times as long as Scratch's a step takes."""
    match = trainings.Match(
        request.task, request.priors, request.preset, request.counts, request.heads_per_row,
        max(2, request.steps // 5),
    )  # fmt: skip
    found = trainings.speeds(match, request.rounds, request.tick)
    return {
        "steps_per_second": {name: speed.per_second for name, speed in found.items()},
        "step_cost": {name: speed.times(found["scratch"]) for name, speed in found.items()},
        "spread": spreads(found, "steps"),
    }


def played(request: Request) -> dict[str, Any]:
    """Environment steps per second."""
    speeds = environments.speeds(request.environments, request.steps, request.rounds, request.tick)
    return {"env_steps_per_second": speeds}


def divided(request: Request) -> dict[str, Any]:
    """Where the time of a training goes."""
    with tempfile.TemporaryDirectory() as folder:
        options: Any = {"steps": 4 * request.steps, "folder": Path(folder)}
        found = shares.shares(request.task, request.priors, request.preset, **options)
    return {"shares": found}


def paired(request: Request) -> dict[str, Any]:
    """One training against two at once; a training's peak memory."""
    found = trainings.two_at_once(request.child)
    return {"rss_mb": found.pop("rss_mb"), "two_at_once": found}


def spreads(found: dict[str, Speed], part: str) -> dict[str, float]:
    """How far the rounds of each contestant are apart."""
    return {f"{part} {name}": speed.spread for name, speed in found.items()}


MEASURES: dict[Part, Callable[[Request], dict[str, Any]]] = {
    "updates": updates,
    "steps": steps,
    "environments": played,
    "shares": divided,
    "pair": paired,
}
