"""One switch: the lemmas and Theorems 1' and 2'. A margin below zero is a violation.

Letters and numbers are those of docs/theory.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reprise.lab.theory.setting import Setting
from reprise.lab.theory.tabular import Array, apply, chain, discounted, h_step


class Margins(NamedTuple):
    """Left side minus right side, and the cases in which the hypothesis held; B first in both."""

    margin: Array
    applies: NDArray[np.bool_]


def everywhere(margin: Array) -> Margins:
    """Margins of a statement without a hypothesis."""
    return Margins(margin, np.ones(margin.shape, dtype=np.bool_))


def lemma_a(s: Setting) -> Margins:
    """kappa R_min <= V^mu_gamma - V^mu_gbar <= kappa R_max, at every state, any sign of r."""
    difference = s.long_values - s.short_values
    low, high = _cases(s.kappa * s.r_min), _cases(s.kappa * s.r_max)
    return everywhere(np.minimum(difference - low, high - difference))


def lemma_3(s: Setting) -> Margins:
    """|V^mu - V^pi| <= (R_max - R_min)/(1-gamma)^2 E_{d^pi}[TV], half the printed constant."""
    distance = 0.5 * np.abs(s.priors - s.pi[:, None]).sum(axis=-1)
    # (I - gamma P_pi)^-1 TV = E_{d^pi}[TV] / (1 - gamma), which leaves one factor for the span.
    step, _ = chain(s.mdp, s.pi)
    visited = discounted(step[:, None], distance, s.gamma[:, None])
    span = (s.r_max - s.r_min) / (1.0 - s.gamma)
    return everywhere(_cases(span) * visited - np.abs(s.gain))


def theorem_1(s: Setting) -> Margins:
    """With r >= 0 and D_mu(s) >= 0: V^mu_gamma(s) - V^pi_gamma(s) >= D_mu(s)."""
    return Margins(s.gain - s.lead, s.lead >= 0.0)


def theorem_1_two_sided(s: Setting) -> Margins:
    """D + kappa R_min <= V^mu_gamma - V^pi_gamma <= D + kappa R_max, any sign of r."""
    low, high = s.lead + _cases(s.kappa * s.r_min), s.lead + _cases(s.kappa * s.r_max)
    return everywhere(np.minimum(s.gain - low, high - s.gain))


def theorem_1_lower_bound(s: Setting) -> Margins:
    """With D_mu(s) >= -kappa R_min, mu in control is not worse than pi, any sign of r."""
    return Margins(s.gain, s.lead >= -_cases(s.kappa * s.r_min))


def theorem_2(s: Setting) -> Margins:
    """J(eta)-J(pi) >= gamma^kh E[D - gbar^h E_mu V^mu_gbar(s_h) + gamma^h E_mu V^pi_gamma(s_h)]."""
    kernel, _ = s.segments
    lost = _cases(s.gbar**s.h) * apply(kernel, s.short_values)
    kept = _cases(s.gamma_h) * apply(kernel, s.task_value[:, None])
    return everywhere(one_segment_gain(s) - _from_segment_start(s, s.lead - lost + kept))


def theorem_2_eps(s: Setting) -> Margins:
    """J(eta) - J(pi) >= gamma^kh (E[D] - eps R_max/(1-gbar)), with eps = gbar^h."""
    lost = _cases(s.gbar**s.h * s.r_max / (1.0 - s.gbar))
    return everywhere(one_segment_gain(s) - _from_segment_start(s, s.lead - lost))


def theorem_2_one_segment(s: Setting) -> Margins:
    """k=0, D(s) >= 0 and D <= 0 wherever the segment can end: J(eta) - J(pi) >= D(s) >= 0."""
    kernel, _ = s.segments
    ended = np.where(kernel > 0.0, s.lead[:, :, None, :], -np.inf).max(axis=-1)
    start = (s.k == 0)[:, None, None]
    return Margins(one_segment_gain(s) - s.lead, start & (s.lead >= 0.0) & (ended <= 0.0))


def one_segment_gain(s: Setting) -> Array:
    """J(eta) - J(pi) from every state: pi for k h steps, mu for h, then pi again, (B, K, S)."""
    kernel, reward = s.segments
    segment = reward + _cases(s.gamma_h) * apply(kernel, s.task_value[:, None])
    _, before = h_step(s.mdp, s.pi, s.gamma, s.k * s.h)
    return before[:, None] + _from_segment_start(s, segment) - s.task_value[:, None]


def _from_segment_start(s: Setting, value: Array) -> Array:
    """gamma^kh E_{s ~ P^pi_kh} value(s), for value (B, K, S)."""
    kernel, _ = h_step(s.mdp, s.pi, s.gamma, s.k * s.h)
    return _cases(s.gamma ** (s.k * s.h)) * apply(kernel[:, None], value)


def _cases(per_mdp: Array) -> Array:
    """(B,) against (B, K, S)."""
    return per_mdp[:, None, None]
