"""What a step costs, for the estimates of `reprise suite --dry-run`, as JSON.

    python benchmarks/suite_speed.py > speeds.json

Milliseconds of processor time, which other work on the machine hardly changes, with one thread:
of a step of each family of environments alone; of acting and learning with each method and small
networks, on a point maze with its four priors; and of Scratch with larger networks. Name methods
to measure only those.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace

os.environ.setdefault("NPROC", "1")

import numpy as np

from reprise.methods import METHODS, prepare
from reprise.priors import Priors, resolve
from reprise.tasks import find
from reprise.train import train

FAMILIES = {
    "pointmaze": "pointmaze/medium",
    "metaworld": "metaworld/push-wall",
    "antmaze": "antmaze/u",
}
SIZES = ((128, 128), (256, 256), (400, 400, 400))
STEPS, LOG = 400, 100


def environment(id: str, steps: int = 1_000) -> float:
    """Milliseconds of a step with random actions, resets included."""
    arena, rng = find(id).open(), np.random.default_rng(0)
    arena.reset(0)
    began = time.process_time()
    for step in range(steps):
        found = arena.step(rng.uniform(-1, 1, arena.action_dim).astype(np.float32))
        if found.terminated or found.truncated:
            arena.reset(step)
    return 1e3 * (time.process_time() - began) / steps


def learning(name: str, hidden: tuple[int, ...]) -> tuple[float, float]:
    """(milliseconds of a step with its update, seconds before the first of them)."""
    task = find(FAMILIES["pointmaze"])
    priors = Priors() if name == "scratch" else resolve(["zoo:pointmaze"])
    setup = prepare(name, task)
    method = setup.method
    method = replace(
        method,
        critic=replace(method.critic, hidden=hidden),
        actor=replace(method.actor, hidden=hidden).after_warmup(LOG),
        planner=method.planner.sized(hidden),
    )
    plan = {"warmup": LOG, "learning_starts": LOG, "log_every": LOG, "checkpoint_every": LOG}
    schedule = replace(setup.schedule, **plan, evaluate_every=0)
    marks = [time.process_time()]
    for _ in train(method, task, priors, steps=STEPS, seed=0, schedule=schedule):
        marks.append(time.process_time())
    # Compiled by the second report; the rest is what a step costs.
    return 1e3 * (marks[-1] - marks[2]) / (STEPS - 2 * LOG), marks[2] - marks[0]


def main() -> None:
    alone = {family: round(environment(id), 3) for family, id in FAMILIES.items()}
    print(json.dumps({"environment_ms": alone}), flush=True)
    pairs = [(name, SIZES[0]) for name in sys.argv[1:] or METHODS]
    for name, hidden in [*(("scratch", hidden) for hidden in SIZES[1:]), *pairs]:
        total, start = learning(name, hidden)
        cost = round(total - alone["pointmaze"], 3)
        row = {"hidden": hidden, "method": name, "learn_ms": cost, "start_s": round(start, 1)}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
