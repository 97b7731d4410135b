"""Hostile bytes in place of an ONNX model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from archives import SB3
from hostile import PAYLOAD, Write, add, later

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
SOUND = (SB3.parent / "onnx" / "sac-relu-pendulum.onnx").read_bytes()
NODE = helper.make_node


def bad(name: str, content: bytes | Write, rule: str) -> None:
    add("onnx", name, content, rule)


def model(nodes: Sequence[Any], *tensors: Any, output: Sequence[Any] = ("n", 3)) -> Any:
    """From x (n, 3) to y, with some tensors."""
    ends = [
        helper.make_tensor_value_info(name, FLOAT, size)
        for name, size in (("x", ["n", 3]), ("y", output))
    ]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def bytes_of(nodes: Sequence[Any], *tensors: Any) -> bytes:
    return model(nodes, *tensors).SerializeToString()


def constant(name: str, value: Any, dtype: Any = np.float32) -> Any:
    return numpy_helper.from_array(np.array(value, dtype), name)


def outside(location: str) -> bytes:
    """A model whose weights are in another file."""
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[3])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return bytes_of([NODE("Add", ["x", "w"], ["y"])], tensor)


for place in ("../../../etc/passwd", "/etc/passwd", "weights.bin", "a/../../b", "a\x00b"):
    bad(f"weights in {place!a}", outside(place), "a tensor in another file is not allowed")
ELSEWHERE = TensorProto(name="w", data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
bad("weights elsewhere", bytes_of([NODE("Add", ["x", "w"], ["y"])], ELSEWHERE), "in another file")
INSIDE = TensorProto(data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
bad(
    "a constant elsewhere",
    bytes_of([NODE("Constant", [], ["w"], value=INSIDE), NODE("Add", ["x", "w"], ["y"])]),
    "in another file",
)

# --- what would run code, or never end ---

for domain, operator in {
    "ai.onnx.contrib": "PyOp", "com.microsoft": "QAttention", "evil\n\x1b[2J": "Run",
    "pkg.custom": "Tanh",
}.items():  # fmt: skip
    bad(
        f"operator {operator} of {domain!a}",
        bytes_of([NODE(operator, ["x"], ["y"], domain=domain)]),
        "is not allowed",
    )
BRANCH = helper.make_graph(
    [NODE("Tanh", ["x"], ["z"])], "b", [], [helper.make_tensor_value_info("z", FLOAT, None)]
)
bad(
    "a branch",
    bytes_of(
        [
            NODE("Constant", [], ["c"], value=constant("", True, np.bool_)),
            NODE("If", ["c"], ["y"], then_branch=BRANCH, else_branch=BRANCH),
        ]
    ),
    "a graph in a node is not allowed",
)
bad("a loop", bytes_of([NODE("Loop", ["", ""], ["y"], body=BRANCH)]), "a graph in a node")
bad("a loop without a body", bytes_of([NODE("Loop", ["", ""], ["y"])]), "'Loop' is not allowed")
FUNCTION = model([NODE("Evil", ["x"], ["y"])])
FUNCTION.functions.append(
    helper.make_function("", "Evil", ["x"], ["y"], [NODE("Tanh", ["x"], ["y"])], [])
)
bad("a function", FUNCTION.SerializeToString(), "a function is not allowed")
TRAINED = model([NODE("Tanh", ["x"], ["y"])])
TRAINED.training_info.add()
bad("training", TRAINED.SerializeToString(), "training is not allowed")
SPARSE = model([NODE("Tanh", ["x"], ["y"])])
SPARSE.graph.sparse_initializer.add()
bad("sparse tensors", SPARSE.SerializeToString(), "a sparse tensor is not allowed")
bad("the runtime's own format", b"\x20\x00\x00\x00ORTM" + bytes(64), "is not an ONNX model")
bad("a pickle", PAYLOAD, "is not an ONNX model")
bad("nothing", b"", "0 nodes")
bad("text", b"hello", "is not an ONNX model")

# --- what would fill the memory or take forever ---


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field of a message."""
    length, size = b"", len(content)
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


bad("10 million empty nodes", later(lambda: field(7, field(1, b"") * 10**7)), "50000 parts")
bad(
    "a million nodes",
    later(lambda: field(7, field(1, NODE("Tanh", ["x"], ["x"]).SerializeToString()) * 10**6)),
    "50000 parts",
)
bad("5,000 nodes", bytes_of([NODE("Tanh", ["x"], [f"y{i}"]) for i in range(5_000)]), "1000 nodes")
bad("10 million names", later(lambda: field(7, field(1, field(1, b"") * 10**7))), "50000 parts")
bad("a name of 10 MB", later(lambda: field(2, b"a" * 10**7)), "a text or list of 10000000 bytes")
bad(
    "10 million sizes",
    later(lambda: field(7, field(5, field(1, b"\x01" * 10**7)))),
    "a text or list of 10000000 bytes",
)
bad("groups 100,000 deep", b"\x0b" * 10**5, "wire type 3")
bad("a number without end", b"\x08" + b"\xff" * 20, "does not end")
bad("a length beyond the end", field(7, b"")[:-1] + b"\xff\xff\xff\xff\x0f", "truncated")
ROW, COLUMN = constant("row", np.ones((1, 10**5))), constant("column", np.ones((10**5, 1)))
bad(
    "a product of 40 GB",
    bytes_of([NODE("MatMul", ["column", "row"], ["y"])], ROW, COLUMN),
    "'y' has 10000000000 elements",
)
bad(
    "a sum of 40 GB", bytes_of([NODE("Add", ["column", "row"], ["y"])], ROW, COLUMN), "elements"
)  # fmt: skip
for operator, inputs in {
    "Expand": ["x", "s"],
    "ConstantOfShape": ["s"],
    "Reshape": ["x", "s"],
}.items():
    bad(
        f"{operator} to 4 TB",
        bytes_of([NODE(operator, inputs, ["y"])], constant("s", [10**6, 10**6], np.int64)),
        "elements|not a valid ONNX model",
    )
DOUBLING = [NODE("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=1) for i in range(40)]
bad(
    "doubled forty times",
    bytes_of([NODE("Identity", ["x"], ["v0"]), *DOUBLING, NODE("Tanh", ["v40"], ["y"])]),
    "elements",
)
DOUBLING = [NODE("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=0) for i in range(40)]
bad(
    "states doubled forty times",
    bytes_of([NODE("Identity", ["x"], ["v0"]), *DOUBLING, NODE("Tanh", ["v40"], ["y"])]),
    "elements",
)
SQUARING = [NODE("MatMul", [f"v{i}"] * 2, [f"v{i + 1}"]) for i in range(900)]
bad(
    "900 products of large matrices",
    later(lambda: bytes_of(
        [*SQUARING, NODE("Tanh", ["x"], ["y"])], constant("v0", np.zeros((1_000, 1_000)))
    )),
    "multiplications",
)  # fmt: skip

# --- what does not fit ---


def lying(**changes: Any) -> bytes:
    tensor = constant("w", [1.0, 2.0, 3.0])
    for name, value in changes.items():
        if name == "dims":
            tensor.dims[:] = value
        else:
            setattr(tensor, name, value)
    return bytes_of([NODE("Add", ["x", "w"], ["y"])], tensor)


bad("dims of 10^12", lying(dims=[10**6, 10**6]), "not a valid ONNX model")
bad("dims below zero", lying(dims=[-3]), "not a valid ONNX model")
bad("overflowing dims", lying(dims=[2**62, 4]), "not a valid ONNX model")
bad("dims that are missing", lying(dims=[]), "not a valid ONNX model")
bad("half a number", lying(raw_data=b"\0" * 11), "not a valid ONNX model")
bad("a type from the future", lying(data_type=99), "has type 99")
bad("a type that is text", lying(data_type=TensorProto.STRING), "has type 8")
bad(
    "weights that are NaN",
    bytes_of([NODE("Add", ["x", "w"], ["y"])], constant("w", [np.nan] * 3)),
    "non-finite weights",
)
bad(
    "a name with terminal codes",
    bytes_of([NODE("Add", ["x", "\x1b[2J\n"], ["y"])], constant("\x1b[2J\n", [np.nan] * 3)),
    "non-finite weights",
)
bad(
    "30 MB of weights, the last of them NaN",
    later(lambda: bytes_of(
        [NODE("MatMul", ["x", "w"], ["z"]), NODE("Slice", ["z", "a", "b", "one"], ["y"])],
        constant("w", np.append(np.zeros(7_499_999), np.nan).reshape(3, -1)),
    )),
    "non-finite weights",
)  # fmt: skip
bad("an unknown attribute", bytes_of([NODE("Tanh", ["x"], ["y"], evil=1)]), "not a valid")
bad("an unknown input", bytes_of([NODE("Add", ["x", "secret"], ["y"])]), "not a valid")
FUTURE = model([NODE("Tanh", ["x"], ["y"])])
FUTURE.ir_version = 9_999
bad("a format of the future", FUTURE.SerializeToString(), "o")
for share in range(5, 100, 15):
    bad(f"cut at {share} %", SOUND[: len(SOUND) * share // 100], "truncated")
assert onnx.load_model_from_string(SOUND).graph.node
