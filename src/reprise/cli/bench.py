"""`reprise bench`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from reprise.boundary.errors import require
from reprise.lab.bench import PARTS, Part, Request, measure
from reprise.lab.bench.environments import everyday
from reprise.methods import Preset
from reprise.priors import resolve
from reprise.runs.terminal import PartsLine, console
from reprise.tasks import find, listed

SIZES = "metaworld/push-wall"


@dataclass(frozen=True)
class Bench:
    """Measure speed, memory and the cost of priors, next to other libraries if installed."""

    parts: tuple[Part, ...] = PARTS
    """What to measure. updates: learning steps, also of other libraries. steps: whole trainings.
    environments: simulators alone. shares: where the time goes. pair: two trainings at once."""
    task: str = "pointmaze/two"
    """Task on which trainings are measured."""
    priors: tuple[str, ...] = ("zoo:pointmaze",)
    """The priors they reuse; they are repeated where more are needed."""
    preset: Preset = "small"
    """Network sizes: small, or those of the paper."""
    rounds: int = 5
    """Number of repetitions; medians are shown."""
    counts: tuple[int, ...] = (0, 3, 8, 16, 64)
    """Numbers of priors to measure SMEC with."""
    heads_per_row: int = 1
    """Number of prior heads per transition where they are sampled."""
    quick: bool = False
    """Take about a minute: few rounds and three priors. The numbers are rough."""
    json: bool = False
    """Print JSON."""

    def __post_init__(self) -> None:
        require(self, "positive", "rounds", "heads_per_row")
        require(self, "at least 0", "counts")


def bench(options: Bench) -> int:
    """Measure in turns, then show it all."""
    line = PartsLine("bench", len(set(options.parts)))
    try:
        answer = measure(request(options), line.at)
    finally:
        line.close()
    if options.json:
        print(json.dumps(answer))
    else:
        for table in tables(answer):
            console().print(table)
    return 0


def request(options: Bench) -> Request:
    """The measurements that the options ask for."""
    child = ["--preset", options.preset, "--rounds", str(options.rounds), "--counts", "0"]
    child += ["--task", options.task, "--priors", *options.priors]
    whole: dict[str, Any] = {"counts": options.counts, "rounds": options.rounds}
    brief: dict[str, Any] = {"counts": (3,), "rounds": 2, "updates": 10, "steps": 200}
    return Request(
        sizes=listed()[SIZES],
        task=(task := find(options.task)),
        priors=resolve(options.priors, task=task.id),
        environments=everyday() if "environments" in options.parts else {},
        preset=options.preset,
        parts=options.parts,
        heads_per_row=options.heads_per_row,
        child=[*child, "--quick"] if options.quick else child,
        **(brief if options.quick else whole),
    )


def tables(answer: dict[str, Any]) -> list[Table]:
    """One table for each part that was measured."""
    rates, costs = answer["updates_per_second"], answer["cost"]
    spread, longer = answer["spread"], answer["step_cost"]
    updates = [
        (name, f"{rate:.1f}", f"{costs[name]:.2f}", f"{spread[f'updates {name}']:.0%}")
        for name, rate in rates.items()
    ]
    steps = [
        (name, f"{rate:.0f}", f"{longer[name]:.2f}", f"{spread[f'steps {name}']:.0%}")
        for name, rate in answer["steps_per_second"].items()
    ]
    worlds = [
        (task, f"{both['raw']:.0f}", f"{both['ours']:.0f}", f"{both['ours'] / both['raw']:.2f}")
        for task, both in answer["env_steps_per_second"].items()
    ]
    parts = [(name, f"{share:.1%}") for name, share in answer["shares"].items()]
    pair = [(name, f"{rate:.0f}") for name, rate in answer["two_at_once"].items()]
    found = [
        table("Updates", ("", "per second", "x scratch", "spread"), updates),
        table("Training steps", ("", "per second", "x scratch", "spread"), steps),
        table("Environment steps per second", ("", "raw", "ours", "x raw"), worlds),
        table("A training's time", ("", "share"), parts),
        table("Steps per second of trainings at once", ("", "together"), pair),
        table("Machine", ("", ""), machine(answer)),
    ]
    return [one for one in found if one.row_count]


def machine(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Peak memory, and how near an update comes to a matrix product."""
    rows = [("peak memory", f"{answer['rss_mb']:.0f} MB")]
    if answer["peak_fraction"] is not None:
        rows.append(("scratch against the matrix product", f"{answer['peak_fraction']:.0%}"))
    return rows


def table(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    """Names on the left, numbers on the right."""
    made = Table(box=None, header_style="bold", title=title, title_justify="left")
    for place, head in enumerate(heads):
        made.add_column(head, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made
