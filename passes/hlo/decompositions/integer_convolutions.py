"""Decompose convolutions of integers into convolutions of digits, which are exact in bf16."""

from math import prod

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import is_integer
from neuronir.passes.hlo.decompositions.dots import EXACT_SUM, integer_products
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.shifts import part
from neuronir.passes.hlo.support.values import element, integer, shape, tensor


def integer_convolution(op: Operation, e: Emitter) -> SSAValue | None:
    """Return a convolution of integers as the sum of those of their digits, each shifted.

    Each sums so few products that f32 is exact: more input features are convolved in pieces.
    Returns None for other types, and where the window of one input feature is too large.
    """
    if not all(is_integer(element(v)) for v in (*op.operands, op.results[0])):
        return None

    def exact(x: SSAValue, weights: SSAValue, top: int) -> SSAValue | None:
        d, k = integer(op, "input_feature_dim"), integer(op, "kernel_input_feature_dim")
        grouped = integer(op, "feature_group_count", 1) * integer(op, "batch_group_count", 1) > 1
        features = shape(weights)[k]
        outs = shape(weights)[integer(op, "kernel_output_feature_dim")]
        taps = prod(shape(weights)) // max(1, features * outs)
        step = (EXACT_SUM - 1) // max(1, top * taps)
        if step == 0 or (grouped and step < features):
            return None
        total: SSAValue | None = None
        for low in range(0, max(features, 1), step):
            high = min(low + step, features)
            whole = high - low == features
            pieces = (
                (x, weights)
                if whole
                else (part(x, d, low, high, e), part(weights, k, low, high, e))
            )
            found = e.emit("convolution", pieces, tensor(shape(op.results[0]), f32), op.properties)
            found = e.convert(found, i32)
            total = found if total is None else e.binary("add", total, found)
        return total

    return integer_products(op, exact, e)
