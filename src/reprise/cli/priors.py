"""`reprise priors check` and `priors export`: what a prior is worth, and a policy to take away."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro

from reprise.boundary.errors import UserError
from reprise.cli.tables import show
from reprise.priors import Faults, Policy, Priors, resolve, save
from reprise.priors.formats import onnx as onnx_format
from reprise.runs.judge import ZERO_SHOT
from reprise.runs.terminal import console, waiting
from reprise.tasks import Task, find
from reprise.training.evaluate import Act, episode_seeds, evaluate

CALLS = 200
SIZES = ("obs_dim", "action_dim")


@dataclass(frozen=True)
class Check:
    """Test priors alone on a task before training: sizes, success, speed, faults."""

    priors: tyro.conf.Positional[tuple[str, ...]]
    """The priors: policy files, folders of them, zoo:<name> or run:<folder>."""
    task: str
    """Task id."""
    episodes: int = 20
    """Number of episodes per prior."""
    seed: int = 0
    """Random seed of the episodes."""
    trust_code: bool = False
    """Allow priors that are Python code to run; each file that is run is printed."""
    json: bool = False
    """Print JSON."""


def check(options: Check) -> int:
    """Every prior alone on the task."""
    if options.episodes < 1:
        raise UserError(f"--episodes is {options.episodes}; give a positive number")
    if not options.priors:
        raise UserError("name at least one prior, such as zoo:pointmaze")
    task = find(options.task)
    priors = resolve(options.priors, task=task.id, trust_code=options.trust_code)
    arena = task.open()
    priors.fit(arena.obs_dim, arena.action_dim, task.id)
    arena.close()
    seeds = episode_seeds(options.seed, ZERO_SHOT, 0, options.episodes)
    rows: list[dict[str, Any]] = []
    with waiting(task.id, len(priors)) as at:
        for place, name in enumerate(priors.names):
            at(place, f"{name}: {options.episodes} episodes of {task.id}")
            rows.append(_row(priors, place, task, seeds))
    if not options.json:  # a program wants everything, a person what fits on a line
        rows = [{k: v for k, v in row.items() if k not in ("sha256", *SIZES)} for row in rows]
    return show(rows, options.json)


def _row(priors: Priors, place: int, task: Task, seeds: list[int]) -> dict[str, Any]:
    card, faults = priors.policies[place].card, Faults.none(1)
    act = priors.alone(place, faults)
    found = evaluate(act, task, seeds)
    earned = {k: getattr(found, k) for k in ("success_any", "success_last", "return_mean")}
    return {
        "name": card.name,
        "format": card.kind,
        "sha256": card.sha256,
        "obs_dim": card.obs_dim,
        "action_dim": card.action_dim,
        **{k: round(v, 6) if np.isfinite(v) else None for k, v in earned.items()},
        "us_per_call": round(_microseconds(act, card.obs_dim), 1),
        "faults": faults.faults[0],
    }


def _microseconds(act: Act, obs_dim: int) -> float:
    """The median time of asking about one state."""
    obs = np.zeros((1, obs_dim), np.float32)
    times: list[float] = []
    for _ in range(CALLS):
        began = time.perf_counter()
        act(obs)
        times.append(time.perf_counter() - began)
    return float(np.median(times)) * 1e6


@dataclass(frozen=True)
class Export:
    """Save a run's learned policy, or another network prior, as a file to use elsewhere."""

    policy: tyro.conf.Positional[str]
    """Folder of a run, or a reference to one prior."""
    to: Literal["safetensors", "onnx"] = "safetensors"
    """Format: a policy folder of reprise, or an ONNX model that outputs actions in [-1, 1]."""
    out: Path | None = None
    """Where to save it; by default <name> or <name>.onnx in the current folder."""
    json: bool = False
    """Print JSON."""


def export(options: Export) -> int:
    """One policy, in a format that others can read."""
    folder = Path(options.policy)
    ref = f"run:{folder}" if (folder / "run.json").exists() else options.policy
    found = resolve([ref]).policies
    if len(found) != 1:
        names = ", ".join(policy.card.name for policy in found)
        raise UserError(f"{options.policy!r} names {len(found)} policies ({names}); name one")
    (policy,) = found
    if not isinstance(policy, Policy):
        raise UserError(f"{policy.card.name!r} is {policy.card.kind}; only networks are exported")
    suffix = ".onnx" if options.to == "onnx" else ""
    path = options.out or Path(policy.card.name + suffix)
    if path.exists():
        raise UserError(f"{path} exists; choose another --out")
    if options.to == "onnx":
        onnx_format.export(policy, path)
    else:
        save(path, policy)
    answer = {"name": policy.card.name, "format": options.to, "path": str(path)}
    print(json.dumps(answer)) if options.json else console().print(f"{path}", highlight=False)
    return 0
