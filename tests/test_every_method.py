"""One battery that every method and ablation must pass."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from reprise import arrays, checkpoint, spec
from reprise.agent import Agent, Plan
from reprise.errors import UserError
from reprise.loop import Loop
from reprise.method import Method
from reprise.methods import ABLATIONS, METHODS
from reprise.train import Progress, train
from reprise.types import Advice, Spec
from toys import BRISK, batch, line, priors, raw, same, small

ROWS = METHODS | ABLATIONS
ALL = pytest.mark.parametrize("name", ROWS)
LIKE_SCRATCH = pytest.mark.parametrize("name", [n for n in ROWS if n != "scratch"])
SPEC = Spec(obs=2, action=1, priors=3)


def build(name: str) -> Method:
    return small(ROWS[name].build(10, 1.0))


def run(method: Method, steps: int = 120, count: int = 3, **options: Any) -> Progress:
    *_, last = train(
        method, line(30), priors(count), steps=steps, seed=2, schedule=BRISK, **options
    )
    return last


@ALL
def test_it_acts_within_bounds_and_learns_without_nan(name: str) -> None:
    last = run(build(name))
    rows = last.loop.replay.rows(0, 120)
    assert (abs(rows.action) <= 1.0).all()
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(last.agent))
    assert last.loop.updates == 91
    assert all(np.isfinite(v) for k, v in last.metrics.items() if k.endswith("loss"))


@ALL
def test_it_compiles_once_per_shape_and_never_again(name: str) -> None:
    method = replace(build(name), learning_rate=1.234e-4)  # nobody else's compilation
    counts: list[tuple[int, int]] = []
    for progress in train(method, line(30), priors(3), steps=300, schedule=BRISK):
        if progress.step >= 100:
            counts.append((Method.act._cache_size(), Method.update._cache_size()))  # type: ignore[attr-defined]
    assert counts[0] == counts[-1]


@ALL
def test_the_same_seed_gives_the_same_bits(name: str) -> None:
    assert same(run(build(name)).agent, run(build(name)).agent)


@ALL
def test_it_survives_a_round_trip_through_json(name: str, tmp_path: Path) -> None:
    method = build(name)
    recipe = spec.Run(name, method, "toy/line", seed=3, steps=10)
    (tmp_path / "run.json").write_text(json.dumps(spec.dump(recipe)))
    again = spec.load(tmp_path / "run.json")
    assert again == recipe
    assert again.id == recipe.id
    assert replace(again, seed=4).id != recipe.id


@ALL
def test_its_knowledge_survives_a_round_trip_through_safetensors(name: str) -> None:
    agent = run(build(name)).agent
    data = arrays.pack(arrays.named(agent))
    fresh = build(name).init(jax.random.key(9), SPEC)
    loaded = arrays.fill(fresh, arrays.unpack(data, "test"), "test")
    assert same(loaded, agent)
    assert not same(fresh, agent)


@ALL
@pytest.mark.parametrize("cut", [47, 100])
def test_it_continues_exactly_from_the_middle_of_an_episode(
    name: str, cut: int, tmp_path: Path
) -> None:
    method = build(name)
    hit: list[Loop] = []
    for progress in train(
        method, line(30), priors(3), steps=150, seed=2, schedule=BRISK,
        pause=lambda: len(hit) == 0 and clock.step == cut,
        resume=lambda loop: hit.clear() or setattr(clock, "loop", loop),
    ):  # fmt: skip
        if progress.step == cut:
            checkpoint.save(tmp_path, progress.loop, {})
            hit.append(progress.loop)
            break
    straight = run(method, 150)
    resumed = run(method, 150, resume=lambda loop: _restore(tmp_path, loop))
    assert same(resumed.agent, straight.agent)
    assert same(resumed.loop.plan, straight.loop.plan)
    assert same(resumed.loop.replay.rows(0, 150), straight.loop.replay.rows(0, 150))
    assert resumed.metrics == pytest.approx(straight.metrics, nan_ok=True)


class _Clock:
    """The step of the loop that is running, for `pause`."""

    loop: Loop | None = None

    @property
    def step(self) -> int:
        return self.loop.step if self.loop else -1


clock = _Clock()


def _restore(folder: Path, loop: Loop) -> None:
    assert checkpoint.load(folder, loop, pytest.fail) is not None


@LIKE_SCRATCH
def test_without_priors_it_is_scratch_bit_for_bit(name: str) -> None:
    mine, its = run(build(name), count=0).agent, run(build("scratch"), count=0).agent
    # MultiPolar has an empty scale besides, one entry for each of no priors.
    assert same(mine.actor.body, its.actor.body)
    assert name == "multipolar" or same(mine, its)
    assert same((mine.critic, mine.target, mine.log_alpha), (its.critic, its.target, its.log_alpha))


@ALL
def test_acting_cannot_alter_knowledge_nor_learning_intention(name: str) -> None:
    method = build(name)
    agent = method.init(jax.random.key(0), SPEC)
    before = [np.array(leaf) for leaf in jax.tree.leaves(agent)]
    say = Advice.of(np.zeros((3, 1), np.float32), np.zeros((3, 1), np.float32))
    result = method.act(agent, Plan.start(SPEC).begin(), np.ones(2, np.float32), say, raw(0))
    assert not any(isinstance(part, Agent) for part in result)
    assert same(before, jax.tree.leaves(agent))
    learned, metrics = method.update(agent, batch(SPEC), raw(1), True)
    assert isinstance(learned, Agent)
    assert set(metrics) == {"critic_loss", "actor_loss", "alpha", "entropy"}


def test_a_file_of_another_method_is_refused_with_what_differs() -> None:
    data = arrays.pack(arrays.named(build("scratch").init(jax.random.key(0), SPEC)))
    wider = build("smec").init(jax.random.key(0), SPEC)
    with pytest.raises(UserError, match=r"layers\.2\.\w+ is float32\(2, .*1\), expected"):
        arrays.fill(wider, arrays.unpack(data, "x"), "x")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"surprise": 1}, "unknown field .* 'surprise'"),
        ({"seed": "seven"}, "seed is 'seven', expected int"),
        ({"seed": True}, "seed is True, expected int"),
        ({"method": {"kind": "os.system"}}, "unknown kind .* 'os.system'"),
        ({"priors": "all"}, "priors is 'all', expected a list"),
        ({"schema": 99}, "schema 1"),
    ],
)
def test_an_unknown_name_in_a_recipe_is_an_error_in_one_line(
    damage: Any, message: str, tmp_path: Path
) -> None:
    record = spec.dump(spec.Run("smec", build("smec"), "toy/line")) | damage
    with pytest.raises(UserError, match=message) as caught:
        (tmp_path / "run.json").write_text(json.dumps(record))
        spec.load(tmp_path / "run.json")
    assert "\n" not in str(caught.value)


def test_equal_fields_of_different_classes_are_different_methods() -> None:
    ids = {spec.Run(name, build(name), "toy/line").id for name in ROWS}
    assert len(ids) == len(ROWS)
