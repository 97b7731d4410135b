"""How long a suite will take: from what a step cost when it was measured, scaled to this machine.

The costs are milliseconds with one thread, on two cores of a busy virtual machine: decisions and
updates from results/cost.csv and results/cost-maze.csv (benchmarks/cost.py, kind `cycle`, processor
time), environments and networks of 256 units from results/bench (`reprise bench`).
"""

from __future__ import annotations

import heapq
import time
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from reprise.priors.shipped import members
from reprise.suites.suite import Cell, Suite
from reprise.tasks import Task, find
from reprise.training.value_accuracy import rollout_length

MEASURED = "recorded in November 2026 on two cores of a busy virtual machine"
SCRATCH = {
    (128, 128): 3.495,  # results/cost-maze.csv
    (256, 256): 7.275,  # results/bench/updates-small.json, the update alone
    (400, 400, 400): 21.127,  # results/cost.csv
}
"""A decision and an update of Scratch, by networks."""
TIMES = {
    "scratch": 1.0,
    "smec": 1.378,
    "qmp": 1.041,
    "ac-teach": 1.539,
    "cup": 1.806,
    "multipolar": 0.979,
    "mamba": 1.321,
    "skills": 1.815,
}
"""The same for each method as a multiple of Scratch's: results/cost.csv, kind `cycle`, with three
priors and three layers of 400; with two of 128 and four priors SMEC's was 1.345.
A method that nobody has measured counts as SMEC."""
START = 18.0
"""Seconds before a run's first update, imports and compilation: 12 of Scratch and 22 of SMEC were
seen once."""
UNIT = 3.5
"""Milliseconds that `calibration` measured where the costs above were recorded."""
ZERO_SHOT = 10
"""Episodes of each prior before a run."""


class Estimate(NamedTuple):
    """A cell and the hours it should take on one core."""

    cell: Cell
    hours: float


def estimate(suite: Suite, factor: float = 1.0) -> list[Estimate]:
    """Each cell's hours; `factor` is how much slower than the recorded machine this one is."""
    return [Estimate(cell, factor * _hours(cell)) for cell in suite.cells]


def _hours(cell: Cell) -> float:
    run, task = cell.run, find(cell.run.task)
    steps = run.steps * task.step_ms
    learned = max(0, run.steps - run.schedule.learning_starts) * _learning(cell)
    watched = _watched(cell, task) * task.step_ms
    return (START + 1e-3 * (steps + learned + watched)) / 3_600


def _learning(cell: Cell) -> float:
    """Scratch's cost with networks of about this size, times the method's multiple."""
    wanted = _products(cell.run.method.critic.hidden)
    nearest = min(SCRATCH, key=lambda hidden: abs(_products(hidden) - wanted))
    return SCRATCH[nearest] * TIMES.get(cell.run.name.partition("/")[0], TIMES["smec"])


def _products(hidden: tuple[int, ...]) -> int:
    """Multiplications between hidden layers."""
    return sum(a * b for a, b in pairwise(hidden))


def _watched(cell: Cell, task: Task) -> int:
    """Steps of evaluations, of the priors alone, and from states whose values are compared."""
    schedule, priors = cell.run.schedule, _priors(cell)
    rounds = cell.run.steps // schedule.evaluate_every + 1 if schedule.evaluate_every else 1
    whole = task.horizon * (rounds * schedule.evaluation_episodes + priors * ZERO_SHOT)
    if not schedule.value_states:
        return whole
    heads = np.asarray(cell.run.method.critic.discounts(1 + priors)).tolist()
    return whole + rounds * schedule.value_states * sum(rollout_length(head) for head in heads)


def _priors(cell: Cell) -> int:
    """How many policies it reuses."""
    known = sum(_size(ref.removeprefix("zoo:"), cell.run.task) for ref in cell.library.refs)
    return (cell.library.crowd or known) + cell.library.strangers + len(cell.needs)


@cache
def _size(name: str, task: str) -> int:
    """Of a shipped set, which takes a look at the disk."""
    return len(members(name, task))


def finish(estimates: list[Estimate], workers: int) -> float:
    """Hours until the last run is over, if a free worker takes the first cell that can begin."""
    return max(ends(estimates, workers).values(), default=0.0)


def ends(estimates: list[Estimate], workers: int) -> dict[str, float]:
    """After how many hours each run is over, in that order."""
    waiting = {cell.name: (cell.needs, hours) for cell, hours in estimates}
    running: list[tuple[float, str]] = []
    over, now = dict[str, float](), 0.0
    while waiting or running:
        ready = [name for name, (needs, _) in waiting.items() if over.keys() >= set(needs)]
        for name in ready[: workers - len(running)]:
            _, hours = waiting.pop(name)
            heapq.heappush(running, (now + hours, name))
        now, ended = heapq.heappop(running)
        over[ended] = now
    return over


def calibration(seconds: float = 2.0) -> float:
    """How much slower this machine is than the recorded one, by a product of two matrices."""
    return unit(seconds) / UNIT


def unit(seconds: float) -> float:
    """The quickest milliseconds of a product of the kind that learning is made of."""
    left = jnp.asarray(np.random.default_rng(0).random((512, 512), np.float32))
    product = jax.jit(jnp.dot)
    product(left, left).block_until_ready()
    until, best = time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < until:
        began = time.process_time()  # as the costs: other work on the machine does not count
        product(left, left).block_until_ready()
        best = min(best, time.process_time() - began)
    return 1e3 * best
