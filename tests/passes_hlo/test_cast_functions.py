"""With all fp32 ops cast, functions and indices keep their meaning: a function is the one of its
rounded operand, and comparisons of indices compare indices.

The reference is the interpreter on the program as written, with rounded operands. The module after
phase `hlo` has the roundings of the target, but not the tables of its engines.
"""

from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import bf16

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.compare import UNIT_ROUNDOFF
from neuronir.dialects.support.walking import walk
from neuronir.driver import CompileOptions, compile_text
from neuronir.driver.judge import judge_compile
from neuronir.driver.specification import specify
from neuronir.passes.hlo.support.values import element
from neuronir.targets.registry import get_target
from neuronir.targets.simulator.functional import run

Array = NDArray[Any]
RNG = np.random.default_rng(18)
WIDE = (RNG.standard_normal((16, 32)) * 20).astype(np.float32)
SMALL = (RNG.standard_normal((16, 32)) * 3 + 0.1).astype(np.float32)
INSIDE = np.clip(WIDE / 50, -0.9, 0.9).astype(np.float32)

UNARY: dict[str, Array] = {
    **dict.fromkeys(("floor", "ceil", "round-nearest-afz", "round-nearest-even"), WIDE),
    **dict.fromkeys(("sine", "cosine", "tan", "cbrt", "asinh"), WIDE),
    **dict.fromkeys(("exponential-minus-one", "sinh", "cosh"), SMALL),
    **dict.fromkeys(("asin", "acos", "atanh"), INSIDE),
    "log-plus-one": np.abs(INSIDE),
    "acosh": np.abs(WIDE) + np.float32(1.5),
}
BINARY = {"atan2": WIDE, "power": np.abs(WIDE), "remainder": WIDE}


def rounded(x: Array) -> Array:
    return np.asarray(x.astype(ml_dtypes.bfloat16).astype(np.float32))


def both(text: str, target: str, args: list[Array], reference: list[Array]) -> tuple[Array, Array]:
    """What a program gives with all ops in bf16, and what it gives as written on `reference`."""
    options = CompileOptions(auto_cast="all", relayout="bf16", compile_to="hlo")
    (got,) = interpret(compile_text(text, target, options).module, args)
    parsed = compile_text(text, target, CompileOptions(compile_to="parsed")).module
    (expected,) = interpret(parsed, reference)
    return np.asarray(got), np.asarray(expected)


def check_rounded(got: Array, expected: Array) -> None:
    """The result is the exact one, rounded once."""
    error = np.abs(got - expected)
    assert (error <= 1.1 * UNIT_ROUNDOFF["bf16"] * np.abs(expected) + 1e-6).all()


@pytest.mark.parametrize("target", ["inf1", "trn1"])
@pytest.mark.parametrize("opcode", UNARY)
def test_unary(opcode: str, target: str) -> None:
    text = (
        "HloModule m\nENTRY e {\n x = f32[16,32] parameter(0)\n"
        f" ROOT r = f32[16,32] {opcode}(x)\n}}\n"
    )
    x = UNARY[opcode]
    # Functions that are not cast take the exact operand.
    exact = opcode in ("asin", "acos", "asinh", "acosh", "atanh", "sinh", "cosh")
    check_rounded(*both(text, target, [x], [x if exact else rounded(x)]))


@pytest.mark.parametrize("target", ["inf1", "trn1"])
@pytest.mark.parametrize("opcode", BINARY)
def test_binary(opcode: str, target: str) -> None:
    text = (
        "HloModule m\nENTRY e {\n x = f32[16,32] parameter(0)\n y = f32[16,32] parameter(1)\n"
        f" ROOT r = f32[16,32] {opcode}(x, y)\n}}\n"
    )
    args = [BINARY[opcode], SMALL]
    check_rounded(*both(text, target, args, [rounded(a) for a in args]))


@pytest.mark.parametrize("target", ["inf1", "trn1"])
def test_scatter_to_rows_beyond_256(target: str) -> None:
    """bf16 has no odd numbers there: an update would go to the row beside."""
    text = """HloModule m
add { a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT c = f32[] add(a, b) }
ENTRY e {
 t = f32[1000,8] parameter(0)
 i = s32[16] parameter(1)
 u = f32[16,8] parameter(2)
 ROOT r = f32[1000,8] scatter(t, i, u), update_window_dims={1}, inserted_window_dims={0},
  scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}
"""
    table = np.zeros((1000, 8), np.float32)
    rows = (257 + 45 * np.arange(16)).astype(np.int32)
    args = [table, rows, rounded(SMALL[:, :8])]
    got, expected = both(text, target, args, args)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("target", ["inf1", "trn1"])
def test_comparison_of_converted_integers(target: str) -> None:
    text = """HloModule m
ENTRY e {
 i = s32[1000] parameter(0)
 f = f32[1000] convert(i)
 n = f32[1000] iota(), iota_dimension=0
 ROOT r = pred[1000] compare(f, n), direction=EQ
}
"""
    indices = np.arange(1000, dtype=np.int32)
    indices[1::3] += 1
    got, expected = both(text, target, [indices], [indices])
    assert np.array_equal(got, expected) and not expected.all()


QUANTISED = """  r = f32[32,64] round-nearest-even(d)
  ROOT q = s8[32,64] convert(r)
"""
CHOSEN = """  p = f32[32,64] tanh(d)
  c = pred[32,64] compare(p, d), direction=GE
  i = s32[32,64] iota(), iota_dimension=1
  j = s32[32,64] iota(), iota_dimension=0
  k = s32[32,64] select(c, i, j)
  e = pred[32,64] compare(k, i), direction=EQ
  ROOT q = f32[32,64] select(e, p, d)
"""


@pytest.mark.parametrize("target", ["inf1", "trn1"])
@pytest.mark.parametrize("rest", [QUANTISED, CHOSEN], ids=["quantised", "chosen"])
def test_products_are_cast_before_integers(rest: str, target: str) -> None:
    """inf1 multiplies no fp32 values, and a product of rounded values is no index."""
    text = f"""HloModule m
ENTRY e {{
  x = f32[32,96] parameter(0)
  w = f32[96,64] parameter(1)
  d = f32[32,64] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
{rest}}}
"""
    args = [RNG.standard_normal(shape).astype(np.float32) for shape in ((32, 96), (96, 64))]
    compile_ = partial(compile_text, text, target)
    options = CompileOptions(auto_cast="all", relayout="bf16")
    program = compile_(options).program
    assert program is not None
    specification = specify(compile_, options)
    cast = [op for op in walk(specification.rounded) if op.name in ("hlo.dot", "hlo.tanh")]
    assert all(element(v) == bf16 for op in cast for v in op.operands)
    outputs = run(program, args, get_target(target).machine).outputs
    report = judge_compile(specification, args, outputs)
    assert report.ok, report.render()
