"""Rules of hlo-canonicalize and hlo-cse where a nearly right one would go wrong."""

import math
from itertools import permutations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.dtypes import (
    HLO_NAMES,
    byte_size,
    from_hlo_name,
    is_float,
    is_integer,
    np_dtype,
)
from neuronir.passes.hlo.rules.arithmetic import is_exact
from tests.oracle import run_xla
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes


def canonical(body: str, computation: str = "") -> ModuleOp:
    """The program of these instructions after hlo-canonicalize."""
    return run_passes(program(f"{computation}ENTRY main {{\n{body}\n}}"), "hlo-canonicalize")


def check(body: str, *args: Array, computation: str = "") -> ModuleOp:
    """The canonical program, which must give what XLA makes of the instructions."""
    module = canonical(body, computation)
    expected = run_xla(f"HloModule test\n\n{computation}ENTRY main {{\n{body}\n}}", args)
    found = interpret(module, list(args))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)
    return module


def numbers(*dims: int) -> Array:
    """Different numbers."""
    return np.arange(math.prod(dims), dtype=np.float32).reshape(dims) + 1


NAMES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", NAMES)
def test_division_becomes_a_product_with_a_normal_inverse_only(name: str, sign: int) -> None:
    """Whoever flushes subnormal numbers to zero would make 0 of x times a subnormal inverse."""
    info = ml_dtypes.finfo(NAMES[name])
    tiny = float(info.tiny)
    ends = {math.frexp(tiny)[1] + d for d in (-2, -1, 0, 1, 2)}
    for exponent in sorted({*ends, -3, 0, 1, 2, 8, *(int(info.maxexp) - d for d in range(5))}):
        number = math.ldexp(0.5 * sign, exponent)
        module = canonical(
            f"x = {name}[4] parameter(0)\nc = {name}[] constant({number!r})\n"
            f"b = {name}[4] broadcast(c), dimensions={{}}\nROOT r = {name}[4] divide(x, b)"
        )
        if "divide" not in opcodes(module):
            assert abs(number) >= tiny and abs(1 / number) >= tiny, number
        else:
            assert not 2.0**-4 <= abs(number) <= 2.0**8, number


def every_value(dtype: np.dtype[np.generic], floating: bool) -> NDArray[np.float64]:
    """All values of a type of at most 16 bits, of a wider one those near powers of two."""
    if not floating:
        limits = ml_dtypes.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        near = {sign * 2**k + d for k in range(33) for d in (-1, 0, 1) for sign in (1, -1)}
        chosen = range(low, high + 1) if limits.bits <= 16 else sorted(near | {low, high})
        return np.array([n for n in chosen if low <= n <= high], np.float64)
    if dtype.itemsize <= 2:
        bits = np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)
        with np.errstate(invalid="ignore"):
            return bits.astype(np.float64)
    info = ml_dtypes.finfo(dtype)
    ends = [info.max, info.min, info.tiny, info.smallest_subnormal, 1 + float(info.eps), np.nan]
    return np.array(ends, dtype).astype(np.float64)


def test_exact_conversions_keep_every_value() -> None:
    types = [t for t in map(from_hlo_name, HLO_NAMES) if is_float(t) or is_integer(t)]
    narrow = [t for t in types if byte_size(t) <= 4]
    claimed = [(s, t) for s in narrow for t in types if is_exact(s, t)]
    assert len(claimed) > 60
    for source, target in claimed:
        x = every_value(np_dtype(source), is_float(source))
        with np.errstate(all="ignore"):
            there = x.astype(np_dtype(target)).astype(np.float64)
        assert np.array_equal(x, there, equal_nan=True), (source, target)
        signs = [np.signbit(v[x == x]) for v in (x, there)]
        assert np.array_equal(*signs), (source, target)


def test_difference_of_a_float_and_itself() -> None:
    """Infinity less infinity is NaN."""
    x = np.array([1, np.inf, -np.inf, np.nan], np.float32)
    check("x = f32[4] parameter(0)\nROOT r = f32[4] subtract(x, x)", x)
    module = check(
        "x = s32[4] parameter(0)\nROOT r = s32[4] subtract(x, x)", np.arange(4, dtype=np.int32)
    )
    assert "subtract" not in opcodes(module)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_transpose_of_broadcast(order: tuple[int, ...]) -> None:
    """Equal sizes, so that only the places of dimensions tell what is right."""
    dims = ",".join(map(str, order))
    check(
        "x = f32[3,3] parameter(0)\n"
        "b = f32[3,3,3,3] broadcast(x), dimensions={1,3}\n"
        f"ROOT r = f32[3,3,3,3] transpose(b), dimensions={{{dims}}}",
        numbers(3, 3),
    )


@pytest.mark.parametrize("inner", [(1, 20, 3), (0, 19, 2), (2, 20, 1)])
@pytest.mark.parametrize("outer", [(1, 5, 2), (0, 6, 1), (2, 6, 3)])
def test_slice_of_slice(inner: tuple[int, int, int], outer: tuple[int, int, int]) -> None:
    wide = len(range(*inner))
    narrow = len(range(*outer))
    module = check(
        "x = f32[2,20] parameter(0)\n"
        f"a = f32[2,{wide}] slice(x), slice={{[0:2], [{':'.join(map(str, inner))}]}}\n"
        f"ROOT r = f32[1,{narrow}] slice(a), slice={{[1:2], [{':'.join(map(str, outer))}]}}",
        numbers(2, 20),
    )
    assert opcodes(module).count("slice") == 1


@pytest.mark.parametrize("parts", [((0, 2), (2, 5)), ((0, 3), (2, 5)), ((0, 2), (3, 5))])
def test_only_neighbouring_slices_join(parts: tuple[tuple[int, int], ...]) -> None:
    (a, b), (c, d) = parts
    check(
        "x = f32[5,3] parameter(0)\n"
        f"a = f32[{b - a},3] slice(x), slice={{[{a}:{b}], [0:3]}}\n"
        f"b = f32[{d - c},3] slice(x), slice={{[{c}:{d}], [0:3]}}\n"
        f"ROOT r = f32[{b - a + d - c},3] concatenate(a, b), dimensions={{0}}",
        numbers(5, 3),
    )


@pytest.mark.parametrize(("low", "high"), [(2, 0), (0, 1), (1, 3)])
@pytest.mark.parametrize("dim", [0, 1])
def test_constants_around_a_value_are_padding(low: int, high: int, dim: int) -> None:
    sizes = [[5, 3], [5, 3], [5, 3], [5, 3]]
    sizes[0][dim], sizes[2][dim] = low, high
    sizes[3][dim] += low + high
    before, _, behind, all_ = (",".join(map(str, s)) for s in sizes)
    module = check(
        "x = f32[5,3] parameter(0)\n"
        "c = f32[] constant(-0.0)\n"
        f"a = f32[{before}] broadcast(c), dimensions={{}}\n"
        f"b = f32[{behind}] broadcast(c), dimensions={{}}\n"
        f"ROOT r = f32[{all_}] concatenate(a, x, b), dimensions={{{dim}}}",
        numbers(5, 3),
    )
    assert opcodes(module).count("pad") == 1 and "concatenate" not in opcodes(module)


def test_different_constants_around_a_value_stay() -> None:
    module = check(
        "x = f32[5,3] parameter(0)\n"
        "a = f32[1,3] constant({{0, 0, 0}})\n"
        "b = f32[1,3] constant({{-0, -0, -0}})\n"
        "ROOT r = f32[7,3] concatenate(a, x, b), dimensions={0}",
        numbers(5, 3),
    )
    assert "pad" not in opcodes(module)


@pytest.mark.parametrize("first, second", [("0,1", "1,2"), ("0", "0"), ("2", "1"), ("0,2", "0")])
def test_reverse_of_reverse(first: str, second: str) -> None:
    check(
        "x = f32[2,3,4] parameter(0)\n"
        f"a = f32[2,3,4] reverse(x), dimensions={{{first}}}\n"
        f"ROOT r = f32[2,3,4] reverse(a), dimensions={{{second}}}",
        numbers(2, 3, 4),
    )


ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

"""


@pytest.mark.parametrize(
    "dims, kept", [("1", "1,3,1,3"), ("4", "1,3,3,1"), ("1,4", "1,3,1"), ("3,2", "1,3,3")]
)
def test_reduce_of_reshape(dims: str, kept: str) -> None:
    check(
        "x = f32[3,3,3] parameter(0)\n"
        "a = f32[1,3,3,1,3] reshape(x)\nz = f32[] constant(0)\n"
        f"ROOT r = f32[{kept}] reduce(a, z), dimensions={{{dims}}}, to_apply=add",
        numbers(3, 3, 3),
        computation=ADD,
    )


@pytest.mark.parametrize("left", [True, False])
def test_outer_product_with_a_constant(left: bool) -> None:
    """Equal sizes again; the constant has two free dimensions, the other operand one."""
    lhs, rhs = ("b", "x") if left else ("x", "b")
    check(
        "x = f32[2,3] parameter(0)\nc = f32[] constant(2)\n"
        "b = f32[2,3,3] broadcast(c), dimensions={}\n"
        f"ROOT r = f32[2,3,3,3] dot({lhs}, {rhs}), lhs_batch_dims={{0}}, rhs_batch_dims={{0}}",
        numbers(2, 3),
    )


RANDOM = """
  low = f32[] constant(0)
  high = f32[] constant(1)
  a = f32[64] rng(low, high), distribution=rng_uniform
  b = f32[64] rng(low, high), distribution=rng_uniform
  ROOT r = f32[64] subtract(a, b)
"""


def test_random_numbers_are_not_merged() -> None:
    module = run_passes(program(f"ENTRY main {{{RANDOM}}}"), "hlo-cse,hlo-canonicalize,hlo-cse")
    assert opcodes(module).count("rng") == 2
