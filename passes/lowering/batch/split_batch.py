"""hlo-split-batch: overlap the vector phases of one batch slice with the matmuls of another.

A network computes the dots of a layer, then its norms and softmaxes, so the tensor engine and the
vector engines alternate. Batch slices are independent. The ops between the inputs and the results
are replicated for each slice (strand), in the order in which two engines would run them
(strands.py). All strands use a weight while it is on the chip, and intermediate values are smaller
by the number of strands.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.control_flow import TupleOp
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.walking import walk
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.walk import leaves
from neuronir.passes.lowering.batch.parts import Piece, used, write_parts
from neuronir.passes.lowering.batch.strands import (
    estimate_ns,
    in_layers,
    interleaved,
    worthwhile,
)
from neuronir.passes.lowering.streaming.dims import WHOLE, Tiling, spread, tiled_copy
from neuronir.passes.statistics import gains, record

STRANDS = "hlo.strands"
"""Attribute of a function whose strands cross its layers: the number of strands."""
MOST_COPIES = 2000
"""Limit of copies of ops for strands that cross layers, which are then unrolled."""


@dataclass(frozen=True)
class HloSplitBatchPass(ModulePass):
    """Split the batch into strands whose tensor and vector phases overlap.

    The strands are staggered, so that long matmuls of one strand run beside vector phases of
    another. Strands cross layer boundaries, and layers are unrolled. In programs with very many
    ops, all strands leave each layer together, so that layers can form a loop. Without a target,
    the module is not changed.
    """

    name = "hlo-split-batch"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    strands: int = field(
        default=0, metadata={"help": "number of strands; 0: two if that is estimated to be faster"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split the entry function."""
        attr = op.attributes.get("nc.machine")
        name = self.target or (attr.data if isinstance(attr, StringAttr) else "")
        if self.strands < 0:
            raise NeuronError("NIR_LOW006", f"hlo-split-batch: {self.strands} strands")
        if not name:
            return
        for function in op.ops:
            if isinstance(function, FuncOp) and function.sym_name.data == "main":
                split_function(function, get_machine(name), self.strands)


def split_function(function: FuncOp, machine: Machine, strands: int) -> None:
    """Split the ops that work on slices of the results' batch."""
    block = function.body.block
    count, extent = strands or 2, _extent(block)
    if extent is None or count < 2 or extent % count:
        return
    region = find_region(block)
    if region is None:
        return
    if not strands and not worthwhile(list(region.tilings), machine):
        return
    record(HloSplitBatchPass.name, "strands", count)
    ops = list(region.tilings)
    record(HloSplitBatchPass.name, "ops", len(ops))
    if count * len(ops) <= MOST_COPIES:
        function.attributes[STRANDS] = IntegerAttr(count, i64)
        order = interleaved(ops, count, machine, ahead=True)
    else:
        record(HloSplitBatchPass.name, "layers left by all strands at once, for the number of ops")
        order = in_layers(block, ops, count, machine)
    if gains():
        lockstep, staggered = estimate_ns(order, count, machine)
        record(HloSplitBatchPass.name, "estimated ns in lockstep", round(lockstep))
        record(HloSplitBatchPass.name, "estimated ns staggered", round(staggered))
    split(block, region, order, count)


@dataclass(frozen=True)
class BatchRegion:
    """The ops that work on batch slices, in order, with the sliced dimensions of their values.

    Also has the size of the batch.
    """

    tilings: dict[Operation, Tiling]
    extent: int


def find_region(block: Block) -> BatchRegion | None:
    """Return the ops before the results that can be computed slice by slice along the first
    dimension.

    The search goes backwards from the results: an op is included if all users of its result are
    included and need the same slices. Other operands are computed whole.
    """
    last, extent = block.last_op, _extent(block)
    if last is None or extent is None:
        return None
    wanted: dict[SSAValue, int] = dict.fromkeys(leaves(last), 0)
    found: list[tuple[Operation, Tiling]] = []
    for op in reversed([o for o in block.ops if o is not last and not isinstance(o, TupleOp)]):
        tiling = _tiling(op, wanted, extent)
        if tiling is not None:
            found.append((op, tiling))
            for v, d in tiling.items():
                if v.owner is not op and wanted.setdefault(v, d) != d:
                    wanted[v] = WHOLE
        for v in _outside(op) if tiling is not None else used(op):
            wanted[v] = WHOLE
    return BatchRegion(dict(reversed(found)), extent) if found else None


def _extent(block: Block) -> int | None:
    """Return the size of the first dimension of all results; None if it differs or is missing."""
    assert block.last_op is not None
    arrays = leaves(block.last_op)
    shapes = [shape_of(v) if isinstance(v.type, TensorType) else () for v in arrays]
    extents = {shape[0] for shape in shapes if shape}
    return extents.pop() if len(extents) == 1 and all(shapes) else None


def _tiling(op: Operation, wanted: dict[SSAValue, int], extent: int) -> Tiling | None:
    """Return the slices that an op works on, for the slices of its result that are needed."""
    if len(op.results) != 1 or wanted.get(op.results[0], WHOLE) == WHOLE:
        return None
    tiling = spread(op, op.results[0], wanted[op.results[0]])
    if tiling is None:
        return None
    if any(d != WHOLE and shape_of(v)[d] != extent for v, d in tiling.items()):
        return None
    return tiling


def _outside(op: Operation) -> Iterator[SSAValue]:
    """Return the outer values that the ops in its regions use, except operands."""
    inside = {v for inner in walk(op) for v in inner.results}
    inside |= {v for inner in walk(op) for r in inner.regions for b in r.blocks for v in b.args}
    operands = set(op.operands)
    return (v for v in used(op) if v not in inside and v not in operands)


def split(
    block: Block, region: BatchRegion, order: list[tuple[int, Operation]], strands: int
) -> None:
    """Replace the ops of the region by copies for each strand, in the given order."""
    write_parts(block, _Slices(region, strands), order)


class _Slices:
    """Equal slices of the batch (see Parts)."""

    def __init__(self, region: BatchRegion, count: int) -> None:
        self.region = region
        self.count = count
        self.rows = region.extent // count
        self.ops: Collection[Operation] = region.tilings

    def read(self, part: int, op: Operation, value: SSAValue) -> Piece | None:
        return self._slice(part, self.region.tilings[op].get(value, WHOLE))

    def made(self, part: int, value: SSAValue) -> Piece:
        assert isinstance(value.owner, Operation)
        piece = self._slice(part, self.region.tilings[value.owner][value])
        assert piece is not None
        return piece

    def kept(self, part: int, value: SSAValue) -> Piece:
        return self.made(part, value)

    def copy(self, part: int, op: Operation, mapping: Mapping[SSAValue, SSAValue]) -> Operation:
        return tiled_copy(op, self.region.tilings[op], self.rows, dict(mapping))

    def _slice(self, part: int, dim: int) -> Piece | None:
        return None if dim == WHOLE else (dim, part * self.rows, (part + 1) * self.rows)
