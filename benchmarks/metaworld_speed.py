"""Meta-World's own step against ours on all fifty tasks: the same bits, in how much time.

python benchmarks/metaworld_speed.py --results results/metaworld_speed.csv

Both play the same random actions in turns of a few steps, so that a busy machine slows both, and
processor time is counted. Every observation, reward and info is compared bit for bit.
"""

from __future__ import annotations

import csv
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from reprise.tasks.metaworld import NAMES, sawyer


@dataclass(frozen=True)
class Options:
    """What to measure."""

    results: Path = Path("results/metaworld_speed.csv")
    steps: int = 500
    """Steps per task, of one episode."""
    turn: int = 25
    """Steps that one of the two plays before it is the other's turn."""
    seed: int = 0


def digest(step: tuple[Any, ...]) -> tuple[Any, ...]:
    """Everything a step returns, with numbers as bits."""
    obs, reward, terminated, truncated, info = step
    told = {name: (type(value), np.float64(value).tobytes()) for name, value in info.items()}
    return obs.tobytes(), np.float64(reward).tobytes(), terminated, truncated, told


def compare(name: str, options: Options) -> dict[str, object]:
    """Microseconds per step of both, over the same steps."""
    pair = [sawyer(name, fast=False), sawyer(name)]
    starts: list[bytes] = []
    for env in pair:
        env.seed(options.seed)
        starts.append(env.reset()[0].tobytes())
    assert starts[0] == starts[1], f"{name}: other starts"
    draws = np.random.default_rng(options.seed).uniform(-1.0, 1.0, (options.steps, 4))
    times: list[list[float]] = [[], []]
    for start in range(0, options.steps, options.turn):
        played: list[list[tuple[Any, ...]]] = []
        for env, spent in zip(pair, times, strict=True):
            actions = draws[start : start + options.turn].astype(np.float32)
            began = time.process_time()
            played.append([env.step(action) for action in actions])
            spent.append((time.process_time() - began) / len(actions))
        for i, (theirs, ours) in enumerate(zip(*played, strict=True)):
            assert digest(theirs) == digest(ours), f"{name}: other bits at step {start + i}"
    theirs, ours = (float(np.median(spent)) * 1e6 for spent in times)
    speedup = float(np.median(np.divide(*times)))
    return {
        "task": name,
        "metaworld_us": round(theirs, 1),
        "reprise_us": round(ours, 1),
        "speedup": round(speedup, 2),
        "steps_compared": options.steps,
    }


def main(options: Options) -> None:
    rows: list[dict[str, object]] = []
    for name in NAMES:
        rows.append(compare(name, options))
        print(*rows[-1].values(), flush=True)
    speedups = [float(str(row["speedup"])) for row in rows]
    print(f"median speedup {np.median(speedups):.2f}, least {min(speedups):.2f}; no bit differs")
    options.results.parent.mkdir(parents=True, exist_ok=True)
    with options.results.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main(tyro.cli(Options))
