"""Elementwise operators: each on its types, and broadcasting."""

from typing import Any

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.cases.case import BF16, Cases, text

CASES = Cases("elementwise")
raw = tf.raw_ops
F, H = np.float32, np.float16
_t: Any
_a: Any
_k: Any
_b: Any


def unary(name: str, values: Any, *types: Any) -> None:
    op = getattr(raw, name)
    for type_ in types or (F,):
        array = np.asarray(values).astype(type_)
        key = "features" if name in FEATURES else "y" if name == "Inv" else "x"
        CASES.add(f"{name}_{np.dtype(type_).name}", lambda x, op=op, k=key: _call(op, k, x), array)


def _call(op: Any, key: str, x: Any) -> Any:
    if key == "y":
        return op(x=x)
    return op(**{key: x})


FEATURES = ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu")
c = CASES
wide, near, over_one = c.f32(3, 7) * 4, c.unit(3, 7) * 1.8 - 0.9, c.positive(3, 7) + 1
for _n in "Abs Neg Square Sign".split():
    unary(_n, wide, F, H, BF16, np.int32)
for (
    _n
) in "Ceil Floor Rint Round Cos Sin Tan Exp Expm1 Sigmoid Tanh Erf Erfc Atan Sinh Cosh".split():
    unary(_n, wide, F)
for _n in "Asin Acos Atanh".split():
    unary(_n, near)
unary("Asinh", wide)
unary("Acosh", over_one)
for _n in "Sqrt Rsqrt Log Log1p Reciprocal".split():
    unary(_n, c.positive(3, 7) * 10, F, *((H, BF16) if _n in ("Sqrt", "Rsqrt") else ()))
unary("Inv", c.positive(5))
for _n in "Relu Relu6".split():
    unary(_n, wide, F, H, BF16, np.int32)
for _n in "Elu Selu Softplus Softsign LeakyRelu".split():
    unary(_n, wide)
for _n in "ZerosLike OnesLike".split():
    unary(_n, wide, F, np.int32)
_odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], F)
for _n in "IsNan IsInf IsFinite".split():
    unary(_n, _odd)
for _n in "Sign Relu Relu6 Sigmoid Tanh Exp Floor Abs".split():
    c.add(
        f"{_n}_odd",
        lambda x, n=_n: _call(getattr(raw, n), "features" if n in FEATURES else "x", x),
        _odd,
    )
c.add("Rsqrt_large", lambda x: raw.Rsqrt(x=x), np.array([1e20, 3e30, 1e-20, 4.0], F))
c.add("Round_halves", lambda x: raw.Round(x=x), np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], F))
c.add("LogicalNot", lambda x: raw.LogicalNot(x=x), c.bools(4, 5))
for _t in (np.int32, np.uint8, np.int16):
    c.add(f"Invert_{np.dtype(_t).name}", lambda x: raw.Invert(x=x), c.of(_t, 9))
    c.add(f"PopulationCount_{np.dtype(_t).name}", lambda x: raw.PopulationCount(x=x), c.of(_t, 9))
c.add("LeakyRelu_alpha", lambda x: raw.LeakyRelu(features=x, alpha=0.05), wide)

BINARY = "Add AddV2 Sub Mul Maximum Minimum SquaredDifference".split()
SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((3, 7), (3, 7)),
    ((2, 3, 4), (4,)),
    ((2, 1, 4), (3, 1)),
    ((5,), ()),
    ((), (2, 3)),
    ((0, 3), (1, 3)),
)
for _n in BINARY:
    for _a, _b in SHAPES:
        c.add(
            f"{_n}_{text(_a)}_{text(_b)}",
            lambda x, y, n=_n: getattr(raw, n)(x=x, y=y),
            c.f32(*_a),
            c.f32(*_b),
        )
    for _t in (H, BF16, np.int32):
        if _n == "SquaredDifference" and _t == BF16:
            continue
        c.add(
            f"{_n}_{np.dtype(_t).name}",
            lambda x, y, n=_n: getattr(raw, n)(x=x, y=y),
            c.of(_t, 4, 5),
            c.of(_t, 5),
        )
for _n in "RealDiv Div DivNoNan".split():
    c.add(_n, lambda x, y, n=_n: getattr(raw, n)(x=x, y=y), c.f32(4, 5), c.positive(5))
c.add("DivNoNan_zero", lambda x, y: raw.DivNoNan(x=x, y=y), c.f32(4), np.array([0, 1, 0, 2], F))
c.add("MulNoNan", lambda x, y: raw.MulNoNan(x=x, y=y), _odd, np.array([0, 1, 0, 1, 0, 2], F))
for _n in "Xdivy Xlogy Xlog1py".split():
    c.add(
        _n, lambda x, y, n=_n: getattr(raw, n)(x=x, y=y), np.array([0, 1, 2, -1], F), c.positive(4)
    )
_x = np.array([-7, -6, -1, 0, 1, 6, 7, 13], np.int32)
_y = np.array([2, -3, 5, 4, -2, 4, -7, 5], np.int32)
for _n in "FloorDiv FloorMod TruncateDiv TruncateMod Mod Div".split():
    if _n != "Mod":
        c.add(f"{_n}_int", lambda x, y, n=_n: getattr(raw, n)(x=x, y=y), _x, _y)
for _n in "FloorDiv FloorMod TruncateMod".split():
    c.add(
        f"{_n}_float",
        lambda x, y, n=_n: getattr(raw, n)(x=x, y=y),
        _x.astype(F),
        _y.astype(F) + 0.5,
    )
c.add(
    "FloorDiv_uint8",
    lambda x, y: raw.FloorDiv(x=x, y=y),
    c.ints(0, 255, 9, dtype=np.uint8),
    c.ints(1, 9, 9, dtype=np.uint8),
)
c.add("Pow", lambda x, y: raw.Pow(x=x, y=y), c.positive(4, 5), c.f32(5))
for _e in (2.0, 3.0, 0.5, -1.0, 0.0):
    c.add(f"Pow_{_e}", lambda x, e=_e: raw.Pow(x=x, y=tf.constant(e, tf.float32)), c.positive(6))
c.add("Pow_int", lambda x: raw.Pow(x=x, y=tf.constant(3)), c.ints(-5, 5, 6))
c.add("Atan2", lambda x, y: raw.Atan2(y=x, x=y), c.f32(3, 4), c.f32(3, 4))
for _n in "BitwiseAnd BitwiseOr BitwiseXor".split():
    c.add(_n, lambda x, y, n=_n: getattr(raw, n)(x=x, y=y), c.ints(0, 200, 3, 4), c.ints(0, 200, 4))
for _n in "LeftShift RightShift".split():
    c.add(_n, lambda x, y, n=_n: getattr(raw, n)(x=x, y=y), c.ints(-100, 100, 8), c.ints(0, 8, 8))
for _n in "LogicalAnd LogicalOr".split():
    c.add(_n, lambda x, y, n=_n: getattr(raw, n)(x=x, y=y), c.bools(3, 4), c.bools(4))
for _n in "Greater GreaterEqual Less LessEqual Equal NotEqual".split():
    c.add(
        f"{_n}_int",
        lambda x, y, n=_n: getattr(raw, n)(x=x, y=y),
        c.ints(0, 3, 4, 5),
        c.ints(0, 3, 5),
    )
    c.add(f"{_n}_odd", lambda x, y, n=_n: getattr(raw, n)(x=x, y=y), _odd, _odd[::-1].copy())
c.add(
    "Equal_shapes",
    lambda x, y: raw.Equal(x=x, y=y, incompatible_shape_error=False),
    c.f32(3),
    c.f32(4),
)
c.add(
    "ApproximateEqual",
    lambda x, y: raw.ApproximateEqual(x=x, y=y, tolerance=0.5),
    c.f32(20),
    c.f32(20),
)
c.add("AddN", lambda x, y, z: raw.AddN(inputs=[x, y, z]), c.f32(3, 4), c.f32(3, 4), c.f32(3, 4))
c.add("AddN_one", lambda x: raw.AddN(inputs=[x]), c.f32(3, 4))
c.add("BiasAdd_NHWC", lambda x, y: raw.BiasAdd(value=x, bias=y), c.f32(2, 3, 4, 5), c.f32(5))
c.add(
    "BiasAdd_NCHW",
    lambda x, y: raw.BiasAdd(value=x, bias=y, data_format="NCHW"),
    c.f32(2, 5, 3, 4),
    c.f32(5),
)
c.add("BiasAdd_2d", lambda x, y: raw.BiasAdd(value=x, bias=y), c.f32(4, 5), c.f32(5))
c.add("BiasAddGrad", lambda x: raw.BiasAddGrad(out_backprop=x), c.f32(4, 3, 5))
c.add(
    "Select",
    lambda p, x, y: raw.Select(condition=p, x=x, y=y),
    c.bools(3, 4),
    c.f32(3, 4),
    c.f32(3, 4),
)
c.add(
    "Select_rows",
    lambda p, x, y: raw.Select(condition=p, x=x, y=y),
    c.bools(3),
    c.f32(3, 4),
    c.f32(3, 4),
)
c.add(
    "Select_scalar",
    lambda p, x, y: raw.Select(condition=p, x=x, y=y),
    c.bools(),
    c.f32(3, 4),
    c.f32(3, 4),
)
c.add(
    "SelectV2",
    lambda p, x, y: raw.SelectV2(condition=p, t=x, e=y),
    c.bools(3, 1),
    c.f32(4),
    c.f32(),
)
c.add(
    "ClipByValue",
    lambda x: raw.ClipByValue(t=x, clip_value_min=-1.0, clip_value_max=0.5),
    c.f32(4, 5),
)
for _s in (F, H, BF16, np.int32, np.uint8, np.bool_):
    for _d in (F, H, BF16, np.int32, np.int8, np.bool_):
        if _s != _d:
            _a = np.abs(c.of(_s, 4, 5)) if _s not in (np.bool_,) else c.bools(4, 5)
            c.add(
                f"Cast_{np.dtype(_s).name}_{np.dtype(_d).name}",
                lambda x, d=_d: raw.Cast(x=x, DstT=tf.as_dtype(d)),
                _a,
            )
c.add("Bitcast", lambda x: raw.Bitcast(input=x, type=tf.int32), c.f32(3, 4))
for _n in "SigmoidGrad TanhGrad SqrtGrad RsqrtGrad".split():
    c.add(_n, lambda y, dy, n=_n: getattr(raw, n)(y=y, dy=dy), c.positive(3, 4), c.f32(3, 4))
c.add("ReluGrad", lambda dy, x: raw.ReluGrad(gradients=dy, features=x), c.f32(3, 4), c.f32(3, 4))
for _k in (
    {},
    {"min": -1.5, "max": 2.5},
    {"num_bits": 4},
    {"narrow_range": True},
    {"min": 0.5, "max": 3.0},
):
    c.add(
        f"FakeQuant_{text(list(_k.values()))}",
        lambda x, k=_k: raw.FakeQuantWithMinMaxArgs(inputs=x, **k),
        wide,
    )
c.add("FakeQuantVars", lambda x: raw.FakeQuantWithMinMaxVars(inputs=x, min=-2.0, max=3.0), wide)
for _n in "Identity StopGradient PreventGradient Snapshot CheckNumerics".split():
    _k = {"message": ""} if _n in ("PreventGradient", "CheckNumerics") else {}
    _i = "tensor" if _n == "CheckNumerics" else "input"
    c.add(_n, lambda x, n=_n, k=_k, i=_i: getattr(raw, n)(**{i: x}, **k), c.f32(3))
c.add("IdentityN", lambda x, y: raw.IdentityN(input=[x, y]), c.f32(3), c.ints(0, 5, 2))
