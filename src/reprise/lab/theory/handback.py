"""Priors judged by what follows them, too: U_i, of docs/theory.md. Rewards may have any sign."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from reprise.lab.theory.one_switch import Margins, everywhere
from reprise.lab.theory.reselection import highest
from reprise.lab.theory.setting import Setting
from reprise.lab.theory.tabular import Array, apply, chain, optimal_policy, values


class Spell(NamedTuple):
    """Each policy's time in control, until it loses it at random: worth `own + weigh W(s')`."""

    own: Array
    """Discounted rewards until then, (B, N, S)."""
    weigh: Array
    """Discounted distribution of the state in which somebody else goes on, (B, N, S, S)."""

    def then(self, following: Array) -> Array:
        """What each is worth if what follows has these values, (B, S) -> (B, N, S)."""
        return self.own + apply(self.weigh, following[:, None])


def spells(s: Setting, pi: Array) -> Spell:
    """The task policy is in control for a step, a prior goes on with probability p = gbar / gamma.

    Every p from 0 to 1 is drawn; the method's own is 1 - 1/h.
    """
    policies = np.concatenate([pi[:, None], s.priors], axis=1)
    step, reward = chain(s.mdp.lift(), policies)
    fading = np.repeat(s.gbar[:, None], policies.shape[1], axis=1)
    fading[:, 0] = 0.0
    still = np.eye(step.shape[-1]) - fading[..., None, None] * step
    stay = np.linalg.inv(still).astype(np.float64)
    leaving = (s.gamma[:, None] - fading)[..., None, None] * step
    return Spell(apply(stay, reward), stay @ leaving)


def improvement(s: Setting) -> Margins:
    """Who has the highest of V, U_1, .. acts until its spell is over: W >= max(V, max_i U_i)."""
    spell = spells(s, s.pi)
    scores = spell.then(s.task_value)
    choice = highest(scores)
    own = np.take_along_axis(spell.own, choice[:, None], axis=1)[:, 0]
    weigh = np.take_along_axis(spell.weigh, choice[:, None, :, None], axis=1)[:, 0]
    worth = np.linalg.solve(np.eye(own.shape[-1]) - weigh, own[..., None])[..., 0]
    return everywhere(worth - scores.max(axis=1))


def optimal_task_policy(s: Setting) -> Margins:
    """An optimal pi is never outscored: V*(s) >= max_i U_i(s)."""
    pi = optimal_policy(s.mdp, s.gamma)
    best = values(s.mdp, pi, s.gamma)
    return everywhere(best[:, None] - spells(s, pi).then(best)[:, 1:])


def any_constant(s: Setting) -> Margins:
    """A constant added to all rewards changes no difference U_i - V, but for rounding."""
    leads: list[Array] = []
    for one in (s, s.rewarded(s.mdp.r - 3.0)):
        worth = spells(one, one.pi).then(one.task_value)
        leads.append(worth[:, 1:] - worth[:, :1])
    return everywhere(-np.abs(leads[1] - leads[0]))
