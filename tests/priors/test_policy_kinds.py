"""Kinds of policy, activations and normalizers: what they compute, and that a file keeps it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reprise.boundary.errors import PolicyFileError
from reprise.core.types import LOG_STD_RANGE, Gaussian
from reprise.priors import Card, Policy, load, save, zoo
from reprise.priors.card import ACTIVATIONS, OUTPUTS, Normalizer

SCALING = Normalizer((0.5, -1.0, 2.0), (2.0, 0.1, 1.0), 3.0)
LOW, HIGH = (-2.0, 0.25), (2.0, 1.0)
EVERY = list(product(OUTPUTS, ACTIVATIONS, (None, SCALING)))
LABELS = [f"{k}-{a}-{'scaled' if n else 'plain'}" for k, a, n in EVERY]
each_kind = pytest.mark.parametrize(("kind", "activation", "normalizer"), EVERY, ids=LABELS)


def network(kind: str, activation: str, normalizer: Normalizer | None, seed: int = 0) -> Policy:
    """Random weights for 3 observations and 2 actions."""
    rng = np.random.default_rng(seed)
    card = Card(
        3, 2, LOW, HIGH, (8, 5), f"p{seed}", activation=activation, normalizer=normalizer, kind=kind
    )
    shapes = list(pairwise(card.sizes))
    weights = tuple(rng.normal(0.0, 0.7, shape).astype(np.float32) for shape in shapes)
    return Policy(
        card, weights, tuple(rng.normal(0.0, 0.3, s[1]).astype(np.float32) for s in shapes)
    )


def states(count: int = 50) -> np.ndarray:
    return 2.0 * np.random.default_rng(7).normal(size=(count, 3)).astype(np.float32)


def by_hand(policy: Policy, obs: np.ndarray) -> tuple[list[float], list[float]]:
    """One state, number by number: the action in [-1, 1] and the log of the deviation."""
    card, x = policy.card, [float(value) for value in obs]
    if n := card.normalizer:
        triples = zip(x, n.mean, n.std, strict=True)
        x = [min(max((value - m) / s, -n.clip), n.clip) for value, m, s in triples]
    for depth, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        x = [
            float(bias[j]) + sum(x[i] * float(weight[i, j]) for i in range(len(x)))
            for j in range(len(bias))
        ]
        if depth < len(policy.weights) - 1:
            x = [np.tanh(v) if card.activation == "tanh" else max(v, 0.0) for v in x]
    if card.kind == "gaussian-mlp":
        return [np.tanh(v) for v in x[:2]], [min(max(v, -10.0), 2.0) for v in x[2:]]
    boxed = [min(max(v, lo), hi) for v, lo, hi in zip(x, LOW, HIGH, strict=True)]
    unit = [2 * (v - lo) / (hi - lo) - 1 for v, lo, hi in zip(boxed, LOW, HIGH, strict=True)]
    return unit, [-10.0, -10.0]


@each_kind
def test_every_kind_computes_what_its_card_says(
    kind: str, activation: str, normalizer: Normalizer | None
) -> None:
    policy = network(kind, activation, normalizer)
    said = policy(states())
    expected = [by_hand(policy, obs) for obs in states()]
    np.testing.assert_allclose(said.mode(), [a for a, _ in expected], atol=2e-5)
    np.testing.assert_allclose(said.log_std, [s for _, s in expected], atol=2e-5)
    assert said.mean.dtype == said.log_std.dtype == np.float32
    assert np.isfinite(said.mean).all()


@each_kind
def test_a_saved_policy_of_every_kind_gives_equal_answers(
    kind: str, activation: str, normalizer: Normalizer | None, tmp_path: Path
) -> None:
    policy = network(kind, activation, normalizer)
    card = save(tmp_path, policy)
    found = load(tmp_path)
    assert found.card == card == replace(policy.card, sha256=card.sha256)
    for before, after in zip(policy(states()), found(states()), strict=True):
        np.testing.assert_array_equal(before, after)


@each_kind
def test_stacked_weights_are_several_policies_at_once(
    kind: str, activation: str, normalizer: Normalizer | None
) -> None:
    policies = [network(kind, activation, normalizer, seed) for seed in range(3)]
    weights = tuple(np.stack(layer) for layer in zip(*(p.weights for p in policies), strict=True))
    biases = tuple(
        np.stack(layer)[:, None] for layer in zip(*(p.biases for p in policies), strict=True)
    )
    said = Policy(policies[0].card, weights, biases)(states(5)[None])
    for i, policy in enumerate(policies):
        alone = policy(states(5))
        np.testing.assert_allclose(said.mean[i], alone.mean, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(said.log_std[i], alone.log_std, rtol=1e-5, atol=1e-5)


def test_the_toy_actions_reach_the_bounds_of_the_box_and_the_clip() -> None:
    actions = np.asarray(network("clipped-mlp", "relu", None)(states()).mode())
    for bound in (-1.0, 1.0):
        assert np.isclose(actions, bound, atol=1e-5).any()
    assert np.ptp(actions, axis=0).min() > 0.5
    assert (np.abs((states() - SCALING.mean) / SCALING.std) > SCALING.clip).any()


def test_an_action_far_outside_of_a_narrow_box_is_cut_off_without_a_warning() -> None:
    card = Card(1, 1, (0.0,), (1e-3,), (), "p", kind="clipped-mlp")
    policy = Policy(card, (np.float32([[1e38]]),), (np.float32([0.0]),))
    actions = policy(np.float32([[3.0], [-3.0]])).mode()
    np.testing.assert_allclose(actions, [[1.0], [-1.0]], atol=2e-6)


def test_a_deterministic_action_is_the_mode_of_its_gaussian() -> None:
    actions = np.float32([[-1.0, -0.999, 0.0], [0.3, 1.0, 7.0]])
    said = Gaussian.deterministic(actions)
    np.testing.assert_allclose(said.mode(), np.clip(actions, -1, 1), atol=2e-6)
    assert np.isfinite(said.mean).all()
    assert (np.asarray(said.log_std) == LOG_STD_RANGE[0]).all()


def test_the_shipped_policies_are_still_read() -> None:
    folders = sorted(path for path in (zoo() / "pointmaze").iterdir() if path.is_dir())
    cards = [load(folder).card for folder in folders]
    assert [card.name for card in cards] == ["ne", "nw", "se", "sw"]
    assert {(c.kind, c.activation, c.normalizer, c.schema) for c in cards} == {
        ("gaussian-mlp", "relu", None, 1)
    }


def test_a_normalizer_is_plain_json(tmp_path: Path) -> None:
    save(tmp_path, network("gaussian-mlp", "relu", SCALING))
    record = json.loads((tmp_path / "policy.json").read_text())
    assert record["normalizer"] == {
        "mean": [0.5, -1.0, 2.0], "std": [2.0, 0.1, 1.0], "clip": 3.0
    }  # fmt: skip


GOOD: dict[str, Any] = {"mean": [0.0] * 3, "std": [1.0] * 3, "clip": 5.0}


@pytest.mark.parametrize(
    "normalizer",
    [
        GOOD | {"std": [1.0, 0.0, 1.0]},
        GOOD | {"std": [1.0, -1.0, 1.0]},
        GOOD | {"std": [1.0, 1e-300, 1.0]},
        GOOD | {"std": [1.0] * 4},
        GOOD | {"mean": [0.0] * 2},
        GOOD | {"mean": [0.0, 1e300, 0.0]},
        GOOD | {"mean": [0.0, "0", 0.0]},
        GOOD | {"mean": 0.0},
        GOOD | {"clip": 0.0},
        GOOD | {"clip": -1},
        GOOD | {"clip": True},
        GOOD | {"clip": None},
        GOOD | {"kind": "running"},
        {"mean": [0.0] * 3, "std": [1.0] * 3},
        [GOOD],
        "VecNormalize",
    ],
)
def test_a_normalizer_that_cannot_be_applied_is_refused(tmp_path: Path, normalizer: Any) -> None:
    save(tmp_path, network("gaussian-mlp", "relu", SCALING))
    record = json.loads((tmp_path / "policy.json").read_text())
    (tmp_path / "policy.json").write_text(json.dumps(record | {"normalizer": GOOD}))
    load(tmp_path)
    (tmp_path / "policy.json").write_text(json.dumps(record | {"normalizer": normalizer}))
    with pytest.raises(PolicyFileError, match="normalizer"):
        load(tmp_path)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
@pytest.mark.parametrize("field", ["mean", "std", "clip"])
def test_a_non_finite_normalizer_is_refused(tmp_path: Path, field: str, number: str) -> None:
    save(tmp_path, network("gaussian-mlp", "relu", SCALING))
    record = json.loads((tmp_path / "policy.json").read_text())
    record["normalizer"][field] = "HERE" if field == "clip" else ["HERE", 1.0, 1.0]
    (tmp_path / "policy.json").write_text(json.dumps(record).replace('"HERE"', number))
    with pytest.raises(PolicyFileError, match="normalizer"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("low", "high"),
    [([0.0, 1.0], [1.0, 1.0]), ([0.0, 2.0], [1.0, 1.0]), ([0.0, -1e299], [1.0, 1e299]),
     ([0.0, 1.0], [1.0, 1.0 + 1e-12])],
)  # fmt: skip
def test_a_box_that_cannot_be_rescaled_is_refused(
    tmp_path: Path, low: list[float], high: list[float]
) -> None:
    for kind, refused in (("clipped-mlp", True), ("gaussian-mlp", False)):
        save(tmp_path / kind, network(kind, "relu", None))
        path = tmp_path / kind / "policy.json"
        box = {"action_low": low, "action_high": high}
        path.write_text(json.dumps(json.loads(path.read_text()) | box))
        if refused:
            with pytest.raises(PolicyFileError, match="action_low is not below action_high"):
                load(tmp_path / kind)
        else:
            load(tmp_path / kind)
