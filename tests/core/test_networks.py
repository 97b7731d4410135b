"""Facts about the networks: what is written by hand for speed equals what it stands for."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.core.critic import HybridCritic, SoftCritic
from reprise.core.layers import LayerNorm
from reprise.core.networks import Ensemble, ensemble_values, leading
from reprise.core.types import Spec
from reprise.core.values import Categorical, Representation, Scalar

RNG = np.random.default_rng(0)


def normal(*shape: int) -> jax.Array:
    return jnp.asarray(RNG.normal(size=shape), jnp.float32)


@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_layer_normalization_and_its_derivative_are_equinoxs(offset: float) -> None:
    ours, theirs = LayerNorm(33), eqx.nn.LayerNorm(33)
    scale, shift, rows, slopes = normal(33), normal(33), offset + normal(7, 33), normal(7, 33)

    def loss(norm: LayerNorm | eqx.nn.LayerNorm, rows: jax.Array) -> jax.Array:
        norm = eqx.tree_at(lambda n: (n.weight, n.bias), norm, (scale, shift))
        return (jax.vmap(norm)(rows) * slopes).sum()

    def of_parameters(norm: LayerNorm | eqx.nn.LayerNorm) -> tuple[jax.Array, jax.Array]:
        def loss(both: tuple[jax.Array, jax.Array]) -> jax.Array:
            own = eqx.tree_at(lambda n: (n.weight, n.bias), norm, both)
            return (jax.vmap(own)(rows) * slopes).sum()

        return jax.grad(loss)((scale, shift))

    for mine, its in zip(
        (*jax.value_and_grad(loss, argnums=1)(ours, rows), *of_parameters(ours)),
        (*jax.value_and_grad(loss, argnums=1)(theirs, rows), *of_parameters(theirs)),
        strict=True,
    ):
        np.testing.assert_allclose(mine, its, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("critic", [SoftCritic(hidden=(8,)), HybridCritic(hidden=(8, 8))])
@pytest.mark.parametrize("members", [1, 2, 3])
def test_an_ensemble_says_what_each_of_its_members_says(critic: SoftCritic, members: int) -> None:
    critics = eqx.tree_at(
        lambda nets: [net.body.layers[0].bias for net in nets],
        type(critic)(hidden=critic.hidden, ensemble=members).init(
            jax.random.key(0), spec := Spec(5, 2, 3)
        ),
        replace_fn=lambda bias: normal(*bias.shape),
    )
    obs, action = normal(spec.obs), normal(spec.action)
    values = ensemble_values(critics, obs, action)
    assert values.shape == (members, critic.heads(spec))
    for value, alone in zip(values, critics, strict=True):
        np.testing.assert_allclose(value, alone(obs, action), rtol=1e-5, atol=1e-6)
    assert members == 1 or not np.allclose(values[0], values[1])


def test_head_0_alone_says_what_it_says_among_the_others_for_fewer_operations() -> None:
    spec = Spec(5, 2, 60)
    critics = HybridCritic(hidden=(32, 32)).init(jax.random.key(0), spec)
    obs, action = normal(spec.obs), normal(spec.action)
    alone = ensemble_values(leading(critics), obs, action)
    assert alone.shape == (2, 1)
    np.testing.assert_allclose(alone, ensemble_values(critics, obs, action)[:, :1], rtol=1e-5)

    def flops(nets: object) -> float:
        run = jax.jit(lambda: ensemble_values(nets, obs, action))  # type: ignore[arg-type]
        return float(run.lower().cost_analysis()["flops"])

    assert flops(leading(critics)) < 0.5 * flops(critics)


REPRESENTATIONS = [Scalar(), Categorical(8), Categorical(12)]


@pytest.mark.parametrize("others", REPRESENTATIONS, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("own", REPRESENTATIONS, ids=lambda r: type(r).__name__)
def test_some_heads_say_and_learn_what_they_do_among_the_others(
    own: Representation, others: Representation
) -> None:
    spec, heads = Spec(5, 2, 60), jnp.array([0, 17, 60])
    critics = HybridCritic(
        hidden=(32, 32), bounded=True, reward_range=(0.0, 1.0), values=own, other_values=others
    ).init(jax.random.key(0), spec)
    obs, action, targets = normal(spec.obs), normal(spec.action), jnp.array([1.0, 2.0, 0.5])
    everybody = jnp.zeros(61).at[heads].set(targets)
    actions = jnp.broadcast_to(action[None], (3, 2))
    for net in critics:
        said = net.possible(net(obs, action))[heads]
        np.testing.assert_allclose(net.own(obs, actions, heads), said, rtol=1e-4)

    def some(nets: Ensemble) -> jax.Array:
        return jnp.stack([net.losses(obs, action, targets, heads) for net in nets])

    def among(nets: Ensemble) -> jax.Array:
        return jnp.stack([net.losses(obs, action, everybody)[heads] for net in nets])

    np.testing.assert_allclose(some(critics), among(critics), rtol=1e-5, atol=1e-6)
    slopes = [jax.grad(lambda n, f=f: jnp.sum(f(n) ** 2))(critics) for f in (some, among)]
    for one, other in zip(*map(jax.tree.leaves, slopes), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert critics[0].heads == 61

    def flops(of: Callable[[Ensemble], jax.Array]) -> float:
        return float(jax.jit(of).lower(critics).cost_analysis()["flops"])

    assert flops(some) < flops(among)


@pytest.mark.parametrize("bins", [24, 64, 101])
def test_heads_that_were_never_taught_say_0_wherever_their_range_lies(bins: int) -> None:
    histogram = Categorical(bins)
    critic = HybridCritic(
        hidden=(32, 32), bounded=True, reward_range=(-1.0, 10.0), values=histogram,
        other_values=histogram,
    )  # fmt: skip
    (net, _), bounds = critic.init(jax.random.key(0), Spec(5, 2, 3)), critic.bounds(Spec(5, 2, 3))
    assert bounds is not None
    said = np.stack([net(normal(5), normal(2)) for _ in range(20)])
    assert (np.abs(said) < 0.02 * np.asarray(bounds.high)).all()
