"""The order of a step: dispatch decision and update, step the environment, read the losses."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.core.agent import Agent, Plan
from reprise.core.method import Method
from reprise.core.replay import ReplayBuffer
from reprise.tasks import Arena
from reprise.training.loop import Training
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
    def update(self: Method, agent: Any, *rest: Any) -> Any:
        events.append(f"update on {len(training.loop.replay)}")
        return agent, {"critic_loss": Loss(events, loss)}

    patch.setattr(Method, "update", update)
    schedule = reporting(steps, warmup=0, learning_starts=learning_starts)
    with Training(small(Method()), line(30), steps=steps, schedule=schedule) as training:
        list(training.reports())
    return training.loop


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

    def learned(every: int, stops: range) -> Agent:
        schedule = reporting(every, warmup=5, learning_starts=10, batch=8)
        with Training(method, line(15), steps=steps, schedule=schedule) as training:
            training.stops = stops
            for last in training.reports():
                assert last.loop.upcoming is None, "a checkpoint need not hold it"
            assert last.step == steps
            return last.agent

    ahead = learned(steps, range(3, steps, 3) if pauses else range(0))
    assert same(ahead, learned(1, range(0))), "reports at every step leave nothing to draw"


def test_a_report_can_be_asked_for_at_any_moment() -> None:
    seen: list[tuple[int, bool]] = []
    with Training(small(Method()), line(15), steps=20, schedule=reporting(10)) as training:
        training.report_soon()
        for progress in training.reports():
            seen.append((progress.step, progress.scheduled))
            if progress.step == 10:
                training.report_soon()
    assert seen == [(1, False), (10, True), (11, False), (20, True)]
