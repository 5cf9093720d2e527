"""hlo-decompose: hyperbolic and inverse functions, factors and solutions of small matrices."""

import itertools

import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes
from tests.passes_hlo.test_decompose import compare, f32_values, unary


@pytest.mark.parametrize("opcode", ["asinh", "acosh"])
def test_inverse_hyperbolic_functions(opcode: str) -> None:
    x = f32_values()
    near = np.array([1.0, 1.0001, 1.5, 1e8, 2e9, 3e38, -3e38, 1e-6], np.float32)
    compare(unary(opcode, x.size + 8), [np.concatenate([x, near])], 1e-6)


@pytest.mark.parametrize("opcode", ["sinh", "cosh"])
def test_hyperbolic_functions(opcode: str) -> None:
    """The error of e^x grows with |x|: the argument has been rounded after ln 2 was taken away."""
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, *np.linspace(-5, 5, 101)], np.float32)
    compare(unary(opcode, x.size), [x], 2e-6)
    large = np.array([-89.0, -50.0, 50.0, 89.0, 100.0], np.float32)
    compare(unary(opcode, large.size), [large], 1e-5)


@pytest.mark.parametrize("opcode", ["asin", "acos", "atanh"])
def test_inverse_functions_up_to_the_edge(opcode: str) -> None:
    x = np.array([*np.linspace(-1, 1, 201), 1e-6, 0.9999999, np.nan, 1.5], np.float32)
    module = program(unary(opcode, x.size))
    wanted = interpret(module, [x])[0]
    run_passes(module, "hlo-decompose")
    np.testing.assert_allclose(interpret(module, [x])[0], wanted, rtol=1e-6, atol=2e-7)


def definite(rng: np.random.Generator, n: int) -> Array:
    matrix = rng.standard_normal((3, n, n))
    whole: Array = (matrix @ matrix.swapaxes(1, 2) + n * np.eye(n)).astype(np.float32)
    return whole


@pytest.mark.parametrize(("n", "lower"), list(itertools.product((1, 2, 7), ("true", "false"))))
def test_cholesky(n: int, lower: str) -> None:
    text = f"""ENTRY main {{
  x = f32[3,{n},{n}]{{2,1,0}} parameter(0)
  ROOT r = f32[3,{n},{n}]{{2,1,0}} cholesky(x), lower={lower}
}}
"""
    module = program(text)
    a = definite(np.random.default_rng(n), n)
    triangle = np.tril if lower == "true" else np.triu
    wanted = triangle(interpret(module, [a])[0])
    run_passes(module, "hlo-decompose")
    assert "hlo.cholesky" not in opcodes(module)
    np.testing.assert_allclose(triangle(interpret(module, [a])[0]), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("left", "lower", "unit", "transpose"),
    list(
        itertools.product(
            ("true", "false"), ("true", "false"), ("true", "false"), ("NO_TRANSPOSE", "TRANSPOSE")
        )
    ),
)
def test_triangular_solve(left: str, lower: str, unit: str, transpose: str) -> None:
    b_dims = "5,4" if left == "true" else "4,5"
    text = f"""ENTRY main {{
  a = f32[3,5,5]{{2,1,0}} parameter(0)
  b = f32[3,{b_dims}]{{2,1,0}} parameter(1)
  ROOT r = f32[3,{b_dims}]{{2,1,0}} triangular-solve(a, b), left_side={left}, lower={lower}, unit_diagonal={unit}, transpose_a={transpose}
}}
"""  # noqa: E501
    module = program(text)
    rng = np.random.default_rng(5)
    args = [definite(rng, 5) / 5, rng.standard_normal((3, *map(int, b_dims.split(","))))]
    args = [x.astype(np.float32) for x in args]
    wanted = interpret(module, args)[0]
    run_passes(module, "hlo-decompose")
    assert "hlo.triangular_solve" not in opcodes(module)
    np.testing.assert_allclose(interpret(module, args)[0], wanted, rtol=1e-4, atol=1e-5)
