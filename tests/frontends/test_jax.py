"""JAX functions, compiled and run: `neuronir.jax`."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import neuronir
import neuronir.jax
from neuronir.dialects.support.errors import NeuronError


@pytest.fixture(autouse=True)
def narrow_jax() -> Iterator[None]:
    """Values without a type are f32 and s32, even if other tests of the process enabled 64 bits."""
    with jax.enable_x64(False):
        yield


RNG = np.random.default_rng(0)
X, W = (RNG.standard_normal(dims).astype(np.float32) for dims in ((4, 16), (16, 8)))


def layer(x: Any, params: Any, scale: Any = 1.0) -> Any:
    y = jax.nn.gelu(x @ params["w"]) * scale
    return {"y": y, "most": (y.max(), jnp.argmax(y, -1))}


def test_a_function_keeps_its_structure() -> None:
    compiled = neuronir.jax.jit(layer, auto_cast="none")
    params = {"unused": X, "w": W}
    for scale in (1.0, 2.5):
        found, expected = compiled(X, params, scale=scale), layer(X, params, scale)
        np.testing.assert_allclose(found["y"], expected["y"], rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(found["most"][0], expected["most"][0], rtol=2e-5)
        np.testing.assert_array_equal(found["most"][1], expected["most"][1])
    assert compiled.report(X, params, scale=1.0)["total_time_us"] > 0
    assert compiled.__name__ == "layer"


def test_large_constants_are_part_of_it() -> None:
    table = RNG.standard_normal((64, 32)).astype(np.float32)
    executable = neuronir.compile(
        lambda i: jnp.asarray(table)[i], example_arguments=(np.arange(3),)
    )
    (found,) = executable(np.array([5, 0, 63], np.int32)).values()
    np.testing.assert_array_equal(found, table[[5, 0, 63]])


def test_a_decorator_with_options() -> None:
    @neuronir.jax.jit(target="trn1", optlevel=1)
    def double(x: Any) -> Any:
        return x * 2

    np.testing.assert_array_equal(double(X), X * 2)


def test_what_cannot_be_compiled() -> None:
    with pytest.raises(NeuronError):
        neuronir.jax.jit(lambda x: jnp.fft.fft(x))(X)
