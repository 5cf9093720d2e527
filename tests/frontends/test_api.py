"""neuronir.compile and neuronir.load: arguments by name and number, 64-bit integers, errors."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import neuronir
from neuronir.dialects.support.errors import NeuronError
from tests.driver.models import DENSE, dense_arguments, dense_result
from tests.frontends.onnx_models import graph_model, tensor

TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def lookup() -> neuronir.Executable:
    """Rows of a table at 64-bit indices, and the indices plus one."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Add", ["ids", "one"], ["next"]),
    ]
    ids = tensor("ids", ["n"], TensorProto.INT64)
    model = graph_model(
        nodes, [ids, tensor("unused", [2])], ["rows", "next"], {"table": TABLE, "one": np.array(1)}
    )
    return neuronir.compile(model, auto_cast="none", input_shapes={"n": (2,)})


def test_an_onnx_model(tmp_path: Path) -> None:
    executable = lookup()
    assert executable.inputs == ["ids", "unused"] and executable.outputs == ["rows", "next"]
    ids, unused = np.array([2, -1]), np.zeros(2, np.float32)
    executable.save(tmp_path / "model.neff")
    for one in (executable, neuronir.load(tmp_path / "model.neff")):
        for results in (one(ids, unused), one(ids=ids)):
            np.testing.assert_array_equal(results["rows"], TABLE[[2, 3]])
            assert results["next"].dtype == np.int64 and results["next"].tolist() == [3, 0]
        with pytest.raises(NeuronError, match="NIR_SIM034.*values beyond int32"):
            one(np.array([2, 2**40]))
        with pytest.raises(NeuronError, match="'ids' is missing"):
            one(unused=unused)
        with pytest.raises(NeuronError, match="no input 'idx'"):
            one(idx=ids)
        with pytest.raises(NeuronError, match="passed twice"):
            one(ids, ids=ids)
        with pytest.raises(NeuronError, match="2 inputs, 3 were given"):
            one(ids, unused, unused)
    assert executable.report()["machine"] == "trn1"
    assert executable.simulate().total_ns > 0


def test_hlo() -> None:
    executable = neuronir.compile(DENSE, auto_cast="none")
    assert executable.outputs == ["out0"]
    found = executable(*dense_arguments())["out0"]
    np.testing.assert_allclose(found, dense_result(), rtol=1e-5)


def test_what_is_no_model() -> None:
    with pytest.raises(NeuronError, match="NIR_API002"):
        neuronir.compile(3)
    with pytest.raises(NeuronError, match="NIR_INPUT"):
        neuronir.compile("no-such.onnx")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        neuronir.nothing  # noqa: B018
