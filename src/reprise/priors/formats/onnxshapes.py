"""How large every array of an ONNX model gets, and how much work that is, before it is run."""

from __future__ import annotations

from math import prod

import onnx
from onnx import shape_inference

from reprise.boundary.errors import PolicyFileError
from reprise.priors.source import brief

MOST_ELEMENTS = 2**20
MOST_WORK = 2**27
Shape = tuple[int, ...]


def infer(model: onnx.ModelProto, batch: int) -> dict[str, Shape]:
    """The shape of every array for this many states; what the file claims is not believed."""
    sized = onnx.ModelProto()
    sized.CopyFrom(model)
    weights = {tensor.name: tuple(tensor.dims) for tensor in sized.graph.initializer}
    for value in sized.graph.input:
        if value.name not in weights:
            value.type.tensor_type.shape.dim[0].dim_value = batch
    del sized.graph.value_info[:]
    for value in sized.graph.output:
        value.type.tensor_type.ClearField("shape")
    graph = shape_inference.infer_shapes(sized, True, True, True).graph
    shapes: dict[str, Shape] = dict(weights)
    for value in (*graph.input, *graph.value_info, *graph.output):
        dims = value.type.tensor_type.shape.dim
        if value.type.tensor_type.HasField("shape") and all(d.HasField("dim_value") for d in dims):
            shapes[value.name] = tuple(dim.dim_value for dim in dims)
    return shapes


def check_work(model: onnx.ModelProto, shapes: dict[str, Shape], origin: str) -> None:
    """Bound memory and time: a product of two columns, or a chain of products, can take any."""
    work = 0
    for node in model.graph.node:
        for name in filter(None, node.output):
            if name not in shapes:
                raise PolicyFileError(f"{origin}: the size of {brief(name)} cannot be told")
            if (size := prod(shapes[name])) > MOST_ELEMENTS:
                raise PolicyFileError(f"{origin}: {brief(name)} has {size} elements")
            depth = max(shapes.get(node.input[0], ()), default=1) if _multiplies(node) else 1
            work += size * depth
    if work > MOST_WORK:
        raise PolicyFileError(f"{origin}: it takes {work} multiplications, over {MOST_WORK}")


def _multiplies(node: onnx.NodeProto) -> bool:
    return node.op_type in ("MatMul", "Gemm")
