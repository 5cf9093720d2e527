"""Count the FLOPs that a dot or a convolution represents, however it is executed."""

import math
from functools import lru_cache

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation

from neuronir.dialects.hlo.semantics.registry import index_list, integer, shape_and_dtype
from neuronir.dialects.support.walking import ops_of

FLOPS = "hlo.flops"
"""The attribute that `note_flops` gives to dots and convolutions."""

_PRODUCTS = ("hlo.dot", "hlo.convolution")


def products_of(op: Operation) -> int:
    """Return the number of products summed for each element of a dot or convolution."""
    shape, _ = shape_and_dtype(op.operands[1].type)
    if op.name == "hlo.dot":
        return math.prod(shape[i] for i in index_list(op, "rhs_contracting_dims"))
    return math.prod(shape) // max(1, shape[integer(op, "kernel_output_feature_dim")])


def useful_flops(op: Operation) -> int:
    """Return two FLOPs, a multiplication and an addition, for each product; 0 for other ops."""
    if op.name not in _PRODUCTS:
        return 0
    return 2 * math.prod(shape_and_dtype(op.results[0].type)[0]) * products_of(op)


@lru_cache(256)
def _count(flops: int) -> IntegerAttr:
    return IntegerAttr(flops, i64)


def pass_flops(old: Operation, new: Operation) -> None:
    """Give the FLOPs of a dot or convolution to the one that replaces it, which may pad it with
    zeros.
    """
    note_flops(old)
    if FLOPS in old.attributes:
        new.attributes[FLOPS] = old.attributes[FLOPS]


def share_of(op: Operation, part: int, whole: int) -> IntegerAttr:
    """Return the FLOPs of `part` of the `whole` of an op whose FLOPs are recorded."""
    noted = op.attributes[FLOPS]
    assert isinstance(noted, IntegerAttr)
    return _count(noted.value.data * part // whole)


def note_flops(root: Operation) -> None:
    """Record the FLOPs of each dot and convolution in `op`, including its regions.

    Call this before a pass splits the ops into tiles or pads them with zeros. Recorded values are
    kept.
    """
    if FLOPS not in root.attributes and (flops := useful_flops(root)):
        root.attributes[FLOPS] = _count(flops)
    for region in root.regions:
        for block in region.blocks:
            for op in ops_of(block):
                if op.regions or op.name in _PRODUCTS:
                    note_flops(op)
