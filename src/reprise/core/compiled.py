"""How an agent is handed to compiled functions, and how XLA compiles an update.

A call takes its arguments apart and puts its results together, in Python for every module of
every network. A list of arrays costs next to nothing, and is an agent again while it is traced.
Nobody but the loop, which calls thousands of times a second, needs to know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import jax
from jax.core import Tracer

from reprise.core.agent import Agent


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FlatAgent:
    """An agent as the bare list of its arrays, and how they make one."""

    leaves: tuple[Any, ...]
    tree: Any = field(metadata={"static": True})

    @classmethod
    def of(cls, agent: Agent) -> FlatAgent:
        """An agent, taken apart."""
        leaves, tree = jax.tree.flatten(agent)
        return cls(tuple(leaves), tree)

    def whole(self) -> Agent:
        """The agent, put together."""
        return jax.tree.unflatten(self.tree, self.leaves)


AnyAgent = TypeVar("AnyAgent", Agent, FlatAgent)


def whole(agent: Agent | FlatAgent) -> Agent:
    """The agent itself, however it is given."""
    return agent.whole() if isinstance(agent, FlatAgent) else agent


def alike(given: AnyAgent, agent: Agent) -> AnyAgent:
    """Another agent of the same kind, in the form in which the first one is given."""
    if not isinstance(given, FlatAgent):
        return agent
    # The same object, so that a later call recognizes its argument without a look inside.
    return FlatAgent(tuple(jax.tree.leaves(agent)), given.tree)


TILE = 64
"""YNNPACK multiplies this many columns at a time, and whole tiles only."""
NARROW = 128
"""Up to this width it makes no difference."""
FASTER: dict[str, Any] = {
    "xla_cpu_scheduler_type": "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
    "xla_cpu_prefer_vector_width": 512,
}
"""An order that reuses what is still in the cache, and vectors as wide as the machine has."""
OPTIONS: dict[str, dict[str, Any]] = {
    "ynnpack": FASTER,
    "eigen": FASTER | {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_REDUCE"},
}
"""How XLA compiles an update, with either library that it has for products on a CPU."""


@cache
def understood(name: str, value: Any) -> bool:
    """Whether this version of XLA knows an option: most are not meant to last."""
    try:
        jax.jit(lambda x: x, compiler_options={name: value}).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return False
    return True


@cache
def compiled(update: Callable[..., Any], library: str) -> Any:
    """A method's update, (method, agent, rows, chance, improve, drawn), for one of the libraries.

    The arrays of the agent that it is given are used up.
    """
    options = {name: value for name, value in OPTIONS[library].items() if understood(name, value)}
    static: Any = {"static_argnums": (0, 4), "donate_argnums": 1}
    return jax.jit(update, **static, compiler_options=options)


@cache
def faster(widths: tuple[int, ...]) -> str:
    """The library that is faster for networks with hidden layers of these widths."""
    ragged = any(width > NARROW and width % TILE for width in widths)
    return "eigen" if ragged else "ynnpack"


def traced(agent: Agent | FlatAgent) -> bool:
    """Whether this is a part of a function that is being compiled as a whole.

    JAX refuses compiler options there.
    """
    one = agent.leaves[0] if isinstance(agent, FlatAgent) else agent.step
    return isinstance(one, Tracer)
