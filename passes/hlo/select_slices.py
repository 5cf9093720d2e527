"""hlo-select-slices: rewrite slices at computed positions as selects of known slices."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.passes.hlo.legality import computes_addresses
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.index_vectors import bounded
from neuronir.passes.hlo.support.shifts import covered, placed, sliced
from neuronir.passes.hlo.support.values import ints, shape
from neuronir.passes.hlo.support.walk import blocks, rewrite_block
from neuronir.passes.statistics import record

MOST = 1 << 24
"""Limit of a dimension, of which fp32 distinguishes all positions."""


@dataclass(frozen=True)
class HloSelectSlicesPass(ModulePass):
    """Rewrite dynamic slices and updates as selects, where transfers take no computed addresses.

    Each step selects the upper or the lower part of what is left, until only the window is:

        %r = dynamic_slice(%x, %i)      ->     %a = select(%i >= 4, %x[4:9], %x[0:5])
          x: 9 elements, 2 of them             %b = select(%j >= 2, %a[2:5], %a[0:3])
                                               %r = select(%k >= 1, %b[1:3], %b[0:2])

    An update is moved to its position in the same way and selected there. Positions are clamped as
    in HLO, and values of all types keep their bits. Slices at known positions, and at positions
    that the counter of a loop alone determines, are not changed. Runs before hlo-exact-integers.
    """

    name = "hlo-select-slices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = {"hlo.dynamic_slice": (_slice,), "hlo.dynamic_update_slice": (_update,)}
        count = sum(rewrite_block(block, rules, inner=False) for block in tuple(blocks(op)))
        record(self.name, "slices rewritten", count)


def _slice(op: Operation, e: Emitter) -> SSAValue | None:
    x, *indices = op.operands
    if not computes_addresses(op) or max(shape(x), default=0) > MOST:
        return None
    dims, sizes = shape(x), ints(op, "slice_sizes")
    moved = [d for d in range(len(dims)) if sizes[d] != dims[d]]
    for d in sorted(moved, key=lambda d: sizes[d] / dims[d]):  # what leaves least, first
        x = sliced(e, x, d, bounded(e, indices[d], dims[d] - sizes[d], f32), sizes[d])
    return x


def _update(op: Operation, e: Emitter) -> SSAValue | None:
    x, update, *indices = op.operands
    if not computes_addresses(op) or max(shape(x), default=0) > MOST:
        return None
    dims, sizes = shape(x), shape(update)
    moved = [d for d in range(len(dims)) if sizes[d] != dims[d]]
    starts = {d: bounded(e, indices[d], dims[d] - sizes[d], f32) for d in moved}
    for d in sorted(moved, key=lambda d: dims[d] / max(sizes[d], 1)):  # what adds most, last
        if sizes[d] == 0:
            return x
        update = placed(e, update, d, starts[d], dims[d])
    return e.select(covered(e, dims, starts, sizes), update, x) if moved else update
