"""Tasks: point mazes, any Gymnasium environment, and episodes that continue bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from reprise.boundary.errors import EnvironmentFault, UserError
from reprise.tasks import Arena, Task, find, listed
from reprise.tasks.pointmaze import CORNERS, MAPS, SIZES, PointMaze

MAZES = tuple(f"pointmaze/{name}" for name in MAPS)
HORIZON = 20
"""The time limit of the toy tasks below."""


def rows_of(maze: str) -> tuple[str, ...]:
    return MAPS[maze.removeprefix("pointmaze/")].rows


def cell_of(maze: str, mark: str) -> tuple[float, float]:
    """The middle of a marked cell, counted by hand: one unit per cell, the maze around (0, 0)."""
    rows = rows_of(maze)
    i, j = next((i, row.index(mark)) for i, row in enumerate(rows) if mark in row)
    return j - (len(rows[0]) - 1) / 2, (len(rows) - 1) / 2 - i


def play(arena: Arena, seed: int, steps: int) -> np.ndarray:
    """What random actions lead to, episode after episode, as raw bits can be compared."""
    rng = np.random.default_rng(seed)
    obs, found, episode = arena.reset(seed), [], 0
    found.append(np.append(obs, [0.0, 0.0, 0.0]))
    for _ in range(steps):
        step = arena.step(rng.uniform(-1.0, 1.0, arena.action_dim))
        found.append(np.append(step.obs, [step.reward, step.terminated, step.truncated]))
        if step.terminated or step.truncated:
            episode += 1
            arena.reset(seed + episode)
    return np.array(found)


@pytest.fixture
def open_arena() -> Iterator[Callable[[str | Task], Arena]]:
    """Arenas that are closed when the test is over."""
    opened: list[Arena] = []

    def open_one(task: str | Task) -> Arena:
        arena = (find(task) if isinstance(task, str) else task).open()
        opened.append(arena)
        return arena

    yield open_one
    for arena in opened:
        arena.close()


# --- point mazes ---


@pytest.mark.parametrize("maze", MAZES)
def test_a_map_is_a_walled_square_with_one_start_and_one_goal(maze: str) -> None:
    rows = rows_of(maze)
    text = "".join(rows)
    assert text.count("r") == 1 and text.count("g") == 1
    assert set(text) <= set("#.rg")
    assert {len(row) for row in rows} == {len(rows)}
    border = rows[0] + rows[-1] + "".join(row[0] + row[-1] for row in rows)
    assert set(border) == {"#"}


@pytest.mark.parametrize("maze", MAZES)
def test_a_way_leads_from_the_start_to_the_goal(maze: str) -> None:
    rows = rows_of(maze)
    free = {(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell != "#"}
    reached = {(i, j) for i, j in free if rows[i][j] == "r"}
    for _ in free:
        reached |= {
            (i + di, j + dj) for i, j in reached for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0))
        } & free
    assert any(rows[i][j] == "g" for i, j in reached)


@pytest.mark.parametrize("maze", MAZES)
def test_only_the_start_is_noisy_and_it_stays_in_its_cell(maze: str, open_arena: Any) -> None:
    arena = open_arena(maze)
    starts = np.array([arena.reset(seed) for seed in range(30)])
    offset = starts[:, :2] - np.array(cell_of(maze, "r"))
    assert np.abs(offset).max() <= 0.25 + 1e-6
    assert len(np.unique(offset, axis=0)) == 30
    assert np.abs(offset).max() > 0.1, "the noise is there"
    assert not starts[:, 2:].any(), "at rest"


def put_ball(env: PointMaze, x: float, y: float) -> None:
    body = env._maze.point_env
    body.set_state(np.array([x, y]), np.zeros(2))


@pytest.mark.parametrize("maze", MAZES)
def test_the_goal_pays_100_and_terminates_and_is_the_same_every_episode(maze: str) -> None:
    env = PointMaze(rows_of(maze))
    x, y = cell_of(maze, "g")
    try:
        for seed in range(3):
            env.reset(seed=seed)
            put_ball(env, x, y)
            _, reward, terminated, truncated, info = env.step(np.zeros(2))
            assert (reward, terminated, truncated, info["success"]) == (100.0, True, False, True)
    finally:
        env.close()


def test_the_goal_is_reached_within_0_45_and_not_beyond() -> None:
    maze = "pointmaze/medium"
    env = PointMaze(rows_of(maze))
    x, y = cell_of(maze, "g")
    try:
        env.reset(seed=0)
        for distance, reached in ((0.44, True), (0.46, False)):
            put_ball(env, x - distance, y)  # to the west the pocket is open
            _, reward, terminated, _, info = env.step(np.zeros(2))
            assert (reward, terminated, info["success"]) == (100.0 * reached, reached, reached)
    finally:
        env.close()


def test_away_from_the_goal_every_reward_is_zero(open_arena: Any) -> None:
    arena = open_arena("pointmaze/medium")
    rng = np.random.default_rng(0)
    arena.reset(0)
    for _ in range(100):
        step = arena.step(rng.uniform(-1.0, 1.0, 2))
        assert step.reward == 0.0 and not step.terminated and step.success == 0.0


@pytest.mark.parametrize("maze", MAZES)
def test_a_time_limit_truncates_without_terminating(maze: str, open_arena: Any) -> None:
    task, arena = find(maze), open_arena(maze)
    assert task.horizon == MAPS[maze.removeprefix("pointmaze/")].horizon
    arena.reset(0)
    steps = [arena.step(np.zeros(2)) for _ in range(task.horizon)]
    assert [step.truncated for step in steps] == [False] * (task.horizon - 1) + [True]
    assert not any(step.terminated for step in steps)


def test_a_reset_restarts_the_time_limit(open_arena: Any) -> None:
    arena = open_arena(Task("toy/counter", 3, Counter))
    for _ in range(2):
        arena.reset(0)
        assert [arena.step(np.zeros(1)).truncated for _ in range(3)] == [False, False, True]


def test_the_same_seed_gives_the_same_300_steps(open_arena: Any) -> None:
    one, two = (play(open_arena("pointmaze/medium"), 3, 300) for _ in range(2))
    assert one.tobytes() == two.tobytes()


def test_other_seeds_give_other_episodes(open_arena: Any) -> None:
    arena = open_arena("pointmaze/medium")
    assert not np.array_equal(arena.reset(3), arena.reset(4))


def test_an_episode_depends_on_nothing_that_came_before_its_reset(open_arena: Any) -> None:
    arena = open_arena("pointmaze/medium")
    fresh = play(arena, 5, 300)
    play(arena, 9, 137)
    assert play(arena, 5, 300).tobytes() == fresh.tobytes()


def test_walls_stop_the_ball(open_arena: Any) -> None:
    """From the start of `u`, walls are above, below and to the left; the ball's radius is 0.1."""
    x, y = cell_of("pointmaze/u", "r")
    for push, axis, wall in (((0, 1), 1, y + 0.5), ((0, -1), 1, y - 0.5), ((-1, 0), 0, x - 0.5)):
        arena = open_arena("pointmaze/u")
        arena.reset(0)
        for _ in range(150):
            obs = arena.step(np.array(push, np.float32)).obs
        assert abs(obs[axis] - wall) < 0.2, "it got there"
        inside = y - 0.5 < obs[1] < y + 0.5 and x - 0.5 < obs[0]
        assert inside, f"pushed by {push} it went through a wall to {obs[:2]}"


def test_without_a_wall_the_ball_leaves_its_cell(open_arena: Any) -> None:
    x, _ = cell_of("pointmaze/u", "r")
    arena = open_arena("pointmaze/u")
    arena.reset(0)
    for _ in range(100):
        obs = arena.step(np.array([1.0, 0.0])).obs
    assert obs[0] > x + 1.0


def test_a_maze_leaves_no_model_file_behind() -> None:
    env = PointMaze(rows_of("pointmaze/u"))
    env.close()
    assert not Path(env._maze.tmp_xml_file_path).exists()


@pytest.mark.parametrize(("maze", "steps"), [("medium", 2), ("two", 2), ("medium-slow", 1)])
def test_an_action_lasts_the_physics_steps_of_its_map(maze: str, steps: int) -> None:
    env = find(f"pointmaze/{maze}").make()
    try:
        env.reset(seed=0)
        body = env._maze.point_env  # type: ignore[attr-defined]
        before = body.data.time
        env.step(np.zeros(2))
        assert body.data.time - before == pytest.approx(steps * body.model.opt.timestep)
    finally:
        env.close()


@pytest.mark.parametrize("maze", MAZES)
def test_the_picture_is_the_map(maze: str) -> None:
    rows, picture = rows_of(maze), find(maze).picture
    assert picture is not None
    assert picture.start == pytest.approx(cell_of(maze, "r"))
    assert picture.goal == pytest.approx(cell_of(maze, "g"))
    half = len(rows) / 2
    drawn = set()
    for x0, y0, x1, y1 in picture.walls:
        assert (x1 - x0, y1 - y0) == (1.0, 1.0)
        drawn.add((round(half - y1), round(x0 + half)))
    walls = {(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell == "#"}
    assert drawn == walls and len(picture.walls) == len(walls)


def test_the_picture_is_where_the_simulator_has_its_walls() -> None:
    rows = rows_of("pointmaze/medium")
    env = PointMaze(rows)
    try:
        model = env._maze.point_env.model
        boxes = {
            tuple(np.round(model.geom_pos[i, :2] - 0.5, 6))
            for i in range(model.ngeom)
            if model.geom(i).name.startswith("block_")
        }
    finally:
        env.close()
    picture = find("pointmaze/medium").picture
    assert picture is not None
    assert boxes == {(x0, y0) for x0, y0, _, _ in picture.walls}


def test_a_position_is_the_first_two_observations(open_arena: Any) -> None:
    arena = open_arena("pointmaze/s")
    arena.reset(1)
    obs = arena.step(np.array([1.0, 0.0])).obs
    assert arena.position == pytest.approx(tuple(obs[:2]))


def test_an_empty_maze_pays_more_the_nearer_to_its_corner_and_never_ends() -> None:
    for name, (dx, dy) in CORNERS.items():
        task = find(f"pointmaze/empty5-{name}")
        env = task.make()
        assert isinstance(env, PointMaze)
        try:
            env.reset(seed=0)
            rewards = []
            for share in (-1.0, 0.0, 1.0):
                put_ball(env, share * dx, share * dy)
                _, reward, terminated, _, info = env.step(np.zeros(2))
                rewards.append(reward)
                assert not terminated and info["success"] == (share == 1.0)
            assert rewards == pytest.approx([0.0, 0.5, 1.0], abs=1e-6)
        finally:
            env.close()


def test_every_named_task_has_its_own_name_and_belongs_to_a_set() -> None:
    mazes = {*MAZES} | {f"pointmaze/empty{size}-{name}" for size in SIZES for name in CORNERS}
    assert {name for name in listed() if name.startswith("pointmaze/")} == mazes
    assert all(task.id == name and task.sets for name, task in listed().items())


def test_an_unknown_task_is_an_error_with_the_nearest_names() -> None:
    with pytest.raises(UserError, match=r"'pointmaze/mediun'.*pointmaze/medium") as e:
        find("pointmaze/mediun")
    assert "\n" not in str(e.value)


# --- any Gymnasium environment ---


class Toy(gym.Env[Any, Any]):
    """A tiny environment to misbehave in."""

    action_space: gym.Space[Any] = spaces.Box(-1.0, 1.0, (1,), np.float32)
    observation_space: gym.Space[Any] = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return np.zeros(2, np.float32), 0.0, False, False, {}


class Counter(Toy):
    """Counts; subclasses keep their count somewhere else."""

    def __init__(self) -> None:
        self.count = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.begin()
        return np.array([self.look(), 0.0], np.float32), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.advance()
        return np.array([self.look(), 0.0], np.float32), 0.0, False, False, {}

    def begin(self) -> None:
        self.count = 0

    def advance(self) -> None:
        self.count += 1

    def look(self) -> float:
        return float(self.count)


class Parts(Toy):
    """Dict observations, in an order that is not alphabetical."""

    observation_space = spaces.Dict(
        {"b": spaces.Box(-1, 1, (2,), np.float64), "a": spaces.Box(-1, 1, (1, 3), np.float32)}
    )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        info = super().reset(seed=seed)[1]
        return {"b": np.array([0.1, 0.2]), "a": np.array([[0.3, 0.4, 0.5]], np.float32)}, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        return self.reset()[0], 0.0, False, False, {}


@pytest.fixture
def register() -> Iterator[Callable[..., str]]:
    """Register an environment for the length of a test."""
    names: list[str] = []

    def put(entry: Any, **options: Any) -> str:
        name = f"RepriseToy{len(names)}-v0"
        gym.register(name, entry, **options)
        names.append(name)
        return f"gym/{name}"

    yield put
    for name in names:
        gym.registry.pop(name)


def test_actions_in_minus_one_to_one_are_rescaled_to_the_environments_box(open_arena: Any) -> None:
    arena = open_arena("gym/Pendulum-v1")
    for ours, theirs in ((-1.0, -2.0), (0.0, 0.0), (0.5, 1.0), (1.0, 2.0), (7.0, 2.0)):
        scaled = arena.rescale(np.array([ours]))
        assert scaled == pytest.approx([theirs])
        assert scaled.dtype == np.float32 and scaled.shape == (1,)


def test_a_lopsided_box_of_actions_is_rescaled_number_by_number() -> None:
    class Lopsided(Toy):
        action_space = spaces.Box(
            np.array([[0.0], [-3.0]]), np.array([[1.0], [5.0]]), dtype=np.float64
        )

    arena = Arena(Lopsided(), HORIZON, "toy")
    assert arena.action_dim == 2
    np.testing.assert_allclose(arena.rescale(np.array([-1.0, 0.0])), [[0.0], [1.0]])


def test_the_environment_gets_the_rescaled_action(open_arena: Any) -> None:
    ours, theirs = open_arena("gym/Pendulum-v1"), gym.make("Pendulum-v1")
    ours.reset(4)
    theirs.reset(seed=4)
    expected = theirs.step(np.array([1.0], np.float32))[0]
    np.testing.assert_array_equal(ours.step(np.array([0.5])).obs, expected)
    theirs.close()


def test_pendulum_is_truncated_at_its_200_steps(open_arena: Any) -> None:
    assert find("gym/Pendulum-v1").horizon == 200
    arena = open_arena("gym/Pendulum-v1")
    arena.reset(0)
    steps = [arena.step(np.zeros(1)) for _ in range(200)]
    assert [step.truncated for step in steps] == [False] * 199 + [True]
    assert not any(step.terminated for step in steps)
    assert all(np.isnan(step.success) for step in steps), "Pendulum does not say"


def test_an_environment_without_a_limit_gets_1000_steps(register: Any) -> None:
    assert find(register(Toy)).horizon == 1_000


def test_a_registered_limit_is_kept(register: Any) -> None:
    assert find(register(Toy, max_episode_steps=7)).horizon == 7


def test_dict_observations_are_flattened_in_gymnasiums_order(
    register: Any, open_arena: Any
) -> None:
    arena = open_arena(register(Parts))
    assert arena.obs_dim == 5
    obs = arena.reset(0)
    assert obs.dtype == np.float32 and obs.shape == (5,)
    expected = spaces.flatten(Parts.observation_space, Parts().reset()[0])
    np.testing.assert_allclose(obs, expected)
    np.testing.assert_allclose(arena.step(np.zeros(1)).obs, expected)


def test_discrete_actions_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match=r"gym/CartPole-v1.*Discrete.*Box") as e:
        find("gym/CartPole-v1").open()
    assert "\n" not in str(e.value)


def test_unbounded_actions_are_refused(register: Any) -> None:
    class Unbounded(Toy):
        action_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)

    with pytest.raises(UserError, match="unbounded actions"):
        find(register(Unbounded)).open()


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(3),
        spaces.Dict({"a": spaces.Box(-1, 1, (1,)), "b": spaces.Discrete(2)}),
        spaces.Sequence(spaces.Box(-1, 1, (1,))),
    ],
    ids=["discrete", "dict-with-discrete", "sequence"],
)
def test_observations_that_are_not_boxes_are_refused(register: Any, space: Any) -> None:
    class Odd(Toy):
        observation_space = space

    with pytest.raises(UserError, match="observations; reprise needs Box"):
        find(register(Odd)).open()


def test_an_unknown_gymnasium_id_is_an_error_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"'Pendulm-v1'.*nearest: Pendulum-v1"):
        find("gym/Pendulm-v1")


def test_an_environment_that_cannot_be_made_is_one_line(register: Any) -> None:
    def broken() -> Any:
        raise ImportError("first line\nsecond line")

    with pytest.raises(UserError, match="cannot be made: first line") as e:
        find(register(broken)).open()
    assert "\n" not in str(e.value)


def test_success_is_read_from_either_name() -> None:
    class Telling(Toy):
        key = "success"

        def step(self, action: Any) -> Any:
            return np.zeros(2, np.float32), 0.0, False, False, {self.key: True}

    class Gymnastic(Telling):
        key = "is_success"

    for kind in (Telling, Gymnastic):
        arena = Arena(kind(), HORIZON, "toy")
        arena.reset(0)
        assert arena.step(np.zeros(1)).success == 1.0


# --- nothing non-finite gets in ---


def faulty(obs: Any = (0.0, 0.0), reward: Any = 0.0) -> Arena:
    class Faulty(Toy):
        def step(self, action: Any) -> Any:
            return np.asarray(obs), reward, False, False, {}

    arena = Arena(Faulty(), HORIZON, "toy")
    arena.reset(0)
    return arena


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, np.float32("nan")])
def test_a_non_finite_reward_is_a_fault_that_names_reward_and_step(value: float) -> None:
    with pytest.raises(EnvironmentFault, match=r"reward is (nan|-?inf) at step 1 "):
        faulty(reward=value).step(np.zeros(1))


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_reward_too_large_for_float32_is_a_fault() -> None:
    with pytest.raises(EnvironmentFault, match="reward"):
        faulty(reward=1e300).step(np.zeros(1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_non_finite_observation_is_a_fault_that_names_its_place(value: float) -> None:
    with pytest.raises(EnvironmentFault, match=r"observation\[1\] is (nan|inf) at step 1 "):
        faulty(obs=(0.0, value)).step(np.zeros(1))


def test_a_non_finite_first_observation_is_a_fault() -> None:
    class Born(Toy):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return np.array([np.nan, 0.0]), {}

    with pytest.raises(EnvironmentFault, match=r"observation\[0\] is nan at step 0 "):
        Arena(Born(), HORIZON, "toy").reset(0)


# --- an episode continued elsewhere ---

EXACT = [
    "pointmaze/medium",
    "pointmaze/empty5-nw",
    "gym/Pendulum-v1",
    "gym/MountainCarContinuous-v0",
    "gym/Ant-v5",
    "gym/HalfCheetah-v5",
]


def walk(arena: Arena, seed: int, steps: int) -> bytes:
    rng, found = np.random.default_rng(seed), []
    for _ in range(steps):
        step = arena.step(rng.uniform(-1.0, 1.0, arena.action_dim).astype(np.float32))
        found.append(step.obs.tobytes() + step.reward.tobytes())
        found.append(bytes([step.terminated, step.truncated]))
        if step.terminated or step.truncated:
            # Restored generators must agree too: this reset has no seed.
            obs = arena._env.reset()[0]
            found.append(np.asarray(obs).tobytes())
            arena._clock = 0
    return b"".join(found)


@pytest.mark.parametrize("task", EXACT)
def test_a_snapshot_continues_in_a_new_arena_bit_for_bit(task: str, open_arena: Any) -> None:
    first = open_arena(task)
    first.reset(7)
    walk(first, 0, 25)
    state = first.snapshot()
    assert state is not None
    expected = walk(first, 1, 80)
    second = open_arena(task)
    second.reset(12345)
    walk(second, 2, 3)
    second.restore(state)
    assert walk(second, 1, 80) == expected
    assert any(expected), "something happened"


@pytest.mark.parametrize("task", EXACT)
def test_a_snapshot_survives_the_arena_it_came_from(task: str, open_arena: Any) -> None:
    """It holds copies: what the arena does afterwards leaves it alone."""
    arena = open_arena(task)
    arena.reset(7)
    walk(arena, 0, 10)
    state = arena.snapshot()
    assert state is not None
    before = {name: array.tobytes() for name, array in state.items()}
    walk(arena, 1, 10)
    assert {name: array.tobytes() for name, array in state.items()} == before
    arena.restore(state)
    walk(arena, 2, 10)
    assert {name: array.tobytes() for name, array in state.items()} == before


def test_a_restored_episode_ends_at_its_own_time_limit(open_arena: Any) -> None:
    first, second = open_arena("gym/Pendulum-v1"), open_arena("gym/Pendulum-v1")
    first.reset(0)
    for _ in range(150):
        first.step(np.zeros(1))
    state = first.snapshot()
    assert state is not None
    second.reset(1)
    second.restore(state)
    assert [second.step(np.zeros(1)).truncated for _ in range(50)] == [False] * 49 + [True]


def test_a_snapshot_is_plain_arrays(open_arena: Any) -> None:
    arena = open_arena("pointmaze/medium")
    arena.reset(0)
    state = arena.snapshot()
    assert state is not None
    assert all(type(array) is np.ndarray for array in state.values())
    assert all(array.dtype != object for array in state.values())


class Opaque(Counter):
    def __init__(self) -> None:
        self.held = object()


class Deep(Counter):
    def __init__(self) -> None:
        self.held = {"fine": [1, {"not fine": {1, 2}}]}


class ObjectArray(Counter):
    def __init__(self) -> None:
        self.held = np.array([object()])


@pytest.mark.parametrize("kind", [Opaque, Deep, ObjectArray])
def test_an_environment_that_holds_something_unknown_has_no_snapshot(kind: type[Counter]) -> None:
    arena = Arena(kind(), HORIZON, "toy")
    arena.reset(0)
    assert arena.snapshot() is None


class Clock(Counter):
    """Counts in an attribute that other environments use for drawing."""

    def begin(self) -> None:
        self.clock = 0

    def advance(self) -> None:
        self.clock += 1

    def look(self) -> float:
        return float(self.clock)


class Bytes(Counter):
    """Counts in an array of bytes."""

    def begin(self) -> None:
        self.cells = np.zeros(4, np.uint8)

    def advance(self) -> None:
        self.cells += np.uint8(1)

    def look(self) -> float:
        return float(self.cells.sum())


class Twister(Counter):
    """Draws from a generator that is not Gymnasium's."""

    def begin(self) -> None:
        self.rng = np.random.Generator(np.random.MT19937(1))
        self.value = 0.0

    def advance(self) -> None:
        self.value = float(self.rng.random())

    def look(self) -> float:
        return self.value


class Pairs(Counter):
    """Keeps tuples in a list, and looks for one of them."""

    def begin(self) -> None:
        self.visited = [(0, 0)]

    def advance(self) -> None:
        self.visited.append((len(self.visited), 0))

    def look(self) -> float:
        return float((0, 0) in self.visited) + len(self.visited)


class Single(Counter):
    """Adds in float32 inside a list."""

    def begin(self) -> None:
        self.sums = [np.float32(0.0)]

    def advance(self) -> None:
        self.sums = [self.sums[0] + np.float32(0.1) * self.sums[0] + np.float32(1e-3)]

    def look(self) -> float:
        return float(self.sums[0])


class Shaken(Counter):
    """Draws from Gymnasium's own generator."""

    def begin(self) -> None:
        self.value = 0.0

    def advance(self) -> None:
        self.value = float(self.np_random.normal())

    def look(self) -> float:
        return self.value


def normalized() -> gym.Env[Any, Any]:
    """A wrapper whose running mean is the state of an episode, too."""
    return gym.wrappers.NormalizeObservation(Shaken())


@pytest.mark.parametrize(
    "make", [Counter, Shaken, Clock, Bytes, Twister, Pairs, Single, normalized]
)
def test_a_snapshot_is_exact_or_there_is_none(make: Callable[[], gym.Env[Any, Any]]) -> None:
    first, second = (Arena(make(), 1_000, "toy") for _ in range(2))
    first.reset(0)
    walk(first, 0, 5)
    state = first.snapshot()
    if state is None:
        assert make not in (Counter, Shaken), "these hold nothing unusual"
        return
    expected = walk(first, 1, 20)
    second.reset(1)
    second.restore(state)
    assert walk(second, 1, 20) == expected


def test_an_observation_of_another_shape_is_refused_with_both_shapes() -> None:
    arena = Arena(Toy(), HORIZON, "toy/line")
    with pytest.raises(UserError, match=r"\(3,\).*toy/line.*\(2,\)"):
        arena.batch(np.zeros(3))
    assert arena.batch(np.zeros(2))[1] is True
    assert arena.batch(np.zeros((4, 2)))[0].shape == (4, 2)
