"""What each shipped prior achieves alone on each task, as CSV and as a table.

python benchmarks/zero_shot.py                     # Meta-World's twelve tasks
python benchmarks/zero_shot.py --tasks antmaze     # the ant mazes, in the same file
python benchmarks/zero_shot.py --tasks pointmaze --out results/pointmaze/zero_shot.csv

A row that is there already, of the same policy and the same episodes, is not measured again.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import tyro

from reprise.assess import zero_shot
from reprise.priors import Card, load, resolve, shipped, zoo
from reprise.tasks import Task, listed

Row = dict[str, str]


@dataclass(frozen=True)
class Options:
    """What to measure."""

    out: Path = Path("results/zero_shot.csv")
    tasks: str = "metaworld-12"
    """A named set of tasks; each is tried by all priors that are shipped for its family."""
    episodes: int = 20
    seed: int = 0


def read(path: Path) -> dict[tuple[str, str], Row]:
    """The rows that are there, by task and prior."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(row["task"], row["prior"]): row for row in csv.DictReader(file)}


def write(rows: list[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def identity(task: Task, card: Card, options: Options) -> Row:
    """What makes two rows the same measurement."""
    return {
        "task": task.id,
        "prior": card.name,
        "sha256": card.sha256[:12],
        "episodes": str(options.episodes),
        "seed": str(options.seed),
    }


def main(options: Options) -> None:
    rows = read(options.out)
    tasks = [task for task in listed().values() if options.tasks in task.sets]
    for task in tasks:
        family = task.id.partition("/")[0]
        for name in (name for name in shipped() if name.startswith(f"{family}/")):
            same = identity(task, load(zoo() / name).card, options)
            place = same["task"], same["prior"]
            if same.items() <= rows.get(place, {}).items():
                continue
            (found,) = zero_shot(resolve([f"zoo:{name}"]), task, options.seed, options.episodes)
            found.pop("name")
            rows[place] = same | {k: str(v) for k, v in found.items()}
            write([rows[key] for key in sorted(rows)], options.out)
            print(*rows[place].values(), flush=True)
    ids = {task.id for task in tasks}
    print(table([row for (task, _), row in rows.items() if task in ids]))


def table(rows: list[Row]) -> str:
    """Success at any step and mean return of each prior (columns) on each task (rows)."""
    priors = sorted({row["prior"] for row in rows})
    cells = {(row["task"], row["prior"]): cell(row) for row in rows}
    lines = [["task", *priors], ["---"] * (len(priors) + 1)]
    for task in sorted({row["task"] for row in rows}):
        lines.append([task, *(cells.get((task, prior), "") for prior in priors)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(row: Row) -> str:
    return f"{float(row['success_any']):.0%}, {float(row['return_mean']):.0f}"


if __name__ == "__main__":
    main(tyro.cli(Options))
