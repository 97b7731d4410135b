"""What every method learns in a short run, as digests that do not depend on any name in the code.

`tests/test_digests.py` compares them with `tests/fixtures/digests.json`. Whoever means to change
what is learned records them again, and says so under Results in the changelog:

    NPROC=1 PYTHONPATH=src:tests python tests/digests.py
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

os.environ["NPROC"] = "1"  # before JAX is imported: threads add up in another order

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from reprise.core.agent import Agent
from reprise.core.method import Method
from reprise.core.types import Spec
from reprise.core.values import Categorical
from reprise.methods import ABLATIONS, METHODS
from reprise.training.loop import train
from toys import BRISK, line, priors, small

FILE = Path(__file__).parent / "fixtures" / "digests.json"
EARLY, STEPS, SEED = 40, 160, 3
"""Until the first, actions are random: rounding cannot change what is learned from."""
SCHEDULE = replace(
    BRISK, warmup=EARLY, log_every=EARLY, checkpoint_every=EARLY, evaluate_every=0,
    success_share=0.5,
)  # fmt: skip
SCALAR, ONE_HEAD, SAMPLED = "smec (scalar)", "smec (one head per row)", "smec (sampled priors)"
NAMES = (*METHODS, "smec/single-value", "smec/handback", SCALAR, ONE_HEAD, SAMPLED)
PARTS = ("actor", "critic", "target", "log_alpha", "planner")


def build(name: str) -> Method:
    """A named method, or a variant of one, with tiny networks."""
    plain = name.partition(" (")[0]
    method = small((METHODS | ABLATIONS)[plain].build(10, 1.0))
    # To compile an update without the actor takes as long as all else: once is enough.
    delay = 2 if name == "scratch" else 1
    method = replace(method, actor=method.actor.after_warmup(0), actor_delay=delay)
    if name == SCALAR:
        return replace(method, critic=replace(method.critic, n_step=2))
    critic = replace(
        method.critic, values=Categorical(12), other_values=Categorical(12), bounded=True,
        reward_range=(0.0, 1.0),
    )  # fmt: skip
    if name == ONE_HEAD:
        critic = replace(critic, heads_per_row=1, n_step=3)
    return replace(method, critic=critic, imitation=0.4, stochastic_priors=name == SAMPLED)


class Learned(NamedTuple):
    """A run as a few numbers."""

    digest: str
    """Of every array of the agent and every row of the replay buffer at the end."""
    sketch: list[float]
    """How far each part of the agent has come after a few updates: close, however one rounds."""


def learn(name: str, **changes: Any) -> Learned:
    """The same short run as ever."""
    return run(replace(build(name), **changes))


def run(method: Method) -> Learned:
    """What a method learns from one task, one set of priors and one seed."""
    first = weights(method.init(jax.random.key(SEED), Spec(2, 1, 3)))
    early = first
    reports = train(method, line(25), priors(3), steps=STEPS, seed=SEED, schedule=SCHEDULE)
    for progress in reports:
        if progress.step == EARLY:
            early = weights(progress.agent)
    rows = progress.loop.replay.rows(0, STEPS)
    sketch = [round(late - soon, 6) for soon, late in zip(first, early, strict=True)]
    return Learned(digest(jax.tree.leaves((progress.agent, rows))), sketch)


def weights(agent: Agent) -> list[float]:
    """A number for each part of an agent."""
    return [sum(map(weigh, jax.tree.leaves(getattr(agent, part)))) for part in PARTS]


def weigh(array: Any) -> float:
    """A sum that every element changes, each by another weight."""
    flat = np.asarray(array, np.float64).ravel()
    return float(np.dot(flat, 1.0 + np.cos(np.arange(flat.size))))


def digest(arrays: Iterable[Any]) -> str:
    """Of the bits of some arrays, in this order."""
    found = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        found.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return found.hexdigest()[:16]


def numerics() -> str:
    """How this machine rounds: a small network trained by JAX alone, and what it is trained on.

    Where it is equal, equal code gives equal bits; elsewhere nobody can promise that.
    """
    rng = np.random.default_rng(0)
    sizes = (3, 16, 16, 36)
    layers = [rng.normal(size=pair).astype(np.float32) for pair in pairwise(sizes)]
    inputs, wanted = (rng.normal(size=(16, n)).astype(np.float32) for n in (sizes[0], sizes[-1]))

    def error(layers: list[Any]) -> Any:
        x = inputs
        for layer in layers[:-1]:
            x = jnp.tanh(x @ layer)
        return jnp.mean((jax.nn.log_softmax(x @ layers[-1]) - wanted) ** 2)

    @jax.jit
    def step(layers: list[Any]) -> list[Any]:
        return [a - 0.1 * b for a, b in zip(layers, jax.grad(error)(layers), strict=True)]

    for _ in range(30):
        layers = step(layers)
    product = np.tanh(inputs @ np.asarray(layers[0]))
    versions = [jax.__version__, jaxlib.__version__, np.__version__, platform.machine()]
    return f"{digest([*layers, product])} {' '.join(versions)} {vectors()}"


def vectors() -> str:
    """Which wide instructions the processor has: compilers choose by it how to add up."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    found = {word for word in flags.split() if word.startswith(("avx", "fma", "amx"))}
    return digest([np.frombuffer(" ".join(sorted(found)).encode(), np.uint8)])


def record() -> None:
    """Write what is learned here and now."""
    found = {name: learn(name)._asdict() for name in NAMES}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in found.items())
    FILE.write_text(f'{{"numerics": {json.dumps(numerics())}, "methods": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    record()
