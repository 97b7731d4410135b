"""A core of their own for the threads that Python knows nothing of."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from reprise.training import cores

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2, reason="needs Linux and two cores"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Claims of a machine of its own, and XLA's threads at work."""
    monkeypatch.setattr(cores, "_locks", lambda: tmp_path)
    monkeypatch.delenv(cores.SWITCH, raising=False)
    jnp.ones((64, 64)).dot(jnp.ones((64, 64))).block_until_ready()
    return tmp_path


def affinities() -> dict[int, set[int]]:
    return {thread: os.sched_getaffinity(thread) for thread in cores._hidden_threads()}


def test_the_threads_of_xla_stay_on_one_core_as_long_as_it_is_claimed() -> None:
    everywhere = os.sched_getaffinity(0)
    with cores.claimed() as core:
        assert core.number in everywhere
        core.settle()
        held = affinities()
        assert held, "XLA has threads of its own"
        assert all(where == {core.number} for where in held.values())
        assert os.sched_getaffinity(0) == everywhere, "Python's own thread goes where it likes"
    assert all(where == everywhere for where in affinities().values())


def test_threads_of_python_are_left_alone() -> None:
    done, seen = threading.Event(), list[set[int]]()
    ready = threading.Event()

    def work() -> None:
        ready.set()
        done.wait(10)
        seen.append(os.sched_getaffinity(threading.get_native_id()))

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(10)
    with cores.claimed() as core:
        core.settle()
        done.set()
        thread.join()
    assert seen == [os.sched_getaffinity(0)]


CHILD = """
import sys
from pathlib import Path
from reprise.training import cores
cores._locks = lambda: Path(sys.argv[1])
with cores.claimed() as core:
    print(core.number, flush=True)
    sys.stdin.readline()
"""


def test_another_process_claims_another_core_and_a_killed_one_leaves_none(folder: Path) -> None:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CHILD, str(folder)]
    other = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert other.stdout is not None
    its = int(other.stdout.readline())
    with cores.claimed() as core:
        assert core.number is not None and core.number != its
    other.kill()
    other.communicate()
    with cores.claimed() as core:
        assert core.number == its


def test_where_every_core_is_claimed_nothing_is_held() -> None:
    before = affinities()
    claims = [cores.claimed() for _ in os.sched_getaffinity(0)]
    taken = {claim.__enter__().number for claim in claims}
    assert taken == os.sched_getaffinity(0)
    with cores.claimed() as core:
        assert core.number is None
        core.settle()
        assert affinities().items() <= before.items()
    for claim in claims:
        claim.__exit__(None, None, None)


@pytest.mark.parametrize("why", ["switched off", "one core", "not Linux"])
def test_where_nothing_can_be_gained_nothing_is_claimed(
    why: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "switched off":
        monkeypatch.setenv(cores.SWITCH, "free")
    elif why == "one core":
        monkeypatch.setattr(os, "sched_getaffinity", lambda thread: {0})
    else:
        monkeypatch.setattr(sys, "platform", "darwin")
    with cores.claimed() as core:
        assert core.number is None
    assert not list(folder.iterdir())


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_locks", lambda: Path("/proc/nowhere"))
    with cores.claimed() as core:
        assert core.number is None


def test_numbers_do_not_depend_on_it() -> None:
    product = jax.jit(lambda x: jnp.tanh(x @ x).sum())
    x = jax.random.normal(jax.random.key(0), (200, 200))
    free = float(product(x))
    with cores.claimed() as core:
        core.settle()
        assert float(product(x)) == free
