"""ONNX: what is exported comes back, foreign models are asked rightly, odd ones are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_policy_kinds import each_kind, network, states

from archives import SB3
from reprise.boundary.errors import PolicyFileError, UserError
from reprise.core.types import LOG_STD_RANGE
from reprise.priors.card import Normalizer
from reprise.priors.formats import sb3

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx as library
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from reprise.priors.formats import onnx

MODELS = SB3.parent / "onnx"
FLOAT = TensorProto.FLOAT


def record(name: str) -> dict[str, np.ndarray]:
    with np.load(SB3 / f"{name}.npz", allow_pickle=False) as file:
        return {key: np.asarray(file[key]) for key in file.files}


# --- what is exported comes back ---


@each_kind
def test_an_exported_policy_gives_the_same_actions(
    kind: str, activation: str, normalizer: Normalizer | None, tmp_path: Path
) -> None:
    policy = network(kind, activation, normalizer)
    onnx.export(policy, tmp_path / "out.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["out.onnx"]
    found = onnx.load(tmp_path / "out.onnx")
    for obs in (states(50), states(1)):
        np.testing.assert_allclose(found(obs).mode(), policy(obs).mode(), rtol=0.0, atol=1e-5)
    assert (found.card.obs_dim, found.card.action_dim, found.one_by_one) == (3, 2, False)


@pytest.mark.parametrize("name", ["sac-gsde-pendulum", "td3-linear-pendulum", "ppo-relu-drift"])
def test_a_policy_of_stable_baselines3_can_be_exported(name: str, tmp_path: Path) -> None:
    policy, obs = sb3.load(SB3 / f"{name}.zip"), record(name)["obs"]
    onnx.export(policy, tmp_path / "out.onnx")
    said = onnx.load(tmp_path / "out.onnx")(obs)
    np.testing.assert_allclose(said.mode(), policy(obs).mode(), rtol=0.0, atol=1e-5)


def test_exporting_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        onnx.export(network("gaussian-mlp", "relu", None), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_export_is_a_valid_model_for_anybody(tmp_path: Path) -> None:
    policy = network("clipped-mlp", "tanh", None)
    onnx.export(policy, tmp_path / "out.onnx")
    library.checker.check_model(str(tmp_path / "out.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(
        str(tmp_path / "out.onnx"), providers=["CPUExecutionProvider"]
    )
    actions = session.run(["action"], {"obs": states()})[0]
    np.testing.assert_allclose(actions, policy(states()).mode(), atol=1e-5)
    assert np.abs(actions).max() <= 1.0


# --- foreign models ---


def test_an_export_by_pytorch_gives_the_actions_of_stable_baselines3() -> None:
    known = record("sac-relu-pendulum")
    policy = onnx.load(MODELS / "sac-relu-pendulum.onnx")
    assert policy.one_by_one
    said = policy(known["obs"])
    expected = known["actions"] / 2.0  # Pendulum's actions are in [-2, 2]
    np.testing.assert_allclose(said.mode(), expected, rtol=0.0, atol=1e-5)
    assert (np.asarray(said.log_std) == LOG_STD_RANGE[0]).all()


def test_only_the_first_output_counts_and_what_is_outside_is_cut_off() -> None:
    known = record("ppo-relu-drift")
    policy = onnx.load(MODELS / "ppo-relu-drift.onnx")
    raw = sb3.load(SB3 / "ppo-relu-drift.zip")
    x = known["obs"]
    for weight, bias in zip(raw.weights[:-1], raw.biases[:-1], strict=True):
        x = np.maximum(x @ weight + bias, 0.0)
    x = x @ raw.weights[-1] + raw.biases[-1]
    assert (np.abs(x) > 1.0).any() and (np.abs(x) < 1.0).any()
    np.testing.assert_allclose(policy(known["obs"]).mode(), np.clip(x, -1, 1), atol=1e-5)


def test_the_card_of_a_model() -> None:
    card = onnx.load(MODELS / "ppo-relu-drift.onnx", "walk").card
    assert (card.name, card.kind, card.obs_dim, card.action_dim) == ("walk", "onnx", 3, 2)
    assert len(card.sha256) == 64
    assert onnx.load(MODELS / "ppo-relu-drift.onnx").card.name == "ppo-relu-drift"


# --- rules ---


def graph(
    nodes: list[Any],
    sizes: tuple[Any, Any] = (["n", 3], ["n", 2]),
    *,
    types: tuple[int, int] = (FLOAT, FLOAT),
    constants: dict[str, np.ndarray] | None = None,
    opsets: dict[str, int] | None = None,
) -> bytes:
    """A model from `x` to `y`."""
    given, wanted = (
        helper.make_tensor_value_info(name, kind, size)
        for name, kind, size in zip("xy", types, sizes, strict=True)
    )
    tensors = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    imports = [helper.make_opsetid(*pair) for pair in (opsets or {"": 17}).items()]
    whole = helper.make_graph(nodes, "g", [given], [wanted], tensors)
    return helper.make_model(whole, ir_version=8, opset_imports=imports).SerializeToString()


W = {"w": np.ones((3, 2), np.float32)}
MATMUL = helper.make_node("MatMul", ["x", "w"], ["y"])


def test_the_helper_above_makes_a_model_that_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(graph([MATMUL], constants=W))
    said = onnx.load(tmp_path / "a.onnx")(np.full((4, 3), 0.1, np.float32))
    np.testing.assert_allclose(said.mode(), np.full((4, 2), 0.3), atol=1e-6)


def node(operator: str, *inputs: str, **attributes: Any) -> Any:
    return helper.make_node(operator, inputs or ("x",), ["y"], **attributes)


ODD: dict[str, tuple[bytes, str]] = {
    "an operator of another domain": (
        graph([node("MatMul", "x", "w", domain="ai.onnx.contrib")], constants=W),
        "operator 'ai.onnx.contrib.MatMul' is not allowed",
    ),
    "an operator set of another domain": (
        graph([MATMUL], constants=W, opsets={"": 17, "com.microsoft": 1}),
        "operators of 'com.microsoft' are not allowed",
    ),
    "an operator that is random": (
        graph([node("RandomNormalLike")], (["n", 3], ["n", 3])),
        "operator 'RandomNormalLike' is not allowed",
    ),
    "a future operator set": (
        graph([MATMUL], constants=W, opsets={"": 9_999}), "operator set 9999; 7 to",
    ),
    "an ancient operator set": (
        graph([MATMUL], constants=W, opsets={"": 1}), "operator set 1; 7 to",
    ),
    "a batch of 64": (graph([MATMUL], ([64, 3], [64, 2]), constants=W), "not (batch or 1, obs)"),
    "a flat input": (graph([node("Tanh")], ([3], [3])), "not (batch or 1, obs)"),
    "an input of three axes": (
        graph([node("Tanh")], (["n", 3, 3], ["n", 3, 3])), "not (batch or 1, obs)",
    ),
    "an input of unknown width": (
        graph([node("Tanh")], (["n", "m"], ["n", "m"])), "not (batch or 1, obs)",
    ),
    "an input of doubles": (
        graph([node("Cast", to=FLOAT)], (["n", 3], ["n", 3]), types=(TensorProto.DOUBLE, FLOAT)),
        "exactly one input, of float32",
    ),
    "an output of integers": (
        graph(
            [node("Cast", to=TensorProto.INT64)], (["n", 3], ["n", 3]),
            types=(FLOAT, TensorProto.INT64),
        ),
        "first output is not of float32",
    ),
    "an output of one axis": (
        graph([node("ReduceSum", "x", "w", keepdims=0)], (["n", 3], ["n"]),
              constants={"w": np.array([1])}),
        "not (batch, action)",
    ),
    "an output that mixes states": (
        graph([node("Reshape", "x", "w")], (["n", 3], [3, "n"]),
              constants={"w": np.array([3, -1])}),
        "not (batch, action)",
    ),
    "an output whose size depends on the input": (
        graph(
            [
                helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
                helper.make_node("Flatten", ["i"], ["f"], axis=0),
                helper.make_node("Squeeze", ["f", "w"], ["s"]),
                node("ConstantOfShape", "s"),
            ],
            (["n", 3], ["n", 2]), constants={"w": np.array([0])},
        ),
        "cannot be told",
    ),
    "weights that are not finite": (
        graph([MATMUL], constants={"w": np.full((3, 2), np.nan, np.float32)}),
        "tensor 'w' holds non-finite weights",
    ),
    "a constant that is not finite": (
        graph(
            [
                helper.make_node(
                    "Constant", [], ["w"], value=numpy_helper.from_array(np.float32([np.inf]))
                ),
                node("Add", "x", "w"),
            ],
            (["n", 3], ["n", 3]),
        ),
        "holds non-finite weights",
    ),
    "weights of half precision": (
        graph([node("Tanh")], (["n", 3], ["n", 3]), constants={"w": np.ones(3, np.float16)}),
        "tensor 'w' has type 10",
    ),
    "text": (
        graph([node("Tanh")], (["n", 3], ["n", 3]), constants={"w": np.array(["a"], object)}),
        "a tensor of text is not allowed",
    ),
    "sizes that do not fit": (
        graph([MATMUL], constants={"w": np.ones((4, 2), np.float32)}), "not a valid ONNX model",
    ),
    "two inputs": (
        graph([node("Add", "x", "z")], (["n", 3], ["n", 3])), "not a valid ONNX model",
    ),
    "a loop in the graph": (
        graph([helper.make_node("Tanh", ["y"], ["z"]), helper.make_node("Tanh", ["z"], ["y"])]),
        "not a valid ONNX model",
    ),
    "no nodes": (graph([]), "not a valid ONNX model"),
}  # fmt: skip


@pytest.mark.parametrize("what", ODD)
def test_a_model_against_the_rules_is_refused_in_one_line(what: str, tmp_path: Path) -> None:
    data, rule = ODD[what]
    path = tmp_path / "odd.onnx"
    path.write_bytes(data)
    with pytest.raises(PolicyFileError) as caught:
        onnx.load(path)
    message = str(caught.value)
    assert rule in message and str(path) in message
    assert message.isprintable() and len(message) < 500


def test_two_inputs_and_two_sets_of_weights_are_told_apart(tmp_path: Path) -> None:
    model = library.load_model_from_string(graph([node("Add", "x", "z")], (["n", 3], ["n", 3])))
    model.graph.input.append(helper.make_tensor_value_info("z", FLOAT, [3]))
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(PolicyFileError, match="exactly one input"):
        onnx.load(tmp_path / "a.onnx")
    # Before version 4 of the format every weight was listed as an input too.
    model.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "z"))
    (tmp_path / "a.onnx").write_bytes(model.SerializeToString())
    assert onnx.load(tmp_path / "a.onnx").card.obs_dim == 3


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_without_the_extra_it_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = onnx.find_spec
    monkeypatch.setattr(onnx, "find_spec", lambda name: None if name == missing else real(name))
    for use in (
        lambda: onnx.load(MODELS / "ppo-relu-drift.onnx"),
        lambda: onnx.export(network("gaussian-mlp", "relu", None), Path("never")),
    ):
        with pytest.raises(UserError, match=r"pip install 'reprise\[onnx\]'"):
            use()


def test_a_model_runs_on_one_thread() -> None:
    threads = f"/proc/{os.getpid()}/task"
    if not Path(threads).exists():
        pytest.skip("threads are counted where there is /proc")
    onnx.load(MODELS / "ppo-relu-drift.onnx")
    before = len(list(Path(threads).iterdir()))
    policies = [onnx.load(MODELS / "ppo-relu-drift.onnx") for _ in range(4)]
    for policy in policies:
        policy(states())
    assert len(list(Path(threads).iterdir())) == before
