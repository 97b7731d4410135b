"""What each shipped prior achieves alone on each task, as CSV and as a table of a page.

python benchmarks/zero_shot.py                     # Meta-World's twelve tasks
python benchmarks/zero_shot.py --tasks antmaze     # the ant mazes, in the same files
python benchmarks/zero_shot.py --tasks pointmaze --out results/pointmaze/zero_shot.csv

A row that is there already, of the same policy and the same episodes, is not measured again. The
table goes between two comments of the page, `<!-- TASKS -->` and `<!-- end -->`, if it has them.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

import tyro

from reprise.priors import Policy, Priors, resolve, shipped
from reprise.runs.judge import zero_shot
from reprise.tasks import Task, listed

Row = dict[str, str]


@dataclass(frozen=True)
class Options:
    """What to measure."""

    out: Path = Path("results/zero_shot.csv")
    page: Path = Path("docs/zero-shot.md")
    tasks: str = "metaworld-12"
    """A named set of tasks, or one task."""
    priors: tuple[str, ...] = ()
    """Prior references; if there are none, all that is shipped for the tasks' family."""
    episodes: int = 20
    seed: int = 0


def read(path: Path) -> dict[tuple[str, str], Row]:
    """The rows that are there, by task and prior."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {(row["task"], row["prior"]): row for row in csv.DictReader(file)}


def write(rows: dict[tuple[str, str], Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(next(iter(rows.values()))), lineterminator="\n")
        table.writeheader()
        table.writerows(rows[key] for key in sorted(rows))


def identity(task: Task, prior: Policy, options: Options) -> Row:
    """What makes two rows the same measurement."""
    return {
        "task": task.id,
        "prior": prior.card.name,
        "sha256": prior.card.sha256[:12],
        "episodes": str(options.episodes),
        "seed": str(options.seed),
    }


def chosen(tasks: list[Task], options: Options) -> list[Policy]:
    """The priors to be tried."""
    family = tasks[0].id.partition("/")[0]
    every = [f"zoo:{name}" for name in shipped() if name.startswith(f"{family}/")]
    found = resolve(options.priors or every).policies
    return [prior for prior in found if isinstance(prior, Policy)]


def main(options: Options) -> None:
    rows = read(options.out)
    tasks = [task for task in listed().values() if options.tasks in (task.id, *task.sets)]
    for prior in chosen(tasks, options):
        for task in tasks:
            same = identity(task, prior, options)
            place = same["task"], same["prior"]
            if same.items() <= rows.get(place, {}).items():
                continue
            (found,) = zero_shot(Priors([prior]), task, options.seed, options.episodes)
            found.pop("name")
            rows[place] = same | {k: str(v) for k, v in found.items()}
            write(rows, options.out)
            print(*rows[place].values(), flush=True)
    ids = {task.id for task in tasks}
    show(table([row for row in rows.values() if row["task"] in ids]), options)


def table(rows: list[Row]) -> str:
    """Success at any step and mean return of each prior (columns) on each task (rows)."""
    priors = sorted({row["prior"] for row in rows})
    cells = {(row["task"], row["prior"]): cell(row) for row in rows}
    lines = [["task", *(f"`{prior}`" for prior in priors)], ["---"] * (len(priors) + 1)]
    for task in sorted({row["task"] for row in rows}):
        name = f"`{task.partition('/')[2]}`"
        lines.append([name, *(cells.get((task, prior), "") for prior in priors)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(row: Row) -> str:
    return f"{float(row['success_any']):.0%}, {float(row['return_mean']):.0f}"


def show(found: str, options: Options) -> None:
    """Print the table, and put it into the page."""
    print(found)
    if options.page.exists():
        slot = rf"(?<=<!-- {options.tasks} -->\n).*?(?=<!-- end -->)"
        text = options.page.read_text()
        options.page.write_text(re.sub(slot, lambda _: f"\n{found}\n\n", text, flags=re.DOTALL))


if __name__ == "__main__":
    main(tyro.cli(Options))
