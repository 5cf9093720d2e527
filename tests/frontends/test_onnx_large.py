"""Large ONNX models: external data beyond 2 GB is mapped, not copied, and import is quick."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.frontends.onnx import import_onnx, read_onnx
from tests.frontends.onnx_models import graph_model, tensor
from tests.processor import within

Array = NDArray[Any]
node = helper.make_node


def private_bytes() -> int:
    """Memory of this process that no file backs."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    pytest.skip("the system does not tell")


def external(name: str, dims: list[int], file: str, offset: int) -> TensorProto:
    """An f32 tensor that lies in a file."""
    proto = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims)
    proto.data_location = TensorProto.EXTERNAL
    length = int(np.prod(dims)) * 4
    for key, value in (("location", file), ("offset", offset), ("length", length)):
        proto.external_data.add(key=key, value=str(value))
    return proto


@pytest.mark.slow
def test_external_data_beyond_2_gb(tmp_path: Path) -> None:
    """An embedding table of 2.5 GB in a sparse file: three rows are found, nothing is copied."""
    rows, columns, offset = 600_000, 1024, 4096
    with (tmp_path / "table.bin").open("wb") as file:
        file.truncate(offset + rows * columns * 4)
        for row in (0, 7, rows - 1):
            file.seek(offset + row * columns * 4)
            file.write(np.full(columns, row, np.float32).tobytes())
    model = graph_model(
        [node("Gather", ["table", "ids"], ["y"])], [tensor("ids", [3], TensorProto.INT64)], ["y"]
    )
    model.graph.initializer.append(external("table", [rows, columns], "table.bin", offset))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    before = private_bytes()
    module = import_onnx(read_onnx(str(path)))
    module.verify()
    (found,) = interpret(module, [np.array([0, 7, -1])])
    assert private_bytes() - before < 100 << 20
    np.testing.assert_array_equal(found, np.repeat([[0.0], [7.0], [rows - 1.0]], columns, 1))


class Bert:
    """A BERT with plain nodes, as exporters of opset 13 write it: 50 nodes a layer."""

    def __init__(self, layers: int, width: int, heads: int, length: int) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, Array] = {}
        self._rng = np.random.default_rng(0)
        self._dims = (layers, width, heads, length)

    def model(self) -> onnx.ModelProto:
        layers, width, heads, length = self._dims
        self.constant("half_root", np.array(np.sqrt(2), np.float32))
        self.constant("one", np.array(1, np.float32))
        self.constant("half", np.array(0.5, np.float32))
        self.constant("two", np.array(2, np.float32))
        self.constant("epsilon", np.array(1e-12, np.float32))
        self.constant("scale", np.array(np.sqrt(width // heads), np.float32))
        self.constant("split", np.array([1, length, heads, width // heads]))
        self.constant("merge", np.array([1, length, width]))
        x = self.add("Gather", self.weight("words", 30522, width), "ids")
        x = self.norm(self.add("Add", x, self.weight("positions", 1, length, width)))
        for _ in range(layers):
            x = self.norm(self.add("Add", x, self.attention(x)))
            h = self.dense(x, width, 4 * width)
            erf = self.add("Erf", self.add("Div", h, "half_root"))
            h = self.add("Mul", self.add("Mul", h, self.add("Add", erf, "one")), "half")
            x = self.norm(self.add("Add", x, self.dense(h, 4 * width, width)))
        ids = tensor("ids", [1, length], TensorProto.INT64)
        return graph_model(self.nodes, [ids], [x], self.weights, opset=13)

    def attention(self, x: str) -> str:
        width = self._dims[1]
        parts = []
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            split = self.add("Reshape", self.dense(x, width, width), "split")
            parts.append(self.add("Transpose", split, perm=perm))
        scores = self.add("Div", self.add("MatMul", parts[0], parts[1]), "scale")
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), parts[2])
        merged = self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), "merge")
        return self.dense(merged, width, width)

    def dense(self, x: str, width: int, made: int) -> str:
        product = self.add("MatMul", x, self.weight("w", width, made))
        return self.add("Add", product, self.weight("b", made))

    def norm(self, x: str) -> str:
        width = self._dims[1]
        centre = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        squares = self.add("ReduceMean", self.add("Pow", centre, "two"), axes=[-1])
        root = self.add("Sqrt", self.add("Add", squares, "epsilon"))
        scaled = self.add("Mul", self.add("Div", centre, root), self.weight("g", width))
        return self.add("Add", scaled, self.weight("b", width))

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(node(op, list(inputs), [name], **attributes))
        return name

    def weight(self, name: str, *dims: int) -> str:
        return self.constant(
            f"{name}_{len(self.weights)}", self._rng.random(dims, np.float32) * 0.05
        )

    def constant(self, name: str, array: Array) -> str:
        self.weights[name] = array
        return name


@pytest.mark.slow
@pytest.mark.parametrize("outside", [False, True])
def test_bert_base_is_imported_in_two_seconds(tmp_path: Path, outside: bool) -> None:
    """About 600 nodes and 438 MB, in the file and beside it, in processor time."""
    model = Bert(12, 768, 12, 128).model()
    assert len(model.graph.node) > 446
    path = tmp_path / "bert.onnx"
    onnx.save(model, str(path), save_as_external_data=outside, location="weights.bin")
    del model
    start = time.process_time()
    module = import_onnx(read_onnx(str(path)))
    taken = time.process_time() - start
    fast = within(taken, 2.5)
    module.verify()
    assert fast, taken


def test_a_small_one_of_the_kind() -> None:
    """The builder's model is a BERT that onnxruntime takes, too."""
    import onnxruntime

    model = Bert(1, 32, 2, 8).model()
    model.ir_version = 10
    ids = np.arange(8).reshape(1, 8) * 3000
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (wanted,) = session.run(None, {"ids": ids})
    (found,) = interpret(import_onnx(onnx_file(model)), [ids])
    np.testing.assert_allclose(found, np.asarray(wanted), rtol=1e-4, atol=1e-5)


def onnx_file(model: onnx.ModelProto) -> Any:
    """The model as if it was read."""
    from neuronir.frontends.onnx import parse_onnx

    return parse_onnx(model.SerializeToString())
