"""ONNX graphs: names, shapes that graphs compute, functions, subgraphs, weights."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from xdsl.dialects.builtin import ModuleOp, NameLoc

from neuronir.dialects.hlo.attributes import HloResourceAttr
from neuronir.dialects.hlo.resources import lookup
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.frontends.bindings import Bindings
from neuronir.frontends.onnx import import_onnx, read_onnx
from tests.frontends.onnx_models import evaluated, graph_model, imported, tensor

node = helper.make_node
RNG = np.random.default_rng(0)


def names(module: ModuleOp) -> list[str]:
    return [op.name for op in module.walk() if op.name.startswith("hlo.")]


def test_locations_are_the_names_of_nodes() -> None:
    made = imported(
        graph_model(
            [node("Relu", ["x"], ["r"], name="first"), node("Neg", ["r"], ["y"])],
            [tensor("x", [2])],
            ["y"],
        )
    )
    negate = next(op for op in made.walk() if op.name == "hlo.negate")
    relu = next(op for op in made.walk() if op.name == "hlo.maximum")
    assert isinstance(relu.location, NameLoc) and source_name(relu) == "first"
    # A node without a name goes by its result's.
    assert source_name(negate) == "y"
    assert str(negate.attributes["metadata"]).count("Neg") == 1


def test_shapes_that_the_graph_computes_vanish() -> None:
    """Shape, Gather, Concat, Reshape: what exporters print for x.view(x.shape[0], -1)."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Unsqueeze", ["n", "axes"], ["n1"]),
        node("Concat", ["n1", "rest"], ["dims"], axis=0),
        node("Reshape", ["x", "dims"], ["y"]),
    ]
    weights = {"zero": np.array(0), "axes": np.array([0]), "rest": np.array([-1])}
    model = graph_model(nodes, [tensor("x", ["batch", 3, 4])], ["y"], weights)
    made = imported(model, Bindings({"x": (2, 3, 4)}))
    assert names(made) == ["hlo.reshape"]


def test_symbolic_dimensions() -> None:
    model = graph_model(
        [node("Add", ["x", "m"], ["y"])],
        [tensor("x", ["batch", "length"]), tensor("m", ["batch", 1]), tensor("z", None)],
        ["y"],
    )
    with pytest.raises(NeuronError, match=r"'x' \(batchxlength\), 'm' \(batchx1\), 'z' \(unknown"):
        imported(model)
    made = imported(model, Bindings({"x": (2, 5), "z": ()}))
    (function,) = made.ops
    assert "tensor<2x1xf32>" in str(function)
    assert imported(model, Bindings({"batch": (2,), "length": (5,), "z": ()}))
    with pytest.raises(NeuronError, match="'batch' is bound to 2 and to 3"):
        imported(model, Bindings({"x": (2, 5), "m": (3, 1), "z": ()}))
    with pytest.raises(NeuronError, match="does not fit input 'm'"):
        imported(model, Bindings({"x": (2, 5), "m": (2, 2), "z": ()}))
    with pytest.raises(NeuronError, match="no input 'w'"):
        imported(model, Bindings({"w": (2,)}))
    with pytest.raises(NeuronError, match="has type f32, --io-config says 'int32'"):
        imported(model, Bindings({"x": (2, 5), "z": ()}, {"x": "int32"}))


def test_outputs_are_chosen() -> None:
    model = graph_model(
        [node("Neg", ["x"], ["a"]), node("Exp", ["a"], ["y"])], [tensor("x", [2])], ["y"]
    )
    x = np.array([1, 2], np.float32)
    assert evaluated(model, x, bindings=Bindings(outputs=["a"]))[0].tolist() == [-1, -2]


def test_functions_of_the_model_expand() -> None:
    body = [
        helper.make_node("Mul", ["a", "a"], ["s"], name="square"),
        helper.make_node("LeakyRelu", ["s"], ["b"], name="relu"),
    ]
    body[1].attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type="FLOAT"))
    function = helper.make_function(
        "local", "F", ["a"], ["b"], body, [helper.make_opsetid("", 20)], ["slope"]
    )
    graph = helper.make_graph(
        [helper.make_node("F", ["x"], ["y"], name="call", domain="local", slope=0.5)],
        "g",
        [tensor("x", [2])],
        [onnx.ValueInfoProto(name="y")],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("local", 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[function])
    made = imported(model)
    assert {source_name(op) for op in made.walk() if op.name.startswith("hlo.")} == {
        "call/square",
        "call/relu",
    }
    x = np.array([2, -3], np.float32)
    assert evaluated(model, x)[0].tolist() == [4, 9]
    recursive = helper.make_function(
        "local",
        "F",
        ["a"],
        ["b"],
        [helper.make_node("F", ["a"], ["b"], domain="local")],
        opsets,
    )
    model = helper.make_model(graph, opset_imports=opsets, functions=[recursive])
    with pytest.raises(NeuronError, match="nested more than"):
        imported(model)


def test_unsorted_nodes_and_cycles() -> None:
    x = np.array([1.0, 2], np.float32)
    nodes = [node("Exp", ["a"], ["y"]), node("Neg", ["x"], ["a"])]
    np.testing.assert_allclose(
        evaluated(graph_model(nodes, [tensor("x", [2])], ["y"]), x)[0], np.exp(-x), rtol=1e-6
    )
    nodes = [node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"], name="back")]
    with pytest.raises(NeuronError, match="cycle through node"):
        imported(graph_model(nodes, [tensor("x", [2])], ["a"]))


def _scaled(bias: str) -> onnx.GraphProto:
    """A body of a loop that reads `bias` from outside."""
    return helper.make_graph(
        [node("Add", ["v", bias], ["w"]), node("Identity", ["c"], ["d"])],
        "body",
        [tensor("i", [], TensorProto.INT64), tensor("c", [], TensorProto.BOOL), tensor("v", [2])],
        [tensor("d", [], TensorProto.BOOL), tensor("w", [2]), tensor("w", [2])],
    )


def test_loops_stay_loops() -> None:
    weights = {"count": np.array(5), "bias": np.array([1, 2], np.float32)}
    nodes = [node("Loop", ["count", "", "x"], ["y", "all"], body=_scaled("bias"))]
    model = graph_model(nodes, [tensor("x", [2])], ["y", "all"], weights)
    assert names(imported(model)).count("hlo.while") == 1
    last, every = evaluated(model, np.zeros(2, np.float32))
    assert last.tolist() == [5, 10] and every[:, 1].tolist() == [2, 4, 6, 8, 10]


def test_branches_that_are_known_are_taken() -> None:
    then = helper.make_graph([node("Neg", ["x"], ["a"])], "then", [], [tensor("a", [2])])
    other = helper.make_graph([node("Exp", ["x"], ["b"])], "other", [], [tensor("b", [2])])
    nodes = [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    known = graph_model(nodes, [tensor("x", [2])], ["y"], {"c": np.array(True)})
    assert names(imported(known)) == ["hlo.negate"]
    inputs = [tensor("x", [2]), tensor("c", [], TensorProto.BOOL)]
    model = graph_model(nodes, inputs, ["y"])
    x = np.array([1, 2], np.float32)
    assert evaluated(model, x, np.array(True))[0].tolist() == [-1, -2]
    np.testing.assert_allclose(evaluated(model, x, np.array(False))[0], np.exp(x), rtol=1e-6)


def test_external_data_is_mapped_and_not_copied(tmp_path: Path) -> None:
    weight = RNG.standard_normal((64, 64)).astype(np.float32)
    model = graph_model(
        [node("MatMul", ["x", "w"], ["y"])], [tensor("x", [2, 64])], ["y"], {"w": weight}
    )
    path = tmp_path / "model.onnx"
    onnx.save_model(
        model, path, save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    file = read_onnx(str(path))
    made = import_onnx(file)
    constant = next(op for op in made.walk() if op.name == "hlo.constant")
    value = constant.properties["value"]
    assert isinstance(value, HloResourceAttr)
    np.testing.assert_array_equal(lookup(value), weight)
    assert isinstance(lookup(value).base, np.memmap) or _is_mapped(lookup(value))


def _is_mapped(array: object) -> bool:
    while array is not None:
        if type(array).__name__ in ("memmap", "mmap"):
            return True
        array = getattr(array, "base", None)
    return False
