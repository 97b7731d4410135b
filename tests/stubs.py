"""Networks and scenes with values written by hand, for tests of single methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from reprise.core.agent import Agent, Proposals
from reprise.core.planner import Scene
from reprise.core.types import Advice, Gaussian, Spec, Transition
from reprise.core.values import Targets
from toys import batch

Formula = Callable[[jax.Array, jax.Array], jax.Array]


class GivenQ(eqx.Module):
    """What a Q-network does besides giving values, for one whose values are written by hand."""

    sizes: ClassVar[tuple[int, int]] = (2, 1)
    """Of observations and actions."""

    def __call__(self, obs: jax.Array, action: jax.Array) -> jax.Array:
        raise AssertionError("a subclass gives the values")

    @property
    def heads(self) -> int:
        """As many as there are values."""
        return len(self(*map(jnp.zeros, self.sizes)))

    def possible(self, values: jax.Array, heads: Any = None) -> jax.Array:
        """Any value is possible."""
        return values

    def own(
        self, obs: jax.Array, actions: jax.Array, heads: Any = None, each: Any = jax.vmap
    ) -> jax.Array:
        """Each head at its own action; one head judges everybody."""
        values = each(lambda action: self(obs, action))(actions)
        values = values if heads is None else values[:, heads]
        return values[:, 0] if values.shape[1] == 1 else jnp.diagonal(values)

    def losses(self, obs: Any, action: Any, targets: Any, heads: Any = None) -> jax.Array:
        """Half of the squared errors."""
        values = self(obs, action)
        return 0.5 * ((values if heads is None else values[heads]) - targets) ** 2

    def leading(self) -> GivenQ:
        """Nothing is spared by leaving heads out."""
        return self


class FormulaQ(GivenQ):
    """Q(s, a) as a formula with one value per head, plus each twin's own level."""

    level: jax.Array
    formula: Formula = eqx.field(static=True)

    def __call__(self, obs: jax.Array, action: jax.Array) -> jax.Array:
        return self.formula(obs, action) + self.level


def formula(one: Formula, *levels: float) -> tuple[FormulaQ, ...]:
    """Twins that say the same but for their levels."""
    return tuple(FormulaQ(jnp.float32(level), one) for level in levels or (0.0, 0.0))


class Fixed(eqx.Module):
    """A policy that says the same everywhere."""

    mean: jax.Array
    log_std: jax.Array

    def __call__(self, obs: jax.Array, advice: Advice) -> Gaussian:
        return Gaussian(self.mean, self.log_std)


def fixed(mean: float, log_std: float = -3.0) -> Fixed:
    return Fixed(jnp.array([mean], jnp.float32), jnp.array([log_std], jnp.float32))


def agent_of(critic: Any, target: Any = None, actor: Any = None, **parts: Any) -> Agent:
    """An agent made by hand; the temperature is 1 unless told otherwise."""
    known = {"log_alpha": jnp.zeros(()), "planner": (), "step": jnp.zeros((), jnp.int32)} | parts
    target = critic if target is None else target
    return Agent(actor=actor, critic=critic, target=target, optim=((), (), ()), **known)


def proposals(actions: Sequence[float], *valid: bool) -> Proposals:
    """One number from each policy; all usable unless told otherwise."""
    heard = jnp.array(valid or (True,) * len(actions))
    return Proposals(jnp.array(actions, jnp.float32)[:, None], jnp.zeros(()), heard)


def counted(*values: float) -> Targets:
    """Targets that all count once."""
    return Targets(jnp.array(values, jnp.float32), jnp.ones(len(values)))


def scene(actions: Sequence[float], *valid: bool, obs: Any = (0.0, 0.0)) -> Scene:
    def nobody_asked(samples: int) -> jax.Array:
        raise AssertionError("this planner judges by itself")

    return Scene(jnp.asarray(obs, jnp.float32), proposals(actions, *valid), nobody_asked)


def says(actions: Sequence[float], *valid: bool, log_std: float = -3.0) -> Advice:
    """Advice whose modes are these actions, one per prior."""
    mean = np.arctanh(np.asarray(actions, np.float32))[:, None]
    heard = np.array(valid or (True,) * len(actions))
    return Advice(Gaussian(mean, np.full_like(mean, log_std)), heard)  # type: ignore[arg-type]


def transition(advice: Advice, **fields: Any) -> Transition:
    """One transition with this advice before and after it."""
    count = len(advice.valid)
    t = jax.tree.map(lambda x: jnp.asarray(x[0]), batch(Spec(2, 1, count)))
    numbers = {k: jnp.asarray(v, jnp.float32) for k, v in fields.items()}
    return t._replace(advice=advice, next_advice=advice)._replace(**numbers)
