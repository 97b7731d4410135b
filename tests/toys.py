"""Small tasks, networks and records that many tests use."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import equinox as eqx
import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from reprise.core.agent import Agent, Plan, draw_noise
from reprise.core.method import DECIDING, LEARNING, Chance, Method, Rows, unpacked
from reprise.core.types import Advice, Spec, Transition
from reprise.priors import Card, Policy, Priors
from reprise.tasks import Task
from reprise.training.schedule import Schedule

HIDDEN = (16, 16)
BRISK = Schedule(
    warmup=40, learning_starts=30, batch=16, capacity=10_000, log_every=50, evaluate_every=100,
    evaluation_episodes=2, checkpoint_every=50,
)  # fmt: skip


class Line(gym.Env[np.ndarray, np.ndarray]):
    """Walk on a line; earn more the nearer to the origin; optionally end when it is reached."""

    def __init__(self, reward: float | None = None, ends: bool = False):
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.x, self.reward, self.ends = 1.0, reward, ends

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(0.5, 1.5))
        return self._look(), {}

    def step(self, action: np.ndarray) -> Any:
        self.x = float(np.clip(self.x + 0.2 * float(action[0]), -2.0, 2.0))
        reward = 1.0 - abs(self.x) / 2.0 if self.reward is None else self.reward
        arrived = abs(self.x) < 0.1
        return self._look(), reward, self.ends and arrived, False, {"success": arrived}

    def _look(self) -> np.ndarray:
        return np.array([self.x, 1.0], np.float32)

    def position(self) -> tuple[float, float]:
        return self.x, 0.0


def line(horizon: int = 30, **options: Any) -> Task:
    """A task whose episodes last `horizon` steps."""
    return Task("toy/line", horizon, partial(Line, **options))


def small(method: Method) -> Method:
    """The same method with tiny networks."""
    critic, actor = replace(method.critic, hidden=HIDDEN), replace(method.actor, hidden=HIDDEN)
    return replace(method, critic=critic, actor=actor, planner=method.planner.with_hidden(HIDDEN))


def policy(name: str, seed: int, obs: int = 2, action: int = 1) -> Policy:
    """A random network that could have been somebody's old policy."""
    rng = np.random.default_rng(seed)
    sizes = (obs, 8, 2 * action)
    weights = [rng.normal(size=pair).astype(np.float32) for pair in pairwise(sizes)]
    biases = [np.zeros(size, np.float32) for size in sizes[1:]]
    bounds = (-1.0,) * action, (1.0,) * action
    card = Card(obs, action, *bounds, (8,), name)
    return Policy(card, tuple(weights), tuple(biases))


def priors(count: int) -> Priors:
    """Some random priors for the line."""
    return Priors([policy(f"p{i}", i) for i in range(count)])


def advice(count: int, action: int = 1, mean: float = 0.0) -> Advice:
    """The same advice from everybody."""
    means = jnp.full((count, action), mean, jnp.float32)
    return Advice.of(means, jnp.full((count, action), -2.0, jnp.float32))


def batch(spec: Spec, size: int = 16, seed: int = 0) -> Transition:
    """Random transitions."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    def say() -> Advice:
        return Advice.of(
            normal(size, spec.priors, spec.action), normal(size, spec.priors, spec.action)
        )

    return Transition(
        normal(size, spec.obs), say(), np.zeros(size, np.int32),
        np.tanh(normal(size, spec.action)), normal(size), np.zeros(size, np.float32),
        normal(size, spec.obs), say(),
    )  # fmt: skip


def raw(number: int) -> np.ndarray:
    """A random key as the loop makes them."""
    return np.asarray(jax.random.key_data(jax.random.key(number)))


def act(method: Method, agent: Agent, plan: Plan, obs: Any, said: Advice, key: Any) -> Any:
    """A decision whose randomness all comes from one key."""
    k_noise, *keys = jax.random.split(key, 1 + DECIDING)
    noise = draw_noise(k_noise, said, method.stochastic_priors)
    return method.act(agent, plan, obs, said, Chance(noise, jnp.stack(keys)))


def update(method: Method, agent: Agent, rows: Rows, key: Any, improve: bool, *drawn: Any) -> Any:
    """An update whose randomness all comes from one key."""
    k_noise, *keys = jax.random.split(key, 1 + LEARNING)
    noise = draw_noise(k_noise, unpacked(rows).next_advice, method.stochastic_priors, 2)
    return method.update(agent, rows, Chance(noise, jnp.stack(keys)), improve, *drawn)


def leaves(agent: Agent) -> list[np.ndarray]:
    """Every array of an agent."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(agent)]


def same(a: Any, b: Any) -> bool:
    """Whether two trees are equal bit for bit."""
    one, two = jax.tree.leaves(a), jax.tree.leaves(b)
    return len(one) == len(two) and all(
        np.asarray(x).tobytes() == np.asarray(y).tobytes() for x, y in zip(one, two, strict=True)
    )


def outputs(critics: Any, weights: Any, biases: Any) -> Any:
    """The same ensemble, each member with another last layer."""
    return tuple(map(with_output, critics, weights, biases))


def with_output(network: Any, weight: Any, bias: Any) -> Any:
    """The same network with another last layer."""
    last = network.body.layers[-1]
    swapped = eqx.tree_at(lambda layer: (layer.weight, layer.bias), last, (weight, bias))
    return eqx.tree_at(lambda net: net.body.layers[-1], network, swapped)


def blank_plan(spec: Spec) -> Plan:
    """Nobody has acted yet, in arrays that a test may update outside of jit."""
    return jax.tree.map(jnp.asarray, Plan.start(spec))


def reporting(steps: int, **options: Any) -> Schedule:
    """A schedule that reports after so many steps and does nothing else at intervals."""
    quiet = {"evaluate_every": 0, "checkpoint_every": steps, "log_every": steps}
    return replace(BRISK, **quiet, **options)
