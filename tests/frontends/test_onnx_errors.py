"""What is wrong with an ONNX model is one error with a code and the node's name."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.bindings import parse_io_config, parse_shapes
from neuronir.frontends.onnx import import_onnx, parse_onnx, read_onnx
from tests.frontends.onnx_models import graph_model, imported, tensor

node = helper.make_node


def good() -> onnx.ModelProto:
    weights = {"w": np.ones((64, 2), np.float32)}
    return graph_model([node("MatMul", ["x", "w"], ["y"])], [tensor("x", [3, 64])], ["y"], weights)


def code_of(model: onnx.ModelProto) -> str:
    with pytest.raises(NeuronError) as caught:
        imported(model)
    assert str(caught.value.location) == "model.onnx"
    return caught.value.code


def test_damaged_files(tmp_path: Path) -> None:
    data = good().SerializeToString()
    for broken in (data[:200], b"\x00\x01\x02garbage", b"", data[: len(data) // 2]):
        with pytest.raises(NeuronError, match="NIR_ONNX001"):
            import_onnx(parse_onnx(broken, "model.onnx"))
    with pytest.raises(NeuronError, match="no such file|No such file"):
        read_onnx(str(tmp_path / "missing.onnx"))
    model = good()
    model.graph.initializer[0].raw_data = b"123"
    assert code_of(model) == "NIR_ONNX001"
    model = good()
    del model.graph.output[:]
    with pytest.raises(NeuronError, match="has no outputs"):
        imported(model)


def test_opsets_that_no_schema_can_have() -> None:
    model = good()
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2**40))
    model.graph.node.append(node("Nonsense", ["y"], ["z"], domain="ai.onnx.ml"))
    model.graph.output[0].name = "z"
    with pytest.raises(NeuronError, match="Nonsense"):
        imported(model)


def test_unknown_opset() -> None:
    model = good()
    model.opset_import[0].version = 999
    with pytest.raises(NeuronError, match=r"NIR_ONNX004.*opset 999; 1 to \d+ are known"):
        imported(model)


def test_missing_values_and_wrong_operands() -> None:
    model = good()
    model.graph.node[0].input[1] = "nowhere"
    assert code_of(model) == "NIR_ONNX008"
    model = good()
    del model.graph.node[0].input[1]
    with pytest.raises(NeuronError, match=r"node 'y' \(MatMul\): input 1 is missing"):
        imported(model)
    model = good()
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT32
    with pytest.raises(
        NeuronError, match=r"node 'y' \(MatMul\): element types .* must be the same"
    ):
        imported(model)
    model = good()
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 63
    with pytest.raises(NeuronError, match="63 and 64 must be equal"):
        imported(model)


def test_all_that_is_not_supported_is_listed() -> None:
    nodes = [
        node("NonZero", ["x"], ["a"], name="find"),
        node("Unique", ["x"], ["b"], name="once"),
        node("Bogus", ["x"], ["y"], name="what"),
        node("Unique", ["x"], ["c"], name="twice"),
    ]
    with pytest.raises(NeuronError) as caught:
        imported(graph_model(nodes, [tensor("x", [3])], ["y"]))
    assert caught.value.code == "NCC_EUOC002"
    assert caught.value.message.splitlines() == [
        "3 operators are not supported:",
        "  Bogus ('what'): it is not supported",
        "  NonZero ('find'): the shape of its result depends on data",
        "  Unique ('once' and 1 more): the shape of its result depends on data",
    ]


def test_quantised_models() -> None:
    nodes = [node("DequantizeLinear", ["x", "s"], ["y"])]
    model = graph_model(
        nodes, [tensor("x", [3], TensorProto.INT8)], ["y"], {"s": np.array(0.5, np.float32)}
    )
    with pytest.raises(NeuronError, match="int8 quantised models are not supported"):
        imported(model)


def test_shapes_that_data_decide() -> None:
    inputs = [tensor("x", [2, 3]), tensor("dims", [2], TensorProto.INT64)]
    model = graph_model([node("Reshape", ["x", "dims"], ["y"])], inputs, ["y"])
    with pytest.raises(NeuronError, match="depends on the data of 'dims'") as caught:
        imported(model)
    assert caught.value.code == "NIR_IMP002"


def external(tmp_path: Path, **entries: str) -> str:
    """The path of a model whose weight lies in another file."""
    model = good()
    weight = model.graph.initializer[0]
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        weight.external_data.add(key=key, value=value)
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    (tmp_path / "outside.bin").write_bytes(bytes(512))
    (folder / "short.bin").write_bytes(bytes(100))
    (folder / "right.bin").write_bytes(bytes(512))
    (folder / "link.bin").unlink(missing_ok=True)
    (folder / "link.bin").symlink_to("../outside.bin")
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


@pytest.mark.parametrize(
    "entries, code",
    [
        ({"location": "short.bin"}, "NIR_ONNX002"),
        ({"location": "missing.bin"}, "NIR_ONNX002"),
        ({"location": "right.bin", "length": "100"}, "NIR_ONNX002"),
        ({"location": "right.bin", "offset": "4"}, "NIR_ONNX002"),
        ({"location": "right.bin", "offset": "-4"}, "NIR_ONNX002"),
        ({"location": "../outside.bin"}, "NIR_ONNX003"),
        ({"location": "link.bin"}, "NIR_ONNX003"),
        ({"location": "/etc/passwd"}, "NIR_ONNX003"),
        ({"location": ""}, "NIR_ONNX003"),
        ({}, "NIR_ONNX003"),
    ],
)
def test_external_data(tmp_path: Path, entries: dict[str, str], code: str) -> None:
    with pytest.raises(NeuronError) as caught:
        import_onnx(read_onnx(external(tmp_path, **entries)))
    assert caught.value.code == code
    assert import_onnx(read_onnx(external(tmp_path, location="right.bin")))


def test_options(tmp_path: Path) -> None:
    assert parse_shapes(["x=1x128", "a=b=2", "s="]) == {"x": (1, 128), "a=b": (2,), "s": ()}
    for bad in ("x", "=1", "x=1xx2", "x=-1"):
        with pytest.raises(NeuronError, match="malformed"):
            parse_shapes([bad])
    text = '{"inputs": {"x:0": [[1, 2], "float32"]}, "outputs": ["y:0"]}'
    config = parse_io_config(text)
    (tmp_path / "io config.json").write_text(text)
    for place in (str(tmp_path / "io config.json"), (tmp_path / "io config.json").as_uri()):
        assert parse_io_config(place) == config
    assert config.shapes == {"x:0": (1, 2)} and config.outputs == ["y:0"]
    for bad in ("{", '{"input": {}}', '{"inputs": {"x": [1, 2]}}', '{"outputs": "y"}'):
        with pytest.raises(NeuronError, match="NIR_ARG003"):
            parse_io_config(bad)


def test_ranks_that_cannot_be_joined() -> None:
    inputs = [tensor("x", [2, 3]), tensor("z", [2])]
    joined = graph_model([node("Concat", ["x", "z"], ["y"], axis=1)], inputs, ["y"])
    with pytest.raises(NeuronError, match=r"NIR_IMP001.*'y' \(Concat\).*ranks \[1, 2\]"):
        imported(joined)


def test_what_shape_rules_refuse_names_the_node() -> None:
    """An op that does not verify is a fault of the model, told with its node."""
    weights = {"scale": np.ones((2, 3, 1), np.float32)}
    normal = node("InstanceNormalization", ["x", "scale", "scale"], ["y"])
    model = graph_model([normal], [tensor("x", [1, 2, 4, 4])], ["y"], weights)
    with pytest.raises(NeuronError, match=r"NIR_IMP001.*node 'y' \(InstanceNormalization\)"):
        imported(model)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes"),
    [
        ("AveragePool", ["x"], {"kernel_shape": [1, 1], "pads": [2**31 - 10, 0, 0, 0]}),
        ("MaxPool", ["x"], {"kernel_shape": [2**20, 2**20], "pads": [2**20] * 4}),
        (
            "AveragePool",
            ["x"],
            {"kernel_shape": [2**30, 1], "dilations": [2, 1], "pads": [2**31] * 4},
        ),
        ("GatherND", ["x", "far"], {}),
        ("GatherND", ["x", "near"], {"batch_dims": 2**31}),
        ("Split", ["x"], {"num_outputs": 2**31}),
        ("Pad", ["x", "wide"], {"mode": "edge"}),
        ("Range", ["zero", "huge", "one"], {}),
        ("MelWeightMatrix", ["huge", "huge", "one", "half", "one"], {}),
    ],
)
def test_huge_sizes_are_refused(op: str, inputs: list[str], attributes: dict[str, Any]) -> None:
    """No attribute or constant makes the importer allocate or loop without bounds."""
    weights = {
        "zero": np.array(0),
        "one": np.array(1),
        "half": np.array(0.5, np.float32),
        "huge": np.array(2**40),
        "wide": np.array([0, 0, 0, 2**31, 0, 0, 0, 0]),
        "near": np.array([[0]]),
    }
    outputs = ["y", "places"] if op == "MaxPool" else ["y"]
    given = [tensor("x", [1, 1, 8, 8]), tensor("far", [3, 2**31 - 1], TensorProto.INT64)]
    model = graph_model([node(op, inputs, outputs, **attributes)], given, outputs, weights)
    with pytest.raises(NeuronError, match="NIR_IMP001"):
        imported(model)
