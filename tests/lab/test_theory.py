"""The corrected guarantees hold, cannot be tightened, and the printed ones are false."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.lab import theory
from reprise.lab.theory import controls, one_switch, reselection
from reprise.lab.theory.checks import Check, Claim, count
from reprise.lab.theory.claims import CORRECTED, NAMED, PRINTED, TOO_STRONG
from reprise.lab.theory.counterexamples import GBAR, ce0, ce1, ce2, numbers_1, numbers_2
from reprise.lab.theory.draws import GAMMAS, draw
from reprise.lab.theory.one_switch import Margins
from reprise.lab.theory.setting import Setting, exact
from reprise.lab.theory.tabular import (
    Mdp,
    action_values,
    h_step,
    one_hot,
    optimal_policy,
    switching_value,
    values,
)

STAY = Mdp(np.ones((1, 2, 1)), np.array([[0.0, 1.0]]))
"""One state: action 0 pays nothing, action 1 pays 1."""
IDLE, WORK = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])


def drawn(mdps: int, seed: int = 0) -> list[Setting]:
    return list(draw(mdps, np.random.default_rng(seed)))


def one_mdp(seed: int = 0) -> Setting:
    """A single random MDP with at least three states and two priors."""
    return next(s for s in drawn(200, seed) if s.pi.shape[1] >= 3 and s.priors.shape[1] == 2)


def claim(name: str) -> Claim:
    return next(c for c in (*CORRECTED, *TOO_STRONG, *PRINTED) if c.name == name)


# The oracle


def always(policy: np.ndarray) -> Callable[[int], np.ndarray]:
    return lambda _: policy


def naive_value(
    mdp: Mdp, acting: Callable[[int], np.ndarray], discount: float, start: int, steps: int
) -> float:
    """Follow the state distribution forward, one transition and one action at a time."""
    at = np.zeros(mdp.r.shape[0])
    at[start], total = 1.0, 0.0
    for t in range(steps):
        following = np.zeros_like(at)
        for state, action in itertools.product(*map(range, mdp.r.shape)):
            weight = at[state] * acting(t)[state, action]
            total += discount**t * weight * mdp.r[state, action]
            following += weight * mdp.P[state, action]
        at = following
    return total


def test_values_agree_with_a_loop_over_time():
    s = one_mdp()
    for b in range(2):
        mdp, pi = Mdp(s.mdp.P[b], s.mdp.r[b]), s.pi[b]
        expected = [naive_value(mdp, always(pi), 0.8, i, 150) for i in range(len(mdp.r))]
        np.testing.assert_allclose(values(s.mdp, s.pi, 0.8)[b], expected, atol=1e-10)
        np.testing.assert_allclose(values(mdp, s.pi[b], 0.8), expected, atol=1e-10)


def test_a_discount_per_mdp_is_the_same_as_one_mdp_at_a_time():
    s = one_mdp()
    together = values(s.mdp, s.pi, s.gamma)
    for b, gamma in enumerate(s.gamma):
        alone = values(Mdp(s.mdp.P[b], s.mdp.r[b]), s.pi[b], gamma)
        np.testing.assert_allclose(together[b], alone, atol=1e-10)


def test_action_values_average_to_values_and_obey_bellman():
    s = one_mdp()
    q, v = action_values(s.mdp, s.pi, s.gamma), values(s.mdp, s.pi, s.gamma)
    np.testing.assert_allclose((q * s.pi).sum(-1), v, atol=1e-10)
    following = np.einsum("bsat,bt->bsa", s.mdp.P, v)
    np.testing.assert_allclose(s.mdp.r + s.gamma[:, None, None] * following, q, atol=1e-10)


def test_a_row_that_sums_to_less_than_one_terminates():
    mdp = Mdp(np.full((1, 1, 1), 0.5), np.ones((1, 1)))
    assert values(mdp, np.ones((1, 1)), 0.8) == pytest.approx(1 / (1 - 0.8 * 0.5))


def test_h_step_rewards_agree_with_a_loop_over_time():
    s = one_mdp()
    kernel, reward = h_step(s.mdp, s.pi, 0.9, s.h)
    np.testing.assert_allclose(kernel.sum(-1), 1.0)
    for b, h in enumerate(s.h):
        mdp, pi = Mdp(s.mdp.P[b], s.mdp.r[b]), s.pi[b]
        step = np.einsum("sat,sa->st", mdp.P, s.pi[b])
        np.testing.assert_allclose(kernel[b], np.linalg.matrix_power(step, h), atol=1e-12)
        expected = [naive_value(mdp, always(pi), 0.9, i, h) for i in range(len(mdp.r))]
        np.testing.assert_allclose(reward[b], expected, atol=1e-12)


def test_switching_value_agrees_with_a_loop_that_carries_the_clock():
    s = one_mdp()
    policies = np.concatenate([s.pi[:, None], s.priors], axis=1)[0]
    mdp, h, gamma = Mdp(s.mdp.P[0], s.mdp.r[0]), 3, 0.8
    choice = np.arange(len(mdp.r)) % 3
    for start in range(len(mdp.r)):
        total, at = 0.0, {(start, -1): 1.0}
        for t in range(150):
            following: dict[tuple[int, int], float] = {}
            for (state, chosen), weight in at.items():
                who = int(choice[state]) if t % h == 0 else chosen
                total += gamma**t * weight * float(policies[who, state] @ mdp.r[state])
                for to, p in enumerate(policies[who, state] @ mdp.P[state]):
                    following[to, who] = following.get((to, who), 0.0) + weight * p
            at = following
        found = switching_value(mdp, policies, choice, gamma, h)[start]
        assert found == pytest.approx(total, abs=1e-9)


def test_the_gain_of_one_segment_agrees_with_a_loop_over_time():
    s = one_mdp()
    s = replace(s, gamma=np.full_like(s.gamma, 0.8), k=np.full_like(s.k, 2), h=np.full_like(s.h, 3))
    mdp, pi, mu = Mdp(s.mdp.P[0], s.mdp.r[0]), s.pi[0], s.priors[0, 1]

    def eta(t: int) -> np.ndarray:
        return mu if 6 <= t < 9 else pi

    for start in range(len(mdp.r)):
        alone = naive_value(mdp, always(pi), 0.8, start, 150)
        expected = naive_value(mdp, eta, 0.8, start, 150) - alone
        assert one_switch.one_segment_gain(s)[0, 1, start] == pytest.approx(expected, abs=1e-10)


def test_switching_to_one_policy_for_ever_is_that_policy():
    s = one_mdp()
    for i in range(s.priors.shape[1]):
        always = np.full(s.pi.shape[:2], 1 + i)
        np.testing.assert_allclose(s.behave(always), s.long_values[:, i], atol=1e-9)


def test_the_optimal_policy_beats_every_deterministic_policy():
    s = one_mdp()
    best = values(s.mdp, optimal_policy(s.mdp, s.gamma), s.gamma)
    states, actions = s.pi.shape[1:]
    rivals = np.array(list(itertools.product(range(actions), repeat=states)))
    everyone = values(s.mdp.lift(), one_hot(rivals, actions)[None], s.gamma[:, None])
    np.testing.assert_allclose(best, everyone.max(axis=1), atol=1e-9)


# The draws


def test_draws_have_the_stated_sizes_and_ranges():
    batches = drawn(600)
    assert sum(len(s.gamma) for s in batches) == 600
    assert {s.mdp.r.shape[1:] for s in batches} == set(itertools.product(range(2, 7), (2, 3)))
    assert {s.priors.shape[1] for s in batches} == {1, 2, 3}
    for s in batches:
        for rows in (s.mdp.P, s.pi, s.priors):
            np.testing.assert_allclose(rows.sum(-1), 1.0)
        assert s.mdp.r.min() >= 0.0 and s.mdp.r.max() <= 1.0
        assert (s.mdp.r.max(axis=(1, 2)) > 0.0).all()
        assert set(s.gamma) <= set(GAMMAS)
        assert (s.gbar <= s.gamma).all()
        assert set(s.h) <= set(range(1, 6))


def test_the_same_seed_draws_the_same_mdps():
    first, again, other = drawn(50, 3), drawn(50, 3), drawn(50, 4)
    assert all((a.mdp.P == b.mdp.P).all() for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0].gbar, other[0].gbar)


# The corrected statements hold


@pytest.mark.parametrize("tested", CORRECTED, ids=lambda c: c.name)
def test_a_corrected_statement_holds_on_every_draw_it_applies_to(tested: Claim):
    result = tested.check([tested.tally(s) for s in drawn(800, seed=11)])
    assert result.violations == 0 and result.applied > 10
    assert result.ok


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_switching_is_never_worse_than_any_score_whatever_the_seed(seed: int):
    """S7: exact values, c = 0: U(s) >= F(s)."""
    for s in drawn(30, seed):
        switching = s.behave(reselection.highest(s.scores))
        assert (switching >= s.scores.max(axis=1) - 1e-9).all()
        assert (switching >= s.task_value - 1e-9).all()


def test_an_optimal_task_policy_is_always_selected():
    """S6: pi optimal and r >= 0: the greedy selection is index 0 wherever it is not a tie."""
    for s in drawn(300):
        optimal = replace(s, pi=optimal_policy(s.mdp, s.gamma))
        chosen = reselection.highest(optimal.scores)
        tied = np.isclose(optimal.best_score, optimal.task_value, rtol=0.0, atol=1e-9)
        assert ((chosen == 0) | tied).all()
        assert (chosen == 0).mean() > 0.9


# No bound can be tightened: each one is attained


def constant_reward() -> Setting:
    s = one_mdp()
    return s.rewarded(np.ones_like(s.mdp.r))


def constant_cost() -> Setting:
    """gamma = 0.5 and gbar = 0 make D = -kappa R_min exact in floating point."""
    cost = Mdp(np.ones((1, 1, 1)), np.array([[-1.0]]))
    return exact(cost, (np.ones((1, 1)), np.ones((1, 1))), gamma=0.5, gbar=0.0)


def fork() -> Setting:
    """At the start, 1 for ever against 0 for ever; pi and mu differ there and nowhere else."""
    P = np.zeros((3, 2, 3))
    P[0, 0, 1] = P[0, 1, 2] = P[1, :, 1] = P[2, :, 2] = 1.0
    r = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    left = np.array([[1.0, 0.0]] * 3)
    right = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    return exact(Mdp(P, r), (left, right), gamma=0.9, gbar=0.5)


def idle_task_policy(h: int, gbar: float) -> Setting:
    return exact(STAY, (IDLE, WORK), gamma=0.9, gbar=gbar, h=h)


def alternating(h: int) -> Setting:
    """A ring of 2h states: pi earns 1 per step on one half, mu on the other; gbar = gamma.

    Whoever is worse at a switch point becomes the better one h steps later, so errors that always
    select the worse policy pay their 2e at every switch: U = 0 everywhere at the switch points.
    """
    states = 2 * h
    P = np.zeros((states, 2, states))
    P[np.arange(states), :, (np.arange(states) + 1) % states] = 1.0
    r = np.tile([0.0, 1.0], (states, 1))
    first = np.arange(states) < h
    pi, mu = one_hot(first.astype(np.int64), 2), one_hot((~first).astype(np.int64), 2)
    s = exact(Mdp(P, r), (pi, mu), gamma=0.9, gbar=0.9, h=h)
    gap = np.abs(s.scores[0, 0, 0] - s.scores[0, 1, 0])
    worse = np.where(s.scores == s.best_score[:, None], -1.0, 1.0)
    # The hair more than gap / 2 decides the tie for the worse policy.
    return replace(s, error=np.array([gap / 2 * (1 + 1e-12)]), noise=worse)


def alternating_bonus(h: int) -> Setting:
    s = alternating(h)
    return replace(s, error=2.0 * s.error)


def one_step() -> Setting:
    s = one_mdp()
    return replace(s, h=np.ones_like(s.h))


def same_discounts() -> Setting:
    s = one_mdp()
    return replace(s, gbar=s.gamma)


def paid_once_after_a_cost() -> Setting:
    s = ce1()
    return s.rewarded(s.mdp.r - 1.0)


TIGHT: list[tuple[str, Callable[[], Setting]]] = [
    ("lemma-a", constant_reward),
    ("lemma-3-halved", fork),
    ("theorem-1", ce1),
    ("theorem-1-two-sided", constant_reward),
    ("theorem-1-lower-bound", constant_cost),
    ("theorem-2", one_step),
    ("theorem-2", same_discounts),
    ("theorem-2-eps", lambda: idle_task_policy(h=1, gbar=0.5)),
    ("theorem-2-eps", lambda: idle_task_policy(h=4, gbar=0.9)),
    ("theorem-2-one-segment", ce1),
    ("theorem-3", ce1),
    ("corollary-noise", lambda: alternating(1)),
    ("corollary-noise", lambda: alternating(3)),
    ("corollary-worst", lambda: alternating(1)),
    ("corollary-worst", lambda: alternating(3)),
    ("corollary-ucb", lambda: alternating_bonus(1)),
    ("corollary-ucb", lambda: alternating_bonus(3)),
    ("optimal-task-policy", ce1),
    ("shifted-scores", paid_once_after_a_cost),
    ("handback", constant_reward),
    ("handback-optimal", constant_reward),
    ("handback-any-constant", constant_reward),
]


@pytest.mark.parametrize(("name", "setting"), TIGHT)
def test_a_bound_is_attained_so_it_cannot_be_tightened(name: str, setting: Callable[[], Setting]):
    margin, applies = claim(name).margins(setting())
    assert applies[..., 0].all()
    assert np.abs(margin[..., 0]).max() < 1e-9
    assert margin[applies].min() > -1e-9


def test_every_corrected_statement_has_a_case_that_attains_it():
    assert {name for name, _ in TIGHT} == {c.name for c in CORRECTED}


def test_lemma_a_is_false_with_a_thousandth_less():
    s = constant_reward()
    assert not (s.long_values - s.short_values <= 0.999 * (s.kappa * s.r_max)[:, None, None]).any()
    assert not (s.long_values - s.short_values >= 1.001 * (s.kappa * s.r_min)[:, None, None]).any()


@pytest.mark.parametrize("h", [1, 3])
def test_the_corollary_is_false_with_any_factor_below_two(h: int):
    s = alternating(h)
    switching = s.behave(reselection.highest(s.scores + s.error[:, None, None] * s.noise))
    loss = (s.best_score - switching)[0, 0] / (s.error / (1 - s.gamma_h))[0]
    assert loss == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize("h", [1, 3])
def test_the_corollary_nears_its_bound_with_a_strictly_shorter_discount_too(h: int):
    s = alternating(h)
    s = replace(s, gbar=s.gamma * (1 - 1e-5), error=1.01 * s.error)
    switching = s.behave(reselection.highest(s.scores + s.error[:, None, None] * s.noise))
    loss = (s.best_score - switching)[0, 0] / (s.error / (1 - s.gamma_h))[0]
    assert 1.95 < loss < 2.0


def test_theorem_3_is_false_with_a_prior_discount_above_gamma():
    lazy = np.array([[0.5, 0.5]])
    s = exact(STAY, (WORK, lazy), gamma=0.8, gbar=0.95, h=2)
    assert reselection.theorem_3(s).margin.max() < -1.0
    assert controls.negative_rewards(s).margin.max() < -1.0


def test_theorem_1_needs_its_hypothesis():
    s = exact(STAY, (WORK, IDLE), gamma=0.9, gbar=0.5)
    assert s.gain.max() < 0.0
    assert not one_switch.theorem_1(s).applies.any()


def test_theorem_1_with_negative_rewards_needs_the_whole_of_kappa_r_min():
    """pi at -0.5 per step against mu at -1: D is positive, and mu is twice as bad."""
    costs = Mdp(STAY.P, np.array([[-0.5, -1.0]]))
    s = exact(costs, (IDLE, WORK), gamma=0.99, gbar=GBAR)
    assert s.task_value[0, 0] == pytest.approx(-50.0)
    assert s.short_values[0, 0, 0] == pytest.approx(-5.944, abs=1e-3)
    assert s.lead.min() > 0.0 and s.gain.max() == pytest.approx(-50.0)
    assert not one_switch.theorem_1_lower_bound(s).applies.any()
    nearly = exact(Mdp(STAY.P, np.array([[-0.99, -1.0]])), (IDLE, WORK), gamma=0.99, gbar=GBAR)
    assert nearly.lead[0, 0, 0] >= -0.98 * nearly.kappa[0] * nearly.r_min[0]
    assert nearly.gain.max() < 0.0


def test_theorem_2_is_false_without_its_eps_term():
    s = idle_task_policy(h=1, gbar=0.5)
    assert controls.theorem_2_without_eps(s).margin.min() == pytest.approx(-1.0)
    assert one_switch.theorem_2_eps(s).margin.min() == pytest.approx(0.0)


def test_the_selection_gives_a_tie_to_the_task_policy():
    s = exact(STAY, (WORK, WORK), gamma=0.9, gbar=0.9)
    assert reselection.highest(s.scores).tolist() == [[0]]


# The printed theorems are false


def test_counterexample_0_gains_nothing_against_a_claim_of_94():
    assert numbers_1(ce0()) == pytest.approx((0.0, 94.056), abs=1e-3)


def test_counterexample_1_gains_1_against_a_claim_of_94():
    s = ce1()
    assert numbers_1(s) == pytest.approx((1.0, 94.056), abs=1e-3)
    assert s.r_max[0] == s.mdp.r.max() == 1.0
    assert (s.lead >= 0.0).all()
    assert s.gain[0, 0].tolist() == pytest.approx([1.0, 0.0])


def test_counterexample_2_gains_a_thousandth_against_a_claim_of_nearly_8():
    s = ce2()
    gain, claimed = numbers_2(s)
    assert gain == pytest.approx(0.001, abs=1e-9)
    assert claimed == pytest.approx(7.82, abs=1e-3)
    assert s.mdp.r[0, 1, 0] == pytest.approx(1.125e-4)
    assert s.short_values[0, 0, 1] == pytest.approx(2.25e-4)
    assert s.task_value[0, 1] == pytest.approx(1.125e-3)
    assert controls.printed_2(s).applies.tolist() == [[[True, False]]]


def test_the_corrected_theorems_hold_on_the_counterexamples():
    for s in (ce0(), ce1(), ce2()):
        for margins in (one_switch.theorem_1, one_switch.theorem_2, reselection.theorem_3):
            assert count(margins(s)).violations == 0


def test_the_printed_theorem_1_fails_on_most_pairs_that_satisfy_it():
    tested = claim("printed-3.1")
    result = tested.check([tested.tally(s) for s in drawn(1500)])
    assert result.applied > 500
    assert result.violations / result.applied > 0.7


def test_printed_theorem_2_never_applies_where_a_second_segment_follows():
    s = exact(STAY, (IDLE, WORK), gamma=0.9, gbar=0.5)
    assert not controls.printed_2(s).applies.any()
    for s in drawn(100):
        again = replace(s.never_returning(), k=np.ones_like(s.k))
        assert not controls.printed_2(again).applies.any()


@pytest.mark.parametrize("tested", [*TOO_STRONG, *PRINTED], ids=lambda c: c.name)
def test_a_false_statement_is_caught_on_random_draws(tested: Claim):
    result = tested.check([tested.tally(s) for s in drawn(800, seed=5)])
    assert result.violations > 0 and result.min_margin is not None
    assert result.min_margin < -0.1


def test_negative_rewards_break_the_guarantee_in_a_third_of_mdps_and_a_shift_restores_it():
    broken, shifted = claim("negative-rewards"), claim("shifted-scores")
    batches = drawn(1500)
    assert 0.3 < broken.check([broken.tally(s) for s in batches]).mdps_violated / 1500 < 0.5
    assert shifted.check([shifted.tally(s) for s in batches]).mdps_violated == 0


def test_a_declared_bound_below_the_true_one_is_still_safe():
    for s in drawn(200):
        costs = s.rewarded(s.mdp.r - 1.0)
        cautious = replace(costs, r_min=costs.r_min - 2.0)
        assert reselection.shifted_scores(cautious).margin.min() > -1e-9


def test_a_declared_bound_above_the_true_one_is_not_safe():
    margins = [
        reselection.shifted_scores(replace(c, r_min=0.2 * c.r_min)).margin.min()
        for c in (s.rewarded(s.mdp.r - 1.0) for s in drawn(300))
    ]
    assert min(margins) < -1.0


def test_shifted_scores_stay_safe_when_episodes_can_end_early():
    """Termination is an absorbing state that pays 0 >= R_min, so the shifted theorem covers it."""
    for s in drawn(200):
        costs = s.rewarded(s.mdp.r - 1.0)
        ending = replace(costs, mdp=Mdp(0.8 * costs.mdp.P, costs.mdp.r))
        assert reselection.shifted_scores(ending).margin.min() > -1e-9


def test_shifted_rewards_are_another_task_when_episodes_can_end_early():
    """Ending at once costs 0.5 and is best; with r - R_min in the buffer, staying looks better."""
    P = np.array([[[0.0], [1.0]]])
    leave_or_stay = Mdp(P, np.array([[-0.5, -0.1]]))
    shifted = Mdp(P, leave_or_stay.r + 0.5)
    assert optimal_policy(leave_or_stay, 0.9).tolist() == [[1.0, 0.0]]
    assert optimal_policy(shifted, 0.9).tolist() == [[0.0, 1.0]]


# The findings


def test_ten_thousand_mdps_without_a_violation_in_less_than_a_minute():
    found = theory.check(mdps=10_000, seed=0)
    assert found.ok and found.seconds < 60.0
    assert {c.mdps for c in found.checks} == {10_000, 1}
    assert all(c.violations == 0 for c in found.checks if c.expected == "hold")
    assert all(c.violations > 0 for c in found.checks if c.expected == "fail")


def test_the_json_answer_keeps_its_contract():
    found = theory.check(mdps=300, seed=2)
    answer = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert set(answer) == {"ok", "checks", "seconds"}
    assert answer["ok"] is found.ok
    contract = {"name", "mdps", "violations", "expected", "min_margin", "applied", "mdps_violated"}
    assert all(set(entry) == contract for entry in answer["checks"])
    names = [entry["name"] for entry in answer["checks"]]
    assert len(names) == len(set(names)) == len(CORRECTED + TOO_STRONG + PRINTED + NAMED)


def test_the_same_seed_finds_the_same_numbers():
    assert theory.check(100, seed=1).checks == theory.check(100, seed=1).checks
    assert theory.check(100, seed=1).checks != theory.check(100, seed=2).checks


def test_a_check_that_applied_to_nothing_is_not_ok():
    never = Claim("never", "", "hold", lambda s: Margins(s.lead, np.zeros_like(s.lead, bool)))
    result = never.check([never.tally(s) for s in drawn(20)])
    assert (result.applied, result.violations, result.min_margin) == (0, 0, None)
    assert not result.ok
    assert not theory.Findings((result,), 0.0).ok


def test_a_nan_is_a_violation_and_the_tolerance_is_small():
    applies = np.ones((3, 1), dtype=bool)
    counted = count(Margins(np.array([[np.nan], [-1e-10], [-1e-8]]), applies))
    assert counted.violations == counted.mdps_violated == 2


@pytest.mark.parametrize(("expected", "violations"), [("hold", 1), ("fail", 0)])
def test_a_surprise_is_not_ok(expected: str, violations: int):
    surprise = Check("x", "", expected, 5, 5, violations, violations, 0.0)  # type: ignore[arg-type]
    assert not surprise.ok
    assert not theory.Findings((surprise,), 0.0).ok


@pytest.mark.parametrize("mdps", [0, -5])
def test_a_check_of_no_mdps_is_refused(mdps: int):
    with pytest.raises(ValueError, match=f"mdps={mdps}"):
        theory.check(mdps=mdps)
