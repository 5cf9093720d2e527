"""Random operators of ONNX: the same numbers in every run, by seed or name, well distributed."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from neuronir import backend
from neuronir.dialects.support.errors import NeuronError
from tests.frontends.onnx_models import evaluated, graph_model, tensor

Array = NDArray[Any]
node = helper.make_node


def drawn(op: str, *, name: str = "draw", device: str = "CPU", **attributes: Any) -> Array:
    """What an operator without inputs gives."""
    model = graph_model([node(op, [], ["y"], name=name, **attributes)], [], ["y"])
    result: Array = backend.prepare(model, device).run([])[0]
    return result


def close_to(numbers: Array, mean: float, deviation: float) -> bool:
    """Whether mean and deviation are within five standard errors."""
    error = deviation / np.sqrt(numbers.size)
    off = max(abs(float(numbers.mean()) - mean), abs(float(numbers.std()) - deviation))
    return bool(off < 5 * error)


def test_normal_numbers() -> None:
    found = drawn("RandomNormal", shape=[100, 200], mean=2.0, scale=3.0, seed=1.0)
    assert found.dtype == np.float32 and close_to(found, 2.0, 3.0)


def test_uniform_numbers() -> None:
    found = drawn("RandomUniform", shape=[100, 200], low=-1.0, high=3.0)
    assert close_to(found, 1.0, 4 / np.sqrt(12)) and found.min() >= -1 and found.max() <= 3


def test_seeds_and_names() -> None:
    """A seed alone decides, without one the node's name does."""
    one = drawn("RandomUniform", shape=[64], seed=5.0)
    np.testing.assert_array_equal(one, drawn("RandomUniform", shape=[64], seed=5.0, name="other"))
    assert not np.array_equal(one, drawn("RandomUniform", shape=[64], seed=6.0))
    unseeded = drawn("RandomUniform", shape=[64])
    np.testing.assert_array_equal(unseeded, drawn("RandomUniform", shape=[64]))
    assert not np.array_equal(unseeded, drawn("RandomUniform", shape=[64], name="other"))


@pytest.mark.parametrize("op", ["RandomUniform", "RandomNormal"])
def test_the_machine_draws_the_same(op: str) -> None:
    wanted = drawn(op, shape=[40, 7], seed=3.0)
    found = drawn(op, shape=[40, 7], seed=3.0, device="TRN1")
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_operators_with_an_input() -> None:
    p = np.full((100, 100), 0.3, np.float16)
    for op, mean, deviation in (
        ("RandomNormalLike", 0.0, 1.0),
        ("RandomUniformLike", 0.5, 1 / np.sqrt(12)),
        ("Bernoulli", 0.3, np.sqrt(0.21)),
    ):
        model = graph_model([node(op, ["x"], ["y"], dtype=1)], [tensor("x", p.shape, 10)], ["y"])
        found = evaluated(model, p)[0]
        assert found.dtype == np.float32 and close_to(found, mean, deviation), op


def test_multinomial() -> None:
    shares = np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 1e-30]], np.float32)
    model = graph_model(
        [node("Multinomial", ["x"], ["y"], sample_size=5000, dtype=7)], [tensor("x", [2, 3])], ["y"]
    )
    found = evaluated(model, np.log(shares) + 3)[0]
    assert found.dtype == np.int64 and found.shape == (2, 5000)
    counts = np.stack([np.bincount(row, minlength=3) for row in found]) / 5000
    np.testing.assert_allclose(counts, shares, atol=5 * np.sqrt(0.25 / 5000))


def test_dropout_in_training_mode() -> None:
    x = np.arange(1, 10001, dtype=np.float32)
    model = graph_model(
        [node("Dropout", ["x", "ratio", "on"], ["y", "mask"], seed=7)],
        [tensor("x", x.shape)],
        ["y", "mask"],
        {"ratio": np.array(0.25, np.float32), "on": np.array(True)},
    )
    y, mask = evaluated(model, x)
    assert mask.dtype == np.bool_ and close_to(mask.astype(np.float32), 0.75, np.sqrt(0.1875))
    np.testing.assert_allclose(y, np.where(mask, x / np.float32(0.75), 0), rtol=1e-6)


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(NeuronError, match="random numbers of type i32 cannot be generated"):
        drawn("RandomUniform", shape=[2], dtype=6)
    with pytest.raises(NeuronError, match="must not be above"):
        drawn("RandomUniform", shape=[2], low=2.0, high=1.0)
