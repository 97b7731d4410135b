"""Three MDPs on which the paper's theorems, as printed, are false; and the family of the third."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from reprise.lab.theory.controls import printed_2_bound
from reprise.lab.theory.one_switch import one_segment_gain
from reprise.lab.theory.setting import Setting, exact
from reprise.lab.theory.tabular import Array, Mdp

# MetaWorld's numbers in the paper: gamma = 0.99, gbar = eps^(1/h) with eps = 1e-4 and h = 50.
GAMMA = 0.99
GBAR = 1e-4 ** (1 / 50)


class Numbers(NamedTuple):
    """What the prior truly gains at the start state, against what the printed theorem claims."""

    gain: float
    claimed: float


def ce0() -> Setting:
    """One state, one action, reward 0, in the class of MDPs with rewards in [0, 1]."""
    only = np.ones((1, 1))
    mdp = Mdp(np.ones((1, 1, 1)), np.zeros((1, 1)))
    setting = exact(mdp, (only, only), gamma=GAMMA, gbar=GBAR, h=50)
    return replace(setting, r_max=np.ones(1))


def ce1() -> Setting:
    """mu earns R_max = 1 once, then both policies sit in a state that pays nothing."""
    pi, mu = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    mdp = Mdp(_onward(), np.array([[0.0, 1.0], [0.0, 0.0]]))
    return exact(mdp, (pi, mu), gamma=GAMMA, gbar=GBAR, h=50)


def ce2() -> Setting:
    """mu earns 1 with probability p = 0.001 at the start, then nothing tells it from pi."""
    return ce2_family(
        replace(ce1(), gamma=np.array([0.9]), gbar=np.array([0.5]), h=np.array([1])),
        np.array([1e-3]),
    )


def ce2_family(s: Setting, p: Array) -> Setting:
    """CE2 with the discounts and h of each setting, a p per MDP, k=0 and one prior."""
    n = len(p)
    # 0.9 of the largest delta that still lets mu be selected: D_mu(s0) = p - delta kappa >= 0.
    delta = 0.9 * p / s.kappa
    r = np.zeros((n, 2, 2))
    r[:, 0, 1] = 1.0
    r[:, 1] = delta[:, None]
    pi, mu = np.zeros((n, 2, 2)), np.zeros((n, 2, 2))
    pi[:, :, 0] = 1.0
    mu[:, 0] = np.stack([1.0 - p, p], axis=-1)
    mu[:, 1, 0] = 1.0
    moved = replace(
        s,
        mdp=Mdp(np.broadcast_to(_onward(), (n, 2, 2, 2)), r),
        pi=pi,
        priors=mu[:, None],
        k=np.zeros(n, dtype=np.int64),
        noise=np.zeros((n, 2, 2)),
    )
    return moved.rewarded(r)


def numbers_1(s: Setting) -> Numbers:
    """Theorem 3.1 at the start state of CE0 or CE1."""
    return Numbers(float(s.gain[0, 0, 0]), float(s.kappa[0] * s.r_max[0]))


def numbers_2(s: Setting) -> Numbers:
    """Theorem 3.2 at the start state of CE2."""
    return Numbers(float(one_segment_gain(s)[0, 0, 0]), float(printed_2_bound(s)[0, 0]))


def _onward() -> Array:
    """Two states, two actions: everything leads to state 1, which keeps what it gets."""
    P = np.zeros((2, 2, 2))
    P[:, :, 1] = 1.0
    return P
