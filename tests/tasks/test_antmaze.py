"""Ant mazes: the maps, the rewards, the mishaps, exact snapshots, and priors by symmetry."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.lab.make import antmaze as building
from reprise.lab.make.antmaze import TURNS, turn
from reprise.methods import scratch
from reprise.priors import Priors, load
from reprise.tasks import Arena, find, listed
from reprise.tasks.antmaze import CELL, MAPS, AntMaze, inside_a_wall
from reprise.tasks.legs import Symmetry, by_compass, renaming, turning
from reprise.tasks.pointmaze import CORNERS, empty
from reprise.training.loop import train
from toys import BRISK, small
from toys import policy as random_policy

STILL = np.zeros(8, np.float32)
TASKS = (*(f"antmaze/{name}" for name in MAPS), "antmaze/empty-sw")
LAYOUT = {
    "u": ({(2, 1), (2, 2)}, (1, 1), (3, 1)),
    "mirrored-u": ({(2, 2), (2, 3)}, (1, 3), (3, 3)),
    "pi": ({(1, 2), (2, 2)}, (1, 1), (1, 3)),
}
"""Inner walls, start and goal as (row, column), counted from the top left."""


def middle(cell: tuple[int, int]) -> tuple[float, float]:
    """Of a cell in meters: 4 per cell, the middle cell (2, 2) at (0, 0), rows going south."""
    row, column = cell
    return 4.0 * (column - 2), 4.0 * (2 - row)


def rows_of(name: str) -> tuple[str, ...]:
    return tuple(MAPS[name].split())


@pytest.fixture
def u() -> Iterator[AntMaze]:
    env = AntMaze(rows_of("u"))
    env.reset(seed=0)
    yield env
    env.close()


@pytest.fixture
def empty_ne() -> Iterator[AntMaze]:
    env = AntMaze(empty(5), corner=CORNERS["ne"])
    env.reset(seed=0)
    yield env
    env.close()


def put(env: AntMaze, x: float, y: float, *, on_its_back: bool = False) -> None:
    """At rest, somewhere."""
    ant: Any = env._ant
    pose = ant.init_qpos.copy()
    pose[:2] = x, y
    if on_its_back:
        pose[2:7] = 0.3, 0.0, 1.0, 0.0, 0.0
    ant.set_state(pose, np.zeros(14))


def raw(env: AntMaze, seed: int | None = None) -> np.ndarray:
    """The simulator's own numbers, legs named as they were built."""
    ant: Any = env._ant
    if seed is not None:
        env.reset(seed=seed)
    return np.concatenate([ant.data.qpos, ant.data.qvel])


# --- maps ---


@pytest.mark.parametrize("name", MAPS)
def test_a_map_has_its_walls_start_and_goal_where_they_belong(name: str) -> None:
    walls, start, goal = LAYOUT[name]
    border = {(i, j) for i in range(5) for j in range(5) if {i, j} & {0, 4}}
    found: dict[str, set[tuple[int, int]]] = {mark: set() for mark in "#.rg"}
    for i, row in enumerate(rows_of(name)):
        for j, mark in enumerate(row):
            found[mark].add((i, j))
    assert (found["#"], found["r"], found["g"]) == (border | walls, {start}, {goal})


@pytest.mark.parametrize("name", MAPS)
def test_the_picture_is_where_the_simulator_has_its_walls(name: str) -> None:
    env, picture = AntMaze(rows_of(name)), find(f"antmaze/{name}").picture
    try:
        model: Any = env._ant.model
        boxes = {
            (*(block.pos - block.size)[:2], *(block.pos + block.size)[:2])
            for block in map(model.geom, range(model.ngeom))
            if block.name.startswith("block_")
        }
    finally:
        env.close()
    assert picture is not None and boxes == set(picture.walls)
    assert (picture.start, picture.goal) == tuple(middle(cell) for cell in LAYOUT[name][1:])


def test_a_point_is_inside_a_wall_where_the_picture_has_one() -> None:
    picture = find("antmaze/pi").picture
    assert picture is not None
    for x, y in np.random.default_rng(0).uniform(-10.0, 10.0, (500, 2)):
        drawn = any(x0 <= x <= x1 and y0 <= y <= y1 for x0, y0, x1, y1 in picture.walls)
        assert inside_a_wall(rows_of("pi"), x, y) == drawn
    assert inside_a_wall(rows_of("pi"), 10.5, 0.0), "outside of the map"


def test_every_ant_maze_is_listed_with_its_set_and_time_limit() -> None:
    ours = {name: task for name, task in listed().items() if name.startswith("antmaze/")}
    mazes = {f"antmaze/{name}": (("antmaze",), 700, 70) for name in LAYOUT}
    dense = {f"antmaze/empty-{name}": (("antmaze-priors",), 200, 20) for name in CORNERS}
    assert {n: (t.sets, t.horizon, t.h) for n, t in ours.items()} == mazes | dense


def test_a_maze_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(inner))
    AntMaze(rows_of("u")).close()
    assert list(tmp_path.rglob("*")) == [inner]


# --- episodes ---


def test_an_observation_is_the_positions_and_the_velocities(u: AntMaze) -> None:
    obs = u.step(np.ones(8, np.float32))[0]
    assert obs.shape == (15 + 14,) == u.observation_space.shape
    assert np.array_equal(obs, raw(u)), "it heads east, so its legs are named as they were built"
    assert u.position() == tuple(obs[:2])


def test_an_action_lasts_a_tenth_of_a_second_and_pulls_with_30_newton_meters(u: AntMaze) -> None:
    data: Any = u._ant.data
    before = data.time
    u.step(np.array([1.0, -1.0, 0.5, 0, 0, 0, 0, 0], np.float32))
    assert data.time - before == pytest.approx(0.1)
    assert data.qfrc_actuator[[12, 13, 6]] == pytest.approx([30.0, -30.0, 15.0])


@pytest.mark.parametrize("name", MAPS)
def test_an_ant_starts_at_rest_near_the_middle_of_its_cell_facing_east(name: str) -> None:
    env = AntMaze(rows_of(name))
    starts = np.array([env.reset(seed=seed)[0] for seed in range(30)])
    env.close()
    offset = starts[:, :2] - middle(LAYOUT[name][1])
    assert 0.7 < np.abs(offset).max() <= 1.0
    assert len(np.unique(offset, axis=0)) == 30
    assert (starts[:, 3:7] == [1.0, 0.0, 0.0, 0.0]).all() and not starts[:, 15:].any()


@pytest.mark.parametrize("name", MAPS)
def test_the_goal_pays_100_and_ends_the_episode_within_half_a_meter(name: str) -> None:
    env = AntMaze(rows_of(name))
    x, y = middle(LAYOUT[name][2])
    for seed, (distance, reached) in enumerate(((0.0, True), (0.45, True), (0.55, False))):
        env.reset(seed=seed)
        put(env, x - distance * np.sign(x), y)
        _, reward, terminated, truncated, info = env.step(STILL)
        expected = (100.0 * reached, reached, False, reached)
        assert (reward, terminated, truncated, info["success"]) == expected
    env.close()


def test_away_from_the_goal_every_reward_is_zero_until_the_time_limit() -> None:
    arena = find("antmaze/u").open()
    arena.reset(0)
    arena._clock = 690  # or it would take 700 steps of a slow simulator
    steps = [arena.step(STILL) for _ in range(10)]
    arena.close()
    assert [step.truncated for step in steps] == [False] * 9 + [True]
    assert not any(step.reward or step.terminated or step.success for step in steps)


@pytest.mark.parametrize("task", TASKS)
def test_an_episode_depends_on_its_seed_and_on_nothing_that_came_before(task: str) -> None:
    one, two = find(task).open(), find(task).open()
    walk(two, 4, 20)
    assert walk(one, 3, 500) == walk(two, 3, 500)
    assert not np.array_equal(one.reset(4), one.reset(3))
    one.close()
    two.close()


def test_walls_stop_an_ant_that_runs_into_them(u: AntMaze) -> None:
    ant: Any = u._ant
    for course in ((-1, 0), (0, 1), (0, -1)):
        put(u, *middle((1, 1)))
        motion = np.zeros(14)
        motion[:2] = 6.0 * np.array(course)
        ant.set_state(ant.data.qpos, motion)
        before = np.array(u.position())
        infos = [u.step(STILL)[4] for _ in range(15)]
        assert np.dot(np.array(u.position()) - before, course) > 0.5, "it ran"
        assert infos[-1]["wall_crossings"] == 0


# --- mishaps ---


def test_an_ant_inside_a_wall_ends_its_episode_with_nothing(u: AntMaze) -> None:
    put(u, *middle((2, 2)))
    _, reward, terminated, _, info = u.step(STILL)
    assert (reward, terminated, info["success"], info["wall_crossings"]) == (0.0, True, False, 1)
    assert u.reset(seed=1)[1]["wall_crossings"] == 0


@pytest.mark.parametrize("corner", [None, CORNERS["ne"]])
def test_an_ant_on_its_back_ends_its_episode_with_nothing(corner: tuple[int, int] | None) -> None:
    env = AntMaze(rows_of("u"), corner)
    env.reset(seed=0)
    for on_its_back in (False, True):
        put(env, *middle((1, 2)), on_its_back=on_its_back)
        _, reward, terminated, truncated, info = env.step(STILL)
        assert (terminated, truncated, info["flips"]) == (on_its_back, False, int(on_its_back))
        assert abs(reward) < 0.1
    assert env.mishaps() == {"flips": 1, "wall_crossings": 0}
    assert env.reset(seed=1)[1]["flips"] == 0
    env.close()


def test_training_counts_mishaps_between_two_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    falls = {7, 15, 29}  # one in each stretch of ten steps
    monkeypatch.setattr(AntMaze, "mishaps", lambda env: {"flips": env.fell, "wall_crossings": 0})
    plain, taken = AntMaze.step, iter(range(1, 1000))

    def step(env: Any, action: np.ndarray) -> Any:
        env.fell = int(next(taken) in falls)
        return plain(env, action)

    monkeypatch.setattr(AntMaze, "fell", 0, raising=False)
    monkeypatch.setattr(AntMaze, "step", step)
    quiet = replace(BRISK, warmup=100, learning_starts=100, log_every=10)
    reports = train(small(scratch()), find("antmaze/u"), steps=30, schedule=quiet)
    counts = [(r.metrics["flips"], r.metrics["wall_crossings"]) for r in reports]
    assert counts == [(1, 0), (1, 0), (1, 0)]


def test_a_turned_ant_is_not_upside_down(u: AntMaze) -> None:
    ant: Any = u._ant
    for turned in np.linspace(0.0, 2 * np.pi, 9):
        put(u, 0.0, 4.0)
        ant.data.qpos[3], ant.data.qpos[6] = np.cos(turned / 2), np.sin(turned / 2)
        assert u.step(STILL)[4]["flips"] == 0


# --- the tasks on which priors are trained ---


def test_a_dense_episode_starts_anywhere_turned_anyhow_and_moving(empty_ne: AntMaze) -> None:
    starts = np.array([raw(empty_ne, seed) for seed in range(200)])
    heading = 2 * np.arctan2(starts[:, 6], starts[:, 3])
    assert np.histogram(heading, 8, (-np.pi, np.pi))[0].min() > 10
    assert np.abs(starts[:, :2]).max() <= 4.7
    quadrants = {tuple(corner) for corner in np.sign(starts[:, :2])}
    assert quadrants == set(CORNERS.values())
    assert np.hypot(*starts[:, 15:17].T).max() > 1.0
    assert (starts[:, 4:6] == 0.0).all(), "upright"


def push(env: AntMaze, speed: float) -> float:
    """What a step earns that begins in the middle with that speed toward the corner."""
    ant: Any = env._ant
    put(env, 0.0, 0.0)
    motion = np.zeros(14)
    motion[:2] = speed / np.sqrt(2.0)
    ant.set_state(ant.data.qpos, motion)
    return env.step(STILL)[1]


def test_a_dense_task_pays_the_speed_toward_its_corner(empty_ne: AntMaze) -> None:
    earned = [push(empty_ne, speed) for speed in (-9.0, -0.7, 0.0, 0.7, 9.0)]
    assert earned == pytest.approx([-1.0, -0.7, 0.0, 0.7, 2.0], abs=0.02)
    assert find("antmaze/empty-ne").reward_lower_bound == -1.0


def test_being_in_the_corner_pays_1_and_goes_on(empty_ne: AntMaze) -> None:
    put(empty_ne, 4.0, 4.0)
    _, reward, terminated, _, info = empty_ne.step(STILL)
    assert (reward, terminated, info["success"]) == (1.0, False, True)


@pytest.mark.parametrize("corner", CORNERS)
def test_every_corner_has_its_own_task(corner: str) -> None:
    env: Any = find(f"antmaze/empty-{corner}").make()
    env.reset(seed=0)
    for other, (x, y) in CORNERS.items():
        put(env, CELL * x, CELL * y)
        assert env.step(STILL)[4]["success"] == (other == corner)
    env.close()


# --- snapshots ---


def walk(arena: Arena, seed: int, steps: int, *, reset: bool = True) -> bytes:
    rng, found = np.random.default_rng(seed), []
    if reset:
        found.append(arena.reset(seed).tobytes())
    for _ in range(steps):
        step = arena.step(rng.uniform(-1.0, 1.0, 8))
        found.append(step.obs.tobytes() + step.reward.tobytes())
        found.append(bytes([step.terminated, step.truncated]))
    env: Any = arena._env  # observations are float32: they would hide a last bit for many steps
    return b"".join(found) + raw(env).tobytes()


@pytest.mark.parametrize("task", TASKS)
def test_an_episode_continues_in_a_new_arena_bit_for_bit(task: str) -> None:
    first, second = find(task).open(), find(task).open()
    walk(second, 9, 3)
    first.reset(7)
    for cut, steps in enumerate((2, 30, 60)):
        walk(first, cut, steps, reset=False)
        state = first.snapshot()
        assert state is not None
        expected = walk(first, 100, 40, reset=False)
        second.restore(state)
        assert walk(second, 100, 40, reset=False) == expected
        first.restore(state)
    first.close(), second.close()


# --- symmetries ---


def follow(env: AntMaze, start: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """The observations after these actions, from a state of the simulator."""
    ant: Any = env._ant
    ant.set_state(start[:15], start[15:])
    ant.data.qacc_warmstart[:] = 0.0
    return np.array([env.step(action)[0] for action in actions])


def beside(env: AntMaze, symmetry: Symmetry, changed_actions: bool) -> Iterator[Any]:
    """Ten steps from three states in motion, and ten from each state's image."""
    rng = np.random.default_rng(0)
    for seed in range(3):
        env.reset(seed=seed)
        follow(env, raw(env), rng.uniform(-1.0, 1.0, (10, 8)))
        start, actions = raw(env), rng.uniform(-1.0, 1.0, (10, 8))
        changed = actions @ symmetry.action.T if changed_actions else actions
        plain = follow(env, start, actions)
        assert np.abs(plain[-1, :2] - start[:2]).max() > 1e-3, "it moved"
        yield plain, follow(env, symmetry.observation @ start, changed)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_quarter_turn_is_a_symmetry_of_the_simulator(quarters: int, empty_ne: AntMaze) -> None:
    symmetry = turning(quarters)
    for plain, turned in beside(empty_ne, symmetry, changed_actions=True):
        np.testing.assert_allclose(turned, plain @ symmetry.observation.T, atol=1e-7)


@pytest.mark.parametrize("quarters", [1, 2, 3, 4, 7])
def test_the_names_of_the_legs_do_not_matter(quarters: int, empty_ne: AntMaze) -> None:
    """The same ant, built with another leg as its first, looks the same and does the same."""
    for plain, renamed in beside(empty_ne, renaming(quarters), changed_actions=False):
        np.testing.assert_allclose(renamed, plain, atol=1e-7)


def test_renaming_leaves_the_body_where_it_is(empty_ne: AntMaze) -> None:
    ant: Any = empty_ne._ant
    feet = [ant.model.geom(f"{leg}_ankle_geom").id for leg in ("left", "right", "third", "fourth")]
    start = raw(empty_ne, 5)
    before = ant.data.geom_xpos[feet]
    renamed = renaming(1).observation @ start
    ant.set_state(renamed[:15], renamed[15:])
    np.testing.assert_allclose(ant.data.geom_xpos[np.roll(feet, -1)], before, atol=1e-9)


def test_an_ant_is_seen_heading_east_give_or_take_45_degrees() -> None:
    for turned in np.linspace(-2 * np.pi, 2 * np.pi, 41):
        state = np.zeros(29)
        state[3], state[6] = np.cos(turned / 2), np.sin(turned / 2)
        w, x, y, z = (by_compass(state[:15]).observation @ state)[3:7]
        assert w > 0.9 and abs(2 * np.arctan2(z, w)) <= np.pi / 4 + 1e-9
        assert (x, y) == (0.0, 0.0)


# --- priors ---


def test_turns_bring_the_learned_corner_to_each_corner() -> None:
    for corner, quarters in TURNS.items():
        obs = np.zeros(29)
        obs[:2] = CORNERS[building.LEARNED]
        assert tuple((turning(quarters).observation @ obs)[:2]) == CORNERS[corner]


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_a_turned_policy_does_the_turned_thing_in_the_turned_world(quarters: int) -> None:
    plain = random_policy("ant", 0, obs=29, action=8)
    plain = replace(plain, biases=tuple(b + 0.1 * np.arange(b.size) for b in plain.biases))
    turned, obs = turn(plain, quarters), np.random.default_rng(1).normal(size=(5, 29))
    symmetry = turning(quarters)
    before, after = plain(obs), turned(obs @ symmetry.observation.T)
    sides = symmetry.action.T
    np.testing.assert_allclose(after.mean, before.mean @ sides, atol=1e-5)
    np.testing.assert_allclose(after.log_std, before.log_std @ np.abs(sides), atol=1e-5)


def test_a_prior_of_another_ant_is_refused_with_both_sizes() -> None:
    for theirs in (27, 105):
        library = Priors([random_policy("walker", 0, obs=theirs, action=8)], ["old/walker"])
        with pytest.raises(UserError, match=rf"'walker' \(old/walker\) takes {theirs} .* 29 and 8"):
            library.fit(29, 8, "antmaze/u")


def test_building_writes_four_policies_with_their_measured_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned = random_policy("empty-ne", 0, obs=29, action=8)
    monkeypatch.setattr(building, "trained", lambda task, *rest: learned)
    monkeypatch.setattr(building, "EPISODES", 2)
    monkeypatch.setattr(building, "find", lambda id: replace(find(id), horizon=5))
    with pytest.raises(UserError, match=r"'ne' reaches its corner in only 0%"):
        building.ants(tmp_path, 0)
    monkeypatch.setattr(building, "NEEDED", 0.0)
    cards = building.ants(tmp_path, 0)
    assert {card.name for card in cards} == set(CORNERS)
    for card in cards:
        written = load(tmp_path / card.name)
        assert written.card == card
        assert set(card.success) == {f"antmaze/empty-{card.name}"} == {card.task}
        assert np.array_equal(written.weights[0], turn(learned, TURNS[card.name]).weights[0])
