"""Import elementwise operators of one operand."""

import math
from collections.abc import Callable

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import byte_size, from_hlo_name, is_float, is_pred
from neuronir.frontends.graph import activations as A
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import as_pred, broadcast_to
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import element, shape

PLAIN = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atanh": "atanh",
    "Cos": "cosine",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exponential",
    "Expm1": "exponential_minus_one",
    "Invert": "not",
    "IsFinite": "is_finite",
    "Log": "log",
    "Log1p": "log_plus_one",
    "LogicalNot": "not",
    "Neg": "negate",
    "Rsqrt": "rsqrt",
    "Sigmoid": "logistic",
    "Sign": "sign",
    "Sin": "sine",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
ROUNDING = {
    "Ceil": "ceil",
    "Floor": "floor",
    "Rint": "round_nearest_even",
    "Round": "round_nearest_even",
}
"""Integers are unchanged."""

FUNCTIONS: dict[str, Callable[[BlockBuilder, SSAValue], SSAValue]] = {
    "Atan": A.atan,
    "Erfc": lambda b, x: b.binary("subtract", b.fill_like(1, x), b.unary("erf", x)),
    "Inv": A.reciprocal,
    "IsNan": A.is_nan,
    "isNan": A.is_nan,
    "OnesLike": lambda b, x: b.fill_like(1, x),
    "Reciprocal": A.reciprocal,
    "Relu": A.relu,
    "Relu6": lambda b, x: A.clip(b, x, 0, 6),
    "Elu": A.elu,
    "Selu": lambda b, x: A.selu(b, x, 1.6732632423543772, 1.0507009873554805),
    "Softplus": A.softplus,
    "Softsign": A.softsign,
    "Square": lambda b, x: b.binary("multiply", x, x),
    "ZerosLike": lambda b, x: b.fill_like(0, x),
}


def _register() -> None:
    for name, opcode in PLAIN.items():
        op(name)(lambda o, opcode=opcode: o.b.op(opcode, [o[0]]))  # type: ignore[misc]
    for name, opcode in ROUNDING.items():
        op(name)(lambda o, opcode=opcode: _rounded(o, opcode))  # type: ignore[misc]
    for name, function in FUNCTIONS.items():
        op(name)(lambda o, function=function: function(o.b, o[0]))  # type: ignore[misc]


def _rounded(o: Op, opcode: str) -> SSAValue:
    return o.b.unary(opcode, o[0]) if is_float(o.element()) else o[0]


_register()


@op("PopulationCount")
def population_count(o: Op) -> SSAValue:
    """Count the set bits, as u8."""
    return o.b.convert(o.b.unary("popcnt", o[0]), from_hlo_name("u8"))


@op("IsInf")
def is_inf(o: Op) -> SSAValue:
    """Return whether each element is infinite."""
    return o.b.compare_number(o.b.unary("abs", o[0]), math.inf, "EQ")


@op("LeakyRelu")
def leaky_relu(o: Op) -> SSAValue:
    """Return x, multiplied by alpha where it is negative."""
    return A.leaky_relu(o.b, o[0], o.float("alpha", 0.2))


@op("Cast")
def cast(o: Op) -> SSAValue:
    """Convert the element type: to integers towards zero, to bool as `x != 0`."""
    wanted = o.dtype("DstT")
    if is_pred(wanted):
        return as_pred(o.b, o[0])
    return o.b.convert(o[0], wanted)


@op("Bitcast")
def bitcast(o: Op) -> SSAValue:
    """Reinterpret the bits as another type of the same width."""
    wanted = o.dtype("type")
    if i1 in (wanted, o.element()) or byte_size(wanted) != byte_size(o.element()):
        refuse("types of different width are not supported")
    return o.b.bitcast(o[0], wanted)


@op("ClipByValue")
def clip_by_value(o: Op) -> SSAValue:
    """Clamp elements to bounds, which broadcast."""
    b, dims = o.b, o.dims()
    low, high = (broadcast_to(b, o[i], dims) for i in (1, 2))
    return b.binary("maximum", b.binary("minimum", o[0], high), low)


def _nudged(low: float, high: float, bits: int, narrow: bool) -> tuple[float, float, float]:
    """Return the range shifted so that zero is a quantised value, and the step."""
    if not 2 <= bits <= 16:
        refuse(f"num_bits must be between 2 and 16, is {bits}")
    first, last = (1 if narrow else 0), (1 << bits) - 1
    if not low < high:
        refuse(f"the minimum {low} must be below the maximum {high}")
    step = (high - low) / (last - first)
    zero = first - low / step
    nearest = first if zero < first else last if zero > last else math.floor(zero + 0.5)
    return (first - nearest) * step, (last - nearest) * step, step


@op("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars")
def fake_quant(o: Op) -> SSAValue:
    """Round floats to the values of a quantised type."""
    b, x = o.b, o[0]
    if o.type == "FakeQuantWithMinMaxArgs":
        low, high = o.float("min", -6.0), o.float("max", 6.0)
    else:
        low, high = (float(o.array(i, "the range").reshape(())) for i in (1, 2))
    low, high, step = _nudged(low, high, o.int("num_bits", 8), o.bool("narrow_range", False))
    shifted = b.binary_number("subtract", A.clip(b, x, low, high), low)
    # Halves round up, as in TensorFlow.
    steps = b.binary_number("add", b.binary_number("multiply", shifted, 1 / step), 0.5)
    rounded = b.binary_number("multiply", b.unary("floor", steps), step)
    result = b.binary_number("add", rounded, low)
    assert shape(result) == shape(x) and element(result) == element(x)
    return result
