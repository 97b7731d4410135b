"""The claims that `reprise theory` puts to the test, in the order of docs/theory.md."""

from __future__ import annotations

from collections.abc import Callable

from reprise.lab.theory import controls, handback, one_switch, reselection
from reprise.lab.theory.checks import Claim
from reprise.lab.theory.counterexamples import ce0, ce1, ce2, ce2_family
from reprise.lab.theory.setting import Setting


def _signed(s: Setting) -> Setting:
    return s.rewarded(2.0 * s.mdp.r - 1.0)


def _negative(s: Setting) -> Setting:
    return s.rewarded(s.mdp.r - 1.0)


def _near_ce2(s: Setting) -> Setting:
    return ce2_family(s, 1e-3 * s.error)


CORRECTED: tuple[Claim, ...] = (
    Claim(
        "lemma-a",
        "kappa R_min <= V^mu_gamma - V^mu_gbar <= kappa R_max (r in [-1, 1])",
        "hold",
        one_switch.lemma_a,
        _signed,
    ),
    Claim(
        "lemma-3-halved",
        "|V^mu - V^pi| <= (R_max - R_min)/(1-gamma)^2 E[TV] (r in [-1, 1])",
        "hold",
        one_switch.lemma_3,
        _signed,
    ),
    Claim(
        "theorem-1",
        "r >= 0, D(s) >= 0: V^mu_gamma - V^pi_gamma >= D(s)",
        "hold",
        one_switch.theorem_1,
    ),
    Claim(
        "theorem-1-two-sided",
        "D + kappa R_min <= V^mu_gamma - V^pi_gamma <= D + kappa R_max (r in [-1, 1])",
        "hold",
        one_switch.theorem_1_two_sided,
        _signed,
    ),
    Claim(
        "theorem-1-lower-bound",
        "D(s) >= -kappa R_min: V^mu_gamma >= V^pi_gamma (r in [-1, 0])",
        "hold",
        one_switch.theorem_1_lower_bound,
        _negative,
    ),
    Claim(
        "theorem-2",
        "J(eta)-J(pi) >= gamma^kh E[D - gbar^h E V^mu_gbar(s_h) + gamma^h E V^pi_gamma(s_h)]",
        "hold",
        one_switch.theorem_2,
    ),
    Claim(
        "theorem-2-eps",
        "J(eta) - J(pi) >= gamma^kh (E[D] - eps R_max/(1-gbar))",
        "hold",
        one_switch.theorem_2_eps,
    ),
    Claim(
        "theorem-2-one-segment",
        "D(s) >= 0, and D <= 0 where the segment ends: J(eta) - J(pi) >= D(s)",
        "hold",
        one_switch.theorem_2_one_segment,
        Setting.never_returning,
    ),
    Claim("theorem-3", "re-selection every h steps: U >= F", "hold", reselection.theorem_3),
    Claim(
        "corollary-noise",
        "uniform score errors in [-e, e]: U >= F - 2e/(1-gamma^h)",
        "hold",
        reselection.corollary_noise,
    ),
    Claim(
        "corollary-worst",
        "worst score errors in [-e, e]: U >= F - 2e/(1-gamma^h)",
        "hold",
        reselection.corollary_worst,
    ),
    Claim(
        "corollary-ucb",
        "bonus in [0, b]: U >= F - b/(1-gamma^h)",
        "hold",
        reselection.corollary_ucb,
    ),
    Claim(
        "optimal-task-policy",
        "pi optimal, r >= 0: no prior scores higher",
        "hold",
        reselection.optimal_task_policy,
    ),
    Claim(
        "shifted-scores",
        "scores - R_min/(1-discount): U >= V^pi_gamma, and Theorem 3 (r in [-1, 0])",
        "hold",
        reselection.shifted_scores,
        _negative,
    ),
    Claim(
        "handback",
        "re-selection at random handbacks: W >= max(V, max_i U_i) (r in [-1, 1])",
        "hold",
        handback.improvement,
        _signed,
    ),
    Claim(
        "handback-optimal",
        "pi optimal: no U_i is higher (r in [-1, 1])",
        "hold",
        handback.optimal_task_policy,
        _signed,
    ),
    Claim(
        "handback-any-constant",
        "r + b for r: no difference U_i - V changes",
        "hold",
        handback.any_constant,
    ),
)

TOO_STRONG: tuple[Claim, ...] = (
    Claim(
        "negative-rewards",
        "raw scores: U >= V^pi_gamma (r in [-1, 0])",
        "fail",
        controls.negative_rewards,
        _negative,
    ),
    Claim(
        "negative-rewards-for-ever",
        "D(s) >= 0: V^mu_gamma >= V^pi_gamma (r in [-1, 0])",
        "fail",
        controls.negative_rewards_for_ever,
        _negative,
    ),
    Claim(
        "theorem-2-without-eps",
        "J(eta) - J(pi) >= D(s) wherever the segment ends",
        "fail",
        controls.theorem_2_without_eps,
    ),
)

PRINTED: tuple[Claim, ...] = (
    Claim(
        "printed-3.1",
        "Theorem 3.1 as printed: D(s) >= 0: V^mu_gamma - V^pi_gamma >= kappa R_max",
        "fail",
        controls.printed_1,
    ),
    Claim(
        "printed-3.1-all-states",
        "Theorem 3.1 as printed, D >= 0 at all states",
        "fail",
        controls.printed_1_all_states,
    ),
    Claim(
        "printed-3.2",
        "Theorem 3.2 as printed, on random relatives of CE2",
        "fail",
        controls.printed_2,
        _near_ce2,
    ),
)

NAMED: tuple[tuple[Claim, Callable[[], Setting]], ...] = (
    (Claim("printed-3.1-ce0", "Theorem 3.1 as printed, on CE0", "fail", controls.printed_1), ce0),
    (Claim("printed-3.1-ce1", "Theorem 3.1 as printed, on CE1", "fail", controls.printed_1), ce1),
    (Claim("printed-3.2-ce2", "Theorem 3.2 as printed, on CE2", "fail", controls.printed_2), ce2),
)
