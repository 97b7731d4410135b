"""The records that flow through the library: NamedTuples, which NumPy and JAX both know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

LOG_STD_RANGE = (-10.0, 2.0)
EDGE = 1.0 - 1e-6
"""The largest action with a finite mean before the tanh."""


Hook = TypeVar("Hook", bound=Callable[..., Any])


def hook(method: Hook) -> Hook:
    """Marks a method that a subclass may replace; every other one is abstract or final.

    What it does by itself suits those who do not care.
    """
    setattr(method, "is_hook", True)  # noqa: B010
    return method


class Spec(NamedTuple):
    """The sizes every network needs; hashable, so it can be static under jit."""

    obs: int
    action: int
    priors: int

    @property
    def policies(self) -> int:
        """The task policy and every prior."""
        return 1 + self.priors


class Gaussian(NamedTuple):
    """A tanh-squashed diagonal Gaussian: what any policy says about a state."""

    mean: Float[Array, "*batch action"]
    log_std: Float[Array, "*batch action"]

    @classmethod
    def deterministic(cls, action: np.ndarray) -> Gaussian:
        """What a policy without noise says: as good as a point at its action in [-1, 1]."""
        inside = np.clip(action, -EDGE, EDGE).astype(np.float32)
        return cls(np.arctanh(inside), np.full_like(inside, LOG_STD_RANGE[0]))  # pyright: ignore

    def sample(self, key: Array) -> tuple[Float[Array, "*batch action"], Float[Array, "*batch"]]:
        """An action and its log-density."""
        return self.at(jax.random.normal(key, self.mean.shape))

    def at(
        self, noise: Float[Array, "*batch action"]
    ) -> tuple[Float[Array, "*batch action"], Float[Array, "*batch"]]:
        """The action that this standard normal noise leads to, and its log-density."""
        raw = self.mean + jnp.exp(self.log_std) * noise
        log_prob = -0.5 * noise**2 - self.log_std - 0.5 * jnp.log(2.0 * jnp.pi)
        # log(1 - tanh(u)^2) in the form that does not lose its digits for large |u|
        log_prob -= 2.0 * (jnp.log(2.0) - raw - jax.nn.softplus(-2.0 * raw))
        return jnp.tanh(raw), log_prob.sum(-1)

    def mode(self) -> Float[Array, "*batch action"]:
        """The deterministic action."""
        return jnp.tanh(self.mean)


class Advice(NamedTuple):
    """What every prior says about a state, and which of them said anything usable."""

    says: Gaussian
    """With an axis over priors before the action's; zeros where a prior is not valid."""
    valid: Bool[Array, "*batch priors"]
    """False for a prior that failed here or was set aside: it may not act and teaches nothing."""

    @classmethod
    def of(cls, mean: Any, log_std: Any) -> Advice:
        """Advice from priors that all answered."""
        return cls(Gaussian(mean, log_std), np.ones(mean.shape[:-1], np.bool_))  # pyright: ignore

    def select(self, priors: Int[Array, "some"]) -> Advice:
        """What these priors say about one state."""
        return jax.tree.map(lambda leaf: leaf[priors], self)


class Place(NamedTuple):
    """Where a step lies in its selection and its episode."""

    held: Int[Array, ""]
    """Steps since the last selection, which decided who takes this one; 0 right after it."""
    last: Bool[Array, ""]
    """The episode ended with it, by a termination or at a time limit."""

    @classmethod
    def of(cls, held: Any, last: Any) -> Place:
        """A place in plain numbers."""
        return cls(np.int32(held), np.bool_(last))  # pyright: ignore


class Ahead(NamedTuple):
    """What followed as long as the same policy kept control: k steps, the first one included."""

    rewards: Float[Array, "*batch n"]
    """r_t ... r_{t+k-1}, then zeros."""
    steps: Int[Array, "*batch"]
    """k"""
    terminated: Float[Array, "*batch"]
    obs: Float[Array, "*batch obs"]
    """s_{t+k}"""
    advice: Advice
    """What every prior would do there."""


class Transition(NamedTuple):
    """One step. `advice` is what every prior would do: priors are queried once per state, ever."""

    obs: Float[Array, "obs"]
    advice: Advice
    source: Int[Array, ""]
    """Who acted: 0 the task policy, i prior i, -1 the random warm-up."""
    action: Float[Array, "action"]
    reward: Float[Array, ""]
    terminated: Float[Array, ""]
    """A true termination only: beyond a time limit the value exists, so bootstrapping goes on."""
    next_obs: Float[Array, "obs"]
    next_advice: Advice
    place: Place | None = None
    """None in transitions that no run made."""
    best: Bool[Array, ""] | None = None
    """Whether it was drawn because its episode is one of the best."""
    ahead: Ahead | None = None
    """None unless a critic wants to know."""


class Episode(NamedTuple):
    """A finished episode: what it earned and who acted when."""

    number: int
    step: int
    """The environment step at which it ended."""
    total: float
    discounted: float
    length: int
    success_any: float
    """1 or 0; NaN where the task has no notion of success."""
    success_last: float
    first_success: int
    """The step of the episode at which it first succeeded, -1 if it never did."""
    sources: np.ndarray
    track: np.ndarray
    """Positions (x, y) for each step, empty where the task has none."""


class Selection(NamedTuple):
    """One decision of the planner about who acts next."""

    step: int
    episode: int
    clock: int
    previous: int
    chosen: int
    score: np.ndarray
    """What each policy was judged to be worth, without the bonus."""
    bonus: np.ndarray


PyTree = Any
