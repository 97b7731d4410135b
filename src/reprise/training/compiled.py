"""An agent as the bare list of its arrays: what the loop passes to compiled functions.

A call takes its arguments apart and puts its results together, in Python for every module of
every network. A list costs next to nothing, and the agent is one again while it is traced.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import jax
from jaxtyping import Array, Float

from reprise.core.agent import Agent, Plan
from reprise.core.method import Chance, Method, Metrics, Rows
from reprise.core.types import Advice, PyTree


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sealed:
    """The arrays of an agent, and how they make one."""

    leaves: tuple[Any, ...]
    tree: Any = field(metadata={"static": True})

    @classmethod
    def of(cls, agent: Agent) -> Sealed:
        """An agent, taken apart."""
        leaves, tree = jax.tree.flatten(agent)
        return cls(tuple(leaves), tree)

    def open(self) -> Agent:
        """The agent, put together."""
        return jax.tree.unflatten(self.tree, self.leaves)

    def holding(self, agent: Agent) -> Sealed:
        """The same seal around another agent of this kind."""
        # The same object, so that a later call recognizes its argument without a look inside.
        return Sealed(tuple(jax.tree.leaves(agent)), self.tree)

    @partial(jax.jit, static_argnums=1)
    def act(
        self, method: Method, plan: Plan, obs: Array, advice: Advice, chance: Chance
    ) -> tuple[Plan, Float[Array, "action"]]:
        """`Method.act`, with all that is random in it."""
        return method.decide(self.open(), plan, obs, advice, chance)

    def update(
        self, method: Method, rows: Rows, chance: Chance, improve: bool, drawn: PyTree = ()
    ) -> tuple[Sealed, Metrics]:
        """`Method.update`, with all that is random in it."""
        return updater(method)(self, method, rows, chance, improve, drawn)

    def learn(
        self, method: Method, rows: Rows, chance: Chance, improve: bool, drawn: PyTree = ()
    ) -> tuple[Sealed, Metrics]:
        """`update`, not compiled."""
        agent, metrics = method.learn(self.open(), rows, chance, improve, drawn)
        return self.holding(agent), metrics


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
def compiled(library: str) -> Any:
    """The update, compiled with this library."""
    options = {name: value for name, value in OPTIONS[library].items() if understood(name, value)}
    static: Any = {"static_argnums": (1, 4), "donate_argnums": 0}
    return jax.jit(Sealed.learn, **static, compiler_options=options)


@cache
def updater(method: Method) -> Any:
    """The compiled update that is faster for networks of these widths."""
    widths = (*method.actor.hidden, *method.critic.hidden)
    ragged = any(width > NARROW and width % TILE for width in widths)
    return compiled("eigen" if ragged else "ynnpack")
