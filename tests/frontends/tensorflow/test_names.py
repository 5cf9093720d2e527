"""Each operator that list-operators names is imported by some case, and is right there."""

from functools import cache

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.tensorflow import File, import_tensorflow, operator_names, read_file
from neuronir.frontends.tensorflow.checkpoint import Checkpoint
from neuronir.frontends.tensorflow.schema import parse_binary, parse_text
from tests.corpus import CORPUS
from tests.frontends.tensorflow.check import against, bindings_of
from tests.frontends.tensorflow.graphs import PLACEHOLDER, attr, file_of, ints, node
from tests.frontends.tensorflow.stored import load, names

SAME = {
    "AccumulateNV2": ("AddN", "elementwise/AddN"),
    "BatchCholesky": ("Cholesky", "linear/Cholesky_batch"),
    "BatchMatrixTriangularSolve": ("MatrixTriangularSolve", "linear/MatrixTriangularSolve_batch"),
    "BiasAddV1": ("BiasAdd", "elementwise/BiasAdd_NHWC"),
    "Case": ("StatelessCase", "control_flow/case"),
    "CheckNumericsV2": ("CheckNumerics", "elementwise/CheckNumerics"),
    "DebugGradientIdentity": ("Identity", "elementwise/Identity"),
    "GuaranteeConst": ("Identity", "elementwise/Identity"),
    "If": ("StatelessIf", "control_flow/branch_1_functions"),
    "Mod": ("TruncateMod", "elementwise/TruncateMod_int"),
    "Print": ("Identity", "elementwise/Identity"),
    "RefSwitch": ("Switch", "control_flow/branch_1_frames"),
    "SparseMatMul": ("MatMul", "linear/MatMul_True_False"),
    "StatefulPartitionedCall": ("PartitionedCall", "control_flow/call"),
    "TensorListConcat": ("TensorListConcatV2", "control_flow/list_concat"),
    "TensorListScatter": ("TensorListScatterV2", "control_flow/list_scatter"),
    "Unstack": ("Unpack", "arrays/Unpack_1"),
    "While": ("StatelessWhile", "control_flow/counted_functions"),
    "isNan": ("IsNan", "elementwise/IsNan_float32"),
}
"""Operators that mean what another one does: that one, and a case that has it."""

FLOAT = attr("dtype", "type: DT_FLOAT")
_TWO = ints("two", 2).replace("tensor_shape { dim { size: 1 } }", "tensor_shape { }")
_ARRAY = _TWO + node("a", "TensorArrayV3", "two", attrs=FLOAT)
_PLACES = ints("places", 0, 1)
_FILLED = _ARRAY + _PLACES + node("f", "TensorArrayScatterV3", "a", "places", "x", "a:1")
X = np.array([[3, 1, 2], [-1, 5, 0]], np.float32)
WRITTEN = {
    "Assert": (node("s", "Assert") + node("y", "Relu", "x", "^s"), "y", np.maximum(X, 0)),
    "NoOp": (node("s", "NoOp") + node("y", "Relu", "x", "^s"), "y", np.maximum(X, 0)),
    "TopK": (node("y", "TopK", "x", attrs=attr("k", "i: 2")), "y", [[3, 2], [5, 0]]),
    "TensorArrayCloseV3": (
        _FILLED + node("c", "TensorArrayCloseV3", "a") + node("y", "Relu", "x", "^c"),
        "y",
        np.maximum(X, 0),
    ),
    "TensorArrayConcatV3": (_FILLED + node("y", "TensorArrayConcatV3", "a", "f"), "y", X.ravel()),
    "TensorArraySizeV3": (_FILLED + node("y", "TensorArraySizeV3", "a", "f"), "y", 2),
    "TensorArraySplitV3": (
        _ARRAY
        + ints("lengths", 1, 1)
        + ints("places", 1, 0)
        + node("f", "TensorArraySplitV3", "a", "x", "lengths", "a:1")
        + node("y", "TensorArrayGatherV3", "a", "places", "f"),
        "y",
        X[::-1, None],
    ),
    "TensorListElementShape": (
        ints("s", 3)
        + node("l", "TensorListFromTensor", "x", "s")
        + node("y", "TensorListElementShape", "l", attrs=attr("shape_type", "type: DT_INT32")),
        "y",
        [3],
    ),
}
"""Graphs written by hand, the output and what it must be."""

VARIABLES = frozenset(
    "VarHandleOp Variable VariableV2 ReadVariableOp ResourceGather ResourceGatherNd".split()
)


@cache
def _operators() -> frozenset[str]:
    found: set[str] = set()
    for name in names():
        graph = parse_binary("GraphDef", load(name).graph, name)
        found |= {n.op for n in graph.node}
        found |= {n.op for f in graph.library.function for n in f.node_def}
    return frozenset(found)


def test_every_name_has_a_case() -> None:
    missing = set(operator_names()) - _operators() - set(SAME) - set(WRITTEN) - VARIABLES
    assert not missing, sorted(missing)


@pytest.mark.parametrize("name", SAME)
def test_operators_of_the_same_meaning(name: str) -> None:
    other, case_name = SAME[name]
    case = load(case_name)
    graph = parse_binary("GraphDef", case.graph, case_name)
    found = 0
    for one in [*graph.node, *(n for f in graph.library.function for n in f.node_def)]:
        if one.op == other:
            one.op, found = name, found + 1
    assert found
    module = import_tensorflow(File(name, graph), bindings_of(case))
    report = against(case, interpret(module, [array for _, array in case.inputs]))
    assert report.ok, report.render()


@pytest.mark.parametrize("name", WRITTEN)
def test_written_graphs(name: str) -> None:
    text, output, wanted = WRITTEN[name]
    module = import_tensorflow(file_of(PLACEHOLDER, text), Bindings(outputs=[output]))
    module.verify()
    np.testing.assert_array_equal(interpret(module, [X])[0], wanted)


@pytest.mark.parametrize("kind", ["VarHandleOp", "VariableV2", "Variable"])
def test_variables_of_either_version(kind: str) -> None:
    """The graph's restoring part says which tensor of the checkpoint a variable is."""
    folder = CORPUS / "tf" / "lenet_savedmodel"
    checkpoint = Checkpoint(folder / "variables" / "variables")
    values = [k for k in checkpoint.names() if k.endswith("VARIABLE_VALUE")]
    key = next(k for k in values if checkpoint.tensor(k).ndim == 2)
    wanted = checkpoint.tensor(key)
    assign = "AssignVariableOp" if kind == "VarHandleOp" else "Assign"
    reading = "ReadVariableOp" if kind == "VarHandleOp" else "Identity"
    one = "tensor_shape { dim { size: 1 } }"
    tensor = f'tensor {{ dtype: DT_STRING {one} string_val: "{key}" }}'
    text = "\n".join(
        (
            node("v", kind),
            node("names", "Const", attrs=attr("value", tensor)),
            node("restored", "RestoreV2", "names", "names", "names"),
            node("same", "Identity", "restored:0"),
            node("assigned", assign, "v", "same"),
            node("y", reading, "v"),
            ints("rows", 1, 0),
            ints("cells", 1, 0).replace("dim { size: 2 }", "dim { size: 1 } dim { size: 2 }"),
            node("z", "ResourceGather", "v", "rows"),
            node("c", "ResourceGatherNd", "v", "cells"),
        )
    )
    file = File("saved", parse_text("GraphDef", text, "saved"), folder=folder)
    module = import_tensorflow(file, Bindings(outputs=["y", "z", "c"]))
    whole, rows, cell = interpret(module, [])
    np.testing.assert_array_equal(whole, wanted)
    np.testing.assert_array_equal(rows, wanted[[1, 0]])
    np.testing.assert_array_equal(cell, wanted[1:2, 0])


def test_a_default_is_an_input_when_it_is_bound() -> None:
    default = ints("d", 1, 2) + node("p", "PlaceholderWithDefault", "d")
    nodes = (default, node("y", "Neg", "p"))
    (fixed,) = interpret(import_tensorflow(file_of(*nodes)), [])
    np.testing.assert_array_equal(fixed, [-1, -2])
    module = import_tensorflow(file_of(*nodes), Bindings({"p": (2,)}, {"p": "int32"}))
    (given,) = interpret(module, [np.array([5, 6], np.int32)])
    np.testing.assert_array_equal(given, [-5, -6])


def test_the_same_file_gives_the_same_module() -> None:
    path = str(CORPUS / "tf" / "lstm_gru.functional.pb")
    first, second = (str(import_tensorflow(read_file(path))) for _ in range(2))
    assert first == second
