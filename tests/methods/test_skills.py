"""SkillS: methods.md section 6."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.core import windows
from reprise.core.agent import flat_adam
from reprise.core.planner import Lesson
from reprise.core.replay import ReplayBuffer
from reprise.core.types import Advice, Place, Spec, Transition
from reprise.methods import scheduler
from reprise.methods.scheduler import Controller, Jump
from reprise.methods.skills import LearnedController, Stretch, skills
from reprise.runs import checkpoint
from reprise.training.loop import Progress, Training, train
from stubs import agent_of, scene
from toys import BRISK, blank_plan, line, priors, reporting, same, small

KEY = jax.random.key(0)


# --- windows ---


class Row(NamedTuple):
    """A step of a log: in which episode and segment it lies, and whether the episode ends."""

    episode: int
    segment: int
    source: int
    offset: int
    last: bool


def log(episodes: list[list[tuple[int, int]]], open_end: bool = False) -> list[Row]:
    """Rows of episodes given as (source, steps) segments; the last episode may be under way."""
    rows: list[Row] = []
    segment = 0
    for number, segments in enumerate(episodes):
        for source, steps in segments:
            rows += [Row(number, segment, source, n, False) for n in range(steps)]
            segment += 1
        if not (open_end and number == len(episodes) - 1):
            rows[-1] = rows[-1]._replace(last=True)
    return rows


def stored(rows: list[Row], capacity: int = 1_000) -> ReplayBuffer:
    """A buffer that holds them; rewards are the rows' numbers."""
    obs, action = np.zeros(1, np.float32), np.zeros(1, np.float32)
    silence = Advice.of(np.zeros((3, 1), np.float32), np.zeros((3, 1), np.float32))

    def item(number: int, row: Row) -> Any:
        reward, ended = np.float32(number), np.float32(0.0)
        here: Any = (obs + number, silence, np.int32(row.source), action, reward, ended)
        place = Place.of(row.offset, row.last)
        return Transition(*here, obs + number + 1, silence, place)  # type: ignore[arg-type]

    buffer = ReplayBuffer(capacity, item(0, rows[0]), 0)
    for number, row in enumerate(rows):
        buffer.add(item(number, row))
    return buffer


def by_hand(rows: list[Row], capacity: int, lengths: tuple[int, ...], every: bool) -> set[Any]:
    """All windows (start, length, steps), found by walking."""
    found = set()
    for start in range(max(0, len(rows) - capacity), len(rows)):
        for length in lengths:
            end = start
            while (
                end + 1 < len(rows)
                and end + 1 - start < length
                and rows[end + 1].segment == rows[start].segment
            ):
                end += 1
            steps = end - start + 1
            aligned = every or rows[start].offset % length == 0
            if rows[start].source >= 0 and aligned and (steps == length or rows[end].last):
                found.add((start, length, steps))
    return found


def by_code(buffer: ReplayBuffer, lengths: tuple[int, ...], every: bool) -> set[Any]:
    oldest = buffer.added - len(buffer)
    grid = [(start, length) for start in range(oldest, buffer.added) for length in lengths]
    starts, asked = (np.array(column) for column in zip(*grid, strict=True))
    steps = windows.fit(buffer, starts, asked, every)
    return {(int(s), int(k), int(n)) for s, k, n in zip(starts, asked, steps, strict=True) if n}


@pytest.mark.parametrize("length", [1, 3, 7, 10, 26])
def test_b_a_segment_has_as_many_windows_as_the_formulas_say(length: int) -> None:
    # Other segments of the same and of another skill on both sides, none ended by the episode.
    rows = log([[(1, 9), (1, length), (2, 5)]], open_end=True)
    mine = range(9, 9 + length)
    for every in (True, False):
        found = [w for w in by_code(stored(rows), (2, 5, 10), every) if w[0] in mine]
        fits = [k for k in (2, 5, 10) if k <= length]
        count = sum(length - k + 1 if every else length // k for k in fits)
        assert len(found) == count


SEGMENTS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)


@given(
    episodes=SEGMENTS,
    warmup=st.integers(0, 6),
    capacity=st.integers(5, 60),
    every=st.booleans(),
    open_end=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_c_windows_are_those_of_one_selection_and_one_episode_whether_or_not_the_ring_wrapped(
    episodes: list[list[tuple[int, int]]], warmup: int, capacity: int, every: bool, open_end: bool
) -> None:
    if warmup:
        episodes = [[(-1, warmup), *episodes[0]], *episodes[1:]]
    rows, lengths = log(episodes, open_end), (1, 3, 4)
    found = by_code(stored(rows, capacity), lengths, every)
    assert found == by_hand(rows, capacity, lengths, every)
    for start, _, steps in found:
        inside = rows[start : start + steps]
        assert len({(r.episode, r.segment, r.source) for r in inside}) == 1
        assert inside[0].source >= 0


def test_d_a_window_cut_by_the_end_of_its_episode_counts_with_the_steps_it_had() -> None:
    rows = log([[(1, 4), (2, 6)], [(2, 3)]])
    found = by_code(stored(rows), (4, 10), False)
    # (2, 6) is one chunk of 4 and one that the episode cut to 2; for 10 steps it was cut to 6.
    assert found == {(0, 4, 4), (4, 4, 4), (8, 4, 2), (4, 10, 6), (10, 4, 3), (10, 10, 3)}


@pytest.mark.parametrize("every", [True, False])
def test_windows_are_drawn_uniformly(every: bool) -> None:
    rows = log([[(-1, 5), (1, 7), (1, 2), (2, 4)], [(0, 6), (2, 3)]])
    buffer, lengths = stored(rows), (1, 2, 4)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(200):
        start, which, steps = windows.sample(buffer, lengths, 40, rng, overlapping=every)
        drawn += [(int(s), lengths[w], int(n)) for s, w, n in zip(start, which, steps, strict=True)]
    assert len(drawn) == 200 * 40
    expected = by_hand(rows, 1_000, lengths, every)
    share = {window: drawn.count(window) / len(drawn) for window in set(drawn)}
    assert set(share) == expected
    np.testing.assert_allclose(list(share.values()), 1 / len(expected), rtol=0.3)


def test_nothing_is_drawn_from_the_warm_up_and_the_rest_of_the_batch_does_not_count() -> None:
    planner = LearnedController(lengths=(2, 4))
    drawn = planner.draw(stored(log([[(-1, 20)]], open_end=True)), 8, (0, 0))
    assert drawn.weight.sum() == 0.0
    assert drawn.obs.shape == (8, 1) and drawn.rewards.shape == (8, 4)
    some = planner.draw(stored(log([[(-1, 300), (1, 4)]], open_end=True)), 64, (0, 0))
    assert 0 < some.weight.sum() < 64
    assert (some.obs[some.weight == 1.0] >= 300).all()


def test_a_stretch_holds_the_rewards_and_the_ends_of_its_window() -> None:
    rows = log([[(1, 4), (2, 6)]])
    planner = LearnedController(lengths=(4,))
    drawn = planner.draw(stored(rows), 64, (0, 0))
    assert (drawn.weight == 1.0).all()
    for n in range(64):
        start, steps = int(drawn.obs[n, 0]), int(drawn.steps[n])
        assert (start, steps, int(drawn.skill[n])) in {(0, 4, 1), (4, 4, 2), (8, 2, 2)}
        expected = [start + j if j < steps else 0 for j in range(4)]
        np.testing.assert_array_equal(drawn.rewards[n], expected)
        assert drawn.next_obs[n, 0] == start + steps


def test_the_draw_depends_on_the_seed_and_the_step_alone() -> None:
    buffer = stored(log([[(1, 30), (2, 30)]]))
    planner = LearnedController(lengths=(2, 4))
    before = buffer.rng.bit_generator.state
    assert same(planner.draw(buffer, 16, (3, 7)), planner.draw(buffer, 16, (3, 7)))
    assert not same(planner.draw(buffer, 16, (3, 7)), planner.draw(buffer, 16, (3, 8)))
    assert buffer.rng.bit_generator.state == before, "batches of the task policy stay as they are"


# --- the scheduler ---


def lesson(rate: float, **fields: Any) -> Lesson:
    adam = flat_adam(rate)

    def descend(params: Any, grads: Any, state: Any) -> Any:
        updates, state = adam.update(grads, state)
        return optax.apply_updates(params, updates), state

    usual: Any = {"batch": None, "drawn": (), "improve": True, "discount": 0.9, "smoothing": 1.0}
    return Lesson(**(usual | fields), descend=descend)


N, GAMMA = 12, 0.9
LEFT, RIGHT = 1, 2


def walks() -> ReplayBuffer:
    """A chain whose right end pays 1 and ends the episode; skills run for 8 steps at a time."""
    said = Advice.of(np.zeros((2, 1), np.float32), np.zeros((2, 1), np.float32))
    action, eye = np.zeros(1, np.float32), np.eye(N, dtype=np.float32)

    def item(at: int, skill: int, held: int, last: bool) -> Any:
        to = min(at + 1, N - 1) if skill == RIGHT else max(at - 1, 0)
        ends = np.float32(to == N - 1)
        place = Place.of(held, last or bool(ends))
        return to, Transition(
            eye[at], said, np.int32(skill), action, ends, ends, eye[to], said, place
        )  # type: ignore[arg-type]

    buffer = ReplayBuffer(10_000, item(0, LEFT, 0, False)[1], 0)
    for start in range(N - 1):
        for first in (LEFT, RIGHT):
            at, step, ended = start, 0, False
            while not ended:
                skill = first if step < 8 else RIGHT
                at, row = item(at, skill, step % 8, step == 39)
                buffer.add(row)
                step, ended = step + 1, bool(row.place.last)
    return buffer


def test_a_values_of_choices_never_executed_are_learned_from_windows_of_longer_ones() -> None:
    planner, spec = LearnedController(lengths=(1, 2, 4), hidden=()), Spec(N, 1, 2)
    drawn: Stretch = planner.draw(walks(), 1_500, (0, 0))
    assert drawn.weight.sum() > 1_000
    start = planner.init(KEY, spec)
    # Always to the right for 4 steps, and no entropy.
    certain = jnp.full(9, -50.0).at[RIGHT * 3 + 2].set(0.0)
    last = jnp.zeros((N, 9)), certain
    actor = eqx.tree_at(lambda net: (net.layers[0].weight, net.layers[0].bias), start.actor, last)
    start = replace(start, actor=actor, log_alpha=jnp.float32(-20.0))

    @jax.jit
    def learned(controller: Controller) -> Controller:
        batch = jax.vmap(lambda s: planner.jump(s, GAMMA))(drawn)
        rule = lesson(0.03, discount=GAMMA)
        step = lambda c, _: (scheduler.improve_critic(c, batch, rule), None)  # noqa: E731
        return jax.lax.scan(step, controller, None, 800)[0]

    q = np.asarray(jax.vmap(lambda s: scheduler.least(learned(start).critic, s))(jnp.eye(N)))
    seen = {
        (int(np.argmax(o)), int(i), int(w))
        for o, i, w in zip(drawn.obs, drawn.skill, drawn.which, strict=True)
    }
    assert {(s, RIGHT, 2) for s in range(5)} <= seen, "windows of 4 in executions of 8"
    assert len(seen) > 50
    for s, skill, which in seen:
        k = (1, 2, 4)[which]
        worth = GAMMA ** (N - 2 - s)  # the reward comes with the last of N - 1 - s steps
        if skill == LEFT:
            worth = GAMMA**k * GAMMA ** (N - 2 - max(s - k, 0))
        assert q[s, skill * 3 + which] == pytest.approx(worth, abs=0.02), (s, skill, k)


def test_the_return_of_a_window_is_discounted_and_what_follows_by_gamma_to_the_n() -> None:
    planner = LearnedController(lengths=(2, 4))
    rewards = jnp.array([1.0, 2.0, 3.0, 0.0])
    ok = jnp.ones(1, bool)
    here, number = jnp.zeros(1), jnp.float32
    s = Stretch(
        here, ok, jnp.int32(1), jnp.int32(1), rewards, jnp.int32(3), number(0), here, ok, number(1)
    )
    jump = planner.jump(s, 0.5)
    assert float(jump.reward) == pytest.approx(1.0 + 0.5 * 2.0 + 0.25 * 3.0)
    assert float(jump.discount) == pytest.approx(0.5**3), "a time limit bootstraps, after n steps"
    assert int(jump.choice) == 1 * 2 + 1
    assert float(planner.jump(s._replace(terminated=number(1)), 0.5).discount) == 0.0


def controller(choices: int = 6, obs: int = 3) -> Controller:
    bias = jnp.linspace(-0.5, 0.5, choices)
    return scheduler.begin(KEY, (obs, 8, choices), bias)


def jump(c: int = 6, **fields: Any) -> Jump:
    obs, every = jnp.array([0.3, -0.2, 0.9]), jnp.ones(c, bool)
    one = jnp.float32(1.0)
    return Jump(obs, every, jnp.int32(1), one, one, -obs, every, one)._replace(**fields)


def test_e_probabilities_add_up_to_one_over_what_can_be_chosen() -> None:
    some = jnp.array([True, True, False, False, True, True])
    for allowed in (jnp.ones(6, bool), some):
        p = np.exp(scheduler.log_probs(controller().actor, jump().obs, allowed))
        assert p.sum() == pytest.approx(1.0, rel=1e-6)
        assert (p[~np.asarray(allowed)] == 0.0).all()


def test_e_the_value_of_a_state_is_the_exact_soft_expectation() -> None:
    made = replace(controller(), log_alpha=jnp.log(0.3))
    t = jump(reward=jnp.float32(2.0), discount=jnp.float32(0.7))
    log_p = np.asarray(scheduler.log_probs(made.actor, t.next_obs, t.next_allowed), np.float64)
    twins = np.asarray([net(t.next_obs) for net in made.target], np.float64)
    value = sum(np.exp(log_p[z]) * (min(twins[:, z]) - 0.3 * log_p[z]) for z in range(6))
    assert float(scheduler.target(made, t)) == pytest.approx(2.0 + 0.7 * value, rel=1e-4)


@pytest.mark.parametrize("allowed", [[1, 1, 1, 1, 1, 1], [1, 0, 1, 0, 1, 1]])
def test_e_the_gradient_of_the_exact_expectation_is_that_of_finite_differences(
    allowed: list[int],
) -> None:
    made, mask = replace(controller(), log_alpha=jnp.log(0.3)), np.array(allowed, bool)
    t = jump(allowed=jnp.array(mask))
    grads = jax.grad(lambda actor: scheduler.actor_loss(actor, made, t)[0])(made.actor)
    logits = np.asarray(made.actor(t.obs), np.float64)
    q = np.asarray(scheduler.least(made.critic, t.obs), np.float64)

    def loss(logits: np.ndarray) -> float:
        z = logits[mask] - logits[mask].max()
        log_p = z - np.log(np.exp(z).sum())
        return float(np.sum(np.exp(log_p) * (0.3 * log_p - q[mask])))

    step = 1e-5 * np.eye(6)
    slopes = [(loss(logits + step[z]) - loss(logits - step[z])) / 2e-5 for z in range(6)]
    # The last layer's bias is added to the logits, so its gradient is theirs.
    np.testing.assert_allclose(grads.layers[-1].bias, slopes, atol=1e-5)


@pytest.mark.parametrize(("spread", "direction"), [(0.0, -1), (9.0, 1)])
def test_the_temperature_rises_when_the_scheduler_is_too_sure(
    spread: float, direction: int
) -> None:
    made = scheduler.begin(KEY, (3, 8, 6), spread * jnp.arange(6.0))
    batch = jax.tree.map(lambda x: jnp.asarray(x)[None], jump())
    after = scheduler.improve_actor(made, batch, lesson(1e-2))
    assert np.sign(float(after.log_alpha)) == direction


def test_rows_that_only_fill_the_batch_teach_nothing() -> None:
    made = controller()
    batch = jax.tree.map(lambda x: jnp.stack([x, x]), jump(weight=jnp.float32(0.0)))
    after = scheduler.improve_actor(
        scheduler.improve_critic(made, batch, lesson(1e-2)), batch, lesson(1e-2)
    )
    assert same(
        (after.actor, after.critic, after.log_alpha), (made.actor, made.critic, made.log_alpha)
    )


# --- behavior ---


def test_at_first_the_longest_duration_is_likely_and_every_skill_alike() -> None:
    planner = LearnedController(lengths=(10, 25, 50), hidden=(16,))
    made = planner.init(KEY, Spec(2, 1, 3))
    p = np.exp(scheduler.log_probs(made.actor, jnp.ones(2), jnp.ones(12, bool))).reshape(4, 3)
    np.testing.assert_allclose(p.sum(axis=0), [0.025, 0.025, 0.95], atol=0.01)
    np.testing.assert_allclose(p.sum(axis=1), 0.25, atol=0.02)


def test_durations_are_a_fifth_a_half_and_the_whole_of_h() -> None:
    durations = {h: skills(h).planner.lengths for h in (50, 70, 3)}  # type: ignore[attr-defined]
    assert durations == {50: (10, 25, 50), 70: (14, 35, 70), 3: (1, 3)}


def test_a_skill_with_nothing_usable_to_say_is_never_chosen_and_loses_control() -> None:
    planner = LearnedController(lengths=(2, 4), hidden=(8,))
    agent = agent_of(None, planner=planner.init(KEY, Spec(2, 1, 2)))
    seen = scene([0.0] * 3, True, False, True)
    select = jax.jit(lambda plan, key: planner.select(agent, plan, seen, key))
    plan = blank_plan(Spec(2, 1, 2))
    picks = {int(select(plan, jax.random.key(n)).policy) for n in range(40)}
    assert picks == {0, 2}
    held = plan._replace(policy=jnp.int32(1), remaining=jnp.int32(3))
    assert int(select(held, KEY).policy) != 1
    kept = plan._replace(policy=jnp.int32(2), remaining=jnp.int32(3))
    assert same(select(kept, KEY), kept)


QUIET = reporting(200, warmup=20, learning_starts=10_000)


def test_a_choice_lasts_as_long_as_it_says_unless_the_episode_ends() -> None:
    method = small(skills(10))
    *_, last = train(method, line(23), priors(2), steps=200, schedule=QUIET)
    rows = last.loop.replay.rows(0, 200)
    ends = np.flatnonzero(rows.place.last)
    np.testing.assert_array_equal(ends, np.arange(22, 200, 23))
    starts = [t for t in range(200) if rows.place.held[t] == 0 and rows.source[t] >= 0]
    assert starts[0] == 20
    for t, after in pairwise(starts):
        assert after - t in (2, 5, 10) or after - 1 in ends
        assert len(set(rows.source[t:after].tolist())) == 1
    assert [s.step - 1 for s in last.selections] == starts
    lengths = {len(list(run)) for _, run in groupby(rows.place.held - np.arange(200))}
    assert lengths & {2, 5, 10}


def ended(path: Path | None, save: int | None = None) -> Progress:
    """A run whose ring wraps twice, continued from a checkpoint or saved at a step."""
    schedule = replace(BRISK, capacity=60)
    options: Any = {"steps": 150, "seed": 2, "schedule": schedule}
    with Training(small(skills(10)), line(30), priors(3), **options) as training:
        training.stops = (save,) if save else ()
        if path is not None and save is None:
            assert checkpoint.load(path, training.loop, pytest.fail) is not None
        for progress in training.reports():
            if path is not None and progress.step == save:
                checkpoint.save(path, progress.loop, {})
    return progress


def test_windows_of_a_ring_that_wrapped_survive_an_exact_resume(tmp_path: Path) -> None:
    straight = ended(tmp_path, save=113)
    resumed = ended(tmp_path)
    assert straight.loop.replay.added == 150 > straight.loop.replay.capacity
    assert same(resumed.agent, straight.agent)
    assert not same(
        straight.agent.planner.critic, small(skills(10)).init(KEY, Spec(2, 1, 3)).planner.critic
    )
