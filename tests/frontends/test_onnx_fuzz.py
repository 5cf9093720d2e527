"""Damaged ONNX files: whatever bytes change, the answer is a module or one NeuronError."""

import random
import warnings
from functools import partial

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from neuronir.frontends.bindings import Bindings
from neuronir.frontends.onnx import import_onnx, parse_onnx
from tests.frontends.mutation import altered, survives
from tests.frontends.onnx_cases import node_cases
from tests.frontends.onnx_models import graph_model, tensor

node = helper.make_node


def seeds() -> list[bytes]:
    """Small models with the parts that a reader walks: weights, shapes, subgraphs, windows."""
    body = helper.make_graph(
        [node("Add", ["v", "bias"], ["w"]), node("Identity", ["c"], ["d"])],
        "body",
        [tensor("i", [], TensorProto.INT64), tensor("c", [], TensorProto.BOOL), tensor("v", [2])],
        [tensor("d", [], TensorProto.BOOL), tensor("w", [2]), tensor("w", [2])],
    )
    loop = graph_model(
        [node("Loop", ["n", "", "x"], ["y", "all"], body=body)],
        [tensor("x", [2])],
        ["y", "all"],
        {"n": np.array(3), "bias": np.ones(2, np.float32)},
    )
    conv = graph_model(
        [
            node("Conv", ["x", "w"], ["c"], strides=[2, 1], pads=[1, 0, 1, 0]),
            node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2]),
            node("Shape", ["p"], ["s"]),
            node("Slice", ["s", "zero", "one"], ["b"]),
            node("Concat", ["b", "rest"], ["dims"], axis=0),
            node("Reshape", ["p", "dims"], ["y"]),
            node("Softmax", ["y"], ["z"], axis=-1),
        ],
        [tensor("x", ["n", 3, 8, 8])],
        ["z"],
        {
            "w": np.ones((4, 3, 3, 3), np.float32),
            "zero": np.array([0]),
            "one": np.array([1]),
            "rest": np.array([-1]),
        },
    )
    return [loop.SerializeToString(), conv.SerializeToString()]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes with a few changed, removed, repeated or put in."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out)) if out else 0
        match rng.randrange(5):
            case 0:
                out[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del out[at : at + rng.randint(1, 8)]
            case 2:
                out[at:at] = out[at : at + rng.randint(1, 16)]
            case 3:
                out[at:at] = rng.randbytes(rng.randint(1, 4))
            case _:
                out[at : at + 1] = bytes([out[at] ^ (1 << rng.randrange(8))]) if out else b""
    return bytes(out)


def changed(data: bytes, rng: random.Random) -> bytes:
    """The model with a few fields changed."""
    model = onnx.ModelProto.FromString(data)
    altered(model, rng)
    return bytes(model.SerializeToString())


def survive(count: int, seed: int) -> None:
    """Damaged bytes of the models above, and changed fields of those and the node tests."""
    rng = random.Random(seed)
    small = seeds()
    cases = (case.model.SerializeToString() for case in node_cases())
    models = [*small * 40, *(data for data in cases if len(data) < 40_000)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i in range(count):
            bytewise = rng.random() < 0.3
            data = mutated(rng.choice(small), rng) if bytewise else changed(rng.choice(models), rng)
            bindings = Bindings({"n": (2,)} if i % 2 and b"kernel_shape" in data else {})
            survives(partial(_import, data, bindings))


def _import(data: bytes, bindings: Bindings) -> None:
    import_onnx(parse_onnx(data, "fuzzed"), bindings).verify()


def test_mutated_files() -> None:
    survive(600, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_mutated_files(seed: int) -> None:
    survive(5_000, seed)
