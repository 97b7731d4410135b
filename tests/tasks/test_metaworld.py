"""Meta-World: the tasks, a faster step that is bit for bit the slow one, episodes continued."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reprise.boundary.errors import EnvironmentFault, UserError
from reprise.tasks import Arena, find, listed
from reprise.tasks import metaworld as world
from reprise.tasks.metaworld import CONTINUAL, NAMES, TWELVE, MetaWorld

pytest.importorskip("metaworld")

from metaworld.env_dict import ENV_CLS_MAP
from metaworld.utils import reward_utils
from scipy.spatial.transform import Rotation

from reprise.priors.formats.scripted import expert
from reprise.tasks import metaworld_numbers as numbers
from reprise.tasks.metaworld_fast import faster

EXACT = (*TWELVE, *CONTINUAL)


@pytest.fixture
def open_arena() -> Iterator[Callable[[str], Arena]]:
    opened: list[Arena] = []

    def open_one(name: str) -> Arena:
        opened.append(find(f"metaworld/{name}").open())
        return opened[-1]

    yield open_one
    for arena in opened:
        arena.close()


def bits(value: Any) -> bytes:
    return np.asarray(value, np.float64).tobytes()


def shaken(name: str, rng: np.random.Generator, noise: float = 0.3) -> Callable[[Any], np.ndarray]:
    """An expert with trembling hands: it gets to the object and pushes it about."""
    script = expert(name.removesuffix("-sparse"))

    def act(obs: Any) -> np.ndarray:
        mean = np.asarray(script(np.asarray(obs)[None]).mean)[0]
        return (np.tanh(mean) + noise * rng.normal(size=4)).astype(np.float32)

    return act


# --- the names ---


def test_the_fifty_names_are_metaworlds() -> None:
    assert len(NAMES) == 50
    assert {f"{name}-v3" for name in NAMES} == set(ENV_CLS_MAP)


def test_every_name_is_a_dense_and_a_sparse_task_with_the_papers_constants() -> None:
    for name in NAMES:
        dense, sparse = find(f"metaworld/{name}"), find(f"metaworld/{name}-sparse")
        assert (dense.c, sparse.c) == (10.0, 1.0)
        assert dense.horizon == sparse.horizon == 500 and dense.h == sparse.h == 50
        assert "metaworld" in dense.sets and "metaworld" not in sparse.sets


def test_the_named_sets_are_the_papers() -> None:
    def members(name: str) -> set[str]:
        return {task.id for task in listed().values() if name in task.sets}

    assert members("metaworld-12") == {f"metaworld/{name}" for name in TWELVE}
    assert members("continual") == {f"metaworld/{name}" for name in CONTINUAL}
    assert len(TWELVE) == 12 and len(CONTINUAL) == 6
    assert not set(TWELVE) & {"reach", "push", "pick-place"}, "those are the priors' tasks"


def test_listing_the_tasks_and_their_sizes_does_not_import_metaworld() -> None:
    code = (
        "import sys\n"
        "from reprise.tasks import listed\n"
        "arenas = [t.open() for t in listed().values() if t.id.startswith('metaworld/')]\n"
        "assert {(a.obs_dim, a.action_dim) for a in arenas} == {(39, 4)}, arenas\n"
        "[arena.close() for arena in arenas]\n"
        "assert len(arenas) == 100 and 'metaworld' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_metaworld_its_tasks_are_listed_and_one_line_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(world, "find_spec", lambda name: None)
    assert "metaworld/push" in listed()
    for call in (lambda: find("metaworld/push"), lambda: expert("push")):
        with pytest.raises(UserError, match=r"pip install 'reprise\[metaworld\]'") as e:
            call()
        assert "\n" not in str(e.value)


def test_a_misspelled_task_is_an_error_with_the_nearest_names() -> None:
    with pytest.raises(UserError, match=r"metaworld/push-wal'.*metaworld/push-wall"):
        find("metaworld/push-wal")


# --- a faster step ---


@pytest.mark.parametrize("name", NAMES)
def test_the_faster_step_is_metaworlds_own_bit_for_bit(name: str) -> None:
    """Observation, reward and info: an expert with trembling hands, then 500 random steps."""
    slow, fast = world.sawyer(name, fast=False), world.sawyer(name)
    assert type(fast) is not type(slow)
    rng = np.random.default_rng(0)
    act = shaken(name, rng)
    for env in (slow, fast):
        env.seed(7)
    obs = slow.reset()[0]
    assert fast.reset()[0].tobytes() == obs.tobytes()
    for step in range(550):
        action = act(obs) if step < 50 else rng.uniform(-1.0, 1.0, 4).astype(np.float32)
        obs, reward, *ends, info = slow.step(action)
        quick, earned, *over, told = fast.step(action)
        assert quick.tobytes() == obs.tobytes() and bits(earned) == bits(reward)
        assert ends == over and list(told) == list(info)
        for key, value in info.items():
            assert type(told[key]) is type(value) and bits(told[key]) == bits(value), key


@pytest.mark.parametrize("name", ["pick-place", "hand-insert", "stick-pull"])
def test_a_grasp_is_seen_by_the_faster_step_when_metaworld_sees_it(name: str) -> None:
    slow, fast = world.sawyer(name, fast=False), world.sawyer(name)
    act = shaken(name, np.random.default_rng(0), noise=0.0)
    for env in (slow, fast):
        env.seed(1)
        env.reset()
    obs, seen = slow.reset()[0], []
    fast.reset()
    for _ in range(100):
        action = act(obs)
        obs, told = slow.step(action)[0], fast.step(action)[4]
        touching = slow.touching_object(slow.data.geom("objGeom").id)
        assert fast.touching_object(fast.data.geom("objGeom").id) == touching
        seen.append((bool(touching), told["grasp_success"]))
    assert {touching for touching, _ in seen} == {True, False}, "the test saw both"


def test_metaworld_itself_is_left_as_it_was() -> None:
    original = ENV_CLS_MAP["push-v3"]
    assert faster(original) is faster(original)
    assert original.compute_reward.__globals__["np"] is np
    assert original.compute_reward.__globals__["reward_utils"] is reward_utils
    assert original.compute_reward.__globals__["Rotation"] is Rotation
    assert original.step is not faster(original).step


def test_two_environments_of_a_task_do_not_share_their_model() -> None:
    """The model is read once, and the place of a drawer or a goal is written into it."""
    one, two = (find("metaworld/drawer-open").make() for _ in range(2))
    one.reset(seed=1)
    before = one._sawyer.model.body_pos.copy()
    two.reset(seed=2)
    assert np.array_equal(one._sawyer.model.body_pos, before)
    assert not np.array_equal(two._sawyer.model.body_pos, before)


# --- numbers ---


def test_a_quaternion_is_scipys_bit_for_bit() -> None:
    draws = np.random.default_rng(1).normal(size=(300, 4))
    special = [q for q in np.vstack([np.eye(4), -np.eye(4)])]
    special += [np.array(q) for q in ([1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1])]
    assert numbers.rotation() is not Rotation, "this machine gets the fast one"
    for matrix in Rotation.from_quat(np.vstack([draws, special])).as_matrix():
        expected = Rotation.from_matrix(matrix).as_quat()
        assert numbers.rotation().from_matrix(matrix).as_quat().tobytes() == expected.tobytes()


def test_a_matrix_that_is_not_quite_a_rotation_is_straightened_as_scipy_does() -> None:
    matrix = Rotation.from_quat([0.1, 0.2, 0.3, 0.9]).as_matrix()
    matrix[0, 1] += 1e-6
    expected = Rotation.from_matrix(matrix).as_quat()
    assert numbers.quaternion(matrix).tobytes() == expected.tobytes()


def test_where_our_quaternions_had_other_bits_scipys_would_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numbers.rotation.cache_clear()
    monkeypatch.setattr(numbers, "quaternion", lambda matrix: np.zeros(4))
    assert numbers.rotation() is Rotation
    numbers.rotation.cache_clear()


def test_a_tolerance_is_metaworlds_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    for x in [*rng.uniform(-0.5, 2.0, 300), 0.0, 0.1, 0.7, np.nan, np.inf]:
        for number in (float(x), np.float64(x), np.asarray(x)):
            for bounds in ((0.0, 0.1), (0.1, 0.7), (0, 0)):
                for options in ({"margin": 0.3, "sigmoid": "long_tail"}, {"margin": 0.3}, {}):
                    ours = numbers.tolerance(number, bounds=bounds, **options)
                    theirs = reward_utils.tolerance(number, bounds=bounds, **options)
                    assert bits(ours) == bits(theirs) and type(ours) is type(theirs)


@pytest.mark.parametrize("bad", [{"bounds": (1.0, 0.0)}, {"margin": -1.0}])
def test_a_tolerance_that_metaworld_refuses_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        numbers.tolerance(0.5, sigmoid="long_tail", **{"margin": 1.0} | bad)


def test_norm_stack_and_clip_are_numpys_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(100, 6)):
        for part in (x, x[:3], x[::2], x[0], x.reshape(2, 3), x.astype(np.float32), list(x), 3):
            ours, theirs = numbers.norm(part), np.linalg.norm(part)
            assert ours.tobytes() == theirs.tobytes() and type(ours) is type(theirs)
        assert numbers.norm(x, ord=2) == np.linalg.norm(x, ord=2)
        assert numbers.norm(x, ord=1) == np.linalg.norm(x, ord=1)
        for parts in ((x, x), (x[0], x[1]), (x, x[0]), ([1.0, 2.0], x), (x.reshape(2, 3),) * 2):
            ours, theirs = numbers.hstack(parts), np.hstack(parts)
            assert ours.tobytes() == theirs.tobytes() and ours.shape == theirs.shape
        assert numbers.clip(x, -1, 1).tobytes() == np.clip(x, -1, 1).tobytes()
        assert type(numbers.clip(x[0], -1, 1)) is type(np.clip(x[0], -1, 1))


# --- episodes ---


@pytest.mark.parametrize("name", EXACT)
def test_a_seed_is_an_episode_and_another_seed_another(name: str, open_arena: Any) -> None:
    one, two = open_arena(name), open_arena(name)
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (500, 4))
    np.random.seed(1)
    start, passed = one.reset(3), walk(one, actions)
    np.random.seed(2)
    before = np.random.get_state()[1].tobytes()
    two.reset(5)
    walk(two, actions[:20])
    assert two.reset(3).tobytes() == start.tobytes(), "whatever came before"
    assert walk(two, actions) == passed
    assert not np.array_equal(two.reset(4), start)
    assert np.random.get_state()[1].tobytes() == before, "nobody drew from the global generator"


@pytest.mark.parametrize("name", ["sweep-into", "window-close", "basketball", "lever-pull"])
def test_an_episode_depends_on_nothing_that_came_before_its_reset(
    name: str, open_arena: Any
) -> None:
    arena = open_arena(name)
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1.0, 1.0, (40, 4))

    def play(seed: int) -> list[bytes]:
        start = arena.reset(seed)
        steps = [arena.step(action) for action in actions]
        return [start.tobytes(), *(s.obs.tobytes() + s.reward.tobytes() for s in steps)]

    fresh = play(5)
    play(9)
    assert play(5) == fresh


@pytest.mark.parametrize("name", ["reach", "push-wall", "coffee-pull", "drawer-open"])
def test_goals_are_visible_and_drawn_anew(name: str, open_arena: Any) -> None:
    arena = open_arena(name)
    goals = np.array([arena.reset(seed)[-3:] for seed in range(6)])
    assert np.abs(goals).max(axis=1).min() > 0.0
    assert len(np.unique(goals, axis=0)) == 6
    step = arena.step(np.zeros(4))
    assert np.array_equal(step.obs[-3:], goals[-1]), "also after a step"


def test_observations_are_39_float64_in_their_space() -> None:
    env = find("metaworld/push").make()
    for obs in (env.reset(seed=0)[0], env.step(np.ones(4, np.float32))[0]):
        assert obs.dtype == np.float64 and obs.shape == (39,)
        assert env.observation_space.contains(obs)
    assert env.action_space.contains(np.ones(4, np.float32))


def test_an_episode_lasts_500_steps_and_is_never_terminated(open_arena: Any) -> None:
    arena = open_arena("reach")
    arena.reset(0)
    steps = [arena.step(np.zeros(4)) for _ in range(500)]
    assert [step.truncated for step in steps] == [False] * 499 + [True]
    assert not any(step.terminated for step in steps)
    assert all(0.0 <= step.reward <= 10.0 for step in steps)
    arena.reset(1)
    assert not arena.step(np.zeros(4)).truncated


def test_a_sparse_task_pays_1_while_it_succeeds_and_moves_like_the_dense_one(
    open_arena: Any,
) -> None:
    dense, sparse = open_arena("reach"), open_arena("reach-sparse")
    obs = dense.reset(2)
    assert sparse.reset(2).tobytes() == obs.tobytes()
    act, rewards = shaken("reach", np.random.default_rng(0), noise=0.0), []
    for _ in range(80):
        action = act(obs)
        rich, poor = dense.step(action), sparse.step(action)
        obs = rich.obs
        assert poor.obs.tobytes() == obs.tobytes() and poor.success == rich.success
        assert poor.reward == poor.success
        rewards.append(float(poor.reward))
    assert set(rewards) == {0.0, 1.0}, "the test saw both"


# --- faults ---


def test_a_physics_that_gives_up_is_a_fault_with_its_name() -> None:
    env = find("metaworld/push").make()
    env.reset(seed=0)
    env._sawyer.data.qpos[9] = 1e12
    with pytest.raises(EnvironmentFault, match=r"push: MuJoCo warned of mjWARN_BADQPOS") as e:
        env.step(np.zeros(4, np.float32))
    assert "\n" not in str(e.value)
    env.reset(seed=0)
    env.step(np.zeros(4, np.float32))  # a reset heals it


def test_an_action_that_is_no_number_is_a_fault_and_moves_nothing(open_arena: Any) -> None:
    arena = open_arena("push")
    arena.reset(0)
    data = arena._env._sawyer.data
    before = data.qpos.tobytes(), data.time
    with pytest.raises(EnvironmentFault, match="action"):
        arena.step(np.array([0.0, np.nan, 0.0, 0.0]))
    assert (data.qpos.tobytes(), data.time) == before


# --- an episode continued elsewhere ---


def walk(arena: Arena, actions: np.ndarray) -> list[bytes]:
    steps = [arena.step(action) for action in actions]
    return [s.obs.tobytes() + s.reward.tobytes() + bytes([int(s.success)]) for s in steps]


CUTS, AFTER = (5, 40, 75), 15


@pytest.mark.parametrize("name", EXACT)
def test_an_episode_continues_in_a_new_arena_bit_for_bit(name: str, open_arena: Any) -> None:
    first, second = open_arena(name), open_arena(name)
    obs, act = first.reset(7), shaken(name, np.random.default_rng(0))
    actions, passed, states = [], [], {}
    for step in range(max(CUTS) + AFTER):
        if step in CUTS:
            states[step] = first.snapshot()
            assert states[step] is not None
        actions.append(act(obs))
        passed += walk(first, np.array(actions[-1:]))
        obs = np.frombuffer(passed[-1][:-5], np.float32)
    for cut, state in states.items():
        second.reset(cut)
        walk(second, np.ones((2, 4)))
        second.restore(state)
        wanted = np.array(actions[cut : cut + AFTER])
        assert walk(second, wanted) == passed[cut : cut + AFTER], f"cut at {cut}"
    assert len({*passed}) == len(passed), "something happened at every step"


@pytest.mark.parametrize("name", ["door-lock", "sweep-into", "push-back"])
def test_what_shows_the_physics_still_shows_it_after_a_restore(name: str, open_arena: Any) -> None:
    """Some tasks keep windows into the physics as if they were copies, and reward by them."""
    first, second = open_arena(name), open_arena(name)
    first.reset(0)
    second.reset(1)
    second.restore(first.snapshot())
    sawyer = second._env._sawyer
    assert np.shares_memory(sawyer.init_left_pad, sawyer.data.xpos)
    actions = np.random.default_rng(0).uniform(-1, 1, (20, 4))
    assert walk(first, actions) == walk(second, actions)


def test_an_episode_continues_in_a_new_process_bit_for_bit(tmp_path: Path, open_arena: Any) -> None:
    arena = open_arena("stick-pull")
    arena.reset(3)
    actions = np.random.default_rng(0).uniform(-1, 1, (30, 4))
    walk(arena, actions[:15])
    np.savez(tmp_path / "state.npz", **arena.snapshot())
    np.save(tmp_path / "actions.npy", actions[15:])
    code = (
        "import sys, numpy as np\n"
        "from reprise.tasks import find\n"
        "arena = find('metaworld/stick-pull').open()\n"
        "arena.reset(0)\n"
        f"arena.restore(dict(np.load({str(tmp_path / 'state.npz')!r}, allow_pickle=False)))\n"
        f"steps = [arena.step(a) for a in np.load({str(tmp_path / 'actions.npy')!r})]\n"
        "print(b''.join(s.obs.tobytes() + s.reward.tobytes() for s in steps).hex())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    steps = [arena.step(action) for action in actions[15:]]
    assert (
        done.stdout.strip() == b"".join(s.obs.tobytes() + s.reward.tobytes() for s in steps).hex()
    )


def test_a_simulator_is_built_by_the_first_reset_and_closed_with_the_task() -> None:
    env = MetaWorld("reach")
    assert env._sawyer is None
    env.close()
    env.reset(seed=0)
    assert env._sawyer is not None
    env.close()
