"""How good a learned policy or a prior is on a task, and a learned policy as a file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import jax
import numpy as np

from reprise.boundary import files
from reprise.core.agent import Agent
from reprise.core.method import Method
from reprise.priors import Card, Policy, Priors, save
from reprise.runs.recipe import Run
from reprise.tasks import Task
from reprise.training.evaluate import Act, Evaluation, Stage, advisers, episode_seeds, evaluate

EVALUATION, ZERO_SHOT = 1, 2
"""Purposes that set seeds apart from training's."""


def judge(
    method: Method, agent: Agent, priors: Priors, where: Task | Stage, seeds: Sequence[int]
) -> Evaluation:
    """The task policy alone: its mode, with head 0's claim beside it, and its drawn actions."""

    def value(obs: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.asarray(method.value(agent, obs, actions))

    gamma = method.critic.discount
    mode = task_policy(method, agent.actor, priors)
    drawn = task_policy(method, agent.actor, priors, seed=seeds[0])
    found = evaluate(mode, where, seeds, gamma=gamma, value=value)
    return found.beside(evaluate(drawn, where, seeds, gamma=gamma))


def task_policy(method: Method, actor: Any, priors: Priors, seed: int | None = None) -> Act:
    """A learned actor as a function of observations: its mode, or draws with a seed."""
    heard = advisers(method, actor, priors)

    def act(obs: np.ndarray) -> np.ndarray:
        return np.asarray(method.mode(actor, obs, heard(obs, 0)))

    if seed is None:
        return act
    keys = map(partial(jax.random.fold_in, jax.random.key(seed)), count())

    def draw(obs: np.ndarray) -> np.ndarray:
        return np.asarray(method.sample(actor, obs, heard(obs, 0), next(keys)))

    return draw


def zero_shot(
    priors: Priors, where: Task | Stage, seed: int, episodes: int = 10
) -> list[dict[str, Any]]:
    """What each prior achieves on the task by itself, before anything is learned."""
    table: list[dict[str, Any]] = []
    for place, name in enumerate(priors.names):
        seeds = episode_seeds(seed, ZERO_SHOT, 0, episodes)
        found = evaluate(priors.alone(place), where, seeds)
        row = {k: getattr(found, k) for k in ("success_any", "success_last", "return_mean")}
        row = {k: round(v, 6) if np.isfinite(v) else None for k, v in row.items()}
        table.append({"name": name, **row})
    return table


def save_actor(folder: Path, agent: Agent, run: Run, evaluation: Evaluation | None) -> None:
    """The learned task policy as a prior for the next task, or a note why it cannot be one."""
    layers = run.method.actor.export(agent.actor)
    if layers is None:
        files.make_folder(folder)
        note = f"The task policy of {run.name} acts only together with the run's priors: "
        files.write_text(folder / "note.txt", note + "reprise.Learner.load(RUN) brings both.\n")
        return
    obs_dim, action_dim = layers[0].weight.shape[0], layers[-1].weight.shape[1] // 2
    success = {run.task: evaluation.success_any} if evaluation else {}
    card = Card(
        obs_dim=obs_dim,
        action_dim=action_dim,
        action_low=(-1.0,) * action_dim,
        action_high=(1.0,) * action_dim,
        hidden=tuple(layer.weight.shape[1] for layer in layers[:-1]),
        name=run.task.rpartition("/")[2][:64],
        origin=f"reprise {run.name}, seed {run.seed}, {run.steps} steps, recipe {run.id}",
        task=run.task,
        success={k: round(v, 6) for k, v in success.items() if np.isfinite(v)},
    )
    weights = tuple(np.asarray(layer.weight) for layer in layers)
    biases = tuple(np.asarray(layer.bias) for layer in layers)
    save(folder, Policy(card, weights, biases))
