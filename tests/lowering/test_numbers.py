"""Special numbers and integer arithmetic: bit for bit what HLO says."""

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.support.dtypes import from_hlo_name, np_dtype
from neuronir.frontends.hlo_text import import_hlo_text
from tests.lowering.helpers import Array, entry, run

INF, NAN = np.inf, np.nan
FLOATS = np.array(
    [0.0, -0.0, 1.5, -1.5, 2.5, 0.49999997, 8388609.0, INF, -INF, NAN, 3e38, -7.25], np.float32
)
EDGES = {
    "s8": (np.int8, [-128, -127, -1, 0, 1, 2, 7, 100, 127]),
    "u8": (np.uint8, [0, 1, 2, 7, 100, 128, 200, 254, 255]),
    "s16": (np.int16, [-32768, -32767, -300, -1, 0, 1, 7, 255, 32767]),
    "u16": (np.uint16, [0, 1, 7, 255, 256, 300, 32768, 65534, 65535]),
    "s32": (np.int32, [-(2**31), -(2**31) + 1, -16777217, -1, 0, 1, 7, 16777217, 2**31 - 1]),
    "u32": (np.uint32, [0, 1, 7, 16777217, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1]),
}


def _same(text: str, args: list[Array]) -> None:
    with np.errstate(all="ignore"):
        expected = interpret(import_hlo_text(text, "t.hlo"), args)
    for mine, wanted in zip(run(text, args), expected, strict=True):
        np.testing.assert_array_equal(mine.astype(np.float64), wanted.astype(np.float64), text)


def _pairs(values: Array) -> tuple[Array, Array]:
    left, right = np.meshgrid(values, values, indexing="ij")
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


@pytest.mark.parametrize("opcode", ["maximum", "minimum", "add", "subtract", "multiply"])
def test_nan_and_infinities(opcode: str) -> None:
    left, right = _pairs(FLOATS)
    shape = f"f32[{len(FLOATS)},{len(FLOATS)}]"
    lines = (
        f"a = {shape} parameter(0)",
        f"b = {shape} parameter(1)",
        f"c = {shape} {opcode}(a, b)",
    )
    _same(entry(*lines), [left, right])


@pytest.mark.parametrize("direction", ["EQ", "NE", "LT", "LE", "GT", "GE"])
@pytest.mark.parametrize("order", ["FLOAT", "TOTALORDER"])
def test_comparisons_with_nan(direction: str, order: str) -> None:
    left, right = _pairs(FLOATS)
    n = len(FLOATS)
    lines = (
        f"a = f32[{n},{n}] parameter(0)",
        f"b = f32[{n},{n}] parameter(1)",
        f"p = pred[{n},{n}] compare(a, b), direction={direction}, type={order}",
        f"s = f32[{n},{n}] select(p, a, b)",
        f"r = (pred[{n},{n}], f32[{n},{n}]) tuple(p, s)",
    )
    _same(entry(*lines), [left, right])


@pytest.mark.parametrize(
    "opcode", ["floor", "ceil", "round-nearest-even", "round-nearest-afz", "abs", "sign", "negate"]
)
def test_rounding_of_special_numbers(opcode: str) -> None:
    n = len(FLOATS)
    _same(entry(f"a = f32[{n}] parameter(0)", f"b = f32[{n}] {opcode}(a)"), [FLOATS])


def test_clamp_keeps_nan() -> None:
    lines = (
        f"x = f32[{len(FLOATS)}] parameter(0)",
        "lo = f32[] constant(-1)",
        "hi = f32[] constant(2)",
        f"c = f32[{len(FLOATS)}] clamp(lo, x, hi)",
    )
    _same(entry(*lines), [FLOATS])


@pytest.mark.parametrize("target", ["s8", "u8", "s16", "u16", "s32", "u32", "pred", "bf16", "f16"])
def test_conversion_from_float_truncates(target: str) -> None:
    values = np.concatenate([FLOATS, np.array([127.9, -128.9, 255.9, -0.9, 65535.5], np.float32)])
    n = len(values)
    _same(entry(f"x = f32[{n}] parameter(0)", f"y = {target}[{n}] convert(x)"), [values])


@pytest.mark.parametrize("target", ["s8", "u8", "s16", "u16", "s32", "u32", "pred", "bf16", "f32"])
@pytest.mark.parametrize("source", EDGES)
def test_conversion_from_integers(source: str, target: str) -> None:
    dtype, numbers = EDGES[source]
    text = entry(f"x = {source}[9] parameter(0)", f"y = {target}[9] convert(x)")
    _same(text, [np.array(numbers, dtype)])


@pytest.mark.parametrize(
    "opcode",
    "add subtract multiply divide remainder power maximum minimum and or xor "
    "shift-left shift-right-logical shift-right-arithmetic".split(),
)
@pytest.mark.parametrize("type_", EDGES)
@pytest.mark.thin(2)
def test_integer_arithmetic_is_exact(type_: str, opcode: str) -> None:
    dtype, numbers = EDGES[type_]
    left, right = _pairs(np.array(numbers, dtype))
    lines = (
        f"a = {type_}[9,9] parameter(0)",
        f"b = {type_}[9,9] parameter(1)",
        f"c = {type_}[9,9] {opcode}(a, b)",
    )
    _same(entry(*lines), [left, right])


@pytest.mark.parametrize("opcode", ["add", "multiply", "and", "maximum"])
@pytest.mark.parametrize("type_", EDGES)
def test_integers_with_a_constant(type_: str, opcode: str) -> None:
    dtype, numbers = EDGES[type_]
    lines = (
        f"a = {type_}[9] parameter(0)",
        f"k = {type_}[] constant({numbers[-1]})",
        f"b = {type_}[9] broadcast(k), dimensions={{}}",
        f"c = {type_}[9] {opcode}(a, b)",
    )
    _same(entry(*lines), [np.array(numbers, dtype)])


@pytest.mark.parametrize("direction", ["EQ", "LT", "GE"])
@pytest.mark.parametrize("type_", EDGES)
def test_integer_comparisons_are_exact(type_: str, direction: str) -> None:
    dtype, numbers = EDGES[type_]
    values = np.array([*numbers, numbers[-2]], dtype)
    left, right = _pairs(values)
    lines = (
        f"a = {type_}[10,10] parameter(0)",
        f"b = {type_}[10,10] parameter(1)",
        f"c = pred[10,10] compare(a, b), direction={direction}",
    )
    _same(entry(*lines), [left, right])


@pytest.mark.parametrize("opcode", ["negate", "abs", "not", "popcnt", "count-leading-zeros"])
@pytest.mark.parametrize("type_", EDGES)
def test_integer_functions(type_: str, opcode: str) -> None:
    dtype, numbers = EDGES[type_]
    if opcode == "abs" and type_.startswith("u"):
        pytest.skip("abs is for signed types")
    text = entry(f"a = {type_}[9] parameter(0)", f"b = {type_}[9] {opcode}(a)")
    _same(text, [np.array(numbers, dtype)])


@pytest.mark.parametrize("opcode", ["add", "maximum", "minimum", "and", "multiply"])
@pytest.mark.parametrize("type_", EDGES)
@pytest.mark.parametrize("dims", ["0", "1", "0,1"])
def test_integer_reductions_are_exact(type_: str, opcode: str, dims: str) -> None:
    dtype, numbers = EDGES[type_]
    initial = {"multiply": 1, "and": np.array(-1).astype(dtype)}.get(opcode, 0)
    left, _ = _pairs(np.array(numbers, dtype))
    shape = "" if dims == "0,1" else "9"
    text = (
        f"HloModule m\n\nf {{\n  a = {type_}[] parameter(0)\n  b = {type_}[] parameter(1)\n"
        f"  ROOT c = {type_}[] {opcode}(a, b)\n}}\n\nENTRY e {{\n  x = {type_}[9,9] parameter(0)\n"
        f"  i = {type_}[] constant({initial})\n"
        f"  ROOT r = {type_}[{shape}] reduce(x, i), dimensions={{{dims}}}, to_apply=f\n}}\n"
    )
    _same(text, [left])


@pytest.mark.parametrize("type_", ["f32", "bf16", "f16"])
def test_float_remainder_is_exact(type_: str) -> None:
    """Over all exponents, as the interpreter's fmod."""
    dtype = np_dtype(from_hlo_name(type_))
    bits = np.random.default_rng(0).integers(0, 1 << (8 * dtype.itemsize), (2, 600), np.uint64)
    x, y = bits.astype(f"u{dtype.itemsize}").view(dtype)
    x[:4], y[2:6] = [0, -1, np.inf, np.nan], [0, np.inf, np.nan, 3]
    lines = [f"{name} = {type_}[600] parameter({i})" for i, name in enumerate("xy")]
    _same(entry(*lines, f"r = {type_}[600] remainder(x, y)"), [x, y])


def test_padding_with_infinities_is_not_spread_by_transposes() -> None:
    text = (
        "HloModule m\n\nf {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = f32[] maximum(a, b)\n}\n\nENTRY e {\n  x = f32[31,33] parameter(0)\n"
        "  i = f32[] constant(-inf)\n  p = f32[33,35] pad(x, i), padding=1_1x1_1\n"
        "  t = f32[35,33] transpose(p), dimensions={1,0}\n"
        "  ROOT r = f32[35,33] reduce-window(t, i), window={size=3x3 pad=1_1x1_1}, to_apply=f\n}\n"
    )
    _same(text, [np.arange(31 * 33, dtype=np.float32).reshape(31, 33)])


@pytest.mark.parametrize("type_", ["bf16", "f16"])
def test_narrow_floats_round_after_each_op(type_: str) -> None:
    dtype = {"bf16": ml_dtypes.bfloat16, "f16": np.float16}[type_]
    rng = np.random.default_rng(0)
    args = [rng.standard_normal((7, 13)).astype(dtype) for _ in range(2)]
    lines = (
        f"a = {type_}[7,13] parameter(0)",
        f"b = {type_}[7,13] parameter(1)",
        f"c = {type_}[7,13] multiply(a, b)",
        f"d = {type_}[7,13] add(c, b)",
    )
    _same(entry(*lines), args)
