"""tile-fuse: fuse groups of ops into loops over tiles."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import LoopOp, body_of
from neuronir.dialects.support.names import name_results
from neuronir.dialects.support.unchanged import unchanged_ops
from neuronir.dialects.support.walking import walk_in
from neuronir.passes.hlo.support.walk import erase_dead, leaves
from neuronir.passes.statistics import record
from neuronir.passes.tile.fit import check_types, programs
from neuronir.passes.tile.group import Group, is_source, is_view, root_of
from neuronir.passes.tile.grouping import Grouping
from neuronir.passes.tile.insert_in_place import insert_in_place
from neuronir.passes.tile.insert_results import insert_results
from neuronir.passes.tile.join_arrays import join_arrays
from neuronir.passes.tile.loops import Nest
from neuronir.passes.tile.plugins import load_rules
from neuronir.passes.tile.recompute import recompute
from neuronir.passes.tile.residency import LARGEST, may_stay, settle, settle_again
from neuronir.passes.tile.room import Room, room_bytes
from neuronir.passes.tile.separate_views import separate_views
from neuronir.passes.tile.sink_slices import sink_slices
from neuronir.passes.tile.where import Where

MOST_CHANGES = 4
"""Limit of repeated searches for groups after values are recomputed."""


@dataclass(frozen=True)
class TileFusePass(ModulePass):
    """Fuse ops into groups, and write each group as a loop over tiles.

    Neighbouring ops form a group if that is estimated to be faster than executing them one after
    another. A group whose values all fit in SBUF needs no loop. A value that several groups use
    stays in SBUF between them if there is room, or is recomputed if that is faster than a round
    trip through HBM. Arrays that a loop assembles only to be concatenated become parts of one
    array.
    """

    name = "tile-fuse"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    room: int = field(
        default=80, metadata={"help": "largest share of SBUF for the values of a group, in percent"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        load_rules()
        machine = machine_of(op, self.target, self.name)
        room = Room(room_bytes(machine, self.room))
        for function in programs(op):
            check_types(function, machine)
            sink_slices(function)
            fuse_block(function.body.block, machine, room)
            record(self.name, "arrays joined", join_arrays(function.body.block))
            record(self.name, "arrays inserted", insert_results(function.body.block))
            record(self.name, "arrays assembled in place", insert_in_place(function.body.block))
            name_results(function.body.block)
        room.mark(op)


def machine_of(module: ModuleOp, target: str, name: str) -> Machine:
    """Return the machine of a pass: its option, or that of the module."""
    attribute = module.attributes.get("nc.machine")
    chosen = target or (attribute.data if isinstance(attribute, StringAttr) else "")
    if not chosen:
        raise NeuronError("NIR_LOW006", f"{name} needs a target", help="use {target=trn1}")
    return get_machine(chosen)


def fuse_block(block: Block, machine: Machine, room: Room) -> None:
    """Rewrite the ops of a block as groups with their loops.

    The body of a loop of the program is rewritten separately, as are the ops before and after it.
    """
    separate_views(block)
    last = block.last_op
    assert last is not None
    parts: list[tuple[list[Operation], Operation]] = []
    part: list[Operation] = []
    for op in block.ops:
        if isinstance(op, LoopOp) or op is last:
            parts.append((part, op))
            part = []
        else:
            part.append(op)
    found = [(_settled(block, *_found(block, ops, machine, room)), end) for ops, end in parts]
    old = [op for op in block.ops if op is not last]
    writer = Written(block, last, old, machine.partitions)
    for settled, end in found:
        writer.groups(*settled, end)
        if isinstance(end, LoopOp):
            writer.loop(end)
            fuse_block(body_of(end), machine, room)
    writer.finish()


def _found(
    block: Block, ops: Sequence[Operation], machine: Machine, room: Room
) -> tuple[Grouping, list[Group]]:
    """Return the groups of some ops of a block, after values are recomputed for other groups."""
    again: frozenset[Operation] = frozenset()
    for changes in range(MOST_CHANGES + 1):
        resident = may_stay(ops, machine) - _results(block)
        grouping = Grouping(block, machine, resident, room, ops, again)
        with unchanged_ops():
            groups = grouping.find()
        change = recompute(grouping, groups, block) if changes < MOST_CHANGES else None
        if change is None:
            break
        again |= frozenset(change.added)
        ops = change.applied(block, ops)
    return grouping, groups


def _results(block: Block) -> frozenset[SSAValue]:
    """Return the results of a program, which are stored in HBM."""
    last = block.last_op
    assert last is not None
    return frozenset() if isinstance(last, scf.YieldOp) else frozenset(leaves(last))


def _settled(
    block: Block, grouping: Grouping, groups: Sequence[Group]
) -> tuple[list[Group], frozenset[SSAValue]]:
    """Return groups for the available SBUF and the values that stay in SBUF between them, after
    values that these groups would store are recomputed.
    """
    with unchanged_ops():
        larger = may_stay(grouping.nodes, grouping.machine, LARGEST) - _results(block)
        found, resident = settle(grouping, groups, larger)
    for _ in range(MOST_CHANGES):
        change = recompute(grouping, found, block)
        if change is None:
            break
        again = grouping.again | frozenset(change.added)
        ops = change.applied(block, grouping.nodes)
        grouping = Grouping(block, grouping.machine, resident, grouping.room, ops, again)
        with unchanged_ops():
            found = settle_again(grouping, found)
    return found, resident


class Written:
    """A block being rewritten, with the replacements of its old values."""

    def __init__(
        self, block: Block, last: Operation, old: Sequence[Operation], partitions: int
    ) -> None:
        self.block = block
        self.last = last
        self.old = dict.fromkeys(old)
        self.partitions = partitions
        self.mapping: dict[SSAValue, SSAValue] = {}

    def groups(
        self, groups: Sequence[Group], resident: frozenset[SSAValue], before: Operation
    ) -> None:
        """Emit groups before an op; `resident` values stay in SBUF between them."""
        for group in groups:
            for op, i in group.inputs:
                value = root_of(op.operands[i])
                if isinstance(value.owner, InsertSliceOp):
                    self.renewed(value, before)
            nest = Nest(group, self.mapping, resident, self.partitions)
            nest.write(Where(self.block, before))
            record("tile-fuse", "groups")
            record("tile-fuse", "loops", len(group.loops))

    def loop(self, op: LoopOp) -> None:
        """Remap the operands of a loop, and the outer values that its body uses.

        Its body gets its own views.
        """
        del self.old[op]
        for i, v in enumerate(op.operands):
            op.operands[i] = self.renewed(v, op)
        body = body_of(op)
        inside: dict[SSAValue, SSAValue] = {}
        assert body.first_op is not None
        first = body.first_op
        for inner in list(walk_in(body)):
            for i, v in enumerate(inner.operands):
                if v.owner is self.block or getattr(v.owner, "parent", None) is self.block:
                    inner.operands[i] = self._seen(v, first, inside)

    def _seen(
        self, value: SSAValue, first: Operation, inside: dict[SSAValue, SSAValue]
    ) -> SSAValue:
        """Return an outer value inside a loop, where views of it are rebuilt."""
        if value in self.mapping:
            return self.mapping[value]
        if value in inside:
            return inside[value]
        op = value.owner
        if not isinstance(op, Operation) or not is_view(op):
            return value
        copy = clone(op, {v: self._seen(v, first, inside) for v in op.operands})
        assert first.parent is not None
        first.parent.insert_op_before(copy, first)
        inside[value] = copy.results[0]
        return copy.results[0]

    def renewed(self, value: SSAValue, before: Operation) -> SSAValue:
        """Return the replacement of a value; views, tuples and array insertions are rebuilt."""
        if value in self.mapping or isinstance(value, BlockArgument):
            return self.mapping.get(value, value)
        op = value.owner
        assert isinstance(op, Operation)
        if op.parent is not self.block or op not in self.old or is_source(op):
            return value
        copy = clone(op, {v: self.renewed(v, before) for v in op.operands})
        self.block.insert_op_before(copy, before)
        self.mapping[value] = copy.results[0]
        return copy.results[0]

    def finish(self) -> None:
        """Remap the terminator of the block, and erase the old ops."""
        for i, v in enumerate(self.last.operands):
            self.last.operands[i] = self.renewed(v, self.last)
        for op in reversed(self.old):
            if is_source(op):
                for i, v in enumerate(op.operands):
                    op.operands[i] = self.renewed(v, op)
                continue
            for r in op.results:
                if r in self.mapping:
                    assert not any(use.operation not in self.old for use in r.uses)
            op.detach()
            op.erase(safe_erase=False)
        for op in list(self.block.ops):
            erase_dead(op)
