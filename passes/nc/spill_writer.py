"""Writing down what is spilled: copies of a buffer with a store and a reload between them."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.attributes import HBM
from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.dve import MemsetOp
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp, View, build
from neuronir.dialects.nc.pool import IotaOp
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, VariableOp
from neuronir.passes.nc.engines import NAMES, QueueAllotter
from neuronir.passes.nc.listing import Buffer, Listing, variables
from neuronir.passes.nc.rewrite import copy_with
from neuronir.passes.nc.spill_plan import Use
from neuronir.passes.statistics import record

SPILL = "nc.spill"
"""The attribute of stores and reloads."""


class Writer:
    """Splits buffers into copies with a store and a reload between them; those that can be filled
    again are not stored, where `rematerialise`."""

    def __init__(
        self, listing: Listing, module: ModuleOp, machine: Machine, rematerialise: bool = True
    ) -> None:
        self.order = listing.nodes
        self.buffers = listing.buffers
        self.block = listing.func.body.block
        self.module = module
        self.queues = QueueAllotter(machine, variables(module))
        self.sources = self._sources() if rematerialise else {}

    def _sources(self) -> dict[int, InstructionOp]:
        """The instructions that fill buffers which nothing else writes, from constants or inputs or
        from nothing: doing them again gives the same."""
        writers: dict[int, list[Operation]] = {}
        for node in self.order:
            for access in node.accesses:
                if access.write:
                    writers.setdefault(access.buffer, []).append(node.op)
        out: dict[int, InstructionOp] = {}
        for node in self.order:
            if not isinstance(node.op, DmaOp | MemsetOp | IotaOp):
                continue
            key = next(a.buffer for a in node.accesses if a.write)
            kinds = {self.buffers[a.buffer].role for a in node.accesses if not a.write}
            if len(writers[key]) == 1 and kinds <= {"constant", "input"}:
                if all(self.buffers[a.buffer].space == Space.HBM for a in node.accesses[1:]):
                    out[key] = node.op
        return out

    def split(self, buffer: Buffer, use: Use, cuts: Sequence[int], reloads: Sequence[int]) -> None:
        """A new copy of `buffer` from each of the places `cuts` on, loaded at `reloads`."""
        source = self.sources.get(buffer.key)
        variable = None if source is not None else self._variable(buffer)
        current = buffer.value
        stored = -1  # the place up to which the variable holds what was written
        ends = [*cuts[1:], len(self.order)]
        for begin, end, at in zip(cuts, ends, reloads, strict=True):
            before = max(p for p in use.places if p < begin)
            written = max((p for p in use.writes if p < begin), default=-1)
            if variable is not None and written > stored:
                extent = use.written_before(begin)
                store = self._transfer(buffer, extent, variable, current, store=True)
                self.block.insert_op_after(store, self.order[before].op)
                stored = written
                record("nc-spill", "spill stores")
                record("nc-spill", "spill bytes stored", (extent[1] - extent[0]) * extent[2])
            fresh = self._alloc(buffer)
            if source is not None:
                reload: InstructionOp = copy_with(source, {buffer.value: fresh}, {})
                record("nc-spill", "buffers filled again")
                record("nc-spill", "bytes filled again", buffer.size * buffer.partitions)
            else:
                extent = use.written_before(begin)
                far = cast(SSAValue, variable)
                reload = self._transfer(buffer, extent, far, fresh, store=False)
                record("nc-spill", "spill reloads")
                record("nc-spill", "spill bytes loaded", (extent[1] - extent[0]) * extent[2])
            reload.attributes[SPILL] = UnitAttr()
            self.block.insert_op_before(reload, self.order[at].op)
            for place in use.places:
                if begin <= place < end:
                    _replace(self.order[place].op, current, buffer.value, fresh)
            current = fresh

    def _variable(self, buffer: Buffer) -> SSAValue:
        type_ = cast(MemRefType, buffer.value.type)
        known = variables(self.module)
        number = len(known)
        while f"spill{number}" in known:
            number += 1
        shape = (buffer.partitions, *type_.get_shape()[1:])
        op = VariableOp.make(
            f"spill{number}", "spill", MemRefType(type_.element_type, shape, memory_space=HBM)
        )
        first = self.module.body.block.first_op
        assert first is not None  # the module holds the function at least
        self.module.body.block.insert_op_before(op, first)
        self.queues.variables[op.sym_name.data] = op
        address = AddressOfOp.make(op)
        top = self.block.first_op
        assert top is not None
        self.block.insert_op_before(address, top)
        return address.buffer

    def _alloc(self, buffer: Buffer) -> SSAValue:
        op = AllocOp.make(cast(MemRefType, buffer.value.type))
        top = self.block.first_op
        assert top is not None
        self.block.insert_op_before(op, top)
        return op.buffer

    def _transfer(
        self,
        buffer: Buffer,
        written: tuple[int, int, int],
        variable: SSAValue,
        local: SSAValue,
        *,
        store: bool,
    ) -> InstructionOp:
        """Between the part of a buffer that is written so far and its variable."""
        type_ = cast(MemRefType, buffer.value.type)
        pitch = 1
        for extent in type_.get_shape()[1:]:
            pitch *= extent
        size = buffer.size // pitch
        low, high, stop = written
        first, count = low // size, -(-high // size) - low // size
        near = View(local, 0, stop, ((1, count),), first)
        far = View(variable, 0, stop, ((1, count),), first, (), pitch)
        op = build(DmaOp, [far if store else near], [near if store else far])
        op.properties["engine"] = NAMES[self.queues.queue(op)]
        op.attributes[SPILL] = UnitAttr()
        return op


def _replace(op: Operation, current: SSAValue, original: SSAValue, fresh: SSAValue) -> None:
    for inner in op.walk():
        for i, operand in enumerate(inner.operands):
            if operand is current or operand is original:
                inner.operands[i] = fresh
