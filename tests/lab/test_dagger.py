"""DAgger: what is learned, from which states, and as which policy; scripted experts; builds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.core.layers import Mlp
from reprise.core.types import EDGE, LOG_STD_RANGE, Gaussian
from reprise.lab.make import build
from reprise.lab.make import metaworld as building
from reprise.lab.make.dagger import LOG_STD, Lessons, Round, dagger, fold, measure, visit
from reprise.priors import Card, Policy, load, save, zoo
from reprise.priors.formats.scripted import expert, teacher
from reprise.tasks import Task, find
from reprise.tasks.metaworld import NAMES
from reprise.training.evaluate import Evaluation, episode_seeds, evaluate
from toys import line, same

CARD = Card(2, 1, (-1.0,), (1.0,), (), "homing", kind="scripted")
QUICK = Lessons(shown=4, practiced=2, horizon=20, updates=60, batch=32, hidden=(16, 16), rounds=2)


def homing(obs: np.ndarray) -> Gaussian:
    """The expert on the line: toward the origin."""
    return Gaussian.deterministic(-3.0 * obs[:, :1])


def course(lessons: Lessons = QUICK, seed: int = 0, task: Task | None = None) -> list[Round]:
    return list(dagger(homing, task or line(), CARD, lessons, seed))


# --- the course ---


def test_an_expert_on_a_line_is_imitated_until_every_episode_succeeds() -> None:
    last = course(replace(QUICK, updates=400, learning_rate=3e-3))[-1].policy
    found = evaluate(lambda obs: np.tanh(last(obs).mean), line(), episode_seeds(0, 9, 0, 20))
    assert found.success_any == 1.0
    states, _ = visit(lambda obs: np.tanh(last(obs).mean), line(), episode_seeds(0, 9, 1, 5))
    ours, theirs = np.tanh(last(states).mean), np.tanh(homing(states).mean)
    assert np.abs(ours - theirs).mean() < 0.1 < np.abs(theirs).mean()


def test_a_course_is_one_round_of_watching_and_then_the_rounds_asked_for() -> None:
    rounds = course()
    assert [made.number for made in rounds] == [0, 1, 2]
    assert rounds[0].practice == 1.0, "the expert's own"
    assert not same(rounds[0].policy.weights, rounds[1].policy.weights)


def test_the_same_seed_gives_the_same_policies_and_another_seed_others() -> None:
    one, two, other = course(), course(), course(seed=1)
    for a, b, c in zip(one, two, other, strict=True):
        assert same((a.policy.weights, a.policy.biases), (b.policy.weights, b.policy.biases))
        assert not same(a.policy.weights, c.policy.weights)


def test_rounds_to_come_do_not_change_the_rounds_before_them() -> None:
    """What is not yet filled of the notes is never learned from."""
    short, long = course(), course(replace(QUICK, rounds=5))
    assert same([r.policy.weights for r in short], [r.policy.weights for r in long[:3]])


def test_after_the_first_round_the_expert_speaks_about_the_learners_states() -> None:
    heard: list[np.ndarray] = []

    def listening(obs: np.ndarray) -> Gaussian:
        heard.append(obs.copy())
        return homing(obs)

    made = list(dagger(listening, line(), CARD, QUICK, 0))
    corrected = [obs for obs in heard if len(obs) == QUICK.practiced * QUICK.horizon]
    assert len(corrected) == QUICK.rounds
    policy = made[0].policy
    seeds = episode_seeds(0, 4, 1, QUICK.practiced)
    short = replace(line(), horizon=QUICK.horizon)
    visited, practice = visit(lambda obs: np.tanh(policy(obs).mean), short, seeds)
    assert np.array_equal(corrected[0], visited) and made[1].practice == practice


def test_states_are_those_before_each_action_and_success_is_counted() -> None:
    obs, success = visit(lambda obs: np.zeros((len(obs), 1)), line(horizon=5), [1, 2, 3])
    assert obs.shape == (15, 2) and success == 0.0
    assert np.array_equal(obs[:3], obs[3:6]), "nobody moved"


def test_an_episode_is_never_longer_than_the_tasks() -> None:
    heard: list[int] = []

    def listening(obs: np.ndarray) -> Gaussian:
        heard.append(len(obs))
        return homing(obs)

    next(dagger(listening, line(horizon=6), CARD, QUICK, 0))
    assert heard[-1] == 6 * QUICK.shown


# --- the policy ---


def test_scaling_is_folded_into_the_first_layer_and_the_width_is_constant() -> None:
    rng = np.random.default_rng(0)
    obs = (rng.normal(size=(50, 3)) * [0.01, 1.0, 30.0] + [5.0, -1.0, 0.0]).astype(np.float32)
    student, scale = Mlp((3, 32, 32, 2), jax.random.key(0)), measure(obs)
    card = Card(3, 2, (-1.0,) * 2, (1.0,) * 2, (32, 32), "folded")
    mean, log_std = fold(student, scale, card)(obs)
    expected = jax.vmap(student)(((obs - scale.mean) / scale.std).astype(np.float32))
    np.testing.assert_allclose(mean, expected, atol=2e-5)
    assert (np.asarray(log_std) == LOG_STD).all()


def test_what_hardly_varies_is_not_blown_up() -> None:
    obs = np.full((10, 2), 3.0, np.float32)
    obs[:, 1] = np.arange(10)
    scale = measure(obs)
    assert scale.mean.tolist() == [3.0, 4.5]
    assert scale.std.tolist() == [0.2, pytest.approx(np.std(np.arange(10)))]


def test_a_taught_policy_is_a_policy_file(tmp_path: Path) -> None:
    made = course(replace(QUICK, rounds=0))[0].policy
    save(tmp_path / "p", made)
    loaded = load(tmp_path / "p")
    assert loaded.card.kind == "gaussian-mlp" and loaded.card.hidden == QUICK.hidden
    assert same(loaded.weights, made.weights)


# --- scripted experts ---


def test_a_deterministic_gaussian_is_as_narrow_as_they_come_and_clipped() -> None:
    action = np.array([[0.0, 0.5, -7.0, 1.0]], np.float32)
    mean, log_std = Gaussian.deterministic(action)
    np.testing.assert_allclose(np.tanh(mean), [[0.0, 0.5, -EDGE, EDGE]], atol=1e-6)
    assert (log_std == LOG_STD_RANGE[0]).all() and np.isfinite(mean).all()


@pytest.mark.parametrize("name", NAMES)
def test_an_expert_has_no_memory_and_leaves_what_it_is_shown_alone(name: str) -> None:
    pytest.importorskip("metaworld")
    script = expert(name)
    obs = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 39))
    shown = obs.copy()
    mean, _ = script(shown)
    assert mean.shape == (6, 4) and np.isfinite(mean).all()
    assert np.array_equal(shown, obs)
    assert np.array_equal(script(obs[::-1]).mean, mean[::-1])
    assert np.array_equal(script(obs[2:3]).mean, mean[2:3])
    assert (script.card.obs_dim, script.card.action_dim) == (39, 4)
    assert script.card.task == f"metaworld/{name}"


def test_a_teacher_is_the_expert_without_its_bad_habits() -> None:
    pytest.importorskip("metaworld")
    obs = np.random.default_rng(0).uniform(0.0, 1.0, (6, 39))
    obs[0, 4:7] = obs[0, :3]  # the hand is at the puck
    moved = obs + np.eye(39)[-2] * -0.024
    assert np.array_equal(teacher("push")(obs).mean, expert("push")(obs).mean)
    ours, theirs = teacher("stick-pull")(obs).mean, expert("stick-pull")(moved).mean
    np.testing.assert_allclose(np.tanh(ours), np.tanh(theirs), atol=1e-6)
    fingers = np.tanh(np.asarray(teacher("push-back")(obs).mean))[:, -1]
    np.testing.assert_allclose(fingers, [0.9, -1, -1, -1, -1, -1], atol=1e-5)


def test_an_unknown_expert_is_an_error_with_the_nearest_names() -> None:
    with pytest.raises(UserError, match=r"'push-wal'.*push-wall"):
        expert("push-wal")


def test_an_expert_solves_its_task() -> None:
    pytest.importorskip("metaworld")
    script, task = expert("reach"), replace(find("metaworld/reach"), horizon=120)
    found = evaluate(lambda obs: np.tanh(script(obs).mean), task, [1, 2, 3])
    assert found.success_any == 1.0


# --- builds ---

TINY = Lessons(shown=1, practiced=1, horizon=4, updates=3, batch=8, hidden=(8,), rounds=3)


def outcome(success: float) -> Evaluation:
    return Evaluation(50, success, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A builder of one policy, whose measurements are these, one after the other."""
    pytest.importorskip("metaworld")
    wanted = building.Wanted("reach", 0.95, 1.0, 0, 0.75, (TINY,), (100,))
    monkeypatch.setattr(building, "METAWORLD", {"reach": wanted})
    successes: list[float] = []

    def measured(policy: Policy, task: Task, seeds: list[int]) -> Evaluation:
        return outcome(successes.pop(0))

    monkeypatch.setattr(building, "measured", measured)
    monkeypatch.setattr(
        building, "dagger", lambda *given: (r._replace(practice=1.0) for r in dagger(*given))
    )
    return successes


def test_a_policy_is_accepted_on_some_seeds_and_its_success_is_measured_on_others(
    judged: list[float], tmp_path: Path
) -> None:
    judged += [0.5, 1.0, 0.9, 0.96, 0.98]
    (card,) = build("metaworld", tmp_path)
    assert judged == [], "0.5 failed the gate, 0.9 the measurement; the third passed both"
    assert card.success == {"metaworld/reach": 0.98} and card.name == "reach"
    assert load(tmp_path / "reach").card == card


def test_a_build_that_was_interrupted_keeps_what_is_finished(
    judged: list[float], tmp_path: Path
) -> None:
    judged += [1.0, 1.0]
    first = build("metaworld", tmp_path)
    assert build("metaworld", tmp_path) == first, "nothing was measured again"
    judged += [1.0, 1.0]
    assert build("metaworld", tmp_path, seed=1) != first


def test_a_build_that_never_succeeds_says_which_policy_and_how_often_it_should(
    judged: list[float], tmp_path: Path
) -> None:
    judged += [0.1] * 4
    with pytest.raises(UserError, match=r"no 'reach' succeeds in 95% to 100%"):
        build("metaworld", tmp_path)


def test_a_policy_is_not_even_looked_at_before_its_round_or_after_bad_practice(
    judged: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    practice = iter([1.0, 1.0, 0.5, 0.8])
    monkeypatch.setattr(
        building,
        "dagger",
        lambda *given: (r._replace(practice=next(practice)) for r in dagger(*given)),
    )
    late = building.METAWORLD["reach"]._replace(first=1)
    monkeypatch.setattr(building, "METAWORLD", {"reach": late})
    judged += [0.5, 1.0, 1.0]
    build("metaworld", tmp_path)
    assert judged == [], "rounds 1 and 3 were looked at, 3 passed"
    assert next(practice, None) is None


def test_courses_are_tried_one_after_the_other(
    judged: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    courses = tuple(replace(TINY, rounds=0, hidden=(size,)) for size in (4, 6, 8))
    several = building.METAWORLD["reach"]._replace(courses=courses)
    monkeypatch.setattr(building, "METAWORLD", {"reach": several})
    judged += [0.1, 1.0, 1.0]
    (card,) = build("metaworld", tmp_path)
    assert card.hidden == (6,)


def test_by_sac_the_same_policies_are_learned_on_larger_and_larger_budgets(
    judged: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    made = course(replace(QUICK, rounds=0))[0].policy

    def scratch(task: Task, runs: Path, seed: int, steps: int) -> Policy:
        asked.append(steps)
        return made

    monkeypatch.setattr(building, "trained", scratch)
    wanted = building.METAWORLD["reach"]._replace(budgets=(10, 20, 30))
    monkeypatch.setattr(building, "METAWORLD", {"reach": wanted})
    judged += [0.2, 1.0, 1.0]
    (card,) = build("metaworld", tmp_path, by="sac")
    assert asked == [10, 20] and card.origin == "reprise sac, seed 0"


def test_point_mazes_have_no_expert(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dagger"):
        build("pointmaze", tmp_path, by="dagger")


def test_the_weak_policies_are_wanted_between_20_and_60_percent() -> None:
    weak = {name: w for name, w in building.METAWORLD.items() if name.endswith("-weak")}
    assert set(weak) == {"stick-pull-weak", "coffee-pull-weak"}
    for name, wanted in weak.items():
        assert wanted.task == name.removesuffix("-weak")
        assert [wanted.fits(s) for s in (0.1, 0.2, 0.6, 0.7)] == [False, True, True, False]


# --- the shipped zoo ---


@pytest.mark.parametrize("name", building.METAWORLD)
def test_a_shipped_policy_is_what_its_recipe_wants(name: str) -> None:
    folder, wanted = zoo() / "metaworld" / name, building.METAWORLD[name]
    card = load(folder).card
    assert (card.obs_dim, card.action_dim, card.name) == (39, 4, name)
    assert card.task == f"metaworld/{wanted.task}"
    assert wanted.fits(card.success[card.task])
    assert (folder / "policy.safetensors").stat().st_size <= 500_000


@pytest.mark.parametrize("name", ["push", "hammer"])
def test_a_shipped_policy_still_does_what_it_did(name: str) -> None:
    pytest.importorskip("metaworld")
    policy = load(zoo() / "metaworld" / name)
    task = replace(find(f"metaworld/{name}"), horizon=200)
    found = evaluate(lambda obs: np.tanh(policy(obs).mean), task, episode_seeds(7, 7, 0, 4))
    assert found.success_any >= 0.75
