"""A pass for `--load` that replaces tanh with a cheaper function.

    neuronx-cc compile MODEL --framework XLA --target trn1 \\
        --load hard_tanh.py --pass-after parsed=approximate-tanh
"""

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

from neuronir.dialects.hlo.constants import constant_op
from neuronir.dialects.hlo.elementwise import ClampOp
from neuronir.dialects.hlo.unary import TanhOp
from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.location import inherit
from neuronir.passes import statistics


class _HardTanh(RewritePattern):
    """Rewrite one op."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TanhOp, rewriter: PatternRewriter) -> None:
        tensor = op.results[0].type
        assert isinstance(tensor, TensorType)
        low, high = (constant_op(np.array(v, np_dtype(tensor.element_type))) for v in (-1.0, 1.0))
        clamp = ClampOp.create(
            operands=[low.result, op.operands[0], high.result], result_types=[tensor]
        )
        for new in (low, high, clamp):
            inherit(new, op)  # keeps the source location up to the binary
        rewriter.replace_matched_op([low, high, clamp])
        statistics.record(ApproximateTanhPass.name, "replaced")


class ApproximateTanhPass(ModulePass):
    """Replace tanh with its first-order approximation, a clamp to [-1, 1].

    %y = hlo.tanh %x    ->    %y = hlo.clamp %minus_one, %x, %one
    """

    name = "approximate-tanh"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(_HardTanh()).rewrite_module(op)


PASSES = [ApproximateTanhPass]
