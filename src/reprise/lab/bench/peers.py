"""Other libraries' SAC on the same networks and batches, where they are installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from reprise.core.method import Method
from reprise.lab.bench.timing import Turn
from reprise.lab.bench.updates import ROWS, Workload
from reprise.methods import prepare


class Sizes(gym.Env[np.ndarray, np.ndarray]):
    """An environment of the right sizes that is never played."""

    def __init__(self, obs: int, action: int) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (obs,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (action,), np.float32)


def installed(work: Workload) -> dict[str, Turn]:
    """A contestant for each peer that can be imported."""
    makers: dict[str, tuple[str, Callable[[Workload], Any]]] = {
        "sb3": ("stable_baselines3", stable_baselines3),
        "sbx": ("sbx", sbx),
    }
    return {
        name: turn(make(work), work)
        for name, (module, make) in makers.items()
        if find_spec(module) is not None
    }


def stable_baselines3(work: Workload) -> Any:
    """Stable-Baselines3's SAC. It has no actor delay and no layer normalization."""
    from stable_baselines3 import SAC  # pyright: ignore[reportMissingImports]

    method, options = shared(work)
    env = Sizes(*work.spec(0)[:2])
    return SAC("MlpPolicy", env, policy_kwargs={"net_arch": list(method.critic.hidden)}, **options)


def sbx(work: Workload) -> Any:
    """SBX's SAC, with our actor delay and normalization."""
    from sbx import SAC  # pyright: ignore[reportMissingImports]

    method, options = shared(work)
    nets = {"net_arch": list(method.critic.hidden), "layer_norm": method.critic.layer_norm}
    env = Sizes(*work.spec(0)[:2])
    return SAC("MlpPolicy", env, policy_kwargs=nets, policy_delay=method.actor_delay, **options)


def shared(work: Workload) -> tuple[Method, dict[str, Any]]:
    """Our Scratch, and its settings in the words that both peers use."""
    setup = prepare("scratch", work.task, work.preset)
    method = setup.method
    return method, {
        "learning_rate": method.learning_rate,
        "batch_size": setup.schedule.batch,
        "buffer_size": ROWS,
        "learning_starts": 0,
        "tau": method.smoothing,
        "gamma": method.critic.discount,
        "ent_coef": "auto",
        "seed": 0,
        "device": "cpu",
    }


def turn(model: Any, work: Workload) -> Turn:
    """Fill the model's own buffer at random, and let it learn one update at a time."""
    from stable_baselines3.common.logger import Logger  # pyright: ignore[reportMissingImports]

    model.set_logger(Logger(None, []))
    obs, action, _ = work.spec(0)
    rng = np.random.default_rng(0)
    for _ in range(ROWS):
        here, there = rng.normal(size=(2, 1, obs)).astype(np.float32)
        did = np.tanh(rng.normal(size=(1, action))).astype(np.float32)
        model.replay_buffer.add(here, there, did, rng.normal(size=1), np.zeros(1), [{}])

    def play() -> int:
        for _ in range(work.updates):
            model.train(gradient_steps=1, batch_size=model.batch_size)
        return work.updates

    return play
