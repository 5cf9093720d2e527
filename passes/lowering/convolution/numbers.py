"""Represent the dimension numbers and windows of a convolution as plain data."""

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerAttr

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.passes.lowering.layouts.values import Value


@dataclass(frozen=True)
class Numbers:
    """Dimension numbers and windows of a convolution; spatial tuples are by spatial dimension."""

    batch: int
    feature: int
    spatial: tuple[int, ...]
    k_in: int
    k_out: int
    k_spatial: tuple[int, ...]
    o_batch: int
    o_feature: int
    o_spatial: tuple[int, ...]
    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    lhs_dilation: tuple[int, ...]
    rhs_dilation: tuple[int, ...]
    reversal: tuple[bool, ...]
    groups: int = 1

    def range(self, i: int, tap: int, taps: int, size: int, outputs: int) -> tuple[int, int]:
        """Return the outputs [first, end) along spatial dimension i whose tap is inside the input.

        `outputs` is their number, `taps` the number of taps, and `size` the elements of the input.
        """
        t = taps - 1 - tap if self.reversal[i] else tap
        shift = t * self.rhs_dilation[i] - self.low[i]
        first = max(0, -(shift // self.strides[i]))
        last = (size - 1 - shift) // self.strides[i]
        return first, max(first, min(outputs, last + 1))


@dataclass(frozen=True)
class Operands:
    """A convolution to lower: its input, its filter and their numbers."""

    image: Value
    weights: Value
    numbers: Numbers


def numbers_of_op(op: ConvolutionOp) -> Numbers:
    """Return the dimension numbers of `op` as plain data."""
    pads = ints(op.padding)

    def one(attr: object) -> int:
        return int(cast(IntegerAttr, attr).value.data)

    return Numbers(
        one(op.input_batch_dim),
        one(op.input_feature_dim),
        ints(op.input_spatial_dims),
        one(op.kernel_input_feature_dim),
        one(op.kernel_output_feature_dim),
        ints(op.kernel_spatial_dims),
        one(op.output_batch_dim),
        one(op.output_feature_dim),
        ints(op.output_spatial_dims),
        ints(op.window_strides),
        pads[0::2],
        pads[1::2],
        ints(op.lhs_dilation),
        ints(op.rhs_dilation),
        tuple(bool(r) for r in ints(op.window_reversal)),
        one(op.feature_group_count),
    )
