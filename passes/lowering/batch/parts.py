"""Copy ops for each part of their results, with slices before and concatenations after them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.data_movement import ConcatenateOp
from neuronir.dialects.support.walking import walk
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.batch.slices import slice_of

Piece = tuple[int, int, int]
"""(dimension, first, end): the elements of a value between two positions of one dimension."""


class Parts(Protocol):
    """How ops are divided: the operands, result and contribution of the copy for each part."""

    @property
    def ops(self) -> Collection[Operation]:
        """The replicated ops, each with one result."""

    @property
    def count(self) -> int:
        """The number of parts."""

    def read(self, part: int, op: Operation, value: SSAValue) -> Piece | None:
        """Return the part of an operand that the copy of `op` reads; None for all of it."""

    def made(self, part: int, value: SSAValue) -> Piece:
        """Return the part of a result that a copy computes."""

    def kept(self, part: int, value: SSAValue) -> Piece:
        """Return the part of a copy's result that goes into the concatenation."""

    def copy(self, part: int, op: Operation, mapping: Mapping[SSAValue, SSAValue]) -> Operation:
        """Return the copy of an op for a part, on the operands in `mapping`."""


def write_parts(block: Block, parts: Parts, order: Sequence[tuple[int, Operation]]) -> None:
    """Replace ops by their copies, in the order of (part, op) pairs.

    Ops that they need whole stay before their first user. Ops that need a result whole follow its
    concatenation, even if they come before others of the replaced ops.
    """
    whole = _independent(block, parts.ops)
    others = [op for op in block.ops if op not in parts.ops]
    place = {op: i for i, op in enumerate(block.ops)}
    made: list[dict[SSAValue, SSAValue]] = [{} for _ in range(parts.count)]
    slices: dict[tuple[SSAValue, Piece], SSAValue] = {}
    out: list[Operation] = []

    def piece(value: SSAValue, wanted: Piece, op: Operation) -> SSAValue:
        d, low, end = wanted
        if (low, end) == (0, shape_of(value)[d]):
            return value
        if (value, wanted) not in slices:
            cut = slice_of(value, d, low, end - low)
            cut.location = op.location
            out.append(cut)
            slices[value, wanted] = cut.results[0]
        return slices[value, wanted]

    taken = 0
    for part, op in order:
        while taken < len(whole) and place[whole[taken]] < place[op]:
            out.append(whole[taken])
            taken += 1
        local: dict[SSAValue, SSAValue] = {}
        for v in op.operands:
            wanted = parts.read(part, op, v)
            source = made[part].get(v, v)
            if wanted is not None and source is not v:
                d, low, end = wanted
                first = parts.made(part, v)[1]
                wanted = (d, low - first, end - first)
            local[v] = source if wanted is None else piece(source, wanted, op)
        copy = parts.copy(part, op, local)
        out.append(copy)
        made[part][op.results[0]] = copy.results[0]
    joined: dict[SSAValue, SSAValue] = {}
    for op in parts.ops:
        result = op.results[0]
        if all(use.operation in parts.ops for use in result.uses):
            continue
        pieces = []
        for part in range(parts.count):
            d, low, end = parts.kept(part, result)
            first = parts.made(part, result)[1]
            pieces.append(piece(made[part][result], (d, low - first, end - first), op))
        join = ConcatenateOp.create(
            operands=pieces,
            result_types=[result.type],
            properties={"dimension": IntegerAttr(d, i64)},
        )
        join.location = op.location
        out.append(join)
        joined[result] = join.results[0]
    placed = set(whole[:taken])
    out.extend(op for op in others if op not in placed)
    for op in list(block.ops):
        op.detach()
    block.add_ops(out)
    for old, new in joined.items():
        for use in list(old.uses):
            if use.operation not in parts.ops:
                use.operation.operands[use.index] = new
    for op in reversed(list(parts.ops)):
        op.drop_all_references()
        op.erase(safe_erase=False)


def _independent(block: Block, ops: Collection[Operation]) -> list[Operation]:
    """Return the other ops of a block that depend on no result of `ops`."""
    dependent: set[SSAValue] = set()
    out: list[Operation] = []
    for op in block.ops:
        if op in ops:
            dependent.update(op.results)
        elif any(v in dependent for v in used(op)):
            dependent.update(op.results)
        else:
            out.append(op)
    return out


def used(op: Operation) -> Iterator[SSAValue]:
    """Return the operands of an op and of the ops in its regions."""
    for inner in walk(op):
        yield from inner.operands


def in_one_piece(block: Block, ops: Collection[Operation]) -> bool:
    """Return whether no op between the ops of a set depends on their results."""
    left = len(ops)
    for op in block.ops:
        if op in ops:
            left -= 1
        elif left and any(v.owner in ops for v in op.operands):
            return False
    return True
