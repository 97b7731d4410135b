"""Archives of Stable-Baselines3: the same actions as Stable-Baselines3, and clear refusals."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from archives import SB3, code, edited, fixture, rezip, with_weights
from reprise.boundary.errors import PolicyFileError
from reprise.core.types import LOG_STD_RANGE
from reprise.priors import Policy, load, save
from reprise.priors.formats import sb3

KINDS = {
    "sac-relu-pendulum": ("gaussian-mlp", "relu", (8, 8)),
    "sac-tanh-drift": ("gaussian-mlp", "tanh", (8,)),
    "sac-gsde-pendulum": ("gaussian-mlp", "relu", (8, 2)),
    "td3-relu-drift": ("gaussian-mlp", "relu", (8, 8)),
    "td3-linear-pendulum": ("gaussian-mlp", "relu", ()),
    "ddpg-tanh-pendulum": ("gaussian-mlp", "tanh", (8,)),
    "ppo-tanh-pendulum": ("clipped-mlp", "tanh", (8, 8)),
    "ppo-relu-drift": ("clipped-mlp", "relu", (8,)),
    "ppo-linear-drift": ("clipped-mlp", "tanh", ()),
    "ppo-gsde-squashed-drift": ("gaussian-mlp", "tanh", (8,)),
    "a2c-tanh-drift": ("clipped-mlp", "tanh", (8,)),
}
each_archive = pytest.mark.parametrize("name", KINDS)


def record(name: str) -> dict[str, np.ndarray]:
    """What Stable-Baselines3 said; `unit` are its actions on the scale of [-1, 1]."""
    with np.load(SB3 / f"{name}.npz", allow_pickle=False) as file:
        found = {key: np.asarray(file[key]) for key in file.files}
    low, high = (found[side].astype(np.float64) for side in ("low", "high"))
    return found | {"unit": 2.0 * (found["actions"] - low) / (high - low) - 1.0}


def given(path: Path, data: bytes) -> Policy:
    path.write_bytes(data)
    return sb3.load(path)


def refused(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(PolicyFileError) as caught:
        sb3.load(path)
    message = str(caught.value)
    assert message.isprintable() and str(path) in message and len(message) < 500
    return message


# --- what Stable-Baselines3 does, this does ---


def test_the_archives_are_all_there_and_small() -> None:
    read = {path.stem for path in SB3.glob("*.zip") if not path.stem.startswith("refused")}
    assert read == set(KINDS)
    files = [path for path in SB3.parent.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 500_000


@each_archive
def test_the_deterministic_actions_are_those_of_stable_baselines3(name: str) -> None:
    known = record(name)
    assert known["obs"].shape[0] == 256 and known["unit"].std() > 1e-3
    said = sb3.load(SB3 / f"{name}.zip")(known["obs"])
    np.testing.assert_allclose(said.mode(), known["unit"], rtol=0.0, atol=1e-5)


@each_archive
def test_the_card_tells_what_was_read(name: str) -> None:
    card, known = sb3.load(SB3 / f"{name}.zip").card, record(name)
    assert (card.kind, card.activation, card.hidden) == KINDS[name]
    assert (card.obs_dim, card.action_dim) == (known["obs"].shape[1], known["actions"].shape[1])
    np.testing.assert_allclose(card.box, (known["low"], known["high"]), rtol=1e-6)
    assert card.name == name and len(card.sha256) == 64
    assert card.origin.startswith("Stable-Baselines3")


@pytest.mark.parametrize("name", [n for n in KINDS if n.startswith("sac") and "gsde" not in n])
def test_the_deviation_of_sac_is_that_of_stable_baselines3(name: str) -> None:
    known = record(name)
    said = sb3.load(SB3 / f"{name}.zip")(known["obs"])
    expected = np.clip(known["log_std"], *LOG_STD_RANGE)
    np.testing.assert_allclose(said.log_std, expected, rtol=0.0, atol=1e-5)
    assert np.ptp(expected) > 0.1


@pytest.mark.parametrize("name", [n for n in KINDS if not n.startswith("sac") or "gsde" in n])
def test_every_other_policy_is_read_as_deterministic(name: str) -> None:
    said = sb3.load(SB3 / f"{name}.zip")(record(name)["obs"])
    assert (np.asarray(said.log_std) == LOG_STD_RANGE[0]).all()


def test_the_recorded_actions_reach_the_places_where_formulas_differ() -> None:
    squashed = np.abs(record("sac-gsde-pendulum")["unit"])
    assert np.isclose(squashed, np.tanh(2.0), atol=1e-6).any(), "gSDE cuts the mean off at 2"
    assert squashed.max() <= np.tanh(2.0) + 1e-6
    cut = record("ppo-relu-drift")["unit"]
    assert np.isclose(cut, 1.0).any() and np.isclose(cut, -1.0).any()
    assert (np.abs(cut) < 0.99).any()


@each_archive
def test_saved_in_our_own_format_it_answers_equally(name: str, tmp_path: Path) -> None:
    policy, obs = sb3.load(SB3 / f"{name}.zip"), record(name)["obs"]
    save(tmp_path / name, policy)
    for before, after in zip(policy(obs), load(tmp_path / name)(obs), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_compressed_archive_is_the_same_policy(tmp_path: Path) -> None:
    obs = record("ppo-relu-drift")["obs"]
    found = given(tmp_path / "a.zip", rezip(fixture("ppo-relu-drift"), zipfile.ZIP_DEFLATED))
    np.testing.assert_array_equal(found(obs).mean, sb3.load(SB3 / "ppo-relu-drift.zip")(obs).mean)


def test_spaces_of_the_old_gym_are_read(tmp_path: Path) -> None:
    members = fixture("td3-relu-drift")
    data = json.loads(members["data"])
    for space in ("observation_space", "action_space"):
        data[space]["shape"] = data[space].pop("_shape")
        data[space][":type:"] = "<class 'gym.spaces.box.Box'>"
    found = given(tmp_path / "a.zip", rezip(members | {"data": json.dumps(data).encode()}))
    assert (found.card.obs_dim, found.card.action_dim) == (3, 2)


def test_what_is_serialized_is_not_looked_at(tmp_path: Path) -> None:
    members = fixture("sac-tanh-drift")
    data = json.loads(members["data"])
    for value in data.values():
        if isinstance(value, dict):
            value[":serialized:"] = "not even base64 \x00"
    found = given(tmp_path / "a.zip", rezip(members | {"data": json.dumps(data).encode()}))
    obs = record("sac-tanh-drift")["obs"]
    np.testing.assert_array_equal(found(obs).mean, sb3.load(SB3 / "sac-tanh-drift.zip")(obs).mean)


# --- names ---


def test_a_policy_is_named_like_its_file_or_as_told(tmp_path: Path) -> None:
    assert (
        given(tmp_path / "walk.v2.zip", rezip(fixture("ppo-linear-drift"))).card.name == "walk.v2"
    )
    assert sb3.load(SB3 / "ppo-linear-drift.zip", "other").card.name == "other"


@pytest.mark.parametrize("name", ["", "..", "a b", "a/b", "x" * 65, "a\nb", "\x1b[2J", "é"])
def test_a_name_that_is_not_allowed_is_refused_and_says_the_rule(name: str) -> None:
    with pytest.raises(PolicyFileError, match="1 to 64 letters"):
        sb3.load(SB3 / "ppo-linear-drift.zip", name)


# --- what is not read ---


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("refused-discrete-actions", "action_space is .*Discrete.*, not a Box"),
        ("refused-dictionary", "policy_class .*MultiInputActorCriticPolicy.* is not the MlpPolicy"),
        ("refused-dqn", "policy_class .*DQNPolicy.* is not the MlpPolicy"),
    ],
)
def test_other_policies_of_stable_baselines3_are_refused(name: str, rule: str) -> None:
    with pytest.raises(PolicyFileError, match=rule):
        sb3.load(SB3 / f"{name}.zip")


CNN = "<function CnnPolicy.__init__ at 0x7f00>"
GELU = "<class 'torch.nn.modules.activation.GELU'>"
TANH = "<class 'torch.nn.modules.activation.Tanh'>"


@pytest.mark.parametrize(
    ("base", "change", "rule"),
    [
        ("sac-relu-pendulum", {"policy_class/__init__": CNN}, "CnnPolicy' is not the MlpPolicy"),
        ("sac-relu-pendulum", {"policy_class/__init__": None}, "is not the MlpPolicy"),
        ("sac-relu-pendulum", {"policy_class/__module__": "__main__"}, "__main__ SACPolicy"),
        ("sac-relu-pendulum", {"policy_class/__module__": ["x"]}, "is not the MlpPolicy"),
        ("sac-relu-pendulum", {"policy_class": "SACPolicy"}, "has no policy_class"),
        ("sac-relu-pendulum", {"policy_kwargs/activation_fn": GELU}, "not ReLU or Tanh"),
        ("sac-relu-pendulum", {"policy_kwargs/activation_fn": {}}, "not ReLU or Tanh"),
        (
            "sac-relu-pendulum",
            {"policy_kwargs/squash": True},
            r"policy_kwargs has unknown \['squash",
        ),
        ("sac-relu-pendulum", {"policy_kwargs": None}, "has no policy_kwargs"),
        (
            "ppo-relu-drift",
            {"policy_kwargs/features_extractor_class": "<class '__main__.Scaled'>"},
            "not FlattenExtractor",
        ),
        ("sac-gsde-pendulum", {"policy_kwargs/activation_fn": TANH}, "only read with ReLU"),
        ("sac-gsde-pendulum", {"policy_kwargs/clip_mean": "2"}, "clip_mean is not allowed"),
        ("sac-gsde-pendulum", {"policy_kwargs/clip_mean": -1.0}, "clip_mean is not allowed"),
        ("sac-gsde-pendulum", {"policy_kwargs/clip_mean": 0.0}, "actor.mu.0"),
        ("sac-gsde-pendulum", {"use_sde": False}, "actor.mu.0"),
        ("sac-gsde-pendulum", {"use_sde": 1}, "use_sde"),
        ("sac-relu-pendulum", {"use_sde": True}, "is not of an MLP"),
        ("ppo-relu-drift", {"action_space/low": "[-inf -inf]"}, "not bounded"),
        ("ppo-relu-drift", {"action_space/low": "[nan 0.]"}, "not bounded"),
        ("ppo-relu-drift", {"action_space/low": "[1.  0.]"}, "not bounded"),
        ("ppo-relu-drift", {"action_space/low": "[0. ... 0.]"}, "show 2 numbers for low"),
        ("ppo-relu-drift", {"action_space/high": "[1.]"}, "show 2 numbers for high"),
        ("ppo-relu-drift", {"action_space/high": 1.0}, "show 2 numbers for high"),
        ("ppo-relu-drift", {"action_space/_shape": [2, 1]}, "not one axis"),
        ("ppo-relu-drift", {"action_space/_shape": [0]}, "a size of 0"),
        ("ppo-relu-drift", {"observation_space/_shape": [36, 36, 3]}, "not one axis"),
        ("ppo-relu-drift", {"observation_space/_shape": [True]}, "not one axis"),
        ("ppo-relu-drift", {"observation_space/_shape": [10**30]}, "a size of 1000"),
        ("ppo-relu-drift", {"observation_space/_shape": [4]}, "takes 3 numbers, not 4"),
        ("ppo-relu-drift", {"observation_space": 3}, "has no observation_space"),
        (
            "ppo-relu-drift",
            {"action_space/_shape": [1], "action_space/low": "[0.]", "action_space/high": "[1.]"},
            "gives 2 numbers, not 1 actions",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_record_that_is_not_understood_is_refused(
    tmp_path: Path, base: str, change: dict[str, Any], rule: str
) -> None:
    message = refused(tmp_path / "a.zip", edited(base, **change))
    assert re.search(rule, message), message


@pytest.mark.parametrize(
    ("base", "old", "new", "rule"),
    [
        (
            "ppo-relu-drift", b"mlp_extractor.value_net.0.weight",
            b"features_extractor.linear.weight", "not of an MLP.*features_extractor.linear.weight",
        ),
        ("ppo-relu-drift", b"extractor.policy_net", b"extractor.shared_net", "not of an MLP"),
        ("td3-relu-drift", b"mu.2.weight", b"mu.1.weight", "not of an MLP"),
        ("td3-relu-drift", b"actor.mu", b"aktor.mu", "not of an MLP"),
        ("sac-relu-pendulum", b"actor.log_std.bias", b"actor.log_std.size", "not of an MLP"),
        ("sac-relu-pendulum", b"actor.mu.weight", b"actor.mu.wheels", "not of an MLP"),
        ("sac-relu-pendulum", b"actor.mu.bias", b"critic.1.bias", "lacks actor.mu.bias"),
    ],
)  # fmt: skip
def test_weights_that_are_not_of_an_mlp_are_refused(
    tmp_path: Path, base: str, old: bytes, new: bytes, rule: str
) -> None:
    assert old in code(base) and len(old) == len(new)
    data = with_weights(base, **{"data.pkl": code(base).replace(old, new)})
    message = refused(tmp_path / "a.zip", data)
    assert re.search(rule, message), message


@pytest.mark.parametrize("missing", ["data", "policy.pth"])
def test_an_archive_without_its_parts_is_refused(tmp_path: Path, missing: str) -> None:
    members = fixture("ppo-relu-drift")
    del members[missing]
    assert f"has no member '{missing}'" in refused(tmp_path / "a.zip", rezip(members))
