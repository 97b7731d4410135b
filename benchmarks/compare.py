"""Methods on tasks: five seeds each, two runs at a time, as CSV.

    python benchmarks/compare.py --out runs/pointmaze --results results/pointmaze

Stop it at any time; the same command continues every run where it was.
"""

from __future__ import annotations

import csv
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("NPROC", "1")

import tyro

from reprise.execute import execute
from reprise.methods import prepare
from reprise.priors import resolve
from reprise.report.tables import load, milestones
from reprise.signals import end_with_parent
from reprise.spec import Run
from reprise.tasks import find


@dataclass(frozen=True)
class Plan:
    """What to run."""

    out: Path = Path("runs/pointmaze")
    """Folder of the runs."""
    results: Path = Path("results/pointmaze")
    """Folder of the CSV files."""
    tasks: tuple[str, ...] = ("pointmaze/medium", "pointmaze/two", "pointmaze/medium-slow")
    methods: tuple[str, ...] = ("smec", "scratch")
    priors: tuple[str, ...] = ("zoo:pointmaze",)
    seeds: tuple[int, ...] = field(default_factory=lambda: tuple(range(5)))
    steps: int = 60_000
    jobs: int = 2
    """Runs at a time, one thread each."""


def one(method: str, task_id: str, seed: int, plan: Plan) -> Path:
    """One run, from wherever it stands to its end."""
    task = find(task_id)
    setup = prepare(method, task)
    priors = () if method == "scratch" else resolve(plan.priors, task=task.id).records
    run = Run(method, setup.method, task.id, priors, seed, plan.steps, "small", setup.schedule)
    folder = plan.out / f"{task_id.replace('/', '-')}-{method.replace('/', '-')}-s{seed}"
    execute(run, task, folder, tensorboard=False)
    return folder


def write(rows: list[dict[str, object]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def collect(folders: list[Path], results: Path) -> None:
    """Three tables: what each run came to, its learning curve, and who acted."""
    summary: list[dict[str, object]] = []
    curves: list[dict[str, object]] = []
    use: list[dict[str, object]] = []
    for folder in sorted(folders):
        tables = load(folder)
        head = {k: tables.recipe[k] for k in ("task", "name", "seed")}
        found = milestones(tables)
        summary.append(head | {k: v for k, v in found.items() if k != "seconds"})
        curves += [head | row for row in tables.eval.to_dict("records")]
        names = ["step", *(c for c in tables.metrics if c.startswith("use_"))]
        shares = tables.metrics[names].to_dict("records")
        priors = [n for n in names if n.startswith("use_") and n != "use_task"]
        for row in shares:
            reused = round(sum(row[n] for n in priors), 6)
            use.append(
                head | {"step": row["step"], "task_policy": row["use_task"], "priors": reused}
            )
    write(summary, results / "summary.csv")
    write(curves, results / "curves.csv")
    write(use, results / "use.csv")


def main(plan: Plan) -> None:
    jobs = [(m, t, s) for s in plan.seeds for t in plan.tasks for m in plan.methods]
    folders: list[Path] = []
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(plan.jobs, mp_context=spawn, initializer=end_with_parent) as pool:
        futures = {pool.submit(one, *job, plan): job for job in jobs}
        for done in as_completed(futures):
            folders.append(done.result())
            print(f"{len(folders)}/{len(jobs)} {folders[-1].name}", file=sys.stderr, flush=True)
    collect(folders, plan.results)


if __name__ == "__main__":
    main(tyro.cli(Plan))
