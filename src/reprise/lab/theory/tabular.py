"""Exact values of small finite MDPs by linear solves, over any leading batch axes (or none)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

# An action must beat the current one by this much, or rounding could make two equals swap forever.
_IMPROVEMENT = 1e-12


class Mdp(NamedTuple):
    """Transitions P(s'|s,a), expected rewards r(s,a); mass missing from a row of P terminates."""

    P: Array
    """(..., S, A, S)"""
    r: Array
    """(..., S, A)"""

    def lift(self) -> Mdp:
        """Give the MDP a policy axis, so that (..., N, S, A) policies broadcast against it."""
        return Mdp(self.P[..., None, :, :, :], self.r[..., None, :, :])


def chain(mdp: Mdp, policy: Array) -> tuple[Array, Array]:
    """Transition matrix (..., S, S) and expected reward (..., S) of the chain a policy induces."""
    step = np.einsum("...sat,...sa->...st", mdp.P, policy)
    return step, np.einsum("...sa,...sa->...s", mdp.r, policy)


def values(mdp: Mdp, policy: Array, discount: float | Array) -> Array:
    """V(s) of a policy: solves (I - discount P_policy) V = r_policy."""
    return discounted(*chain(mdp, policy), discount)


def action_values(mdp: Mdp, policy: Array, discount: float | Array) -> Array:
    """Q(s,a) of a policy: r(s,a) + discount E V(s')."""
    following = np.einsum("...sat,...t->...sa", mdp.P, values(mdp, policy, discount))
    return mdp.r + np.asarray(discount)[..., None, None] * following


def h_step(
    mdp: Mdp, policy: Array, discount: float | Array, h: int | Integers
) -> tuple[Array, Array]:
    """Kernel P(s_h|s) and E[sum_{t<h} discount^t r_t | s] of h steps; h may differ per MDP."""
    step, reward = chain(mdp, policy)
    steps, rate = np.asarray(h), np.asarray(discount)
    kernel = np.broadcast_to(np.eye(step.shape[-1]), step.shape)
    total = np.zeros_like(reward)
    for t in range(int(steps.max())):
        running = (t < steps)[..., None]
        gained = (rate**t)[..., None] * apply(kernel, reward)
        total = np.where(running, total + gained, total)
        kernel = np.where(running[..., None], kernel @ step, kernel)
    return kernel, total


def switching_value(
    mdp: Mdp, policies: Array, choice: Integers, discount: float | Array, h: int | Integers
) -> Array:
    """U(s): value of giving policies[choice(s)] h steps, then choosing again, for ever.

    policies is (..., N, S, A) and choice (..., S); solves (I - discount^h P_sel) U = R_sel.
    """
    rate, steps = np.asarray(discount), np.asarray(h)
    kernels, rewards = h_step(mdp.lift(), policies, rate[..., None], steps[..., None])
    kernel = np.take_along_axis(kernels, choice[..., None, :, None], axis=-3)[..., 0, :, :]
    reward = np.take_along_axis(rewards, choice[..., None, :], axis=-2)[..., 0, :]
    return discounted(kernel, reward, rate**steps)


def optimal_policy(mdp: Mdp, discount: float | Array) -> Array:
    """A deterministic optimal policy (..., S, A), exactly, by Howard's policy iteration."""
    actions = _greedy(mdp.r)
    while True:
        q = action_values(mdp, one_hot(actions, mdp.r.shape[-1]), discount)
        current = np.take_along_axis(q, actions[..., None], axis=-1)[..., 0]
        better = q.max(axis=-1) > current + _IMPROVEMENT * (1.0 + np.abs(current))
        if not better.any():
            return one_hot(actions, mdp.r.shape[-1])
        actions = np.where(better, _greedy(q), actions)


def one_hot(actions: Integers, n_actions: int) -> Array:
    """The deterministic policy that takes actions[..., s] in s."""
    return np.eye(n_actions)[actions]


def apply(kernel: Array, value: Array) -> Array:
    """E[value(s') | s] under a kernel (..., S, S)."""
    return np.einsum("...st,...t->...s", kernel, value)


def discounted(kernel: Array, reward: Array, discount: float | Array) -> Array:
    """The discounted sum of a reward along a chain: solves (I - discount kernel) x = reward."""
    system = np.eye(kernel.shape[-1]) - np.asarray(discount)[..., None, None] * kernel
    return np.asarray(np.linalg.solve(system, reward[..., None])[..., 0], dtype=np.float64)


def _greedy(q: Array) -> Integers:
    return np.asarray(np.argmax(q, axis=-1), dtype=np.int64)
