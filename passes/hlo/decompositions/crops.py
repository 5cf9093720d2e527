"""Decompose negative padding of a convolution into a slice of its input."""

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import ints, shape


def cropped(op: Operation, e: Emitter) -> SSAValue | None:
    """Slice the input of a convolution as its negative padding demands; zeros if nothing remains.

    Returns None if no padding is negative, or if the input is dilated.
    """
    x, weights = op.operands
    padding, apart = list(ints(op, "padding")), ints(op, "lhs_dilation")
    starts, limits = [0] * len(shape(x)), list(shape(x))
    for i, d in enumerate(ints(op, "input_spatial_dims")):
        low, high = padding[2 * i : 2 * i + 2]
        if apart[i] == 1 and min(low, high) < 0:
            starts[d] = max(0, -low)
            limits[d] -= max(0, -high)
            padding[2 * i : 2 * i + 2] = max(0, low), max(0, high)
    if any(stop <= start for start, stop in zip(starts, limits, strict=True)):
        return e.fill(0, op.results[0].type)
    part = e.slice(x, starts, limits)
    if part is x:
        return None
    properties = dict(op.properties) | {"padding": i64_array(padding)}
    return e.emit("convolution", [part, weights], op.results[0].type, properties)
