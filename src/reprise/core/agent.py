"""Knowledge (`Agent`) and intention (`Plan`): two pytrees that never touch each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from reprise.core.networks import Ensemble
from reprise.core.types import Advice, PyTree, Spec
from reprise.core.values import Bounds


class Agent(eqx.Module):
    """What has been learned. What is intended is a Plan."""

    actor: Any
    critic: Ensemble
    target: Ensemble
    log_alpha: Float[Array, ""]
    planner: PyTree
    optim: tuple[PyTree, PyTree, PyTree]
    """Adam states of the critic, the actor and the temperature."""
    step: Int[Array, ""]
    """Updates done so far."""

    @property
    def alpha(self) -> Float[Array, ""]:
        """The temperature of SAC."""
        return jnp.exp(self.log_alpha)


def with_bounds(agent: Agent, bounds: Bounds) -> Agent:
    """The same agent, whose values have other bounds."""

    def bounded(critics: Ensemble) -> Ensemble:
        # An array for each: update donates its input and one buffer cannot be donated twice.
        own = [jax.tree.map(jnp.array, bounds) for _ in critics]
        return eqx.tree_at(lambda nets: [net.bounds for net in nets], critics, own)

    return replace(agent, critic=bounded(agent.critic), target=bounded(agent.target))


def flat_adam(rate: float) -> optax.GradientTransformation:
    """Adam on one long vector: to visit sixty small arrays takes longer than to move them."""
    return optax.flatten(optax.adam(rate))


MEMORY = 0.1
"""The weight of the latest value in the running means of promised and earned rewards."""

TRIFLE = 1e-3
"""Added to both sides of a ratio of promises, so that tiny ones count as kept."""


class Plan(NamedTuple):
    """Who is in control, for how much longer, and how often each choice was made (Algorithm 1)."""

    policy: Int[Array, ""]
    """Index of the policy in control; `policies` (one past the last) before the first selection."""
    remaining: Int[Array, ""]
    clock: Int[Array, ""]
    """Steps into the episode."""
    episode: Int[Array, ""]
    held: Int[Array, ""]
    """Steps since the last selection."""
    refused: Int[Array, ""]
    """Selections since then that did not get control: it is the planner's to count them."""
    steps: Int[Array, ""]
    """Steps of all episodes together."""
    chosen: Int[Array, "policies"]
    """N^1"""
    switched: Int[Array, "policies+1 policies"]
    """N^2, with a last row for the first selection of an episode, which has no predecessor."""
    score: Float[Array, "policies"]
    bonus: Float[Array, "policies"]
    """The last selection's values and UCB terms, kept for the record."""
    promise: Float[Array, ""]
    """What the task policy was judged to be worth when it last got control; NaN: it has not."""
    earned: Float[Array, ""]
    """The rewards since the last selection, discounted to that moment."""
    due: Float[Array, ""]
    """gamma^k, k steps after the last selection."""
    promised: Float[Array, ""]
    """What the task policy should have earned each time it had control, running mean."""
    kept: Float[Array, ""]
    """What it did earn, running mean."""

    @classmethod
    def start(cls, spec: Spec) -> Plan:
        """Nobody has acted yet."""
        n = spec.policies
        zero, blank = np.zeros((), np.int32), np.zeros(n, np.float32)
        counts = np.zeros(n, np.int32), np.zeros((n + 1, n), np.int32)
        unknown, none, whole = np.float32(np.nan), np.float32(0.0), np.float32(1.0)
        promises = unknown, none, whole, none, none
        return cls(np.int32(n), *(zero,) * 6, *counts, blank, blank, *promises)  # pyright: ignore

    def begin(self) -> Plan:
        """A new episode: whatever was intended is over, and nobody precedes the first choice."""
        nobody = np.int32(self.chosen.shape[0])
        zero = np.zeros((), np.int32)
        episode = np.int32(self.episode + 1)
        fresh = self._replace(policy=nobody, remaining=zero, clock=zero, episode=episode)
        return fresh._replace(held=zero, refused=zero, promise=np.float32(np.nan))

    def earn(self, reward: float, gamma: float) -> Plan:
        """One more reward."""
        earned, due = np.float32(self.earned), np.float32(self.due)  # not JAX's to compute
        with np.errstate(over="ignore"):  # a loss will say so
            earned = np.float32(earned + due * reward)
        return self._replace(earned=earned, due=np.float32(gamma * due))  # pyright: ignore

    def settle(self, value: Any, terminated: Any = False) -> Plan:
        """Compare what the task policy promised with what it earned while it had control.

        Who is worth V(s) and k steps later V(s') should have earned V(s) - gamma^k V(s').
        """
        owed = self.promise - jnp.where(terminated, 0.0, self.due * value)

        def follow(mean: Any, latest: Any) -> Any:
            return jnp.where(jnp.isfinite(owed), mean + MEMORY * (latest - mean), mean)

        return self._replace(
            promised=follow(self.promised, owed), kept=follow(self.kept, self.earned)
        )

    @property
    def trust(self) -> Float[Array, ""]:
        """The part of its promises that the task policy has lately kept, at most 1."""
        kept = jnp.maximum(self.kept, 0.0)
        return (kept + TRIFLE) / (jnp.maximum(self.promised, kept) + TRIFLE)

    def tick(self) -> Plan:
        """One step of the environment has passed."""
        later = self._replace(remaining=self.remaining - 1, clock=self.clock + 1)
        return later._replace(held=self.held + 1, steps=self.steps + 1)

    def switch(self, policy: Int[Array, ""], steps: Int[Array, ""] | int) -> Plan:
        """Hand control over for some steps, and count it."""
        return self._replace(
            policy=policy.astype(jnp.int32),
            remaining=jnp.asarray(steps, jnp.int32),
            held=jnp.zeros((), jnp.int32),
            refused=jnp.zeros((), jnp.int32),
            earned=jnp.zeros(()),
            due=jnp.ones(()),
            chosen=self.chosen.at[policy].add(1),
            switched=self.switched.at[self.policy, policy].add(1),
        )


class Decision(NamedTuple):
    """What to do next, perhaps still being computed."""

    action: Any
    source: Any
    """Who chose it; -1: the random warm-up."""
    before: Plan
    """What was intended until then."""

    def read(self) -> tuple[np.ndarray, int]:
        """The action and who chose it: this waits for them."""
        return np.asarray(self.action), int(self.source)


class Proposals(NamedTuple):
    """What every policy would do in one state: the task policy first, then the priors."""

    actions: Float[Array, "policies action"]
    log_prob: Float[Array, ""]
    """log pi of the first."""
    valid: Bool[Array, "policies"]
    """Who may act on its proposal: the task policy always, a prior if it said something usable."""

    ids: Int[Array, "policies"] | None = None
    """Which policies these are; None: all."""

    def select(self, priors: Int[Array, "some"] | None) -> Proposals:
        """Those of the task policy and of these priors; None: of all."""
        if priors is None:
            return self
        ids = policy_ids(priors)
        return self._replace(actions=self.actions[ids], valid=self.valid[ids], ids=ids)


def policy_ids(priors: Int[Array, "some"]) -> Int[Array, "1+some"]:
    """The task policy and these priors as numbers of policies."""
    return jnp.concatenate([jnp.zeros(1, jnp.int32), 1 + priors])


def usable(advice: Advice) -> Bool[Array, "policies"]:
    """Who can be relied on in a state: the task policy always, a prior if its advice is valid."""
    return jnp.concatenate([jnp.ones(1, jnp.bool_), advice.valid])


def draw_noise(
    key: Array, advice: Advice, stochastic_priors: bool, *times: int
) -> Float[Array, "*times speakers action"]:
    """Noise for the task policy, and for the priors if they are sampled, in all states at once.

    One draw for a batch: a key for each row, and from it one for each policy, would take longer.
    """
    *states, priors, action = advice.says.mean.shape
    speakers = 1 + priors if stochastic_priors else 1
    return jax.random.normal(key, (*times, *states, speakers, action))


def propose(
    actor: Any,
    obs: Float[Array, "obs"],
    advice: Advice,
    noise: Float[Array, "speakers action"],
) -> Proposals:
    """One action from each policy in {pi} + {mu_i}: at its noise, or its mode without any."""
    own, log_prob = actor(obs, advice).at(noise[0])
    theirs = noise[1 : 1 + len(advice.valid)]
    advised = advice.says.at(theirs)[0] if len(noise) > 1 else advice.says.mode()
    return Proposals(jnp.concatenate([own[None], advised]), log_prob, usable(advice))
