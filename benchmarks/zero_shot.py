"""What each shipped prior achieves alone on each maze, as CSV.

python benchmarks/zero_shot.py --out results/pointmaze/zero_shot.csv
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import tyro

from reprise.assess import zero_shot
from reprise.priors import resolve
from reprise.tasks import listed


@dataclass(frozen=True)
class Options:
    """What to measure."""

    out: Path = Path("results/pointmaze/zero_shot.csv")
    priors: str = "zoo:pointmaze"
    tasks: str = "pointmaze"
    """A named set of tasks."""
    episodes: int = 100
    seed: int = 0


def main(options: Options) -> None:
    priors = resolve([options.priors])
    rows: list[dict[str, object]] = []
    for task in listed().values():
        if options.tasks in task.sets:
            found = zero_shot(priors, task, options.seed, options.episodes)
            rows += [{"task": task.id, "prior": row.pop("name"), **row} for row in found]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main(tyro.cli(Options))
