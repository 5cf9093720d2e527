"""Recompute values in the groups that read them, instead of a round trip through HBM.

One group stores a value that another group loads. If the value is computed element by element from
values that are in HBM anyway, or stay in SBUF, the reader can load those and recompute it: nothing
is stored, and no more is loaded. For example, squares of a gradient are not stored for a sum along
its other dimension.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.support.cloning import clone
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.statistics import record
from neuronir.passes.tile.group import Group, is_number, is_source, is_view, nbytes, root_of
from neuronir.passes.tile.grouping import Grouping
from neuronir.passes.tile.times import Times

CHEAP = frozenset(
    f"hlo.{n}"
    for n in "abs add compare convert maximum minimum multiply negate select subtract".split()
)
"""Ops that may be recomputed."""
LONGEST = 3
"""Limit of ops of a chain that is recomputed."""
SMALL = 8
"""A value smaller by this factor is loaded without being counted."""
WORTH = 0.9
"""Limit of the new time, as a share of the old one."""


@dataclass
class Change:
    """The ops that are added to a block and removed from it."""

    added: list[Operation] = field(default_factory=list)
    removed: list[Operation] = field(default_factory=list)

    def applied(self, block: Block, ops: Sequence[Operation]) -> list[Operation]:
        """Return ops of a block after the change, in program order."""
        kept = {*ops, *self.added} - set(self.removed)
        return [op for op in block.ops if op in kept]


@dataclass(frozen=True)
class _Chain:
    """The ops that compute a value, in order, and the values that they read."""

    ops: tuple[Operation, ...]
    leaves: tuple[SSAValue, ...]


def recompute(grouping: Grouping, groups: Sequence[Group], block: Block) -> Change | None:
    """Recompute values in their readers if that is estimated to be faster.

    Returns None if nothing changed.
    """
    owner = {op: g for g in groups for op in g.ops if not is_view(op)}
    stored = {v for g in groups for v in g.outputs} - grouping.resident
    change = Change()
    touched: set[Group] = set()
    for group in groups:
        for value in group.outputs:
            if value not in stored or group in touched or value.owner in grouping.again:
                continue
            readers = _readers(value, group, owner)
            if not readers or touched & readers.keys():
                continue
            chain = _chain(value, group, stored, grouping)
            if chain is None or not _faster(grouping, value, group, readers, chain):
                continue
            for ops in readers.values():
                change.added += _written_again(block, ops, chain, grouping.order)
            touched |= {group, *readers}
            record("tile-fuse", "values recomputed")
    if not change.added:
        return None
    change.removed = _erased(grouping, block)
    return change


def _readers(
    value: SSAValue, group: Group, owner: Mapping[Operation, Group]
) -> dict[Group, list[Operation]] | None:
    """Return the readers of a value by group; None if an op outside of groups reads it."""
    found: dict[Group, list[Operation]] = {}
    work = [use.operation for use in value.uses]
    while work:
        op = work.pop()
        if is_view(op):
            work.extend(use.operation for r in op.results for use in r.uses)
            continue
        reader = owner.get(op)
        if reader is None:
            return None
        if reader is not group and op not in found.setdefault(reader, []):
            found[reader].append(op)
    return found


def _chain(
    value: SSAValue, group: Group, stored: set[SSAValue], grouping: Grouping
) -> _Chain | None:
    """Return the chain that computes a value from values that are stored or stay in SBUF; None if
    it is not cheap.
    """
    known = stored | grouping.resident
    ops: dict[Operation, None] = {}
    leaves: dict[SSAValue, None] = {}
    work = [value]
    while work:
        v = work.pop()
        op = v.owner
        assert isinstance(op, Operation)
        if op in ops:
            continue
        if op.name not in CHEAP or op not in group.inside or len(ops) == LONGEST:
            return None
        ops[op] = None
        for operand in op.operands:
            root = root_of(operand)
            if is_number(root) or (isinstance(root.owner, Operation) and is_view(root.owner)):
                continue
            if isinstance(root, BlockArgument) or is_source(root.owner) or root in known:
                leaves[root] = None
            elif nbytes(root) * SMALL <= nbytes(value):
                leaves[root] = None
            else:
                work.append(root)
    return _Chain(tuple(sorted(ops, key=grouping.order.__getitem__)), tuple(leaves))


def _faster(
    grouping: Grouping,
    value: SSAValue,
    group: Group,
    readers: Mapping[Group, Sequence[Operation]],
    chain: _Chain,
) -> bool:
    times = grouping.times
    loaded = [v for v in chain.leaves if v not in grouping.resident]
    large = [v for v in loaded if nbytes(v) * SMALL > nbytes(value)]
    moved = nbytes(value) / grouping.machine.dma_gbps
    before = after = 0.0
    here = times.of(group)
    before += here.total
    after += _total(here, -moved, 0.0)
    work = sum(times.alone(op, group) for op in chain.ops)
    for reader in readers:
        there = times.of(reader)
        had = {root_of(reader.value(key)) for key in reader.inputs}
        more = sum(nbytes(v) for v in large if v not in had) / grouping.machine.dma_gbps
        before += there.total
        after += _total(there, more - moved, work)
    return after <= WORTH * before


def _total(times: Times, dma: float, vector: float) -> float:
    return max(times.dma + dma, times.pe, times.vector + vector) + times.fixed


def _written_again(
    block: Block,
    readers: Sequence[Operation],
    chain: _Chain,
    order: Mapping[Operation, int],
) -> list[Operation]:
    """Clone the ops of a chain before the first of its readers, which then read the clones."""
    first = min(readers, key=order.__getitem__)
    renewed: dict[SSAValue, SSAValue] = {}
    added: list[Operation] = []

    def again(op: Operation) -> None:
        copy = clone(op, {v: seen(v) for v in op.operands})
        block.insert_op_before(copy, first)
        added.append(copy)
        renewed.update(zip(op.results, copy.results, strict=True))

    def seen(v: SSAValue) -> SSAValue:
        op = v.owner
        if v not in renewed and isinstance(op, Operation) and is_view(op):
            again(op)  # each group has its own views
        return renewed.get(v, v)

    for op in chain.ops:
        again(op)
    for reader in readers:
        for i, v in enumerate(reader.operands):
            if root_of(v) in renewed:  # views of other values may follow the first reader
                reader.operands[i] = seen(v)
    return added


def _erased(grouping: Grouping, block: Block) -> list[Operation]:
    """Erase the grouped ops that have no uses any more, with their views, and return them."""
    for op in reversed(grouping.nodes):
        erase_dead(op)
    return [op for op in grouping.order if op.parent is not block]
