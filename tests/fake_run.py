"""Writes run folders that look like those of training, without training."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

STEPS, WARM_UP, LENGTH, COMMIT, REPORT = 60_000, 5_000, 300, 50, 1_000


class Maze(NamedTuple):
    """The attributes of the picture that a maze task gives."""

    walls: tuple[tuple[float, float, float, float], ...]
    start: tuple[float, float]
    goal: tuple[float, float]


def maze() -> Maze:
    """The medium maze of Gymnasium-Robotics."""
    rows = ["11111111", "10011001", "10010001", "11000111", "10010001", "10100101", "10001001",
            "11111111"]  # fmt: skip
    cells = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell == "1"]
    walls = tuple((j - 4.0, 3.0 - i, j - 3.0, 4.0 - i) for i, j in cells)
    return Maze(walls, (-2.5, 2.5), (2.5, -2.5))


def write_run(
    folder: Path,
    name: str = "smec",
    priors: Sequence[str] = ("ne", "se", "sw"),
    seed: int = 0,
    steps: int = STEPS,
) -> Path:
    """A run whose task policy takes over from its priors as it learns."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    records = [
        {"name": p, "ref": "zoo:pointmaze", "format": "gaussian-mlp", "sha256": f"{i:064x}"}
        for i, p in enumerate(priors, 11)
    ]
    method = {"kind": "Method", "critic": {"kind": "HybridCritic", "horizon": 50}}
    recipe = {"schema": 1, "id": f"3f9c2a81b0d{seed}", "name": name, "task": "pointmaze/medium",
              "priors": records, "seed": seed, "steps": steps, "preset": "small",
              "method": method, "schedule": {"warm_up": WARM_UP}}  # fmt: skip
    zero_shot = [
        {"name": p, "success_any": 0.05 * i, "success_last": 0.0, "return_mean": 4.0 * i}
        for i, p in enumerate(priors)
    ]
    manifest = {"schema": 1, "versions": {"reprise": "0.1.0", "python": "3.11.7"},
                "platform": "Linux", "nproc": "1", "started": "2026-01-01T10:00:00",
                "ended": "2026-01-01T10:04:00", "state": "complete", "seconds": 241.3,
                "zero_shot": zero_shot}  # fmt: skip
    (folder / "run.json").write_text(json.dumps(recipe))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    names = ["task", *priors]
    _metrics(folder / "metrics.csv", names, steps, rng)
    _evaluations(folder / "eval.csv", 25_000 if priors else 48_000, steps, rng)
    _episodes(folder, names, steps, rng)
    _values(folder / "values.csv", names, steps, rng)
    return folder


def task_share(step: float, names: Sequence[str]) -> float:
    """How much of the acting the task policy does."""
    return 1.0 if len(names) == 1 else float(0.1 + 0.85 / (1 + np.exp(-(step - 22_000) / 5000)))


def write_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A CSV as training writes it."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([header, *rows])


def _metrics(path: Path, names: Sequence[str], steps: int, rng: np.random.Generator) -> None:
    rows: list[list[Any]] = []
    for step in range(REPORT, steps + 1, REPORT):
        warm = step <= WARM_UP
        own = task_share(step, names)
        others = rng.dirichlet(np.full(max(1, len(names) - 1), 4.0)) * (1 - own)
        use = [0.0] * len(names) if warm else [own, *others][: len(names)]
        scores = ["" if warm else 3 + step / 9000 + rng.normal(0, 0.3) - i
                  for i in range(len(names))]  # fmt: skip
        success = float(np.clip((step - 12_000) / 20_000, 0, 1))
        rows.append([step, step // LENGTH, 90 * success, success, 2 * np.exp(-step / 2e4) + 0.1,
                     -step / 8000, max(0.02, np.exp(-step / 1e4)), 2 - step / 4e4, 800,
                     *use, *scores])  # fmt: skip
    header = ["step", "episodes", "episode_return", "success", "critic_loss", "actor_loss",
              "alpha", "entropy", "steps_per_second"]  # fmt: skip
    write_table(path, [*header, *(f"use_{n}" for n in names), *(f"value_{n}" for n in names)], rows)


def _evaluations(path: Path, middle: int, steps: int, rng: np.random.Generator) -> None:
    rows: list[list[Any]] = []
    for step in range(2_000, steps + 1, 2_000):
        success = round(float(np.clip(1 / (1 + np.exp(-(step - middle) / 2500)), 0, 1)) * 20) / 20
        value = 9 * success + 2 * np.exp(-step / 2e4) + rng.normal(0, 0.15)
        rows.append([step, 20, success, 0.9 * success, 120 if success else "", 95 * success,
                     12, 9 * success, value, 0.9 * success, 0.8 * success, 85 * success]
                    )  # fmt: skip
    header = ["step", "episodes", "success_any", "success_last", "first_success_step",
              "return_mean", "return_std", "return_discounted", "value_start",
              "sampled_success_any", "sampled_success_last", "sampled_return_mean"]  # fmt: skip
    write_table(path, header, rows)


def _values(path: Path, names: Sequence[str], steps: int, rng: np.random.Generator) -> None:
    """Heads that begin at 0 and come to overrate the task policy a little."""
    rows: list[list[Any]] = []
    for step in sorted(rng.choice(steps, steps // 250, replace=False) + 1):
        for i, name in enumerate(names):
            discount, scale = (0.99, 60.0) if name == "task" else (0.8318, 4.0 / i)
            realized = max(0.0, scale * step / steps + rng.normal(0, 0.2 * scale))
            estimate = (1.15 if name == "task" else 0.95) * scale * step / steps
            rows.append([step, name, discount, estimate, realized, 40])
    header = ["step", "policy", "discount", "estimate", "realized", "steps"]
    write_table(path, header, rows)


def _episodes(folder: Path, names: Sequence[str], steps: int, rng: np.random.Generator) -> None:
    switches: list[list[Any]] = []
    tracks: list[list[Any]] = []
    for episode in range(steps // LENGTH):
        begin, before = episode * LENGTH, "start"
        who = ["random"] * LENGTH
        for t in range(0, LENGTH, COMMIT) if begin >= WARM_UP and len(names) > 1 else ():
            own = task_share(begin, names)
            weights = [own, *[(1 - own) / (len(names) - 1)] * (len(names) - 1)]
            to = str(rng.choice(names, p=weights))
            switches.append([begin + t, episode, t, before, to, *rng.normal(5, 1, len(names)),
                             *[""] * len(names)])  # fmt: skip
            who[t : t + COMMIT] = [to] * COMMIT
            before = to
        if episode % (steps // LENGTH // 50 or 1) == 0:
            tracks += _path(begin, episode, who, steps, rng)
    scores = [f"{kind}_{n}" for kind in ("score", "bonus") for n in names]
    write_table(folder / "switches.csv", ["step", "episode", "t", "from", "to", *scores], switches)
    write_table(folder / "tracks.csv", ["step", "episode", "t", "policy", "x", "y"], tracks)


def _path(
    begin: int, episode: int, who: Sequence[str], steps: int, rng: np.random.Generator
) -> list[list[Any]]:
    route = [(-2.5, 2.5), (-1.5, 2.5), (-1.5, 1.5), (-1.5, 0.5), (-0.5, 0.5), (0.5, 0.5),
             (0.5, -0.5), (1.5, -0.5), (2.5, -0.5), (2.5, -1.5), (2.5, -2.5)]  # fmt: skip
    reach = 10 * min(1.0, 0.25 + 1.4 * begin / steps)
    along = np.minimum(np.linspace(0, 12, len(who)), reach)
    x, y = (np.interp(along, range(11), [p[k] for p in route]) for k in (0, 1))
    wobble = rng.normal(0, 0.02, (2, len(who))).cumsum(axis=1).clip(-0.3, 0.3)
    return [[begin + t, episode, t, who[t], round(x[t] + wobble[0, t], 3),
             round(y[t] + wobble[1, t], 3)] for t in range(len(who))]  # fmt: skip
