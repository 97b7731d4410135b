"""What an ONNX policy may compute: a closed list of operators on arrays of bounded size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, checker, numpy_helper, shape_inference

from reprise.boundary.errors import PolicyFileError
from reprise.priors.formats.onnxshapes import check_work, infer
from reprise.priors.formats.onnxwire import look
from reprise.priors.source import brief

OPERATORS = frozenset((
    "Abs", "Add", "BatchNormalization", "Cast", "Ceil", "Celu", "Clip", "Concat", "Constant",
    "ConstantOfShape", "Cos", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Expand", "Flatten",
    "Floor", "Gather", "Gelu", "Gemm", "Greater", "HardSigmoid", "HardSwish", "Identity",
    "LayerNormalization", "LeakyRelu", "Less", "Log", "LogSoftmax", "MatMul", "Max", "Mean", "Min",
    "Mish", "Mul", "Neg", "Not", "PRelu", "Pow", "Reciprocal", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceSum", "Relu", "Reshape", "Selu", "Shape", "Sigmoid", "Sign", "Sin", "Slice",
    "Softmax", "Softplus", "Softsign", "Split", "Sqrt", "Squeeze", "Sub", "Sum", "Swish", "Tanh",
    "Transpose", "Unsqueeze", "Where",
))  # fmt: skip
NUMBERS = (
    TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL,
)  # fmt: skip
BROKEN = (DecodeError, checker.ValidationError, shape_inference.InferenceError)
DOMAINS = ("", "ai.onnx")
OLDEST = 7
MOST_NODES = 1_000
WIDEST = 2**16
SEVERAL = 2
"""How many states a model of any batch is sized for: more than one shows what grows."""


class Sizes(NamedTuple):
    """What goes in and comes out."""

    obs: int
    action: int
    one_by_one: bool
    """Whether the model only takes one state at a time."""


def check(data: bytes, origin: str) -> Sizes:
    """The sizes of a model that keeps all rules; nothing is run to find out."""
    look(data, origin)
    try:
        model = onnx.load_model_from_string(data)
        _check_header(model, origin)
        _check_tensors(model, origin)
        checker.check_model(model)
        obs, one_by_one = _input(model, origin)
        batch = 1 if one_by_one else SEVERAL
        shapes = infer(model, batch)
    except (*BROKEN, ValueError, TypeError, OverflowError) as error:
        raise PolicyFileError(f"{origin} is not a valid ONNX model: {plain(error)}") from error
    check_work(model, shapes, origin)
    first = model.graph.output[0]
    if first.type.tensor_type.elem_type != TensorProto.FLOAT:
        raise PolicyFileError(f"{origin}: its first output is not of float32")
    action = shapes.get(first.name, ())
    if len(action) != 2 or action[0] != batch or not 0 < action[1] <= WIDEST:
        raise PolicyFileError(f"{origin}: its first output is {action}, not (batch, action)")
    return Sizes(obs, action[1], one_by_one)


def plain(error: Exception) -> str:
    """A library's message about a file, which may quote the file, in one printable line."""
    return brief(" ".join(str(error).split()))


def _check_header(model: onnx.ModelProto, origin: str) -> None:
    graph, newest = model.graph, onnx.defs.onnx_opset_version()
    for opset in model.opset_import:
        if opset.domain not in DOMAINS:
            raise PolicyFileError(f"{origin}: operators of {brief(opset.domain)} are not allowed")
        if not OLDEST <= opset.version <= newest:
            rule = f"{OLDEST} to {newest} are read"
            raise PolicyFileError(f"{origin}: operator set {opset.version}; {rule}")
    if len(graph.node) > MOST_NODES or not graph.output:
        rule = f"at most {MOST_NODES} nodes and at least one output"
        raise PolicyFileError(f"{origin}: it has {len(graph.node)} nodes; {rule}")
    for node in graph.node:
        if node.domain not in DOMAINS or node.op_type not in OPERATORS:
            name = brief(f"{node.domain}.{node.op_type}".strip("."))
            raise PolicyFileError(f"{origin}: operator {name} is not allowed")


def _check_tensors(model: onnx.ModelProto, origin: str) -> None:
    constants = [a.t for node in model.graph.node for a in node.attribute if a.HasField("t")]
    for tensor in (*model.graph.initializer, *constants):
        name = brief(tensor.name)
        if tensor.data_location != TensorProto.DEFAULT:
            raise PolicyFileError(f"{origin}: tensor {name} is in another file")
        if tensor.data_type not in NUMBERS:
            raise PolicyFileError(f"{origin}: tensor {name} has type {tensor.data_type}")
        if not np.isfinite(numpy_helper.to_array(tensor)).all():
            raise PolicyFileError(f"{origin}: tensor {name} holds non-finite weights")


def _input(model: onnx.ModelProto, origin: str) -> tuple[int, bool]:
    """How many numbers an observation has, and whether it must come alone."""
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    if len(inputs) != 1 or inputs[0].type.tensor_type.elem_type != TensorProto.FLOAT:
        raise PolicyFileError(f"{origin}: it needs exactly one input, of float32")
    dims = inputs[0].type.tensor_type.shape.dim
    fixed = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
    if len(fixed) != 2 or fixed[0] not in (None, 1) or not 0 < (fixed[1] or 0) <= WIDEST:
        raise PolicyFileError(f"{origin}: its input is {fixed[:5]}, not (batch or 1, obs)")
    return fixed[1] or 0, fixed[0] == 1
