"""Each operator that `list-operators --framework ONNX` names compiles somewhere for trn1."""

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper

from neuronir import backend
from neuronir.frontends.onnx.unsupported import importable
from tests.frontends.onnx_cases import node_cases, record
from tests.frontends.onnx_models import evaluated, graph_model, tensor

Array = NDArray[Any]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
W = RNG.standard_normal((5, 12)).astype(np.float32)
node = helper.make_node


def _listed(nodes: list[onnx.NodeProto], weights: dict[str, Array]) -> onnx.ModelProto:
    return graph_model(nodes, [tensor("x", X.shape)], ["y"], weights)


MORE: dict[str, tuple[onnx.ModelProto, Array]] = {
    "Compress": (
        _listed(
            [node("Compress", ["x", "c"], ["y"], axis=1)], {"c": np.array([True, False, True])}
        ),
        X[:, [0, 2]],
    ),
    "ConstantFill": (
        _listed(
            [node("ConstantFill", ["x"], ["f"], value=2.0), node("Add", ["x", "f"], ["y"])], {}
        ),
        X + 2,
    ),
    "FC": (
        _listed([node("FC", ["x", "w", "b"], ["y"])], {"w": W, "b": np.ones(5, np.float32)}),
        X.reshape(2, 12) @ W.T + 1,
    ),
    "GlobalLpPool": (
        _listed([node("GlobalLpPool", ["x"], ["y"], p=2)], {}),
        np.sqrt((X**2).sum(2, keepdims=True)),
    ),
    "NonZero": (
        _listed(
            [node("NonZero", ["m"], ["i"]), node("Gather", ["x", "i"], ["y"], axis=2)],
            {"m": np.array([1, 0, 2, 0])},
        ),
        X[:, :, [[0, 2]]],
    ),
    "ParametricSoftplus": (
        _listed([node("ParametricSoftplus", ["x"], ["y"], alpha=2.0, beta=0.5)], {}),
        2 * np.log1p(np.exp(0.5 * X)),
    ),
    "Scale": (_listed([node("Scale", ["x"], ["y"], scale=3.0)], {}), X * 3),
    "ScaledTanh": (
        _listed([node("ScaledTanh", ["x"], ["y"], alpha=2.0, beta=0.5)], {}),
        2 * np.tanh(0.5 * X),
    ),
    "SoftPlus": (_listed([node("SoftPlus", ["x"], ["y"])], {}), np.log1p(np.exp(X))),
    "SpatialBN": (
        _listed(
            [node("SpatialBN", ["x", "s", "s", "z", "s"], ["y"])],
            {"s": np.ones(3, np.float32), "z": np.zeros(3, np.float32)},
        ),
        X / np.sqrt(np.float32(1 + 1e-5)) + 1,
    ),
    "MaxRoiPool": (
        graph_model(
            [
                node("Unsqueeze", ["x", "front"], ["image"]),
                node("MaxRoiPool", ["image", "rois"], ["y"], pooled_shape=[1, 1]),
            ],
            [tensor("x", X.shape)],
            ["y"],
            {"front": np.array([0]), "rois": np.array([[0, 1, 0, 2, 1]], np.float32)},
        ),
        X[:, :2, 1:3].max((1, 2)).reshape(1, 2, 1, 1),
    ),
}
"""Operators that the node tests have no case of, with what they must give."""

DRAWN: dict[str, onnx.ModelProto] = {
    "Bernoulli": _listed([node("Sigmoid", ["x"], ["p"]), node("Bernoulli", ["p"], ["y"])], {}),
    "Multinomial": _listed(
        [
            node("Flatten", ["x"], ["scores"]),
            node("Multinomial", ["scores"], ["y"], sample_size=9),
        ],
        {},
    ),
    "RandomNormal": _listed(
        [node("RandomNormal", [], ["r"], shape=[3, 4]), node("Add", ["x", "r"], ["y"])], {}
    ),
    "RandomNormalLike": _listed([node("RandomNormalLike", ["x"], ["y"])], {}),
    "RandomUniform": _listed(
        [node("RandomUniform", [], ["r"], shape=[3, 4]), node("Add", ["x", "r"], ["y"])], {}
    ),
    "RandomUniformLike": _listed([node("RandomUniformLike", ["x"], ["y"])], {}),
}
"""Operators whose results are random: the machine must draw what the interpreter draws."""


def _name(domain: str, op_type: str) -> str:
    return op_type if domain in ("", "ai.onnx") else f"{domain}.{op_type}"


def test_each_listed_operator_has_a_case() -> None:
    """A plain node test that trn1 gets right, or one of those here."""
    known = record()
    bad = {*known["excluded"], *known["TRN1"]}
    right = {
        _name(node.domain, node.op_type)
        for case in node_cases()
        if case.name not in bad
        for node in case.model.graph.node
    }
    assert not set(importable()) - right - set(MORE) - set(DRAWN)
    assert not {*MORE, *DRAWN} - set(importable())


@pytest.mark.parametrize("name", sorted(MORE))
def test_operators_without_a_node_test(name: str) -> None:
    model, wanted = MORE[name]
    np.testing.assert_allclose(evaluated(model, X)[0], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        backend.run_model(model, [X], "TRN1")[0], wanted, rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_operators_that_draw(name: str) -> None:
    model = DRAWN[name]
    found = backend.run_model(model, [X], "TRN1")[0]
    np.testing.assert_allclose(found, evaluated(model, X)[0], rtol=1e-5, atol=1e-5)
