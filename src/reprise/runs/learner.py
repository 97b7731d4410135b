"""The Learner: a method on a task, in the habits of Stable-Baselines3."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import numpy as np

from reprise.boundary import files
from reprise.boundary.errors import UserError
from reprise.core.agent import Agent
from reprise.core.method import Method
from reprise.core.types import Spec
from reprise.methods import Preset, prepare
from reprise.priors import Priors, resolve
from reprise.runs import checkpoint, recipe
from reprise.runs.folder import (
    RECIPE,
    Manifest,
    environment,
    now,
    read_recipe,
    refuse_foreign,
)
from reprise.runs.judge import EVALUATION, judge, save_actor, task_policy
from reprise.runs.recipe import Run, library
from reprise.runs.terminal import ProgressLine
from reprise.tasks import Arena, Task, find
from reprise.training.evaluate import Act, Evaluation, episode_seeds
from reprise.training.loop import Training
from reprise.training.state import Loop


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
    ) -> None:
        self.task = as_task(task)
        refs = [priors] if isinstance(priors, str) else priors
        if not isinstance(refs, Priors):
            refs = resolve(refs, task=self.task.id, trust_code=trust_code)
        self._priors: Priors | None = refs
        named = method if isinstance(method, str) else "scratch"
        setup = prepare(named, self.task, preset)
        chosen = setup.method if isinstance(method, str) else method
        label = method if isinstance(method, str) else "custom"
        self.run = Run(
            label, chosen, self.task.id, self.priors.records, seed, setup.steps, preset,
            setup.schedule,
        )  # fmt: skip
        self.task = self.task.repeated(setup.schedule.action_repeat)
        self._trust_code = trust_code
        self._state: Loop | _Stored | None = None

    @property
    def agent(self) -> Agent:
        """What has been learned."""
        return self._require().agent

    @property
    def num_timesteps(self) -> int:
        """Environment steps learned from so far."""
        return self._state.step if self._state else 0

    @property
    def priors(self) -> Priors:
        """The old policies; those of a run that was loaded are looked for when they are needed."""
        if self._priors is None:
            self._priors = library(self.run, trust_code=self._trust_code)
        return self._priors

    def policy(self, seed: int | None = None) -> Act:
        """The task policy as a function of flat observations (n, obs); drawn from with a seed."""
        return task_policy(self.run.method, self.agent.actor, self._advisers(), seed)

    def _advisers(self) -> Priors:
        """The priors that the task policy is built of, if it is built of them."""
        if self.run.method.actor.export(self.agent.actor) is not None:
            return Priors()
        try:
            return self.priors
        except UserError as error:
            reason = f"the task policy of {self.run.name} is built of its priors"
            raise UserError(f"{reason}, which must be there to evaluate it: {error}") from error

    def learn(self, total_timesteps: int, progress_bar: bool = False) -> Learner:
        """Go on learning for this many steps."""
        goal = self.num_timesteps + total_timesteps
        self.run = replace(self.run, steps=goal)
        line = ProgressLine(self.run, goal) if progress_bar else None
        with Training(
            self.run.method, self.task, self.priors, steps=goal, seed=self.run.seed,
            schedule=self.run.schedule,
        ) as training:  # fmt: skip
            self._continue(training.loop)
            for progress in training.reports():
                self._state = progress.loop
                if line:
                    line.progress(progress)
        if line:
            line.close()
        return self

    def _continue(self, fresh: Loop) -> None:
        """Hand what was learned so far to a new loop, through the same door as a resume."""
        if isinstance(self._state, _Stored):
            checkpoint.load(self._state.checkpoints, fresh, self._state.warn)
        elif self._state is not None:
            with tempfile.TemporaryDirectory() as folder:
                checkpoint.save(Path(folder), self._state, {})
                checkpoint.load(Path(folder), fresh, lambda text: None)

    def predict(
        self, observation: Any, state: None = None, deterministic: bool = True
    ) -> tuple[np.ndarray, None]:
        """The task policy's action for one observation or a batch of them, in the task's box."""
        obs, single = self._box.batch(observation)
        seed = None if deterministic else int(np.random.default_rng().integers(2**31))
        actions = self.policy(seed)(obs)
        scaled = np.stack([self._box.rescale(action) for action in actions])
        return (scaled[0] if single else scaled), None

    @cached_property
    def _box(self) -> Arena:
        """An environment that is never played: it knows the task's spaces."""
        return self.task.open()

    def evaluate(self, episodes: int = 10, seeds: Sequence[int] | None = None) -> Evaluation:
        """The task policy alone, deterministic, on an environment of its own."""
        seeds = seeds or episode_seeds(self.run.seed, EVALUATION, self.num_timesteps, episodes)
        return judge(self.run.method, self.agent, self._advisers(), self.task, seeds)

    def save(self, path: str | Path) -> None:
        """Recipe, checkpoint and policy: what `load`, `reprise resume` and other tasks need."""
        folder, state = Path(path), self._require()
        if isinstance(state, _Stored) and state.checkpoints.parent.resolve() == folder.resolve():
            return  # it is there already
        with _replacing(folder) as new:
            if isinstance(state, _Stored):
                shutil.copytree(state.checkpoints, new / "checkpoints")
            else:
                checkpoint.save(new / "checkpoints", state, {})
            save_actor(new / "policy", state.agent, self.run, None)
        files.write_json(folder / RECIPE, recipe.dump(self.run))
        done = "complete" if state.step >= self.run.steps else "interrupted"
        Manifest(folder).note(**environment(), state=done, seconds=0.0, ended=now())

    @classmethod
    def load(
        cls,
        path: str | Path,
        env: gym.Env[Any, Any] | None = None,
        *,
        warn: Callable[[str], None] = warnings.warn,
        trust_code: bool = False,
    ) -> Learner:
        """A saved learner, or a run's, ready to predict or to go on learning.

        Its priors are looked for when it goes on, or if the task policy is built of them.
        """
        folder = Path(path)
        run = read_recipe(folder)
        task = as_task(env) if env is not None else find(run.task)
        learner = cls(run.method, task, seed=run.seed, trust_code=trust_code)
        learner.run, learner._priors = run, None
        learner.task = task.repeated(run.schedule.action_repeat)
        learner._state = _stored(folder / "checkpoints", run, learner._box, warn)
        return learner

    def _require(self) -> Loop | _Stored:
        if self._state is None:
            raise UserError("nothing has been learned yet; call learn() first")
        return self._state


class _Stored(NamedTuple):
    """What had been learned when a checkpoint was written, and where the rest of it is."""

    agent: Agent
    step: int
    checkpoints: Path
    warn: Callable[[str], None]


def _stored(checkpoints: Path, run: Run, arena: Arena, warn: Callable[[str], None]) -> _Stored:
    """What a run has learned; to read it, nobody needs to know its priors but their number."""
    spec = Spec(arena.obs_dim, arena.action_dim, len(run.priors))
    blank = run.method.init(jax.random.key(run.seed), spec)
    found = checkpoint.load_agent(checkpoints, blank, warn)
    if found is None:
        raise UserError(f"{checkpoints.parent} has no checkpoint to load")
    return _Stored(*found, checkpoints, warn)


SAVED = ("checkpoints", "policy")


@contextmanager
def _replacing(folder: Path) -> Generator[Path]:
    """A place for what is saved, which then takes the place of what was saved there before."""
    refuse_foreign(folder)
    if (folder / "metrics.csv").exists():
        raise UserError(f"{folder} is the folder of a run; save the learner into another one")
    files.make_folder(folder)
    new = folder / ".saving"
    try:
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        yield new
        for name in SAVED:
            if (folder / name).exists():
                (folder / name).rename(new / f"old-{name}")
            (new / name).rename(folder / name)
    except OSError as error:
        raise files.unwritable(folder, error) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


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
