"""Re-selection every h steps: Theorem 3, its corollary, the shifted scores and weaning."""

from __future__ import annotations

import numpy as np

from reprise.lab.theory.one_switch import Margins, everywhere
from reprise.lab.theory.setting import Setting
from reprise.lab.theory.tabular import Array, Integers, optimal_policy, values


def theorem_3(s: Setting) -> Margins:
    """Greedy re-selection every h steps: U(s) >= F(s)."""
    return everywhere(s.behave(highest(s.scores)) - s.best_score)


def corollary_noise(s: Setting) -> Margins:
    """Scores with uniform errors in [-e, e]: U(s) >= F(s) - 2e/(1-gamma^h)."""
    choice = highest(s.scores + s.error[:, None, None] * s.noise)
    return _corollary(s, s.behave(choice), 2.0 * s.error)


def corollary_worst(s: Setting) -> Margins:
    """Errors in [-e, e] that select the lowest score they can: U(s) >= F(s) - 2e/(1-gamma^h)."""
    reachable = s.scores >= s.best_score[:, None] - 2.0 * s.error[:, None, None]
    choice = highest(np.where(reachable, -s.scores, -np.inf))
    return _corollary(s, s.behave(choice), 2.0 * s.error)


def corollary_ucb(s: Setting) -> Margins:
    """A bonus in [0, b] on exact scores: U(s) >= F(s) - b/(1-gamma^h)."""
    bonus = s.error[:, None, None] * (s.noise + 1.0) / 2.0
    return _corollary(s, s.behave(highest(s.scores + bonus)), s.error)


def shifted_scores(s: Setting) -> Margins:
    """Scores minus R_min/(1-discount): never worse than pi, and Theorem 3 for r - R_min."""
    shift = s.r_min / (1.0 - s.gamma)
    scores = _shifted(s)
    value = s.behave(highest(scores)) - shift[:, None]
    return everywhere(value - scores.max(axis=1))


def optimal_task_policy(s: Setting) -> Margins:
    """An optimal pi is never outscored by a prior: V*_gamma(s) >= max_i V^mu_i_gbar(s)."""
    best = values(s.mdp, optimal_policy(s.mdp, s.gamma), s.gamma)
    return everywhere(best[:, None] - s.short_values)


def highest(scores: Array) -> Integers:
    """The selection (B, S) by scores (B, 1 + K, S); the task policy wins a tie."""
    return np.asarray(np.argmax(scores, axis=1), dtype=np.int64)


def _corollary(s: Setting, value: Array, regret: Array) -> Margins:
    allowed = regret / (1.0 - s.gamma_h)
    return everywhere(value - s.best_score + allowed[:, None])


def _shifted(s: Setting) -> Array:
    """The scores of the shifted rewards r - R_min, (B, 1 + K, S)."""
    task = s.task_value - (s.r_min / (1.0 - s.gamma))[:, None]
    return np.concatenate(
        [task[:, None], s.short_values - (s.r_min / (1.0 - s.gbar))[:, None, None]], 1
    )
