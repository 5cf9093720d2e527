"""Corner cases of single operations, against XLA on the CPU."""

import ml_dtypes
import numpy as np
import pytest

from tests.interpreter.support import Array, judge_arrays, run
from tests.oracle import run_xla

_HLO_NAME = {
    "bool": "pred",
    "int8": "s8",
    "int16": "s16",
    "int32": "s32",
    "int64": "s64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2": "f8e5m2",
    "complex64": "c64",
}


def type_text(array: Array) -> str:
    """`f32[2,3]`."""
    return f"{_HLO_NAME[array.dtype.name]}[{','.join(map(str, array.shape))}]"


def program(result: str, expression: str, args: list[Array], before: str = "") -> str:
    """HLO text with one instruction on parameters p0, p1 ..."""
    lines = [f"  p{i} = {type_text(arg)} parameter({i})" for i, arg in enumerate(args)]
    lines.append(f"  ROOT root = {result} {expression}")
    return f"HloModule edge\n\n{before}ENTRY main {{\n" + "\n".join(lines) + "\n}\n"


def check(result: str, expression: str, args: list[Array], before: str = "") -> None:
    """The interpreter agrees with XLA on one instruction."""
    text = program(result, expression, args, before)
    report = judge_arrays(text, args, run_xla(text, args))
    assert report.ok, f"{text}\n{report.render()}"


_EDGES = np.array([0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255], np.int64)


def _integers(type_name: str) -> tuple[Array, Array]:
    """All pairs of small numbers, limits, and their negatives."""
    dtype = np.dtype(type_name)
    limits = np.iinfo(dtype)
    values = [int(v) for v in _EDGES if v <= limits.max] + [limits.min, limits.max]
    values += [-v for v in (1, 2, 7) if limits.min < 0]
    line = np.array(values, dtype)
    left, right = np.meshgrid(line, line)
    return left.reshape(-1).copy(), right.reshape(-1).copy()


@pytest.mark.parametrize("type_name", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize(
    "opcode",
    "add subtract multiply divide remainder and or xor maximum minimum shift-left "
    "shift-right-logical shift-right-arithmetic".split(),
)
def test_integer_arithmetic(opcode: str, type_name: str) -> None:
    args = list(_integers(type_name))
    check(type_text(args[0]), f"{opcode}(p0, p1)", args)


@pytest.mark.parametrize("type_name", ["int8", "uint8", "int32", "uint32", "int64"])
@pytest.mark.parametrize("opcode", "abs negate not popcnt count-leading-zeros sign".split())
def test_integer_functions(opcode: str, type_name: str) -> None:
    if type_name.startswith("u") and opcode in ("abs", "negate", "sign"):
        pytest.skip("XLA's StableHLO import takes signed operands only")
    values = _integers(type_name)[0]
    check(type_text(values), f"{opcode}(p0)", [values])


_FLOATS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 127.4, 128.0, 255.9, 256.0, -129.0]
_FLOATS += [2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30]
# No subnormals: XLA's CPU backend flushes them to zero.
_FLOATS += [float("inf"), float("-inf"), float("nan"), 65504.0, 70000.0]


@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "target",
    "bool int8 uint8 int32 uint32 int64 uint64 float16 bfloat16 float64 float8_e4m3fn "
    "float8_e5m2".split(),
)
def test_conversions_from_floats(source: str, target: str) -> None:
    if (source, target) == ("float64", "bfloat16"):
        pytest.skip("double rounding differs between XLA and ml_dtypes")
    with np.errstate(all="ignore"):
        values = np.array(_FLOATS).astype(getattr(ml_dtypes, source, None) or source)
    check(f"{_HLO_NAME[target]}[{len(_FLOATS)}]", "convert(p0)", [values])


@pytest.mark.parametrize("source", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("target", "bool int8 uint16 int32 uint64 float32 bfloat16".split())
def test_conversions_from_integers(source: str, target: str) -> None:
    values = _integers(source)[0]
    check(f"{_HLO_NAME[target]}[{values.size}]", "convert(p0)", [values])


@pytest.mark.parametrize("type_name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "opcode",
    "abs ceil floor sign round-nearest-afz round-nearest-even negate is-finite sqrt "
    "exponential tanh erf cbrt logistic".split(),
)
def test_float_functions(opcode: str, type_name: str) -> None:
    with np.errstate(all="ignore"):
        values = np.array([v for v in _FLOATS if v == 0 or abs(v) > 1e-30 or v != v])
        values = values.astype(getattr(ml_dtypes, type_name, None) or type_name)
    result = f"pred[{values.size}]" if opcode == "is-finite" else type_text(values)
    check(result, f"{opcode}(p0)", [values])


@pytest.mark.parametrize("opcode", "maximum minimum remainder power atan2 divide".split())
def test_float_pairs(opcode: str) -> None:
    line = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan], np.float32)
    left, right = (x.reshape(-1).copy() for x in np.meshgrid(line, line))
    check(type_text(left), f"{opcode}(p0, p1)", [left, right])


def test_complex_products_are_rounded_before_they_are_added() -> None:
    """Otherwise folded constants depend on whether the processor has a fused multiply-add."""
    parts = np.random.default_rng(0).standard_normal(257).astype(np.float32)
    values = parts + np.complex64(1j) * parts
    (squares,) = run(program("c64[257]", "multiply(p0, p0)", [values]), [values])
    assert not squares.real.any()


_PRODUCT = """product {
  a = c64[] parameter(0)
  b = c64[] parameter(1)
  ROOT c = c64[] multiply(a, b)
}

"""


@pytest.mark.parametrize(
    ("result", "expression"),
    [
        ("c64[257]", "reduce(p0, p1), dimensions={0}, to_apply=product"),
        ("c64[1,257]", "reduce-window(p0, p1), window={size=2x1}, to_apply=product"),
        ("c64[2,257]", "dot(p0, p0), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}"),
    ],
)
def test_other_complex_products_are_rounded_alike(result: str, expression: str) -> None:
    """The parts of each number are equal, so the real part of its square is zero."""
    parts = np.random.default_rng(0).standard_normal(257).astype(np.float32)
    args = [np.stack([parts + np.complex64(1j) * parts] * 2), np.ones((), np.complex64)]
    (squares,) = run(program(result, expression, args, _PRODUCT), args)
    assert not squares.real.any()
    (expected,) = run_xla(program(result, expression, args, _PRODUCT), args)
    np.testing.assert_allclose(squares, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("bits", [(8, 7), (5, 10), (4, 3), (5, 2), (8, 0), (3, 23)])
def test_reduce_precision(bits: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([np.array(_FLOATS, np.float32), rng.standard_normal(500)])
    values = values.astype(np.float32)
    check(
        type_text(values),
        f"reduce-precision(p0), exponent_bits={bits[0]}, mantissa_bits={bits[1]}",
        [values],
    )


_SET = """
set {
  a = f32[] parameter(0)
  ROOT b = f32[] parameter(1)
}
"""
_ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

"""
_REVERSED = "1,7,6,4 3,2,4,5 5,3,4,1"


@pytest.mark.parametrize(
    ("window", "result"),
    [
        ("size=2x3 stride=2x1", "f32[3,5]"),
        ("size=3x3 pad=1_1x2_0", "f32[6,7]"),
        ("size=2x2 lhs_dilate=2x3", "f32[10,18]"),
        ("size=2x3 rhs_dilate=3x2 pad=0_0x1_1", "f32[3,5]"),
        ("size=6x7", "f32[1,1]"),
        ("size=5x2 pad=-1_2x0_-3", "f32[3,3]"),
    ],
)
def test_reduce_window(window: str, result: str) -> None:
    x = np.random.default_rng(1).standard_normal((6, 7)).astype(np.float32)
    start = np.array(0.25, np.float32)
    check(result, f"reduce-window(p0, p1), window={{{window}}}, to_apply=add", [x, start], _ADD)


@pytest.mark.parametrize(
    ("window", "labels", "shapes", "extra"),
    [
        ("size=3x2 stride=2x1 pad=1_1x0_1", "b01f_01io->b01f", "2,7,6,4 3,2,4,5 2,4,6,5", ""),
        ("size=3x2 lhs_dilate=2x3", "bf01_oi01->bf01", "2,4,5,4 6,4,3,2 2,6,7,9", ""),
        (
            "size=3x2 rhs_dilate=2x2 rhs_reversal=1x0",
            "b01f_01io->f01b",
            _REVERSED,
            "",
        ),
        ("size=3 pad=-1_-1", "b0f_0io->b0f", "2,9,4 3,2,6 2,5,6", ", feature_group_count=2"),
        ("size=3", "b0f_0io->b0f", "2,9,6 3,1,6 2,7,6", ", feature_group_count=6"),
        ("size=3 stride=2", "b0f_0io->b0f", "4,9,3 3,3,6 2,4,6", ", batch_group_count=2"),
        ("size=1x1", "b01f_01io->b01f", "2,3,4,5 1,1,5,7 2,3,4,7", ""),
    ],
)
def test_convolution(window: str, labels: str, shapes: str, extra: str) -> None:
    rng = np.random.default_rng(2)
    lhs, rhs, result = ([int(n) for n in part.split(",")] for part in shapes.split())
    args: list[Array] = [rng.standard_normal(s).astype(np.float32) for s in (lhs, rhs)]
    check(
        f"f32[{','.join(map(str, result))}]",
        f"convolution(p0, p1), window={{{window}}}, dim_labels={labels}{extra}",
        args,
    )


@pytest.mark.parametrize("padding", ["1_2x0_0", "-1_-2x0_3", "0_0_2x1_-1_1", "-3_0_1x-2_-2_3"])
def test_pad(padding: str) -> None:
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    result = []
    for size, part in zip(x.shape, padding.split("x"), strict=True):
        low, high, *between = (int(n) for n in part.split("_"))
        result.append(low + high + size + (size - 1) * (between[0] if between else 0))
    check(
        f"f32[{result[0]},{result[1]}]",
        f"pad(p0, p1), padding={padding}",
        [x, np.array(-1.0, np.float32)],
    )


def test_scatter_drops_windows_that_leave_the_operand() -> None:
    x = np.zeros((5, 4), np.float32)
    indices = np.array([[0, 0], [4, 3], [3, 2], [-1, 0], [3, 2], [2, 3]], np.int32)
    updates = np.arange(1, 25, dtype=np.float32).reshape(6, 2, 2)
    check(
        "f32[5,4]",
        "scatter(p0, p1, p2), update_window_dims={1,2}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add",
        [x, indices, updates],
        _ADD,
    )


def test_the_last_of_overlapping_windows_counts() -> None:
    """Also where a dimension of the windows comes first in the updates."""
    indices = np.array([[0], [3], [5], [1], [4]], np.int32)
    check(
        "f32[9]",
        "scatter(p0, p1, p2), update_window_dims={0}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=set",
        [np.zeros(9, np.float32), indices, np.arange(1, 21, dtype=np.float32).reshape(4, 5)],
        _SET,
    )


def test_gather_and_dynamic_slice_clamp() -> None:
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    indices = np.array([[0, 0], [4, 3], [-3, 9], [2, -1]], np.int32)
    check(
        "f32[4,2,3]",
        "gather(p0, p1), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1}, "
        "index_vector_dim=1, slice_sizes={2,3}",
        [x, indices],
    )
    starts: list[Array] = [np.array(v, np.int32) for v in (4, -2)]
    check("f32[2,3]", "dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}", [x, *starts])
    update = np.full((2, 3), 9.0, np.float32)
    check("f32[5,4]", "dynamic-update-slice(p0, p1, p2, p3)", [x, update, *starts])


@pytest.mark.parametrize("algorithm", ["rng_three_fry", "rng_philox", "rng_default"])
@pytest.mark.parametrize("result", ["u32[3]", "u32[3,4]", "u64[3,4]", "u8[6,3]", "u16[5]", "u32[]"])
def test_random_bits(algorithm: str, result: str) -> None:
    state = np.array([7, 2**64 - 1], np.uint64)
    check(f"(u64[2], {result})", f"rng-bit-generator(p0), algorithm={algorithm}", [state])


def test_sort_by_several_keys_is_stable() -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 4, 300).astype(np.int32)
    values = np.arange(300, dtype=np.int32)
    before = (
        "less {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  c = s32[] parameter(2)\n"
        "  d = s32[] parameter(3)\n  ROOT l = pred[] compare(a, b), direction=GT\n}\n\n"
    )
    text = program(
        "(s32[300], s32[300])",
        "sort(p0, p1), dimensions={0}, is_stable=true, to_apply=less",
        [keys, values],
        before,
    )
    sorted_keys, order = run(text, [keys, values])
    expected = np.argsort(-keys, kind="stable")
    assert np.array_equal(order, expected)
    assert np.array_equal(sorted_keys, keys[expected])


def test_select_and_scatter_of_negative_elements() -> None:
    """The first element of a window is chosen, whatever padding would compare to."""
    x = -np.arange(1, 9, dtype=np.float32)[::-1].copy()
    source = np.arange(1, 6, dtype=np.float32)
    before = (
        "choose {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = pred[] compare(a, b), direction=GE\n}\n\n"
        "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
        "  ROOT c = f32[] add(a, b)\n}\n\n"
    )
    expression = (
        "select-and-scatter(p0, p1, p2), window={size=2 stride=2 pad=1_1}, "
        "select=choose, scatter=sum"
    )
    check("f32[8]", expression, [x, source, np.zeros((), np.float32)], before)
