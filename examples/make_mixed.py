"""Makes nw.zip of examples/mixed: the shipped policy `nw` in Stable-Baselines3's own archive.

    python make_mixed.py src/reprise/zoo/pointmaze/nw/policy.safetensors examples/mixed/nw.zip

Needs stable-baselines3; reading the archive does not.
"""

import sys

import gymnasium as gym
import numpy as np
import torch
from safetensors.numpy import load_file
from stable_baselines3 import SAC


class Maze(gym.Env):
    """Only its spaces matter."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(4), {}

    def step(self, action):
        return np.zeros(4), 0.0, False, False, {}


model = SAC(
    "MlpPolicy",
    Maze(),
    policy_kwargs={"net_arch": {"pi": [128, 128], "qf": [8]}},
    buffer_size=10,
    seed=0,
)
w = load_file(sys.argv[1])
actor = model.policy.actor
with torch.no_grad():
    for i, layer in enumerate((actor.latent_pi[0], actor.latent_pi[2])):
        layer.weight.copy_(torch.tensor(w[f"layers.{i}.weight"].T))
        layer.bias.copy_(torch.tensor(w[f"layers.{i}.bias"]))
    last, bias = w["layers.2.weight"], w["layers.2.bias"]
    for k, head in enumerate((actor.mu, actor.log_std)):
        head.weight.copy_(torch.tensor(last[:, 2 * k : 2 * k + 2].T))
        head.bias.copy_(torch.tensor(bias[2 * k : 2 * k + 2]))
model.save(sys.argv[2])
