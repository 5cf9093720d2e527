"""hlo-decompose: each formula against the op's reference semantics, special values included."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.hlo.interpreter import interpret
from neuronir.dialects.hlo.interpreter_bounds import TRIGONOMETRIC_RANGE
from neuronir.dialects.support.dtypes import from_hlo_name, np_dtype
from tests.lowering.helpers import run
from tests.passes_hlo.helpers import Array, opcodes, program, run_passes

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 2.5, -2.5, 3.5, 8388607.5]


def f32_values() -> Array:
    rng = np.random.default_rng(7)
    spread = rng.standard_normal(200) * np.exp2(rng.integers(-20, 20, 200))
    return np.concatenate([np.array(SPECIAL), spread]).astype(np.float32)


def compare(text: str, args: list[Array], tolerance: float, keep: str = "") -> None:
    module = program(text)
    wanted = interpret(module, args)
    run_passes(module, f'hlo-decompose{{keep="{keep}"}}' if keep else "hlo-decompose")
    got = interpret(module, args)
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_allclose(
            b.astype(np.float64), a.astype(np.float64), rtol=tolerance, atol=1e-37
        )


def unary(opcode: str, n: int, dtype: str = "f32", result: str = "") -> str:
    out = result or dtype
    return f"""ENTRY main {{
  x = {dtype}[{n}]{{0}} parameter(0)
  ROOT r = {out}[{n}]{{0}} {opcode}(x)
}}
"""


def binary(opcode: str, n: int, dtype: str = "f32") -> str:
    return f"""ENTRY main {{
  x = {dtype}[{n}]{{0}} parameter(0)
  y = {dtype}[{n}]{{0}} parameter(1)
  ROOT r = {dtype}[{n}]{{0}} {opcode}(x, y)
}}
"""


@pytest.mark.parametrize("opcode", ["floor", "ceil", "round-nearest-even", "round-nearest-afz"])
def test_rounding_is_exact(opcode: str) -> None:
    x = f32_values()
    compare(unary(opcode, x.size), [x], 0.0)


@pytest.mark.parametrize(
    ("opcode", "tolerance"),
    [("exponential-minus-one", 1e-6), ("log-plus-one", 1e-6), ("cbrt", 1e-6), ("sign", 0.0)]
    + [(name, 1e-6) for name in ("sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos")],
)
def test_functions_are_accurate(opcode: str, tolerance: float) -> None:
    x = f32_values()
    compare(unary(opcode, x.size), [x], tolerance)


def test_logistic() -> None:
    x = np.linspace(-80, 80, 321).astype(np.float32)
    compare(unary("logistic", x.size), [x], 1e-6)


def _angles() -> Array:
    """Arguments of both signs and all sizes, and such near multiples of pi / 2."""
    rng = np.random.default_rng(5)
    sizes = 2.0 ** rng.uniform(-149, np.log2(TRIGONOMETRIC_RANGE), 20000)
    near = rng.integers(0, int(TRIGONOMETRIC_RANGE / 2), 20000) * (np.pi / 2)
    steps = rng.integers(-3, 4, 20000) * np.spacing(near.astype(np.float32))
    found = np.concatenate([sizes, near + steps, [0.0, TRIGONOMETRIC_RANGE]]).astype(np.float32)
    found = found[found <= TRIGONOMETRIC_RANGE]
    return np.concatenate([found, -found])


@pytest.mark.parametrize("opcode", ["sine", "cosine", "tan"])
def test_range_reduction(opcode: str) -> None:
    """As docs/numerics.md says: the angle is off by 2^-21 at most."""
    x = _angles()
    module = program(unary(opcode, x.size))
    run_passes(module, "hlo-decompose")
    exact = {"sine": np.sin, "cosine": np.cos, "tan": np.tan}[opcode](x.astype(np.float64))
    slope = 1.0 + exact**2 if opcode == "tan" else 1.0
    (found,) = interpret(module, [x])
    rounding = 2.0**-23 * np.abs(exact) if opcode == "tan" else 0.0
    assert (np.abs(found - exact) <= slope * 2.0**-21 + rounding).all()


@pytest.mark.parametrize("opcode", ["sine", "cosine"])
def test_range_reduction_of_enormous_and_special_numbers(opcode: str) -> None:
    x = (2.0 ** np.random.default_rng(5).uniform(20, 127.9, 4000)).astype(np.float32)
    special = np.array([np.inf, -np.inf, np.nan, np.finfo(np.float32).max], np.float32)
    x = np.concatenate([x, -x, special])
    module = program(unary(opcode, x.size))
    run_passes(module, "hlo-decompose")
    (found,) = interpret(module, [x])
    assert (np.abs(found[np.isfinite(x)]) <= 1.0).all()
    assert np.isnan(found[-4:-1]).all()


def test_zero_keeps_its_sign() -> None:
    module = program(unary("sine", 2))
    run_passes(module, "hlo-decompose")
    (found,) = interpret(module, [np.array([0.0, -0.0], np.float32)])
    assert found.tobytes() == np.array([0.0, -0.0], np.float32).tobytes()


def test_is_finite() -> None:
    x = f32_values()
    compare(unary("is-finite", x.size, result="pred"), [x], 0.0)


def test_power_obeys_ieee_rules() -> None:
    base, exponent = (v.reshape(-1) for v in np.meshgrid(SPECIAL, [*SPECIAL, 3.0, 2.0, -3.0]))
    args = [base.astype(np.float32), exponent.astype(np.float32)]
    compare(binary("power", base.size), args, 1e-5)


def test_power_of_random_numbers() -> None:
    rng = np.random.default_rng(3)
    args = [
        rng.uniform(0.1, 10, 300).astype(np.float32),
        rng.uniform(-4, 4, 300).astype(np.float32),
    ]
    compare(binary("power", 300), args, 4e-6)


def test_atan2_in_every_octant_and_at_its_corners() -> None:
    corners = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 0.3, -7.0]
    y, x = (v.reshape(-1).astype(np.float32) for v in np.meshgrid(corners, corners))
    compare(binary("atan2", y.size), [y, x], 1e-6)


def every_exponent(dtype: np.dtype[Any], count: int, rng: np.random.Generator) -> Array:
    """Floats of all exponents and both signs, subnormal ones too, and what is special."""
    bits = rng.integers(0, 1 << (8 * dtype.itemsize), count, np.uint64)
    drawn = bits.astype(f"u{dtype.itemsize}").view(dtype)
    info = ml_dtypes.finfo(dtype)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, info.max, info.smallest_subnormal]
    special += [float(info.tiny), float(info.max) / 2, 0.5, 3.0, -7.5]
    whole: Array = np.concatenate([drawn, np.array(special, dtype)])
    return whole


@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_sign_is_exact(name: str) -> None:
    """Subnormal numbers have a sign, zeros keep theirs and NaN stays NaN, on the machine, too."""
    x = every_exponent(np_dtype(from_hlo_name(name)), 4082, np.random.default_rng(6))
    text = f"HloModule m\n\n{unary('sign', x.size, name)}"
    wide = x.astype(np.float32)
    exact = np.where(wide == 0, wide, np.sign(wide))
    module = program(text)
    run_passes(module, "hlo-decompose")
    for (found,) in (interpret(module, [x]), run(text, [x])):
        np.testing.assert_array_equal(found.astype(np.float32), exact)
        np.testing.assert_array_equal(np.signbit(found[wide == 0]), np.signbit(x[wide == 0]))


@pytest.mark.parametrize("name", ["f32", "bf16", "f16"])
def test_float_remainder_is_exact(name: str) -> None:
    """fmod over all exponents: no rounding, whatever the quotient."""
    dtype = np_dtype(from_hlo_name(name))
    rng = np.random.default_rng(4)
    x, y = every_exponent(dtype, 4000, rng), every_exponent(dtype, 4000, rng)
    x = np.concatenate([x, np.repeat(x[-14:], 14)])
    y = np.concatenate([y, np.tile(y[-14:], 14)])
    with np.errstate(all="ignore"):
        wanted = np.fmod(x.astype(np.float64), y.astype(np.float64)).astype(dtype)
        module = program(binary("remainder", x.size, name))
        run_passes(module, "hlo-decompose")
        got = interpret(module, [x, y])[0]
    np.testing.assert_array_equal(got.astype(np.float64), wanted.astype(np.float64))
    numbers = ~np.isnan(wanted.astype(np.float64))
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(wanted)[numbers])


@pytest.mark.parametrize("divisor", [0.5, 1.0, 3.0, 1e-40, 6.2831855, 3e38])
def test_remainder_by_a_constant(divisor: float) -> None:
    """Fewer steps where the divisor is known."""
    x = every_exponent(np.dtype(np.float32), 3000, np.random.default_rng(5))
    module = program(
        f"""ENTRY main {{
  x = f32[{x.size}]{{0}} parameter(0)
  y = f32[] constant({divisor!r})
  z = f32[{x.size}]{{0}} broadcast(y), dimensions={{}}
  ROOT r = f32[{x.size}]{{0}} remainder(x, z)
}}
"""
    )
    with np.errstate(all="ignore"):
        wanted = interpret(module, [x])[0]
        run_passes(module, "hlo-decompose")
        np.testing.assert_array_equal(interpret(module, [x])[0], wanted)


@pytest.mark.parametrize("name", ["s32", "u32", "s16", "u8", "s8"])
def test_integer_powers(name: str) -> None:
    dtype = np_dtype(from_hlo_name(name))
    rng = np.random.default_rng(6)
    edge = np.array([0, 1, 2, 3, 7, 31, 32, 100, -1, -2, -3, -8]).astype(dtype)
    x, y = (v.reshape(-1) for v in np.meshgrid(edge, edge))
    more = rng.integers(0, 1 << 32, (2, 500)).astype(dtype)
    x, y = np.concatenate([x, more[0]]), np.concatenate([y, more[1]])
    with np.errstate(all="ignore"):
        compare(binary("power", x.size, name), [x, y], 0.0)


@pytest.mark.parametrize("opcode", ["divide", "remainder"])
def test_integer_division(opcode: str) -> None:
    rng = np.random.default_rng(5)
    edge = np.array([0, 1, -1, 2, -2, 7, -7, 2**31 - 1, -(2**31), -(2**31) + 1, 2**24 + 1, 65536])
    a, b = (v.reshape(-1).astype(np.int32) for v in np.meshgrid(edge, edge))
    x = np.concatenate([a, rng.integers(-(2**31), 2**31, 2000)]).astype(np.int32)
    y = np.concatenate([b, rng.integers(-(2**20), 2**20, 2000)]).astype(np.int32)
    compare(binary(opcode, x.size, "s32"), [x, y], 0.0)


@pytest.mark.parametrize("opcode", ["popcnt", "count-leading-zeros"])
@pytest.mark.parametrize("dtype", ["u32", "s32", "u8"])
def test_bit_counts(opcode: str, dtype: str) -> None:
    np_type = {"u32": np.uint32, "s32": np.int32, "u8": np.uint8}[dtype]
    x = np.array([0, 1, 2, 3, 127, 200, 255, *(2**k for k in range(7))]).astype(np_type)
    compare(unary(opcode, x.size, dtype), [x], 0.0)


@pytest.mark.parametrize("opcode", ["shift-left", "shift-right-logical", "shift-right-arithmetic"])
def test_shifts_by_the_width_or_more(opcode: str) -> None:
    x = np.array([-5, 5, -5, 5, -5, 5, 1 << 30, -1], np.int32)
    amount = np.array([0, 31, 32, 33, -1, -1, 40, 31], np.int32)
    compare(binary(opcode, x.size, "s32"), [x, amount], 0.0)


BATCH_NORM = """ENTRY main {{
  x = f32[3,5,4]{{2,1,0}} parameter(0)
  scale = f32[5]{{0}} parameter(1)
  other = f32[5]{{0}} parameter(2)
  mean = f32[5]{{0}} parameter(3)
  var = f32[5]{{0}} parameter(4)
  g = f32[3,5,4]{{2,1,0}} parameter(5)
  ROOT r = {result} {call}, epsilon=0.001, feature_index=1
}}
"""


@pytest.mark.parametrize(
    ("result", "call"),
    [
        ("f32[3,5,4]{2,1,0}", "batch-norm-inference(x, scale, other, mean, var)"),
        (
            "(f32[3,5,4]{2,1,0}, f32[5]{0}, f32[5]{0})",
            "batch-norm-training(x, scale, other)",
        ),
        ("(f32[3,5,4]{2,1,0}, f32[5]{0}, f32[5]{0})", "batch-norm-grad(x, scale, mean, var, g)"),
    ],
)
def test_batch_norms(result: str, call: str) -> None:
    rng = np.random.default_rng(6)
    shapes = [(3, 5, 4), (5,), (5,), (5,), (5,), (3, 5, 4)]
    args = [rng.uniform(0.5, 2, s).astype(np.float32) for s in shapes]
    module = program(BATCH_NORM.format(result=result, call=call))
    wanted = interpret(module, args)
    run_passes(module, "hlo-decompose")
    assert not any(name.startswith("batch_norm") for name in opcodes(module))
    for a, b in zip(wanted, interpret(module, args), strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-5)


SELECT_AND_SCATTER = """
ge {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=GE
}

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

ENTRY main {
  x = f32[2,9,7]{2,1,0} parameter(0)
  s = f32[2,5,4]{2,1,0} parameter(1)
  zero = f32[] constant(0)
  ROOT r = f32[2,9,7]{2,1,0} select-and-scatter(x, s, zero), WINDOW, select=ge, scatter=sum
}
""".replace("WINDOW", "window={size=1x3x3 stride=1x2x2 pad=0_0x1_1x1_1}")


def test_select_and_scatter_with_overlapping_windows_and_ties() -> None:
    rng = np.random.default_rng(8)
    x = rng.integers(0, 3, (2, 9, 7)).astype(np.float32)
    s = rng.standard_normal((2, 5, 4)).astype(np.float32)
    compare(SELECT_AND_SCATTER, [x, s], 1e-6)


@pytest.mark.parametrize(
    ("dims", "made", "window"),
    (
        ((2, 16, 24), (2, 2, 3), "size=1x8x8 stride=1x8x8"),
        ((2, 19, 17), (2, 4, 5), "size=1x9x10 stride=1x4x2 pad=0_0x1_1x0_1"),
        ((4, 9, 7), (2, 3, 7), "size=2x3x1 stride=2x3x1"),
        ((1, 9, 7), (1, 5, 7), "size=1x1x1 stride=1x2x1"),
    ),
)
def test_select_and_scatter_with_other_windows(
    dims: tuple[int, ...], made: tuple[int, ...], window: str
) -> None:
    text = SELECT_AND_SCATTER.replace("size=1x3x3 stride=1x2x2 pad=0_0x1_1x1_1", window)
    for old, new in (("2,9,7", dims), ("2,5,4", made)):
        text = text.replace(f"f32[{old}]", f"f32[{','.join(map(str, new))}]")
    rng = np.random.default_rng(9)
    x = rng.integers(0, 5, dims).astype(np.float32)
    compare(text, [x, rng.standard_normal(made).astype(np.float32)], 1e-6)
