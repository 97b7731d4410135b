"""The order of a step: dispatch decision and update, step the environment, read the losses."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.core.agent import Agent, Plan
from reprise.core.method import Method
from reprise.core.replay import ReplayBuffer
from reprise.io.errors import UserError
from reprise.tasks import Arena
from reprise.training.loop import train
from reprise.training.state import Loop
from toys import line, reporting, same, small


class Loss:
    """A loss that says when it is read."""

    def __init__(self, events: list[str], value: float = 1.0):
        self.events, self.value = events, value

    def __float__(self) -> float:
        self.events.append("read")
        return self.value


class Action:
    """An action that says when it is read."""

    def __init__(self, events: list[str]):
        self.events = events

    def __array__(self, *options: Any, **more: Any) -> np.ndarray:
        self.events.append("decided")
        return np.zeros(1, np.float32)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a loop does, in order, with a method that learns nothing."""
    said: list[str] = []
    step, sample = Arena.step, ReplayBuffer.draw

    def act(self: Method, agent: Any, plan: Plan, *rest: Any) -> tuple[Plan, Action]:
        said.append("act")
        return plan._replace(policy=np.int32(0)).tick(), Action(said)  # type: ignore[arg-type]

    def stepped(self: Arena, action: np.ndarray) -> Any:
        said.append("step")
        return step(self, action)

    def drawn(self: ReplayBuffer, n: int, share: float) -> Any:
        said.append("draw")
        return sample(self, n, share)

    monkeypatch.setattr(ReplayBuffer, "draw", drawn)
    monkeypatch.setattr(Method, "act", act)
    monkeypatch.setattr(Arena, "step", stepped)
    return said


def play(
    steps: int, learning_starts: int, events: list[str], patch: Any, loss: float = 1.0
) -> Loop:
    held: list[Loop] = []

    def update(self: Method, agent: Any, *rest: Any) -> Any:
        events.append(f"update on {len(held[0].replay)}")
        return agent, {"critic_loss": Loss(events, loss)}

    patch.setattr(Method, "update", update)
    schedule = reporting(steps, warmup=0, learning_starts=learning_starts)
    method = small(Method())
    list(train(method, line(30), steps=steps, schedule=schedule, resume=held.append))
    return held[0]


def test_the_environment_steps_while_the_update_of_the_rows_before_it_is_under_way(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = play(4, 2, events, monkeypatch)
    early = ["act", "decided", "step", "act", "decided", "step", "draw"]
    learned = ["act", "update on 2", "decided", "step", "draw", "read"]
    reported = ["act", "update on 3", "decided", "step", "read"]
    assert events == early + learned + reported
    assert loop.updates == 2


def test_an_update_waits_for_the_decision_whose_memory_it_takes_over() -> None:
    @jax.jit
    def decide(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 200, lambda i, y: jnp.tanh(y @ x), x)

    learn = jax.jit(lambda x: x * 0.0, donate_argnums=0)
    start = np.random.default_rng(0).normal(size=(200, 200)).astype(np.float32)
    alone = np.asarray(decide(jnp.array(start)))
    learn(jnp.array(start))
    for _ in range(5):
        held = jnp.array(start)
        decision, nothing = decide(held), learn(held)
        assert held.is_deleted(), "its memory was taken over, not copied"
        assert not np.asarray(nothing).any()
        np.testing.assert_array_equal(np.asarray(decision), alone)


def test_the_first_update_needs_one_transition(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    play(2, 0, events, monkeypatch)
    learned = ["act", "update on 1", "decided", "step", "read"]
    assert events == ["act", "decided", "step", "draw", *learned]


def test_each_loss_is_counted_once(events: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    loop = play(5, 3, events, monkeypatch)
    assert loop.losses == {}
    assert events.count("read") == loop.updates == 2


def test_a_loss_that_is_not_finite_stops_the_run_at_its_own_step(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="critic_loss became nan at step 3; try a smaller"):
        play(9, 2, events, monkeypatch, float("nan"))
    assert events.count("act") == 3


@pytest.mark.parametrize("pauses", [False, True])
def test_rows_drawn_while_the_update_before_is_computed_change_nothing(pauses: bool) -> None:
    steps, method = 40, small(Method())

    def learned(every: int, pause: Callable[[], bool]) -> Agent:
        schedule = reporting(every, warmup=5, learning_starts=10, batch=8)
        last = None
        for last in train(method, line(15), steps=steps, schedule=schedule, pause=pause):
            assert last.loop.upcoming is None, "a checkpoint need not hold it"
        assert last is not None and last.step == steps
        return last.agent

    turns = cycle([False, False, pauses])
    ahead = learned(steps, lambda: next(turns))
    assert same(ahead, learned(1, lambda: False)), "reports at every step leave nothing to draw"
