"""The ring of transitions, its memory, and the advice that rides in it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.core.replay import ReplayBuffer
from reprise.core.types import Advice, Transition
from reprise.methods.smec import smec
from reprise.training.loop import train
from toys import BRISK, line, priors, reporting, small


def item(number: int) -> dict[str, np.ndarray]:
    return {"x": np.full(3, number, np.float32), "n": np.int32(number)}


@given(capacity=st.integers(1, 12), added=st.integers(1, 40), seed=st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_a_sample_holds_only_the_newest_rows_that_were_written(
    capacity: int, added: int, seed: int
) -> None:
    buffer = ReplayBuffer(capacity, item(0), seed)
    for number in range(added):
        buffer.add(item(number))
    sample = buffer.sample(64).unpack()
    newest = set(range(max(0, added - capacity), added))
    assert set(sample["n"].tolist()) <= newest
    np.testing.assert_array_equal(sample["x"][:, 0], sample["n"])
    assert len(buffer) == len(newest)


@given(capacity=st.integers(1, 9), cuts=st.lists(st.integers(0, 15), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_rows_written_back_in_segments_rebuild_the_ring(capacity: int, cuts: list[int]) -> None:
    one, two = ReplayBuffer(capacity, item(0), 0), ReplayBuffer(capacity, item(0), 0)
    number = 0
    for cut in cuts:
        start = number
        for _ in range(cut):
            one.add(item(number))
            number += 1
        held = max(start, number - capacity)
        two.put(held, one.rows(held, number))
        two.added = number
    oldest = one.added - len(one)
    np.testing.assert_array_equal(
        one.rows(oldest, one.added)["n"], two.rows(oldest, two.added)["n"]
    )


def test_a_packed_sample_gives_back_every_leaf_as_it_was_written() -> None:
    row = {"flag": np.array([True, False]), "grid": np.arange(6.0).reshape(2, 3), "n": np.int32(0)}
    buffer = ReplayBuffer(8, row, 0)
    written = [
        {"flag": row["flag"] ^ bool(i % 2), "grid": row["grid"] + i, "n": np.int32(i)}
        for i in range(8)
    ]
    for one in written:
        buffer.add(one)
    sample = buffer.sample(16)
    assert len(sample.tables) == 3
    for rows in (sample.unpack(), jax.jit(lambda s: s.unpack())(sample)):
        for i, number in enumerate(np.asarray(rows["n"])):
            for name, value in written[number].items():
                np.testing.assert_array_equal(rows[name][i], value)


def test_rows_that_were_overwritten_or_never_written_cannot_be_read() -> None:
    buffer = ReplayBuffer(4, item(0), 0)
    for number in range(6):
        buffer.add(item(number))
    for start, stop in ((1, 4), (3, 7)):
        with pytest.raises(IndexError, match="are not among 2:6"):
            buffer.rows(start, stop)


def test_the_same_seed_samples_the_same_rows() -> None:
    buffers = [ReplayBuffer(50, item(0), 7) for _ in range(2)]
    for buffer in buffers:
        for number in range(50):
            buffer.add(item(number))
    one, two = (buffer.sample(32).unpack()["n"] for buffer in buffers)
    np.testing.assert_array_equal(one, two)


def test_a_million_meta_world_transitions_with_three_priors_fit_in_700_mb() -> None:
    say = Advice.of(np.zeros((3, 4), np.float32), np.zeros((3, 4), np.float32))
    obs, zero = np.zeros(39, np.float32), np.float32(0)
    row = Transition(obs, say, np.int32(0), np.zeros(4, np.float32), zero, zero, obs, say)
    assert ReplayBuffer(1_000_000, row, 0).nbytes < 700e6


def test_every_prior_is_asked_once_per_visited_state_and_never_by_an_update() -> None:
    library = priors(2)
    asked: list[np.ndarray] = []
    (ask,) = library._groups
    library._groups = [lambda obs, *rest: asked.append(obs.copy()) or ask(obs, *rest)]
    schedule = reporting(100, warmup=10, learning_starts=10)
    *_, last = train(small(smec(10, 1.0)), line(25), library, steps=100, schedule=schedule)
    resets = 1 + 100 // 25
    assert len(asked) == 100 + resets
    assert last.loop.updates > 80


def test_advice_in_the_buffer_is_what_the_priors_say_there() -> None:
    library = priors(2)
    *_, last = train(small(smec(10, 1.0)), line(25), library, steps=60, schedule=BRISK)
    rows = last.loop.replay.rows(0, 60)
    for obs, said in ((rows.obs, rows.advice), (rows.next_obs, rows.next_advice)):
        fresh = library(obs, 1)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), said, fresh)


def episodes(buffer: ReplayBuffer, *told: tuple[int, float, float]) -> None:
    """Episodes of some lengths, with whether they succeeded and what they earned."""
    for length, success, total in told:
        for _ in range(length):
            buffer.add(item(buffer.added))
        buffer.episode_ended(length, success, total)


def rows_of(buffer: ReplayBuffer, share: float) -> tuple[list[int], int]:
    sample = buffer.sample(400, share)
    return np.asarray(sample.unpack()["n"]).tolist(), int(sample.best)


def test_a_share_of_each_sample_is_of_the_episodes_that_succeeded() -> None:
    buffer = ReplayBuffer(1_000, item(0), 3)
    episodes(buffer, (50, 0.0, 90.0), (20, 1.0, 5.0), (30, 0.0, 99.0), (10, 1.0, 1.0))
    rows, best = rows_of(buffer, 0.25)
    good = {*range(50, 70), *range(100, 110)}
    assert best == 100
    assert set(rows[:100]) <= good
    counts = np.bincount(rows[:100], minlength=110)[sorted(good)]
    assert counts.sum() == 100 and (counts > 0).sum() > 20, "all of their rows, not a few"
    assert not set(rows[100:]) <= good, "the rest are drawn from everything"


def test_where_nobody_says_what_success_is_the_highest_returns_are_best() -> None:
    buffer = ReplayBuffer(1_000, item(0), 3)
    episodes(buffer, *((10, float("nan"), float(i)) for i in range(20)))
    rows, best = rows_of(buffer, 0.5)
    assert best == 200
    assert set(rows[:200]) <= set(range(180, 200)), "the best tenth: episodes 18 and 19"


@pytest.mark.parametrize("told", [(), ((30, 0.0, 10.0),), ((9, float("nan"), 1.0),) * 5])
def test_without_anything_that_stands_out_a_sample_is_uniform(told: Any) -> None:
    buffer = ReplayBuffer(1_000, item(0), 3)
    episodes(buffer, (40, *((0.0, 5.0) if not told or told[0][1] == 0.0 else told[0][1:])), *told)
    rows, best = rows_of(buffer, 0.5)
    assert best == 0
    assert len(set(rows)) > 0.9 * buffer.added


@given(
    capacity=st.integers(5, 60), seed=st.integers(0, 5),
    lengths=st.lists(st.tuples(st.integers(1, 20), st.booleans()), min_size=1, max_size=12),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_rows_of_the_best_that_were_overwritten_are_not_drawn(
    capacity: int, seed: int, lengths: list[tuple[int, bool]]
) -> None:
    buffer, good = ReplayBuffer(capacity, item(0), seed), set[int]()
    for length, success in lengths:
        start = buffer.added
        episodes(buffer, (length, float(success), 1.0))
        good |= set(range(start, buffer.added)) if success else set()
    rows, best = rows_of(buffer, 0.5)
    kept = set(range(buffer.added - len(buffer), buffer.added))
    assert set(rows) <= kept
    assert set(rows[:best]) <= good & kept
    assert best > 0 or not good & kept or not set(range(buffer.added)) <= kept


def test_the_best_episodes_are_remembered_exactly() -> None:
    one, two = (ReplayBuffer(100, item(0), 5) for _ in range(2))
    for buffer in (one, two):
        episodes(buffer, (20, 1.0, 1.0), (30, 0.0, 2.0), (10, 1.0, 3.0))
    two.highlights.put(one.highlights.episodes.copy())
    two.rng.bit_generator.state = one.rng.bit_generator.state
    for _ in range(3):
        assert rows_of(one, 0.5) == rows_of(two, 0.5)
