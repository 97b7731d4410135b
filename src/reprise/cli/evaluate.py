"""`reprise evaluate`."""

from __future__ import annotations

import json
import math
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tyro

from reprise.boundary.errors import UserError
from reprise.pages.write import write_film
from reprise.runs.judge import EVALUATION
from reprise.runs.learner import Learner
from reprise.runs.terminal import console, waiting
from reprise.training.evaluate import Evaluation, episode_seeds

FILMED = 3


@dataclass(frozen=True)
class Evaluate:
    """Play episodes with the policy that a run learned, without noise and without priors."""

    run: tyro.conf.Positional[Path]
    """Folder of the run."""
    episodes: int = 20
    """Number of episodes."""
    video: bool = False
    """Save the first three episodes as video.gif in the run's folder."""
    trust_code: bool = False
    """Allow priors that are Python code to run, for methods whose learned policy still needs
    its priors; each file that is run is printed."""
    seed: int | None = None
    """Random seed of the episodes; by default that of the run."""
    json: bool = False
    """Print the result as JSON."""


def evaluate(options: Evaluate) -> int:
    """Episodes on seeds that training and its evaluations never used."""
    if options.episodes < 1:
        raise UserError(f"--episodes is {options.episodes}; give a positive number")
    began = time.perf_counter()
    warnings: list[str] = []
    learner = Learner.load(options.run, warn=warnings.append, trust_code=options.trust_code)
    for text in warnings:
        print(f"warning: {text}", file=sys.stderr)
    if options.seed is not None:
        learner.run = replace(learner.run, seed=options.seed)
    seeds = episode_seeds(learner.run.seed, EVALUATION, 2**31, options.episodes)
    with waiting(f"{options.episodes} episodes of {learner.task.id}"):
        found = learner.evaluate(seeds=seeds)
    film = _film(learner, options.run, seeds) if options.video else None
    if options.json:
        print(json.dumps(_answer(learner, options.run, found, time.perf_counter() - began)))
        return 0
    screen = console()
    success = "n/a" if math.isnan(found.success_any) else f"{found.success_any:.0%}"
    screen.print(
        f"{found.episodes} episodes: success {success}, return {found.return_mean:.1f} "
        f"± {found.return_std:.1f}"
    )
    if film:
        screen.print(f"  {film}", highlight=False, soft_wrap=True)
    return 0


def _film(learner: Learner, folder: Path, seeds: list[int]) -> Path:
    with waiting("video.gif"):
        return write_film(folder / "video.gif", learner.policy(), learner.task, seeds[:FILMED])


def _answer(learner: Learner, folder: Path, found: Evaluation, seconds: float) -> dict[str, Any]:
    numbers = {k: getattr(found, k) for k in ("success_any", "success_last", "return_mean")}
    finite = {k: v if math.isfinite(v) else None for k, v in numbers.items()}
    steps = learner.num_timesteps
    return {"run": str(folder), "steps": steps, **finite, "seconds": round(seconds, 1)}
