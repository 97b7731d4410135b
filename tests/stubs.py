"""Networks and scenes with values written by hand, for tests of single methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from reprise.agent import Agent, Proposals
from reprise.critic import Targets
from reprise.planner import Scene
from reprise.types import Advice, Gaussian, Spec, Transition
from toys import batch

Formula = Callable[[jax.Array, jax.Array], jax.Array]


class FormulaQ(eqx.Module):
    """Q(s, a) as a formula with one value per head, plus each twin's own level."""

    level: jax.Array
    formula: Formula = eqx.field(static=True)

    def __call__(self, obs: jax.Array, action: jax.Array) -> jax.Array:
        return self.formula(obs, action) + self.level

    def leading(self) -> FormulaQ:
        """Nothing is spared by leaving heads of a formula out."""
        return self


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
