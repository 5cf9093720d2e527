"""Import elementwise operators of several operands, which broadcast."""

from collections.abc import Callable

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import is_float, is_unsigned
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph import activations as A
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import (
    along,
    binary,
    broadcast_shape,
    broadcast_to,
    compare,
    fold,
    need_one_type,
    select,
    together,
)
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import element, shape

PLAIN = {
    "Add": "add",
    "AddV2": "add",
    "Atan2": "atan2",
    "BitwiseAnd": "and",
    "BitwiseOr": "or",
    "BitwiseXor": "xor",
    "Div": "divide",
    "LeftShift": "shift_left",
    "LogicalAnd": "and",
    "LogicalOr": "or",
    "Maximum": "maximum",
    "Minimum": "minimum",
    "Mod": "remainder",
    "Mul": "multiply",
    "Pow": "power",
    "RealDiv": "divide",
    "Sub": "subtract",
    "TruncateDiv": "divide",
    "TruncateMod": "remainder",
}
COMPARISONS = {
    "Greater": "GT",
    "GreaterEqual": "GE",
    "Less": "LT",
    "LessEqual": "LE",
}

Function = Callable[[BlockBuilder, SSAValue, SSAValue], SSAValue]


def _floor_div(b: BlockBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    if is_float(element(x)):
        return b.unary("floor", b.binary("divide", x, y))
    quotient = b.binary("divide", x, y)
    if is_unsigned(element(x)):
        return quotient
    rest = b.binary("remainder", x, y)
    zero = b.fill_like(0, x)
    apart = b.binary("xor", b.compare(x, zero, "LT"), b.compare(y, zero, "LT"))
    down = b.binary("and", b.compare(rest, zero, "NE"), apart)
    return b.select(down, b.binary_number("subtract", quotient, 1), quotient)


def _squared_difference(b: BlockBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    difference = b.binary("subtract", x, y)
    return b.binary("multiply", difference, difference)


def _no_nan(opcode: str, deciding: int) -> Function:
    """Build a product or quotient that is zero where the deciding operand is zero."""

    def build(b: BlockBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        result = b.binary(opcode, x, y)
        zero = b.compare_number((x, y)[deciding], 0, "EQ")
        return b.select(zero, b.fill_like(0, result), result)

    return build


def _x_log(inner: str) -> Function:
    """Compute x * log(y) or x / y; zero where x is zero."""

    def build(b: BlockBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        if inner == "divide":
            result = b.binary("divide", x, y)
        else:
            result = b.binary("multiply", x, b.unary(inner, y))
        return b.select(b.compare_number(x, 0, "EQ"), b.fill_like(0, x), result)

    return build


def _right_shift(b: BlockBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
    kind = "logical" if is_unsigned(element(x)) else "arithmetic"
    return b.binary(f"shift_right_{kind}", x, y)


FUNCTIONS: dict[str, Function] = {
    "DivNoNan": _no_nan("divide", 1),
    "FloorDiv": _floor_div,
    "FloorMod": A.floor_mod,
    "MulNoNan": _no_nan("multiply", 1),
    "RightShift": _right_shift,
    "SquaredDifference": _squared_difference,
    "Xdivy": _x_log("divide"),
    "Xlog1py": _x_log("log_plus_one"),
    "Xlogy": _x_log("log"),
}
# Gradients of activations take (operand of the gradient's formula, incoming gradient).
GRADIENTS: dict[str, Function] = {
    "SigmoidGrad": lambda b, y, dy: b.binary(
        "multiply", dy, b.binary("multiply", y, b.binary("subtract", b.fill_like(1, y), y))
    ),
    "TanhGrad": lambda b, y, dy: b.binary(
        "multiply", dy, b.binary("subtract", b.fill_like(1, y), b.binary("multiply", y, y))
    ),
    "RsqrtGrad": lambda b, y, dy: b.binary(
        "multiply",
        b.binary_number("multiply", dy, -0.5),
        b.binary("multiply", y, b.binary("multiply", y, y)),
    ),
    "SqrtGrad": lambda b, y, dy: b.binary("divide", b.binary_number("multiply", dy, 0.5), y),
    "ReluGrad": lambda b, dy, x: b.select(b.compare_number(x, 0, "GT"), dy, b.fill_like(0, dy)),
}


def _register() -> None:
    for name, opcode in PLAIN.items():
        op(name)(lambda o, opcode=opcode: _plain(o, opcode))  # type: ignore[misc]
    for name, direction in COMPARISONS.items():
        op(name)(lambda o, d=direction: compare(o.b, o[0], o[1], d))  # type: ignore[misc]
    for name, function in (FUNCTIONS | GRADIENTS).items():
        op(name)(lambda o, function=function: _both(o, function))  # type: ignore[misc]


def _plain(o: Op, opcode: str) -> SSAValue:
    need_one_type(o[0], o[1])
    return o.b.op(opcode, together(o.b, o[0], o[1]))


def _both(o: Op, function: Function) -> SSAValue:
    need_one_type(o[0], o[1])
    x, y = together(o.b, o[0], o[1])
    return function(o.b, x, y)


_register()


@op("Equal", "NotEqual")
def equal(o: Op) -> SSAValue:
    """Compare; shapes that do not broadcast give a single result if the model allows it."""
    direction = "EQ" if o.type == "Equal" else "NE"
    if not o.bool("incompatible_shape_error", True):
        try:
            broadcast_shape(o.dims(0), o.dims(1))
        except NeuronError:
            return o.b.scalar(direction == "NE", i1)
    return compare(o.b, o[0], o[1], direction)


@op("BiasAdd", "BiasAddV1")
def bias_add(o: Op) -> SSAValue:
    """Add one value per feature: the last dimension, or the second for NCHW."""
    rank = len(o.dims())
    if rank < 2 or len(o.dims(1)) != 1:
        refuse("it takes a value of rank 2 at least and a bias of rank 1")
    first = o.text("data_format", "NHWC").startswith("NC")
    feature = 1 if first else rank - 1
    if o.dims(1)[0] != o.dims()[feature]:
        refuse(f"a bias of {o.dims(1)[0]} does not fit {o.dims()[feature]} features")
    need_one_type(o[0], o[1])
    return o.b.binary("add", o[0], along(o.b, o[1], o.dims(), feature))


@op("BiasAddGrad")
def bias_add_grad(o: Op) -> SSAValue:
    """Sum over all dimensions but the features."""
    rank = len(o.dims())
    feature = 1 if o.text("data_format", "NHWC").startswith("NC") else rank - 1
    return o.b.reduce(o[0], 0, [d for d in range(rank) if d != feature], "add")


@op("AddN", "AccumulateNV2")
def add_n(o: Op) -> SSAValue:
    """Sum all operands, which have one shape."""
    if any(o.dims(i) != o.dims() for i in range(len(o))):
        refuse("all operands must have one shape")
    return fold(o.b, "add", o.tensors())


@op("Select")
def select_v1(o: Op) -> SSAValue:
    """Select elementwise; a condition of rank 1 selects whole rows, a scalar a whole operand."""
    b, dims = o.b, o.dims(1)
    if dims != o.dims(2):
        refuse("both choices must have one shape")
    condition = o[0]
    if len(o.dims()) == 1 and len(dims) > 1:
        condition = along(b, condition, dims, 0)
    elif not o.dims():
        condition = broadcast_to(b, condition, dims)
    if shape(condition) != dims:
        refuse(f"a condition of shape {list(o.dims())} does not fit {list(dims)}")
    need_one_type(o[1], o[2])
    return b.select(condition, o[1], o[2])


@op("SelectV2")
def select_v2(o: Op) -> SSAValue:
    """Select elementwise after broadcasting all operands."""
    return select(o.b, o[0], o[1], o[2])


@op("ApproximateEqual")
def approximate_equal(o: Op) -> SSAValue:
    """Return whether elements differ by less than a tolerance."""
    difference = o.b.unary("abs", binary(o.b, "subtract", o[0], o[1]))
    return o.b.compare_number(difference, o.float("tolerance", 1e-5), "LT")
