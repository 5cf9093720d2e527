"""Rewrite a function with a spill plan: a buffer for each page, with stores and reloads."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.attributes import HBM
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.dma import DmaOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp, View, build
from neuronir.dialects.nc.structure import AddressOfOp, AllocOp, VariableOp
from neuronir.dialects.support.names import set_hint
from neuronir.dialects.support.walking import walk
from neuronir.passes.nc.engines import QueueAllotter
from neuronir.passes.nc.listing import Buffer, Listing, Node, variables
from neuronir.passes.nc.rewrite import with_views
from neuronir.passes.nc.spill_pages import NEVER, Page, Plan
from neuronir.passes.nc.spill_sources import fill_again
from neuronir.passes.statistics import record

SPILL = "nc.spill"
"""The attribute of stores and reloads."""

_AHEAD = 12
"""A reload is placed this many positions before the first use, so that it arrives in time."""


class Writer:
    """Rewrites a function by a plan; buffers in `sources` are rematerialised instead of stored."""

    def __init__(
        self, listing: Listing, module: ModuleOp, machine: Machine, sources: Mapping[int, Node]
    ) -> None:
        self.order = listing.nodes
        self.buffers = listing.buffers
        self.block = listing.func.body.block
        self.module = module
        self.queues = QueueAllotter(machine, variables(module), walk(module))
        self.sources = sources
        self.values: dict[Page, SSAValue] = {}
        self.variables: dict[int, SSAValue] = {}
        self.changed: dict[int, dict[int, View]] = {}  # by position and role of an operand

    def write(self, plan: Plan, capacity: int) -> None:
        """Rewrite the function; reloads move earlier if there is room."""
        for page in plan.pages:
            buffer = self.buffers[page.key]
            size = buffer.size
            whole = (page.low, page.high) == (0, size)
            if page.parent is None and whole:
                self.values[page] = buffer.value
                continue
            self.values[page] = self._alloc(buffer, page)
            if page.parent is not None and page.extent is not None:
                self._bring_back(page, page.parent, page.extent, plan.taken, capacity)
            self._note(page, buffer)
        gone = [page for page in plan.pages if self._filled_for_nothing(page)]
        for place, views in self.changed.items():
            old = self.order[place].op
            assert isinstance(old, InstructionOp) and old.parent is not None
            old.parent.insert_op_before(with_views(old, views), old)
            old.detach()
            old.erase()
        for page in gone:
            self._drop_fill(page)
        for key in {page.key: None for page in plan.pages}:
            self._drop_unused(key)

    def _filled_for_nothing(self, page: Page) -> bool:
        """Return whether the fill of a page is repeated before the page is read for the first
        time.
        """
        source = self.sources.get(page.key)
        if source is None or page.parent is not None or page.next_after(page.last) == NEVER:
            return False
        return all(self.order[place] is source for place, _ in page.resident)

    def _drop_fill(self, page: Page) -> None:
        source = self.sources[page.key].op
        source.detach()
        source.erase()
        record("nc-spill", "fills that come later instead")

    def _drop_unused(self, key: int) -> None:
        """Erase a buffer whose pages all have their own buffers: it may be larger than SBUF."""
        alloc = self.buffers[key].op
        if alloc is not None and not list(self.buffers[key].value.uses):
            alloc.detach()
            alloc.erase()

    def _bring_back(
        self,
        page: Page,
        parent: Page,
        extent: tuple[int, int, int],
        taken: list[int],
        capacity: int,
    ) -> None:
        """Load a page before its first use; store it after its parent's last use if HBM lacks
        it.
        """
        fresh, source = self.values[page], self.sources.get(page.key)
        name = "nc-spill"
        if (page.low, page.high) != (parent.low, parent.high):
            record(name, "parts of buffers")
        if source is not None:
            reload = fill_again(source, extent[0], extent[1], fresh, page.low)
            record(name, "buffers filled again")
            record(name, "bytes filled again", page.moved)
        else:
            if page.dirty:
                store = self._transfer(page, parent, extent, store=True)
                self.block.insert_op_after(store, self.order[parent.last].op)
                record(name, "spill stores")
                record(name, "spill bytes stored", page.moved)
            reload = self._transfer(page, page, extent, store=False)
            record(name, "spill reloads")
            record(name, "spill bytes loaded", page.moved)
        reload.attributes[SPILL] = UnitAttr()
        at = _reload_place(page, parent, taken, capacity)
        self.block.insert_op_before(reload, self.order[at].op)

    def _note(self, page: Page, buffer: Buffer) -> None:
        """Let users that find the page on the chip use its buffer."""
        fresh = self.values[page]
        for place, access in page.resident:
            node = self.order[place]
            if node.record is None or node.op.results or page.key in _tables(node):
                _replace(node.op, buffer.value, fresh)
                continue
            views = self.changed.setdefault(place, {})
            assert isinstance(node.op, InstructionOp)
            patterns = (*node.record.dst, *node.record.src)
            for role, view in enumerate(node.op.views()):
                if view is not None and patterns[role] is access.pattern:
                    offset = view.offset - page.low // access.pattern.dtype.size
                    views[role] = replace(view, buffer=fresh, offset=offset)

    def _variable(self, buffer: Buffer) -> SSAValue:
        if buffer.key in self.variables:
            return self.variables[buffer.key]
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
        set_hint(address.buffer, f"{buffer.value.name_hint or 'buffer'}_spill")
        self._at_top(address)
        self.variables[buffer.key] = address.buffer
        return address.buffer

    def _alloc(self, buffer: Buffer, page: Page) -> SSAValue:
        type_ = cast(MemRefType, buffer.value.type)
        if (page.low, page.high) != (0, buffer.size):
            shape = (buffer.partitions, (page.high - page.low) // dtype_of(type_.element_type).size)
            type_ = MemRefType(type_.element_type, shape, memory_space=type_.memory_space)
        op = AllocOp.make(type_)
        set_hint(op.buffer, f"{buffer.value.name_hint or 'buffer'}_reload")
        self._at_top(op)
        return op.buffer

    def _at_top(self, op: Operation) -> None:
        top = self.block.first_op
        assert top is not None
        self.block.insert_op_before(op, top)

    def _transfer(
        self, page: Page, holder: Page, extent: tuple[int, int, int], *, store: bool
    ) -> InstructionOp:
        """Copy the written part of a page between the buffer of `holder` and its variable."""
        buffer = self.buffers[page.key]
        type_ = cast(MemRefType, buffer.value.type)
        size = dtype_of(type_.element_type).size
        low, high, stop = extent
        first, count = low // size, -(-high // size) - low // size
        near = View(self.values[holder], 0, stop, ((1, count),), first - holder.low // size)
        pitch = buffer.size // size
        far = View(self._variable(buffer), 0, stop, ((1, count),), first, (), pitch)
        op = build(DmaOp, [far if store else near], [near if store else far])
        self.queues.assign(op)
        op.attributes[SPILL] = UnitAttr()
        return op


def _reload_place(page: Page, parent: Page, taken: list[int], capacity: int) -> int:
    """Return the position of a page's reload: some positions before its first use if there is
    room.
    """
    place = page.begin
    while place - 1 > parent.last and page.begin - place < _AHEAD:
        if taken[place - 1] + page.bytes > capacity:
            break
        place -= 1
        taken[place] += page.bytes
    return place


def _tables(node: Node) -> set[int]:
    """Return buffers that an instruction accesses other than through its own patterns."""
    known = [] if node.record is None else [*node.record.dst, *node.record.src]
    return {a.buffer for a in node.accesses if not any(a.pattern is p for p in known)}


def _replace(op: Operation, original: SSAValue, fresh: SSAValue) -> None:
    for inner in walk(op):
        for i, operand in enumerate(inner.operands):
            if operand is original:
                inner.operands[i] = fresh
