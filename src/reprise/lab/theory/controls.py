"""Statements that do not hold, and must be seen to fail: the printed theorems, negative rewards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from reprise.lab.theory.one_switch import (
    Margins,
    everywhere,
    one_segment_gain,
    theorem_1_lower_bound,
)
from reprise.lab.theory.reselection import highest
from reprise.lab.theory.setting import Setting
from reprise.lab.theory.tabular import Array, chain


def printed_1(s: Setting) -> Margins:
    """Theorem 3.1 as printed: D_mu(s) >= 0 gives V^mu_gamma(s) - V^pi_gamma(s) >= kappa R_max."""
    claimed = (s.kappa * s.r_max)[:, None, None]
    return Margins(s.gain - claimed, s.lead >= 0.0)


def printed_1_all_states(s: Setting) -> Margins:
    """Theorem 3.1 as printed, read strictly: D_mu >= 0 at all states at once."""
    margin, applies = printed_1(s)
    return Margins(margin, np.broadcast_to(applies.all(axis=-1, keepdims=True), applies.shape))


def printed_2(s: Setting) -> Margins:
    """Theorem 3.2 as printed, k=0, where exactly one segment is a prior's."""
    return Margins(one_segment_gain(s) - printed_2_bound(s)[..., None], _single_segment(s))


def printed_2_bound(s: Setting) -> Array:
    """gamma^kh kappa R_max - gamma^((k+1)h) R_max/(1-gamma)^2 ||mu - pi||_inf, (B, K)."""
    distance = np.abs(s.priors - s.pi[:, None]).sum(axis=-1).max(axis=-1)
    first = s.gamma ** (s.k * s.h) * s.kappa * s.r_max
    second = s.gamma ** ((s.k + 1) * s.h) * s.r_max / (1.0 - s.gamma) ** 2
    return first[:, None] - second[:, None] * distance


def negative_rewards(s: Setting) -> Margins:
    """Theorem 3 without r >= 0: greedy switching is not worse than pi, state by state."""
    return everywhere(s.behave(highest(s.scores)) - s.task_value)


def negative_rewards_for_ever(s: Setting) -> Margins:
    """Theorem 1' without r >= 0: D_mu(s) >= 0 is enough for mu not to be worse than pi."""
    return Margins(theorem_1_lower_bound(s).margin, s.lead >= 0.0)


def theorem_2_without_eps(s: Setting) -> Margins:
    """Theorem 2' (i) without its eps term: J(eta) - J(pi) >= D_mu(s), at k=0."""
    start = np.broadcast_to((s.k == 0)[:, None, None], s.lead.shape)
    return Margins(one_segment_gain(s) - s.lead, start)


def _single_segment(s: Setting) -> NDArray[np.bool_]:
    """Where mu is selected at the start, and no prior at any state reached after its segment."""
    kernel, _ = s.segments
    step, _ = chain(s.mdp, s.pi)
    reached = kernel @ _reachable(step)[:, None] > 0.0
    selectable = s.lead.max(axis=1) >= 0.0
    again = np.any(reached & selectable[:, None, None, :], axis=-1)
    return (s.k == 0)[:, None, None] & (s.lead >= 0.0) & ~again


def _reachable(step: Array) -> Array:
    """1 where a chain can ever get from s to s', else 0; by squaring, so exactly."""
    reach = (step > 0.0) | np.eye(step.shape[-1], dtype=np.bool_)
    for _ in range(step.shape[-1].bit_length()):
        counts = reach.astype(np.float64)
        reach = counts @ counts > 0.0
    return reach.astype(np.float64)
