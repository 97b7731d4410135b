"""From a reference to priors: formats side by side, adapters, and code that needs trust."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reprise.boundary.errors import UserError
from reprise.cli.main import main
from reprise.priors import Card, Policy, Priors, load, resolve, save, zoo
from reprise.priors.formats import onnx as onnx_format
from reprise.runs.learner import Learner
from reprise.runs.recipe import library

OBS = np.random.default_rng(3).uniform(-1, 1, (7, 4)).astype(np.float32)
CONTROLLER = """
import numpy as np

def policy():
    def push(obs):
        return np.clip(np.stack([obs[:, 1], -obs[:, 0]], axis=1), -1, 1)
    push.obs_dim, push.action_dim = 4, 2
    return push
"""
LIKE_SB3 = """
import numpy as np
from gymnasium.spaces import Box

class Model:
    observation_space = Box(-1, 1, (4,))
    action_space = Box(np.float32([-2.0, 0.0]), np.float32([2.0, 4.0]))

    def predict(self, obs, deterministic):
        assert deterministic
        return np.stack([obs[:, 0] * 2, obs[:, 1] * 2 + 2], axis=1), None

def policy():
    return Model()
"""


def small_policy(name: str, sizes: tuple[int, ...] = (3, 8, 2)) -> Policy:
    """A random network with one action per two outputs."""
    rng = np.random.default_rng(5)
    shapes = list(pairwise(sizes))
    weights = tuple(rng.normal(size=shape).astype(np.float32) for shape in shapes)
    biases = tuple(rng.normal(size=shape[1]).astype(np.float32) for shape in shapes)
    actions = sizes[-1] // 2
    box = (-1.0,) * actions, (1.0,) * actions
    return Policy(Card(sizes[0], actions, *box, sizes[1:-1], name), weights, biases)


def actions(priors: Priors, obs: np.ndarray = OBS) -> np.ndarray:
    return np.tanh(priors(obs, 0).says.mean)  # type: ignore[arg-type]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """One policy of each kind, and things that are not policies."""
    folder = tmp_path / "old"
    ne, sw = (load(zoo() / "pointmaze" / name) for name in ("ne", "sw"))
    save(folder / "a-ours", ne)
    onnx_format.export(sw, folder / "b.onnx")
    (folder / "c.py").write_text(CONTROLLER)
    (folder / "notes.txt").write_text("not a policy")
    (folder / "empty").mkdir()
    (folder / "link").symlink_to(zoo() / "pointmaze" / "se")
    return folder


def test_a_folder_may_mix_formats_and_is_sorted_by_name(mixed: Path) -> None:
    found = resolve([str(mixed)], trust_code=True)
    assert found.names == ("ne", "b", "c"), "links are not followed, other files are not policies"
    assert [r.format for r in found.records] == ["gaussian-mlp", "onnx", "python"]
    assert all(len(record.sha256) == 64 for record in found.records)
    said = actions(found)
    expected = actions(resolve(["zoo:pointmaze/ne", "zoo:pointmaze/sw"]))
    np.testing.assert_allclose(said[:, :2], expected, atol=1e-5)
    np.testing.assert_allclose(said[:, 2, 0], OBS[:, 1], atol=1e-5)
    assert found(OBS, 2).valid.all()


def test_code_in_a_folder_runs_only_when_it_is_trusted(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marker = mixed / "ran"
    (mixed / "c.py").write_text(f"import os\nos.mkdir({str(marker)!r})\n{CONTROLLER}")
    with pytest.raises(UserError, match=r"c\.py.*--trust-code"):
        resolve([str(mixed)])
    assert not marker.exists()
    resolve([str(mixed)], trust_code=True)
    assert marker.exists()
    assert f"running code of prior {mixed / 'c.py'}" in capsys.readouterr().err


def test_a_module_is_not_even_imported_without_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_controllers.py").write_text(CONTROLLER)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UserError, match="--trust-code"):
        resolve(["python:my_controllers:policy"])
    assert "my_controllers" not in sys.modules
    (record,) = resolve(["python:my_controllers:policy"], trust_code=True).records
    assert (record.name, record.format) == ("policy", "python")
    monkeypatch.delitem(sys.modules, "my_controllers")


def test_an_object_in_the_habits_of_stable_baselines3_is_rescaled_from_its_box(
    tmp_path: Path,
) -> None:
    (tmp_path / "model.py").write_text(LIKE_SB3)
    said = actions(resolve([str(tmp_path / "model.py")], trust_code=True))
    np.testing.assert_allclose(said[:, 0], np.clip(OBS[:, :2], -1, 1), atol=1e-5)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1", "has no function 'policy'"),
        ("def policy():\n    return 3", "obs_dim and action_dim"),
        ("def policy():\n    raise ValueError('no robot')", "ValueError: no robot"),
        ("import nothing_like_it", "ModuleNotFoundError"),
    ],
)
def test_code_that_is_no_prior_gets_one_line(tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "bad.py").write_text(source)
    with pytest.raises(UserError, match=message) as caught:
        resolve([str(tmp_path / "bad.py")], trust_code=True)
    assert "\n" not in str(caught.value)


def adapted(folder: Path, **record: Any) -> str:
    save(folder, small_policy("odd"))
    (folder / "adapter.json").write_text(json.dumps({"schema": 1, **record}))
    return str(folder)


def test_an_adapter_picks_scales_and_reorders(tmp_path: Path) -> None:
    ref = adapted(
        tmp_path / "odd", obs_dim=4, action_dim=2, observation=[3, 0, 1],
        mean=[1.0, 0.0, 0.0], std=[2.0, 1.0, 0.5], clip=1.5, action=[-1, 0], scale=[1.0, -0.5],
    )  # fmt: skip
    found = resolve([ref])
    found.fit(4, 2, "task")
    seen = (OBS[:, [3, 0, 1]] - np.float32([1, 0, 0])) / np.float32([2, 1, 0.5])
    own = np.tanh(small_policy("odd")(np.clip(seen, -1.5, 1.5)).mean)  # type: ignore[arg-type]
    said = actions(found)[:, 0]
    np.testing.assert_allclose(said[:, 0], 0.0, atol=1e-6)
    np.testing.assert_allclose(said[:, 1], -0.5 * own[:, 0], atol=1e-5)
    plain = resolve([str(tmp_path / "odd" / "policy.json")]).records[0]
    assert plain.sha256 == found.records[0].sha256, "the adapter belongs to the policy"


def test_an_adapter_beside_a_file_is_part_of_its_identity(tmp_path: Path) -> None:
    onnx_format.export(small_policy("odd"), tmp_path / "odd.onnx")
    (before,) = resolve([str(tmp_path)]).records
    adapter = {"schema": 1, "obs_dim": 5, "action_dim": 1, "observation": [0, 1, 2]}
    (tmp_path / "odd.adapter.json").write_text(json.dumps(adapter))
    found = resolve([str(tmp_path)])
    assert found.records[0].sha256 != before.sha256
    found.fit(5, 1, "task")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"action_dim": 2}, "lacks obs_dim"),
        ({"obs_dim": 4, "action_dim": 1}, "observation gives 4 numbers, 'odd' takes 3"),
        ({"obs_dim": 3, "action_dim": 2}, "action_dim is 2 numbers, 'odd' gives 1"),
        ({"obs_dim": 4, "action_dim": 1, "observation": [0, 1, 4]}, "names place 4 of 4"),
        ({"obs_dim": 3, "action_dim": 1, "action": [1]}, "action names place 1 of 1"),
        ({"obs_dim": 3, "action_dim": 1, "std": [1, 1, 0], "mean": [0, 0, 0]}, "std is"),
        ({"obs_dim": 3, "action_dim": 1, "mean": [0, 0, 0]}, "mean and std come together"),
        ({"obs_dim": 3, "action_dim": 1, "scale": [1, 2]}, "scale has 2 numbers, it needs 1"),
        ({"obs_dim": 3, "action_dim": 1, "code": "rm"}, "unknown field"),
        ({"obs_dim": 3, "action_dim": 1, "observation": "012"}, "not allowed"),
    ],
)
def test_a_wrong_adapter_gets_one_line(
    tmp_path: Path, record: dict[str, Any], message: str
) -> None:
    ref = adapted(tmp_path / "odd", **record)
    with pytest.raises(UserError, match=message) as caught:
        resolve([ref])
    assert "\n" not in str(caught.value)


def test_differing_sizes_without_an_adapter_name_both(tmp_path: Path) -> None:
    save(tmp_path / "odd", small_policy("odd"))
    with pytest.raises(UserError, match=r"takes 3 .*gives 1 .*has 4 and 2") as caught:
        resolve([str(tmp_path / "odd")]).fit(4, 2, "pointmaze/u")
    assert str(tmp_path / "odd") in str(caught.value)


def test_check_tells_what_a_prior_is_worth(mixed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refs = [str(mixed), "--task", "pointmaze/empty5-ne", "--episodes", "2", "--trust-code"]
    assert main(["priors", "check", *refs, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["ne", "b", "c"]
    assert rows[0]["success_any"] == 1.0 and rows[0]["faults"] == 0
    assert all(row["us_per_call"] > 0 for row in rows)
    assert main(["priors", "check", *refs]) == 0
    shown = capsys.readouterr().out
    assert "100%" in shown and "gaussian-mlp" in shown


def test_export_writes_what_can_be_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for to, out in (("safetensors", tmp_path / "ne"), ("onnx", tmp_path / "ne.onnx")):
        assert main(["priors", "export", "zoo:pointmaze/ne", "--to", to, "--out", str(out)]) == 0
        said, expected = actions(resolve([str(out)])), actions(resolve(["zoo:pointmaze/ne"]))
        np.testing.assert_allclose(said, expected, atol=1e-5)
        assert main(["priors", "export", "zoo:pointmaze/ne", "--to", to, "--out", str(out)]) == 2
        assert "choose another --out" in capsys.readouterr().err
    assert main(["priors", "export", "zoo:pointmaze"]) == 2
    assert "names 4 policies" in capsys.readouterr().err


def test_the_example_folder_holds_one_policy_of_each_format() -> None:
    folder = Path(__file__).parents[2] / "examples" / "mixed"
    found = resolve([str(folder)], trust_code=True)
    assert found.names == ("ne", "nw", "se", "sw")
    said, shipped = actions(found), actions(resolve(["zoo:pointmaze"]))
    for place in (0, 1, 3):
        np.testing.assert_allclose(said[:, place], shipped[:, place], atol=1e-5)


# --- shipped sets ---

SET2 = ("reach", "push", "pick-place", "push-back", "hammer", "shelf-place")


@pytest.mark.parametrize(
    ("ref", "task", "names"),
    [
        ("zoo:metaworld", "", SET2[:3]),
        ("zoo:set1", "metaworld/box-close", SET2[:3]),
        ("zoo:set2", "metaworld/box-close", SET2),
        ("zoo:set3", "metaworld/stick-pull", (*SET2, "stick-pull-weak")),
        ("zoo:set3", "metaworld/coffee-pull-sparse", (*SET2, "coffee-pull-weak")),
        ("zoo:set4", "metaworld/coffee-pull", (*SET2, "coffee-pull-weak", "coffee-pull")),
        ("zoo:metaworld/hammer", "", ("hammer",)),
    ],
)
def test_a_set_has_the_papers_policies_in_the_papers_order(
    ref: str, task: str, names: tuple[str, ...]
) -> None:
    found = resolve([ref], task=task)
    assert found.names == names
    assert {record.ref for record in found.records} == {ref}
    found.fit(39, 4, task)


@pytest.mark.parametrize("task", ["metaworld/push-wall", "pointmaze/u", ""])
@pytest.mark.parametrize("name", ["set3", "set4"])
def test_a_task_without_policies_of_its_own_has_no_such_set(name: str, task: str) -> None:
    expected = rf"zoo:{name} exists for metaworld/coffee-pull and metaworld/stick-pull, .*'{task}'"
    with pytest.raises(UserError, match=expected) as caught:
        resolve([f"zoo:{name}"], task=task)
    assert "\n" not in str(caught.value)


def test_an_unknown_shipped_name_gets_the_nearest_ones() -> None:
    with pytest.raises(UserError, match=r"'zoo:set5'; nearest: zoo:set"):
        resolve(["zoo:set5"])
    with pytest.raises(UserError, match=r"'zoo:metaworld/pus'.*zoo:metaworld/push"):
        resolve(["zoo:metaworld/pus"])


def test_a_run_with_a_set_finds_its_priors_again_by_its_task() -> None:
    learner = Learner("smec", "metaworld/stick-pull", "zoo:set3")
    assert learner.priors.names[-1] == "stick-pull-weak"
    assert library(learner.run).records == learner.run.priors


def test_check_knows_the_sets_of_its_task(capsys: pytest.CaptureFixture[str]) -> None:
    refs = ["zoo:set4", "--task", "metaworld/push-wall", "--episodes", "1"]
    assert main(["priors", "check", *refs]) == 2
    assert "zoo:set4 exists for" in capsys.readouterr().err
