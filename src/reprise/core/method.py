"""A policy-reuse method: three choices and the one loop body that is SAC."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from reprise.boundary.errors import UserError, require
from reprise.core.actor import Actor, SoftActor
from reprise.core.agent import Agent, Plan, draw_noise, flat_adam, policy_ids, propose
from reprise.core.compiled import AnyAgent, FlatAgent, alike, compiled, faster, traced, whole
from reprise.core.critic import Critic, SoftCritic
from reprise.core.networks import ensemble_values, leading
from reprise.core.planner import Lesson, Planner, Scene, TaskPolicy
from reprise.core.replay import Packed
from reprise.core.turns import HeadIds, each_row
from reprise.core.types import Advice, PyTree, Spec, Transition
from reprise.core.values import Targets

Metrics = dict[str, Float[Array, ""]]
Rows = Transition | Packed
DECIDING, LEARNING = 2, 3
"""How many random keys a decision and an update take, besides their noise."""


class Chance(NamedTuple):
    """All that is random in a decision or an update: drawn ahead, many at a time, it is cheap."""

    noise: Any
    """Standard normal numbers for those who act: in one state, or in s' and s of every row."""
    keys: Any
    """A random key for each part that draws more."""


def unpacked(rows: Rows) -> Transition:
    """Rows as a tree of columns, which know whether they are from the best episodes."""
    if not isinstance(rows, Packed):
        return rows
    batch: Transition = rows.unpack()
    best = jnp.arange(len(batch.reward)) < rows.best
    return batch._replace(best=best, ahead=rows.ahead)


def settled(agent: Agent) -> Agent:
    """The same agent in arrays of a fixed type, as an update returns them.

    JAX calls the type of an array weak if it came from a plain number; a function that is given
    weak ones first and others later is compiled twice.
    """
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, leaf.dtype), agent)


@dataclass(frozen=True)
class Method:
    """How it evaluates, how it improves, how it behaves."""

    critic: Critic = field(default_factory=SoftCritic)
    actor: Actor = field(default_factory=SoftActor)
    planner: Planner = field(default_factory=TaskPolicy)
    learning_rate: float = 3e-4
    """Adam's step size for critic, actor and temperature."""
    smoothing: float = 5e-3
    """tau, how far the target network moves to the critic at each update."""
    actor_delay: int = 2
    """Critic updates per update of actor and temperature."""
    temperature: float = 1.0
    """alpha at the start, before it adapts to the entropy wanted."""
    stochastic_priors: bool = False
    """Sample the priors, when they act and in their heads' targets alike; else take the mode."""
    reward_lower_bound: float = 0.0
    """R_min: values are compared as V - R_min / (1 - discount); the guarantee needs r >= R_min."""
    imitation: float = 0.0
    """How strongly the task policy is drawn to what was done in the best episodes, wherever it is
    worth more than what the task policy would do; in units of the mean value."""

    def __post_init__(self) -> None:
        require(self, "positive", "learning_rate", "actor_delay", "temperature")
        require(self, "above 0 and at most 1", "smoothing")
        require(self, "finite", "reward_lower_bound")
        require(self, "at least 0", "imitation")
        if self.critic.assigns_heads and self.actor.uses_advice:
            raise UserError(
                f"heads-per-row does nothing with {type(self.actor).__name__}, which needs the "
                "advice of all priors; leave it out"
            )

    def init(self, key: Array, spec: Spec) -> Agent:
        """An agent that has learned nothing."""
        k_actor, k_critic, k_planner = jax.random.split(key, 3)
        actor, critic = self.actor.init(k_actor, spec), self.critic.init(k_critic, spec)
        # A copy, because update donates its input and one buffer cannot be donated twice.
        target = jax.tree.map(jnp.copy, critic)
        log_alpha, adam = jnp.log(self.temperature), flat_adam(self.learning_rate)
        parts: Any = (critic, actor, log_alpha)
        optim: Any = tuple(adam.init(part) for part in parts)
        planner = self.planner.init(k_planner, spec)
        step = jnp.zeros((), jnp.int32)
        return settled(Agent(actor, critic, target, log_alpha, planner, optim, step))

    def at(self, updates: int) -> Method:
        """The method in force after this many updates: some choices begin late."""
        actor = self.actor.at(updates)
        return self if actor is self.actor else replace(self, actor=actor)

    @partial(jax.jit, static_argnums=0)
    def act(
        self, agent: Agent | FlatAgent, plan: Plan, obs: Array, advice: Advice, chance: Chance
    ) -> tuple[Plan, Float[Array, "action"]]:
        """One decision: the planner picks a policy, that policy picks the action."""
        agent, (noise, (k_more, k_plan)) = whole(agent), chance
        proposals = propose(agent.actor, obs, advice, noise)
        own = proposals.actions

        def judge(samples: int) -> Float[Array, "samples ensemble policies"]:
            # The action that may be executed comes first, further draws after it.
            first = self._compared(agent, obs, own)[None]
            if samples == 1:
                return first
            draws = draw_noise(k_more, advice, self.stochastic_priors, samples - 1)
            more = jax.vmap(lambda z: propose(agent.actor, obs, advice, z))(draws).actions
            # Whoever does not vary need not be judged again.
            vary = more if self.stochastic_priors else more[:, :1]
            values = jax.vmap(lambda a: self._compared(agent, obs, a))(vary)
            rest = jnp.repeat(first[..., vary.shape[1] :], samples - 1, axis=0)
            return jnp.concatenate([first, jnp.concatenate([values, rest], axis=-1)])

        plan = self.planner.select(agent, plan, Scene(obs, proposals, judge), k_plan)
        return plan.tick(), own[plan.policy]

    def _compared(self, agent: Agent, obs: Array, actions: Array) -> Array:
        """Values of the target networks, put on one scale where rewards may be negative."""
        values = self.critic.judge(agent.target, obs, actions)
        if not self.reward_lower_bound:
            return values
        floor = self.reward_lower_bound / (1.0 - self.critic.discounts(values.shape[1]))
        return values - floor[None]

    @partial(jax.jit, static_argnums=0)
    def mode(
        self, actor: Any, obs: Float[Array, "n obs"], advice: Advice
    ) -> Float[Array, "n action"]:
        """The task policy's deterministic actions in several states: how it is evaluated."""
        return jax.vmap(lambda o, a: actor(o, a).mode())(obs, advice)

    @partial(jax.jit, static_argnums=0)
    def sample(
        self, actor: Any, obs: Float[Array, "n obs"], advice: Advice, key: Array
    ) -> Float[Array, "n action"]:
        """Actions drawn from the task policy in several states: how it acts while it learns."""
        keys = jax.random.split(key, len(obs))
        return jax.vmap(lambda o, a, k: actor(o, a).sample(k)[0])(obs, advice, keys)

    @partial(jax.jit, static_argnums=0)
    def value(
        self, agent: Agent, obs: Float[Array, "n obs"], actions: Float[Array, "n action"]
    ) -> Float[Array, "n"]:
        """What the planner's head 0 says about the task policy's actions."""
        judge = jax.vmap(lambda o, a: self.critic.judge(agent.target, o, a[None]))
        return judge(obs, actions)[:, :, 0].max(axis=1)

    def update(
        self, agent: AnyAgent, rows: Rows, chance: Chance, improve: bool, drawn: PyTree = ()
    ) -> tuple[AnyAgent, Metrics]:
        """One gradient step on every part; actor and temperature only if `improve`.

        The agent that is given is used up: its arrays become those of the one that is returned.
        """
        if traced(agent):
            return self._update(agent, rows, chance, improve, drawn)
        library = faster((*self.actor.hidden, *self.critic.hidden))
        return compiled(Method._update, library)(self, agent, rows, chance, improve, drawn)

    def _update(
        self, given: AnyAgent, rows: Rows, chance: Chance, improve: bool, drawn: PyTree
    ) -> tuple[AnyAgent, Metrics]:
        agent, batch = whole(given), unpacked(rows)
        noise, (k_critic, k_actor, k_planner) = chance
        agent, metrics = self._improve_critic(agent, batch, noise[0], k_critic)
        if improve:
            agent, more = self._improve_actor(agent, batch, noise[1, :, 0], k_actor)
            metrics |= more
        lesson = Lesson(batch, drawn, improve, self.critic.discount, self.smoothing, self._descend)
        planner = self.planner.update(agent, lesson, k_planner)
        after = replace(agent, planner=planner, step=agent.step + 1)
        return alike(given, after), metrics

    def _improve_critic(
        self, agent: Agent, batch: Transition, noise: Array, key: Array
    ) -> tuple[Agent, Metrics]:
        keys = jax.random.split(key, len(batch.reward))
        more = jax.vmap(partial(jax.random.fold_in, data=1))(keys)
        k_turns = jax.random.fold_in(key, len(keys))  # `split` has given out those before it
        priors = batch.next_advice.valid.shape[1]
        head_ids = self.critic.assign_heads(k_turns, priors)
        targets = self._targets(agent, head_ids, batch, noise, keys)

        def loss(critic: Any) -> Array:
            def one(priors: Array | None, t: Transition, wanted: Targets, k: Array) -> Array:
                heads = None if priors is None else policy_ids(priors)
                return self.critic.loss(critic, t, wanted._replace(heads=heads), k)

            return each_row(one, head_ids, batch, targets, more).mean()

        ready = self.critic.calibrate(agent.critic, targets)
        value, grads = jax.value_and_grad(loss)(ready)
        old: Any = agent.target
        critic, state = self._descend(ready, grads, agent.optim[0])
        moved: Any = optax.incremental_update(critic, old, self.smoothing)
        agent = replace(agent, critic=critic, target=moved, optim=(state, *agent.optim[1:]))
        return agent, {"critic_loss": value}

    def _targets(
        self, agent: Agent, head_ids: HeadIds | None, batch: Transition, noise: Array, keys: Array
    ) -> Targets:
        """What the heads should say about each row."""

        def target(priors: Array | None, t: Transition, z: Array, k: Array) -> Targets:
            following = propose(agent.actor, t.next_obs, t.next_advice, z).select(priors)
            targets = self.critic.targets(agent, t, following, k)
            if t.ahead is not None:
                then = propose(agent.actor, t.ahead.obs, t.ahead.advice, z).select(priors)
                targets = self.critic.look_ahead(agent, t, targets, then, k)
            return targets._replace(heads=None)  # the same for all rows of a group

        return each_row(target, head_ids, batch, noise, keys)

    def _improve_actor(
        self, agent: Agent, batch: Transition, noise: Array, key: Array
    ) -> tuple[Agent, Metrics]:
        keys = jax.random.split(key, len(batch.reward))

        def loss(actor: Any) -> tuple[Array, Array]:
            each = jax.vmap(lambda t, z, k: self.actor.loss(actor, agent, t, z, k))
            values, log_prob = each(batch, noise, keys)
            pull = self._imitate(actor, agent, batch) if self.imitation else 0.0
            return values.mean() + pull, log_prob.mean()

        (value, log_prob), grads = jax.value_and_grad(loss, has_aux=True)(agent.actor)
        actor, s_actor = self._descend(agent.actor, grads, agent.optim[1])
        # d/d(log alpha) of -alpha (log pi + H), H = -|A|: too little entropy raises alpha.
        slope = -agent.alpha * (log_prob - batch.action.shape[-1])
        log_alpha, s_alpha = self._descend(agent.log_alpha, slope, agent.optim[2])
        optim = (agent.optim[0], s_actor, s_alpha)
        metrics = {"actor_loss": value, "alpha": agent.alpha, "entropy": -log_prob}
        return replace(agent, actor=actor, log_alpha=log_alpha, optim=optim), metrics

    def _imitate(self, actor: Any, agent: Agent, batch: Transition) -> Float[Array, ""]:
        """|Q| mean of 1[Q(s, a) > Q(s, pi(s))] (pi(s) - a)^2 over rows of the best episodes.

        Q is the smaller twin. The filter (Nair et al., 2018) leaves out what is no longer worth
        imitating; |Q|, the mean over the batch, keeps both terms of the loss on one scale.
        """
        if batch.best is None:
            return jnp.zeros(())
        critics = leading(agent.critic)

        def worth(obs: Array, action: Array) -> Array:
            return ensemble_values(critics, obs, action)[:, 0].min()

        own = jax.vmap(lambda t: actor(t.obs, t.advice).mode())(batch)
        done = jax.vmap(worth)(batch.obs, batch.action)
        planned = jax.vmap(worth)(batch.obs, jax.lax.stop_gradient(own))
        wanted = batch.best & (done > planned)
        away = jnp.where(wanted, ((own - batch.action) ** 2).sum(axis=-1), 0.0)
        return self.imitation * jax.lax.stop_gradient(jnp.abs(planned).mean()) * away.mean()

    def _descend(self, params: Any, grads: Any, state: PyTree) -> tuple[Any, PyTree]:
        updates, state = flat_adam(self.learning_rate).update(grads, state)
        return optax.apply_updates(params, updates), state
