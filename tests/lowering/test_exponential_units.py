"""elu and its relatives take few operations, and the numbers are XLA's."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from benchmarks.measure import simulate
from neuronir.dialects.support.walking import walk
from neuronir.driver import CompileOptions, compile_text
from tests.acceptance.programs import decoded
from tests.oracle import Array, hlo_text, run_xla

Function = Callable[[jax.Array], jax.Array]

FUNCTIONS: dict[str, tuple[Function, int]] = {
    "elu": (jax.nn.elu, 10),
    "elu of another scale": (lambda x: jax.nn.elu(x, 0.7), 12),
    "elu and 1": (lambda x: jax.nn.elu(x) + 1, 6),
    "selu": (jax.nn.selu, 13),
    "1 and celu": (lambda x: 1 + jax.nn.celu(x, 2.0), 11),
    "of a negative size": (lambda x: jnp.expm1(-jnp.abs(x)), 8),
    "exponential": (lambda x: jnp.expm1(x) + 1, 2),
}
"""Each function and the limit of its elementwise operations, constants left out."""
DTYPES = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "f16": np.float16}
SPECIAL = [0.0, -0.0, 1e-30, -1e-30, -1e-7, -1e-3, -0.25, -0.5, -0.75, -3, -20, -90, 4, -200]


def text_of(function: Function, x: Array) -> str:
    return hlo_text(function, [x])


@pytest.mark.parametrize("target", ["trn1", "inf1"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers(name: str, dtype: str, target: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([SPECIAL, [np.inf, -np.inf, np.nan], rng.normal(size=116) * 2])
    x = x.astype(DTYPES[dtype])
    text = text_of(FUNCTIONS[name][0], x)
    result = compile_text(text, target, CompileOptions(auto_cast="none"))
    (mine,) = simulate(decoded(result), [x], result)
    (wanted,) = run_xla(text, [x])
    eps = float(ml_dtypes.finfo(DTYPES[dtype]).eps)
    # near -1 the sum with 1 is rounded, elsewhere only relative errors remain
    absolute = 2 * eps if "1" in name or name == "exponential" else 0.0
    np.testing.assert_allclose(
        mine.astype(np.float64), wanted.astype(np.float64), rtol=8 * eps, atol=absolute
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operations(name: str) -> None:
    function, most = FUNCTIONS[name]
    text = text_of(function, np.zeros((64, 100), np.float32))
    module = compile_text(text, "trn1", CompileOptions(compile_to="hlo", auto_cast="none")).module
    left_out = ("hlo.constant", "hlo.broadcast")
    found = [op.name for op in walk(module) if op.name.startswith("hlo.")]
    assert len([n for n in found if n not in left_out]) <= most, found


@pytest.mark.parametrize("swapped", [False, True])
def test_a_selected_nan_stays_selected(swapped: bool) -> None:
    """select(x < c, x, c) replaces a NaN, so it is no minimum; select(x > c, c, x) keeps it."""

    def keeps(x: jax.Array) -> jax.Array:
        return jnp.where(x > 0.5, 0.5, x)

    def replaces(x: jax.Array) -> jax.Array:
        return jnp.where(x < 0.5, x, 0.5)

    x = np.array([np.nan, 0.25, 0.5, 0.75, -np.inf, np.inf, -1], np.float32)
    text = text_of(replaces if swapped else keeps, x)
    result = compile_text(text, "trn1", CompileOptions())
    (mine,) = simulate(decoded(result), [x], result)
    np.testing.assert_array_equal(mine, run_xla(text, [x])[0])
