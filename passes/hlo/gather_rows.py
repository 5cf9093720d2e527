"""hlo-gather-rows: rewrite gathers and scatters so that each index chooses one long row."""

from dataclasses import dataclass, field
from functools import partial
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.support.dtypes import byte_size
from neuronir.passes.hlo.index_rows import SHORT_ROW, index_rows, index_updated_rows
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, shape, size, tensor
from neuronir.passes.hlo.support.walk import Rule, blocks, rewrite_block
from neuronir.passes.statistics import record

_GAIN = 0.7
"""The time of the transposes must be below this share of that of the saved descriptors."""
_PIECE = 512
"""Bytes up to which adjacent positions of a window are one descriptor."""


@dataclass(frozen=True)
class HloGatherRowsPass(ModulePass):
    """Let each index of a gather or scatter choose a row, as long as possible.

    A machine makes a descriptor for each contiguous part of a window. If an index chooses a column,
    each element is one; of a transposed table, the column is a row, and one descriptor:

        %y = gather(%x, %i)     ->     %t = transpose(%x)
                                       %r = gather(%t, %i)
                                       %y = transpose(%r)

    The tensor engine transposes. The time of the descriptors that this saves is compared with that
    of both transposes, which read and write the table and the result. If the transposes take
    longer, the dimensions in front of those that one index chooses become part of the index:

        %y = gather(%x, %i)     ->     %n = iota * 50 + clamp(%i, 0, 49)
          x: 8x50x200                  %y = gather(reshape(%x), %n)

    The same holds for the rows that a scatter updates. Gathers and scatters with a batch are not
    changed.
    """

    name = "hlo-gather-rows"
    target: str = field(default="trn1", metadata={"help": "machine whose costs are compared"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = get_machine(self.target)
        count = 0
        for block in tuple(blocks(op)):
            rule = partial(gather_rows, machine)
            rules: dict[str, tuple[Rule, ...]] = {
                "hlo.gather": (rule,),
                "hlo.scatter": (index_updated_rows,),
            }
            count += rewrite_block(block, rules, inner=False)
        record(self.name, "gathers and scatters rewritten", count)


def gather_rows(machine: Machine, op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a gather as one of a transposed table, if that is faster, or of rows."""
    table, indices = op.operands
    dims, sizes = shape(table), ints(op, "slice_sizes")
    chosen = [d for d in ints(op, "start_index_map") if sizes[d] != dims[d]]
    if ints(op, "operand_batching_dims") or not chosen:
        return None
    part = [d for d, n in enumerate(dims) if sizes[d] != n and d not in chosen]
    lead = sorted(chosen)
    if part or prod(dims[: lead[-1] + 1]) == prod(dims[d] for d in lead):
        return None
    if _turning_ns(machine, op, lead) > _GAIN * _saved_ns(machine, op, lead):
        return index_rows(op, e)
    order = [*lead, *(d for d in range(len(dims)) if d not in lead)]
    collapsed, offset = ints(op, "collapsed_slice_dims"), ints(op, "offset_dims")
    result = shape(op.results[0])
    batch = [d for d in range(len(result)) if d not in offset]
    kept = [d for d in range(len(dims)) if d not in collapsed]
    moved = [d for d in order if d not in collapsed]
    properties = op.properties | {
        "slice_sizes": i64_array([sizes[d] for d in order]),
        "start_index_map": i64_array([order.index(d) for d in ints(op, "start_index_map")]),
        "collapsed_slice_dims": i64_array(sorted(order.index(d) for d in collapsed)),
        "offset_dims": i64_array([len(batch) + i for i in range(len(moved))]),
    }
    rows = tensor((*(result[d] for d in batch), *(sizes[d] for d in moved)), element(table))
    found = e.emit("gather", [e.transpose(table, order), indices], rows, properties)
    places = [
        len(batch) + moved.index(kept[offset.index(d)]) if d in offset else batch.index(d)
        for d in range(len(result))
    ]
    return e.transpose(found, places)


def _turning_ns(machine: Machine, op: Operation, lead: list[int]) -> float:
    """Return the time to load and store the table and the result once more, with the dimensions
    `lead` first. PE transposes short parts of rows; long ones are descriptors of their own.
    """
    table = op.operands[0]
    width = byte_size(element(table))
    moved = sum(size(v) for v in (table, op.results[0])) * width
    once = moved / machine.dma_gbps
    part = prod(shape(table)[lead[-1] + 1 :]) * width
    each = machine.dma_descriptor_ns / machine.dma_engines
    turned = once if part < SHORT_ROW else max(once, moved / part * each)
    return once + turned + 4 * machine.dma_fixed_ns


def _saved_ns(machine: Machine, op: Operation, lead: list[int]) -> float:
    """Return the time of the descriptors that windows of the table as it is need more than those
    of one with the dimensions `lead` first.
    """
    dims, sizes = shape(op.operands[0]), ints(op, "slice_sizes")
    windows = size(op.results[0]) // prod(sizes)
    last = lead[-1]
    run = sizes[last] * prod(dims[last + 1 :]) * byte_size(element(op.operands[0]))
    inner = sizes[last] if run <= _PIECE else 1
    pieces = prod(sizes[: last + 1]) // inner - prod(sizes[d] for d in lead)
    return windows * pieces * machine.dma_software_descriptor_ns
