"""Simplify one block like the passes between the large steps of a pipeline."""

from xdsl.ir import Block

from neuronir.passes.hlo.canonicalize import canonical_rules
from neuronir.passes.hlo.constant_fold import HloConstantFoldPass, fold_block
from neuronir.passes.hlo.cse import Numbers, merge_equal
from neuronir.passes.hlo.dce import sweep
from neuronir.passes.hlo.support.walk import rewrite_block


def simplify_block(block: Block) -> None:
    """Run hlo-canonicalize, -constant-fold, -canonicalize, -cse and -dce on one block."""
    rewrite_block(block, canonical_rules())
    fold_block(block, HloConstantFoldPass.limit)
    rewrite_block(block, canonical_rules())
    merge_equal(block, Numbers())
    sweep(block)
