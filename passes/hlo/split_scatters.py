"""hlo-split-scatters: combine the updates of a scatter in several tables at once."""

import math
from dataclasses import dataclass, field
from functools import partial, reduce
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.tile.rules import combiner
from neuronir.passes.hlo.scatter_rows import best_split, rows_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import shape
from neuronir.passes.hlo.support.walk import blocks, erase_dead
from neuronir.passes.statistics import record

NEUTRAL = {"hlo.add": -0.0, "hlo.maximum": -math.inf, "hlo.minimum": math.inf}
"""The combiners, and what changes no other number."""


@dataclass(frozen=True)
class HloSplitScattersPass(ModulePass):
    """Split scatters that add or keep the larger or smaller row, if several tables take less time.

    A transfer combines rows one after another, because updates of one row must not overlap. Updates
    of different tables are independent, so their transfers run at the same time:

        %r = scatter(%x, %i, %u) max  ->  %a = scatter(%x, %i[:n], %u[:n]) max
                                          %b = scatter(-inf, %i[n:], %u[n:]) max
                                          %r = maximum(%a, %b)

    The number of tables is the one with the least estimated time: of the transfers, of the engine
    that makes their descriptors, and of the tables, which are written and read once more. Sums are
    those of another order. Runs after hlo-scatter-to-dot, which leaves these scatters.
    """

    name = "hlo-split-scatters"
    target: str = field(default="trn1", metadata={"help": "machine whose costs are compared"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = get_machine(self.target)
        count = 0
        for scatter in [o for block in blocks(op) for o in block.ops if o.name == "hlo.scatter"]:
            new = split_scatter(machine, scatter, Emitter(scatter))
            if new is not None:
                scatter.results[0].replace_all_uses_with(new)
                erase_dead(scatter)
                count += 1
        record(self.name, "scatters split", count)


def split_scatter(machine: Machine, op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a scatter of whole rows as scatters in several tables, if that is faster."""
    rows = rows_of(op, tuple(NEUTRAL))
    if rows is None:
        return None
    tables = best_split(rows, machine)
    if tables == 1:
        return None
    operand, indices, updates = op.operands
    dims = shape(operand)
    width = prod(shape(indices)) // rows.count
    numbers = e.reshape(indices, (rows.count, width))
    window = dims[width:]
    flat = e.reshape(updates, (rows.count, *window))
    properties = op.properties | {
        "index_vector_dim": IntegerAttr(1, i64),
        "update_window_dims": i64_array(range(1, 1 + len(window))),
    }
    size = -(-rows.count // (tables * machine.partitions)) * machine.partitions
    opcode = combiner(op)
    parts: list[SSAValue] = []
    for begin in range(0, rows.count, size):
        end = min(begin + size, rows.count)
        table = e.fill(NEUTRAL[opcode], operand.type) if begin else operand
        given = [
            table,
            e.slice(numbers, (begin, 0), (end, width)),
            e.slice(flat, (begin, *(0 for _ in window)), (end, *window)),
        ]
        parts.append(
            e.emit("scatter", given, op.results[0].type, properties, [op.regions[0].clone()])
        )
    return reduce(partial(e.binary, opcode.removeprefix("hlo.")), parts)
