"""Our own policies as ONNX models."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from reprise.priors.card import Card
from reprise.priors.formats.own import Policy

OPSET, IR_VERSION = 17, 8
"""Old enough for any onnxruntime of the last years."""
OPERATORS = {"relu": "Relu", "tanh": "Tanh"}


def model(policy: Policy) -> bytes:
    """The bytes of a model from observations (batch, obs) to actions (batch, action)."""
    chain, card = _Chain(), policy.card
    _normalize(chain, card)
    last = len(policy.weights) - 1
    for depth, (weight, bias) in enumerate(zip(policy.weights, policy.biases, strict=True)):
        # Of the last layer only the mean is an action; a clipped policy has nothing else.
        wanted = card.action_dim if depth == last else len(bias)
        chain.then("Gemm", weight[:, :wanted], bias[:wanted])
        if depth < last:
            chain.then(OPERATORS[card.activation])
    if card.kind == "gaussian-mlp":
        chain.then("Tanh")
    else:
        _rescale(chain, *card.box)
    return chain.model(card).SerializeToString()


def _normalize(chain: _Chain, card: Card) -> None:
    if scaling := card.normalizer:
        chain.then("Sub", scaling.mean)
        chain.then("Div", scaling.std)
        chain.then("Clip", -scaling.clip, scaling.clip)


def _rescale(chain: _Chain, low: np.ndarray, high: np.ndarray) -> None:
    chain.then("Max", low)
    chain.then("Min", high)
    chain.then("Sub", low)
    chain.then("Div", (high - low) / 2.0)
    chain.then("Sub", 1.0)


class _Chain:
    """Operators one after the other, each on the result of the last and on constants."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.result = "obs"

    def then(self, operator: str, *constants: object) -> None:
        names = [f"constant_{len(self.constants) + i}" for i in range(len(constants))]
        self.constants += [
            numpy_helper.from_array(np.require(value, np.float32, "C"), name)
            for name, value in zip(names, constants, strict=True)
        ]
        before, self.result = self.result, f"result_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, [before, *names], [self.result]))

    def model(self, card: Card) -> onnx.ModelProto:
        self.nodes[-1].output[0] = "action"
        ends = (("obs", card.obs_dim), ("action", card.action_dim))
        given, wanted = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
            for name, size in ends
        )
        graph = helper.make_graph(self.nodes, card.name, [given], [wanted], self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(
            graph, producer_name="reprise", ir_version=IR_VERSION, opset_imports=opsets
        )
