"""A policy learned without priors, and how well any policy does alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reprise.boundary.errors import UserError
from reprise.methods import prepare
from reprise.priors import Policy, load
from reprise.runs.execute import Listener, execute
from reprise.runs.recipe import Run
from reprise.runs.terminal import ProgressLine
from reprise.tasks import Task
from reprise.training.evaluate import Evaluation, evaluate


def trained(task: Task, runs: Path, seed: int, steps: int) -> Policy:
    """A policy for a task, learned by Scratch; an interrupted training goes on where it was."""
    setup = prepare("scratch", task)
    run = Run("scratch", setup.method, task.id, (), seed, steps, "small", setup.schedule)
    line = ProgressLine(run, steps)
    listener = Listener(lambda p, speed: line.progress(p, speed), line.evaluation, line.warning)
    folder = runs / f"{task.id.rpartition('/')[2]}-{run.id}"
    outcome = execute(run, task, folder, listener=listener, tensorboard=False)
    line.close()
    if outcome.interrupted:
        raise UserError("stopped; run the same command again to continue")
    return load(folder / "policy")


def measured(policy: Policy, task: Task, seeds: Sequence[int]) -> Evaluation:
    """How the policy fares alone, deterministic, in one episode per seed."""
    return evaluate(lambda obs: np.tanh(policy(obs).mean), task, seeds)  # pyright: ignore
