"""The Learner: a method on a task, in the habits of Stable-Baselines3."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from reprise.core.agent import Agent
from reprise.core.method import Method
from reprise.io import files
from reprise.io.errors import UserError
from reprise.methods import Preset, prepare
from reprise.priors import Priors, resolve
from reprise.runs import checkpoint, recipe
from reprise.runs.folder import read_recipe
from reprise.runs.judge import EVALUATION, judge, save_actor, task_policy
from reprise.runs.recipe import Run, library
from reprise.runs.terminal import ProgressLine
from reprise.tasks import Arena, Task, find
from reprise.training.evaluate import Evaluation, episode_seeds
from reprise.training.loop import train
from reprise.training.state import Loop, begin


class Learner:
    """Learns a task with the help of priors; `learn`, `predict`, `evaluate`, `save`, `load`."""

    def __init__(
        self,
        method: str | Method,
        task: str | Task | gym.Env[Any, Any],
        priors: str | Sequence[str] | Priors = (),
        *,
        seed: int = 0,
        preset: Preset = "small",
        trust_code: bool = False,
    ):
        self.task = as_task(task)
        refs = [priors] if isinstance(priors, str) else priors
        if not isinstance(refs, Priors):
            refs = resolve(refs, task=self.task.id, trust_code=trust_code)
        self.priors = refs
        named = method if isinstance(method, str) else "scratch"
        setup = prepare(named, self.task, preset)
        chosen = setup.method if isinstance(method, str) else method
        label = method if isinstance(method, str) else "custom"
        self.run = Run(
            label, chosen, self.task.id, self.priors.records, seed, setup.steps, preset,
            setup.schedule,
        )  # fmt: skip
        self.task = self.task.repeated(setup.schedule.action_repeat)
        self._loop: Loop | None = None

    @property
    def agent(self) -> Agent:
        """What has been learned."""
        return self._require().agent

    @property
    def num_timesteps(self) -> int:
        """Environment steps learned from so far."""
        return self._loop.step if self._loop else 0

    def learn(self, total_timesteps: int, progress_bar: bool = False) -> Learner:
        """Go on learning for so many steps."""
        goal = self.num_timesteps + total_timesteps
        if self._loop is None:
            self.run = replace(self.run, steps=goal)
        line = ProgressLine(self.run, goal) if progress_bar else None
        reports = train(
            self.run.method, self.task, self.priors, steps=goal, seed=self.run.seed,
            schedule=self.run.schedule, resume=self._continue,
        )  # fmt: skip
        for progress in reports:
            self._loop = progress.loop
            if line:
                line.progress(progress)
        if line:
            line.close()
        return self

    def _continue(self, fresh: Loop) -> None:
        """Hand what was learned so far to a new loop, through the same door as a resume."""
        if self._loop is not None:
            with tempfile.TemporaryDirectory() as folder:
                checkpoint.save(Path(folder), self._loop, {})
                checkpoint.load(Path(folder), fresh, lambda text: None)

    def predict(
        self, observation: Any, state: None = None, deterministic: bool = True
    ) -> tuple[np.ndarray, None]:
        """The task policy's action for one observation or a batch of them, in the task's box."""
        obs, single = self._box.batch(observation)
        seed = None if deterministic else int(np.random.default_rng().integers(2**31))
        actions = task_policy(self.run.method, self.agent.actor, self.priors, seed)(obs)
        scaled = np.stack([self._box.rescale(action) for action in actions])
        return (scaled[0] if single else scaled), None

    @cached_property
    def _box(self) -> Arena:
        """An environment that is never played: it knows the task's spaces."""
        return self.task.open()

    def evaluate(self, episodes: int = 10, seeds: Sequence[int] | None = None) -> Evaluation:
        """The task policy alone, deterministic, on an environment of its own."""
        seeds = seeds or episode_seeds(self.run.seed, EVALUATION, self.num_timesteps, episodes)
        loop = self._require()
        return judge(self.run.method, loop.agent, self.priors, self.task, seeds)

    def save(self, path: str | Path) -> None:
        """Recipe, checkpoint and policy: what `load`, `reprise resume` and other tasks need."""
        folder, loop = Path(path), self._require()
        files.make_folder(folder)
        files.write_json(folder / "run.json", recipe.dump(self.run))
        shutil.rmtree(folder / "checkpoints", ignore_errors=True)
        (folder / "checkpoints").mkdir()
        checkpoint.save(folder / "checkpoints", loop, {})
        save_actor(folder / "policy", loop.agent, self.run, None)

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: gym.Env[Any, Any] | None = None,
        *,
        warn: Callable[[str], None] = warnings.warn,
        trust_code: bool = False,
    ) -> Learner:
        """A saved learner, or a run's, ready to predict or to go on learning."""
        folder = Path(path)
        run = read_recipe(folder)
        task = as_task(env) if env is not None else find(run.task)
        learner = cls(run.method, task, library(run, trust_code=trust_code), seed=run.seed)
        learner.run = run
        learner.task = task.repeated(run.schedule.action_repeat)
        arena = learner.task.open()
        loop = begin(
            run.method, arena, learner.priors, run.schedule, steps=run.steps, seed=run.seed
        )
        if checkpoint.load(folder / "checkpoints", loop, warn) is None:
            raise UserError(f"{folder} has no checkpoint to load")
        learner._loop = loop
        return learner

    def _require(self) -> Loop:
        if self._loop is None:
            raise UserError("nothing has been learned yet; call learn() first")
        return self._loop


def as_task(task: str | Task | gym.Env[Any, Any]) -> Task:
    """A task by name, as it is, or around an environment of the caller's."""
    if isinstance(task, str):
        return find(task)
    if isinstance(task, Task):
        return task
    env = task
    if env.spec is None:
        raise UserError("give the environment through gymnasium.make, or register it, to reuse it")
    limit = env.spec.max_episode_steps or 1_000
    return Task(f"gym/{env.spec.id}", limit, env.spec.make)
