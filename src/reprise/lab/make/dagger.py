"""DAgger: a network learns what an expert would do in the states the network itself gets into."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from reprise.core.layers import Mlp
from reprise.core.types import Gaussian
from reprise.priors import Card, Policy
from reprise.tasks import Task
from reprise.training.evaluate import Act, episode_seeds, evaluate

PURPOSE = 4
"""Keeps the seeds of these episodes apart from those of any evaluation."""
NARROWEST = 0.2
"""An observation that hardly varies is not blown up beyond this scale."""
LOG_STD = -3.0
"""The width that every policy from here claims, before tanh."""

Advisor = Callable[[np.ndarray], Gaussian]


@dataclass(frozen=True)
class Lessons:
    """How much is shown, practiced and learned."""

    shown: int = 20
    """Episodes of the expert at the start."""
    practiced: int = 10
    """Episodes per round that the learner plays and the expert corrects."""
    horizon: int = 250
    """Steps per episode."""
    updates: int = 1_500
    """Adam steps per round."""
    batch: int = 256
    """States per Adam step."""
    learning_rate: float = 1e-3
    """Adam's step size at the start of a round; it falls to 0."""
    decay: float = 0.3
    """Weight decay, per unit of step size: there are few goals to learn from, and all vary."""
    hidden: tuple[int, ...] = (256, 256)
    """Sizes of the hidden layers."""
    rounds: int = 30
    """Rounds after the first, which only imitates."""

    @property
    def rows(self) -> int:
        """The most states that can be seen."""
        return (self.shown + self.rounds * self.practiced) * self.horizon


class Round(NamedTuple):
    """A policy, and how often the episodes it was corrected on had succeeded."""

    number: int
    policy: Policy
    practice: float
    """Of the policy before it; of the expert, in round 0."""


class Scale(NamedTuple):
    """How observations are brought to about [-1, 1]."""

    mean: np.ndarray
    std: np.ndarray


class Notes(NamedTuple):
    """Scaled states and the expert's actions there; rows from `filled` on are empty."""

    obs: Float[Array, "rows obs"]
    action: Float[Array, "rows action"]
    filled: int


def dagger(
    expert: Advisor, task: Task, card: Card, lessons: Lessons, seed: int = 0
) -> Iterator[Round]:
    """Round after round, a policy that has had more of its mistakes corrected."""
    short = replace(task, horizon=min(task.horizon, lessons.horizon))
    sizes = (card.obs_dim, *lessons.hidden, card.action_dim)
    k_student, k_study = jax.random.split(jax.random.key(seed))
    student = Mlp(sizes, k_student)
    act, seen, said = _modes(expert), np.zeros((0, card.obs_dim)), np.zeros((0, card.action_dim))
    scale = Scale(np.zeros(card.obs_dim), np.ones(card.obs_dim))
    for number in range(lessons.rounds + 1):
        episodes = lessons.practiced if number else lessons.shown
        obs, practice = visit(act, short, episode_seeds(seed, PURPOSE, number, episodes))
        scale = scale if number else measure(obs)
        seen, said = np.concatenate([seen, obs]), np.concatenate([said, _modes(expert)(obs)])
        notes = _written(seen, said, scale, lessons.rows)
        key = jax.random.fold_in(k_study, number)
        student = _study(student, notes, key, lessons)
        policy = fold(student, scale, replace(card, hidden=lessons.hidden, kind="gaussian-mlp"))
        act = _modes(policy)
        yield Round(number, policy, practice)


def _modes(policy: Advisor) -> Act:
    return lambda obs: np.tanh(policy(obs).mean)  # pyright: ignore


def visit(act: Act, task: Task, seeds: Sequence[int]) -> tuple[np.ndarray, float]:
    """The states that some episodes lead through, and the share of them that succeed."""
    seen: list[np.ndarray] = []

    def watched(obs: np.ndarray) -> np.ndarray:
        seen.append(obs.copy())
        return act(obs)

    success = evaluate(watched, task, seeds).success_any
    return np.concatenate(seen), success


def measure(obs: np.ndarray) -> Scale:
    """The scale of some observations."""
    wide = obs.astype(np.float64)
    return Scale(wide.mean(axis=0), np.maximum(wide.std(axis=0), NARROWEST))


def _written(seen: np.ndarray, said: np.ndarray, scale: Scale, rows: int) -> Notes:
    """Everything so far in arrays of one size, so that studying is compiled once."""
    room = ((0, rows - len(seen)), (0, 0))
    obs = ((seen - scale.mean) / scale.std).astype(np.float32)
    return Notes(np.pad(obs, room), np.pad(said.astype(np.float32), room), len(seen))  # pyright: ignore


@partial(jax.jit, static_argnums=3)
def _study(student: Mlp, notes: Notes, key: Array, lessons: Lessons) -> Mlp:
    """Adam on the squared error of the action, over everything the expert has said so far."""
    # Each round starts with large steps and ends with small ones: what practices is settled.
    rate = optax.cosine_decay_schedule(lessons.learning_rate, lessons.updates)
    adam = optax.adamw(rate, weight_decay=lessons.decay)

    def error(student: Mlp, rows: Array) -> Array:
        guess = jnp.tanh(jax.vmap(student)(notes.obs[rows]))
        return ((guess - notes.action[rows]) ** 2).sum(-1).mean()

    def update(state: Any, key: Array) -> tuple[Any, None]:
        student, optim = state
        rows = jax.random.randint(key, (lessons.batch,), 0, notes.filled)
        changes, optim = adam.update(jax.grad(error)(student, rows), optim, student)
        return (optax.apply_updates(student, changes), optim), None

    start: Any = student
    keys = jax.random.split(key, lessons.updates)
    return jax.lax.scan(update, (start, adam.init(start)), keys)[0][0]


def fold(student: Mlp, scale: Scale, card: Card) -> Policy:
    """The policy of a student: scaling is a part of its first layer, its width a constant."""
    weights = [np.asarray(layer.weight, np.float64) for layer in student.layers]
    biases = [np.asarray(layer.bias, np.float64) for layer in student.layers]
    biases[0] = biases[0] - (scale.mean / scale.std) @ weights[0]
    weights[0] = weights[0] / scale.std[:, None]
    weights[-1] = np.concatenate([weights[-1], np.zeros_like(weights[-1])], axis=1)
    biases[-1] = np.concatenate([biases[-1], np.full_like(biases[-1], LOG_STD)])
    return Policy(
        card,
        tuple(weight.astype(np.float32) for weight in weights),
        tuple(bias.astype(np.float32) for bias in biases),
    )
