"""hlo-tile-batch: compute large activations of a convolutional network in parts of the batch.

Only the activations of one part are live at once.
"""

from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.batch.parts import in_one_piece
from neuronir.passes.lowering.batch.split_batch import BatchRegion, split
from neuronir.passes.lowering.entry import entry_on
from neuronir.passes.lowering.streaming.dims import WHOLE, Tiling, spread
from neuronir.passes.statistics import record

LARGE_SHARE = 5
"""A value is large if it takes more than this fraction of SBUF: a residual block keeps its input,
its output and the values in between, and the filters of the next layers are being loaded.
"""


@dataclass(frozen=True)
class HloTileBatchPass(ModulePass):
    """Compute large activations of a convolutional network by parts of the batch.

    If a value with a batch dimension exceeds a fifth of SBUF, the pass replicates it and the ops
    that lead to it once for each part of the batch, in as few equal parts as make the largest
    value fit. The ops must treat the elements of the batch alike. Values with other users are
    concatenated again and must be small; otherwise nothing changes. All parts use a filter while
    it is on the chip. Without a target, the module is not changed.
    """

    name = "hlo-tile-batch"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    parts: int = field(default=0, metadata={"help": "number of parts; 0: as few as fit"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Tile the entry function."""
        for block, machine in entry_on(op, self.target):
            tile_block(block, machine, self.parts)


def tile_block(block: Block, machine: Machine, parts: int) -> None:
    """Replicate the ops that lead to large values for each part of the batch."""
    largest = machine.sbuf_usable_partition_bytes * machine.partitions // LARGE_SHARE
    region = find_region(block, largest)
    if region is None:
        return
    most = max(_bytes(op.results[0]) for op in region.tilings)
    if not parts:
        counts = (p for p in range(2, region.extent + 1) if region.extent % p == 0)
        parts = next((p for p in counts if most <= p * largest), region.extent)
    if parts < 2 or region.extent % parts or _joined_too_large(region, largest):
        return
    if not in_one_piece(block, region.tilings):
        return
    order = [(part, op) for part in range(parts) for op in region.tilings]
    split(block, region, order, parts)
    record(HloTileBatchPass.name, "parts", parts)
    record(HloTileBatchPass.name, "ops", len(region.tilings))
    record(HloTileBatchPass.name, "bytes of the largest activation", most)
    record(HloTileBatchPass.name, "bytes of a part of it", most // parts)


def _bytes(value: SSAValue) -> int:
    assert isinstance(value.type, TensorType)
    return prod(shape_of(value)) * byte_size(value.type.element_type)


def find_region(block: Block, largest: int) -> BatchRegion | None:
    """Return the ops that lead to values of more than `largest` bytes with a batch, and their
    readers.
    """
    dims: Tiling = {}
    extent = 0
    for op in block.ops:
        d = _batch_of_result(op, dims)
        if d is None:
            continue
        extent = extent or shape_of(op.results[0])[d]
        if shape_of(op.results[0])[d] == extent:
            dims[op.results[0]] = d
    large = {v for v in dims if _bytes(v) > largest}
    wanted = {
        v: d
        for v, d in dims.items()
        if v in large or any(o in large for o in getattr(v.owner, "operands", ()))
    }
    if extent < 2 or not wanted:
        return None
    found: dict[Operation, Tiling] = {}
    for op in reversed(list(block.ops)):
        result = op.results[0] if len(op.results) == 1 else None
        if result is None or result not in wanted:
            continue
        tiling = spread(op, result, wanted[result])
        if tiling is None:
            continue
        found[op] = tiling
        for v, d in tiling.items():
            if d != WHOLE and wanted.setdefault(v, d) != d:
                return None
    _with_casts(found, dims)
    return BatchRegion({op: found[op] for op in block.ops if op in found}, extent)


def _batch_of_result(op: Operation, dims: Tiling) -> int | None:
    """Return the batch dimension of a result, given those of the operands; convolutions have their
    own.
    """
    if len(op.results) != 1 or not isinstance(op.results[0].type, TensorType):
        return None
    if isinstance(op, ConvolutionOp):
        return int(op.output_batch_dim.value.data)
    known = next((v for v in op.operands if v in dims), None)
    tiling = None if known is None else spread(op, known, dims[known])
    d = WHOLE if tiling is None else tiling.get(op.results[0], WHOLE)
    if tiling is None or d == WHOLE or any(tiling.get(v, e) != e for v, e in dims.items()):
        return None
    return d


def _with_casts(found: dict[Operation, Tiling], dims: Tiling) -> None:
    """Add to the region the conversions of its results to a smaller type."""
    for op in tuple(found):
        result = op.results[0]
        for use in result.uses:
            cast = use.operation
            if cast.name != "hlo.convert" or cast in found or result not in dims:
                continue
            tiling = spread(cast, result, dims[result])
            if tiling is not None and _bytes(cast.results[0]) < _bytes(result):
                found[cast] = tiling


def _joined_too_large(region: BatchRegion, largest: int) -> bool:
    """Return whether a concatenation of the parts would be large."""
    return any(
        _bytes(op.results[0]) > largest
        for op in region.tilings
        if any(use.operation not in region.tilings for use in op.results[0].uses)
    )
