"""What the theorems speak about: MDPs, each with a task policy, priors, discounts and an h."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from reprise.lab.theory.tabular import Array, Integers, Mdp, h_step, switching_value, values


@dataclass(frozen=True, eq=False)
class Setting:
    """B MDPs of equal sizes; the cached properties are the exact quantities of docs/theory.md."""

    mdp: Mdp
    pi: Array
    """(B, S, A), the task policy."""
    priors: Array
    """(B, K, S, A), the prior policies mu_i."""
    gamma: Array
    gbar: Array
    h: Integers
    k: Integers
    """Segments that pi controls before the prior's segment (Theorem 2')."""
    r_min: Array
    r_max: Array
    """The reward bounds the statements may use, (B,) each."""
    error: Array
    """(B,), the largest error e of a score (Corollary)."""
    noise: Array
    """(B, 1 + K, S) in [-1, 1], the score errors in units of e."""

    @cached_property
    def kappa(self) -> Array:
        """sum_t (gamma^t - gbar^t), (B,)."""
        return (self.gamma - self.gbar) / ((1.0 - self.gamma) * (1.0 - self.gbar))

    @cached_property
    def task_value(self) -> Array:
        """V^pi_gamma, (B, S)."""
        return values(self.mdp, self.pi, self.gamma)

    @cached_property
    def long_values(self) -> Array:
        """V^mu_gamma of every prior, (B, K, S)."""
        return values(self.mdp.lift(), self.priors, self.gamma[:, None])

    @cached_property
    def short_values(self) -> Array:
        """V^mu_gbar of every prior, (B, K, S)."""
        return values(self.mdp.lift(), self.priors, self.gbar[:, None])

    @cached_property
    def lead(self) -> Array:
        """D_mu(s) = V^mu_gbar(s) - V^pi_gamma(s), (B, K, S)."""
        return self.short_values - self.task_value[:, None]

    @cached_property
    def gain(self) -> Array:
        """V^mu_gamma(s) - V^pi_gamma(s): what mu in control for ever is worth, (B, K, S)."""
        return self.long_values - self.task_value[:, None]

    @cached_property
    def scores(self) -> Array:
        """The exact scores SMEC selects by, task policy first, (B, 1 + K, S)."""
        return np.concatenate([self.task_value[:, None], self.short_values], axis=1)

    @cached_property
    def best_score(self) -> Array:
        """F(s) = max{V^pi_gamma(s), max_i V^mu_i_gbar(s)}, (B, S)."""
        return self.scores.max(axis=1)

    @cached_property
    def segments(self) -> tuple[Array, Array]:
        """Every prior's h-step kernels (B, K, S, S) and gamma-rewards (B, K, S)."""
        return h_step(self.mdp.lift(), self.priors, self.gamma[:, None], self.h[:, None])

    @property
    def gamma_h(self) -> Array:
        """gamma^h, (B,)."""
        return self.gamma**self.h

    def behave(self, choice: Integers) -> Array:
        """U(s) when choice (B, S) names who controls the h steps after each state."""
        policies = np.concatenate([self.pi[:, None], self.priors], axis=1)
        return switching_value(self.mdp, policies, choice, self.gamma, self.h)

    def rewarded(self, r: Array) -> Setting:
        """The same setting with other rewards, and the bounds those rewards attain."""
        low, high = r.min(axis=(1, 2)), r.max(axis=(1, 2))
        return replace(self, mdp=Mdp(self.mdp.P, r), r_min=low, r_max=high)

    def never_returning(self) -> Setting:
        """The same setting in which no transition enters state 0: its mass goes to the last one."""
        P = self.mdp.P.copy()
        P[..., -1] += P[..., 0]
        P[..., 0] = 0.0
        return replace(self, mdp=Mdp(P, self.mdp.r))


def exact(
    mdp: Mdp, policies: tuple[Array, ...], *, gamma: float, gbar: float, h: int = 1
) -> Setting:
    """One hand-made MDP without batch axes, task policy first: k = 0, exact scores, its bounds."""
    pi, *priors = policies
    return Setting(
        mdp=Mdp(mdp.P[None], mdp.r[None]),
        pi=pi[None],
        priors=np.stack(priors)[None],
        gamma=np.array([gamma]),
        gbar=np.array([gbar]),
        h=np.array([h]),
        k=np.array([0]),
        r_min=np.array([mdp.r.min()]),
        r_max=np.array([mdp.r.max()]),
        error=np.zeros(1),
        noise=np.zeros((1, 1 + len(priors), len(pi))),
    )
