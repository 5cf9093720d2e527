"""Define the canonicalisation patterns of the tile ops, for xDSL's `canonicalize`.

Two conversions on the chip are not joined: which way is cheaper is a decision of the passes.
"""

from collections.abc import Mapping

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from neuronir.dialects.hlo.constants import ConstantOp, constant_array, constant_op
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.tile.layout import element_of, layout_of
from neuronir.dialects.tile.ops import ConvertLayoutOp, IndexOp, ToIndexOp


class ConvertWithoutHbm(RewritePattern):
    """Join a store and a load of a value in SBUF into one conversion on the chip."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Read the stored value where it came from; the store stays if it has other users."""
        assert isinstance(op, ConvertLayoutOp)
        store = op.source.owner
        if not isinstance(store, ConvertLayoutOp) or layout_of(op.source) is not None:
            return
        if not _in_sbuf(store.source) or not _in_sbuf(op.result):
            return
        # Only a load converts elements, and a join of the two is none.
        if element_of(store.source) == element_of(op.result):
            rewriter.replace(op, ConvertLayoutOp.make(store.source, op.result.type))


class FoldIndexOfConstant(RewritePattern):
    """Replace the tensor of a constant index by a constant."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Replace `op` if its index is an `arith.constant`."""
        assert isinstance(op, IndexOp)
        owner = op.index.owner
        if layout_of(op.result) is not None or not isinstance(owner, arith.ConstantOp):
            return
        assert isinstance(owner.value, IntegerAttr)
        value = np.asarray(owner.value.value.data).astype(np_dtype(element_of(op.result)))
        rewriter.replace(op, constant_op(value, op))


class FoldConstantToIndex(RewritePattern):
    """Replace the index of a constant tensor by an `arith.constant`."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """Replace `op` if its source is an `hlo.constant`; a negative value becomes 0."""
        assert isinstance(op, ToIndexOp)
        owner = op.source.owner
        if isinstance(owner, ConstantOp):
            value = max(int(constant_array(owner).item()), 0)
            rewriter.replace(op, arith.ConstantOp.from_int_and_width(value, IndexType()))


PATTERNS: Mapping[type[Operation], tuple[RewritePattern, ...]] = {
    ConvertLayoutOp: (ConvertWithoutHbm(),),
    IndexOp: (FoldIndexOfConstant(),),
    ToIndexOp: (FoldConstantToIndex(),),
}
"""The patterns of each op with the canonicalisation trait."""


def _in_sbuf(value: SSAValue) -> bool:
    layout = layout_of(value)
    return layout is not None and layout.memory == "sbuf"
