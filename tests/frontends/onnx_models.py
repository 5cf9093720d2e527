"""Small ONNX models for tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.onnx import import_onnx, parse_onnx

Array = NDArray[Any]
Dims = Sequence[int | str]


def tensor(name: str, dims: Dims | None, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def graph_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str],
    weights: dict[str, Array] | None = None,
    opset: int = 20,
    **more: Any,
) -> onnx.ModelProto:
    """A model; the types of its outputs are left to inference."""
    initializers = [onnx.numpy_helper.from_array(a, n) for n, a in (weights or {}).items()]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(list(nodes), "test", list(inputs), results, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **more)


def imported(model: onnx.ModelProto, bindings: Bindings | None = None) -> ModuleOp:
    """Its module, verified."""
    module = import_onnx(parse_onnx(model.SerializeToString(), "model.onnx"), bindings)
    module.verify()
    return module


def evaluated(
    model: onnx.ModelProto, *inputs: Array, bindings: Bindings | None = None
) -> list[Array]:
    """What a model computes, by the reference interpreter."""
    return interpret(imported(model, bindings), [np.asarray(a) for a in inputs])
