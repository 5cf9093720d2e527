"""Import reductions over dimensions, argmin and argmax, and running sums."""

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import is_pred
from neuronir.frontends.graph import reductions as R
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import element

OPCODES = {"All": "and", "Any": "or", "Max": "maximum", "Min": "minimum", "Prod": "multiply"}


def _axes(o: Op) -> tuple[int, ...]:
    return R.dims_from(o.ints(1, "the axes"), len(o.dims()))


def _keep(o: Op) -> bool:
    return o.bool("keep_dims", False)


def _register() -> None:
    for name, opcode in OPCODES.items():
        op(name)(lambda o, opcode=opcode: _reduced(o, opcode))  # type: ignore[misc]


def _reduced(o: Op, opcode: str) -> SSAValue:
    if opcode in ("and", "or") and not is_pred(o.element()):
        refuse(f"it takes predicates, not {o.element()}")
    return R.reduce(o.b, o[0], opcode, _axes(o), keep=_keep(o))


_register()


def _in_f32(
    o: Op, function: Callable[[BlockBuilder, SSAValue, Sequence[int]], SSAValue]
) -> SSAValue:
    """Compute a sum or mean of narrow floats in f32, as TensorFlow does."""
    b = o.b
    return b.convert(function(b, R.wide(b, o[0]), _axes(o)), o.element())


@op("Sum")
def sum_(o: Op) -> SSAValue:
    """Compute the sum."""
    return _in_f32(o, lambda b, x, dims: R.total(b, x, dims, keep=_keep(o)))


@op("Mean")
def mean(o: Op) -> SSAValue:
    """Compute the mean; integer means are rounded towards zero."""
    return _in_f32(o, lambda b, x, dims: R.mean(b, x, dims, keep=_keep(o)))


@op("EuclideanNorm")
def euclidean_norm(o: Op) -> SSAValue:
    """Compute the square root of the sum of squares."""
    return _in_f32(o, lambda b, x, dims: b.unary("sqrt", R.sum_square(b, x, dims, keep=_keep(o))))


@op("L2Loss")
def l2_loss(o: Op) -> SSAValue:
    """Compute half the sum of all squares."""
    b = o.b
    squares = R.sum_square(b, R.wide(b, o[0]), range(len(o.dims())))
    return b.convert(b.binary_number("multiply", squares, 0.5), o.element())


@op("ArgMax", "ArgMin")
def arg_extreme(o: Op) -> SSAValue:
    """Return the index of the first largest or smallest element."""
    b, dims = o.b, o.dims()
    axis = R.axis_from(o.integer(1, "the axis"), len(dims))
    if dims[axis] == 0:
        refuse("an empty dimension has no extreme")
    index_type = o.dtype("output_type", "INT64")
    # Indices are counted in i32, which fits any dimension.

    found = R.extreme_index(b, o[0], axis, i32, largest=o.type == "ArgMax")
    return b.convert(found, index_type)


@op("Cumsum", "Cumprod")
def cumulative(o: Op) -> SSAValue:
    """Compute the running sum or product along a dimension."""
    axis = R.axis_from(o.integer(1, "the axis"), len(o.dims()))
    opcode = "add" if o.type == "Cumsum" else "multiply"
    flags = {name: o.bool(name, False) for name in ("exclusive", "reverse")}
    result = R.cumulative(o.b, R.wide(o.b, o[0]), opcode, axis, **flags)
    return o.b.convert(result, element(o[0]))
