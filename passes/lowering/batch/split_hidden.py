"""hlo-split-hidden: compute a large value between dots in parts of the dimension they contract.

A feed-forward block multiplies its rows by wide weights, applies a function, and multiplies by the
next weights. The wide value in between can take more of SBUF than all others. A part of it needs
only a part of either weights, and the results of the parts are added:

    %h = gelu(dot(%x, %v))             %h0 = gelu(dot(%x, %v[:, :n]))
    %y = dot(%h, %w)            ->     %h1 = gelu(dot(%x, %v[:, n:]))
                                       %y = dot(%h0, %w[:n]) + dot(%h1, %w[n:])

Unlike tiles of rows, the parts read each weight once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import Float32Type, ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.constants import ConstantOp, constant_array, constant_op
from neuronir.dialects.hlo.elementwise import AddOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.batch.slices import slice_of
from neuronir.passes.lowering.entry import entry_on
from neuronir.passes.lowering.streaming.dims import (
    ELEMENTWISE,
    WHOLE,
    Tiling,
    spread,
    tiled_copy,
)
from neuronir.passes.lowering.streaming.size import nbytes, peak_bytes
from neuronir.passes.statistics import record

SHARES = (4, 8)
"""Parts of a value take at most one of these fractions of SBUF."""
ENOUGH = 0.75
"""The fraction of SBUF for live values that leaves room for the weight stream and gaps."""
MOST_PARTS = 16
_MEMBERS = ELEMENTWISE | {"hlo.broadcast", "hlo.composite", "hlo.dot"}


@dataclass(frozen=True)
class HloSplitHiddenPass(ModulePass):
    """Compute large values between dots in parts of the contraction, if all values then fit in
    SBUF.

    If the values that are live at once exceed SBUF, each value of more than a quarter of it is
    divided that is only an operand of an fp32 dot, which contracts one dimension, and is computed
    from another dot by elementwise ops. A part is a multiple of the partitions. Parts of an eighth
    of SBUF are tried if little room is left. Nothing changes if the values still exceed SBUF.
    Without a target, the module is not changed.
    """

    name = "hlo-split-hidden"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split the hidden values of the entry function."""
        for block, machine in entry_on(op, self.target):
            room = machine.sbuf_usable_partition_bytes * machine.partitions
            if _peak(block, machine) <= room:
                continue
            share = _best_share(block, machine, room)
            if share:
                parts = split_block(block, machine, room // share)
                record(self.name, "values", len(parts))
                record(self.name, "parts", sum(parts))


def _best_share(block: Block, machine: Machine, room: int) -> int:
    """Return the first of `SHARES` that leaves room, or else the best one; 0 if none suffices."""
    peaks = {}
    for share in SHARES:
        trial = _copy(block)
        if split_block(trial, machine, room // share):
            peaks[share] = _peak(trial, machine)
            if peaks[share] <= ENOUGH * room:
                return share
    best = min(peaks, key=lambda share: peaks[share], default=0)
    return best if best and peaks[best] <= room else 0


def _peak(block: Block, machine: Machine) -> int:
    return peak_bytes([op for op in block.ops if op is not block.last_op], machine)


def _copy(block: Block) -> Block:
    function = block.parent_op()
    assert isinstance(function, FuncOp)
    return function.clone().body.block


def split_block(block: Block, machine: Machine, largest: int) -> list[int]:
    """Split the hidden values of more than `largest` bytes; return the number of parts of each."""
    made = []
    for op in list(block.ops):
        if isinstance(op, DotOp) and (found := find_hidden(op, machine, largest)):
            _split(found)
            made.append(found.parts)
    return made


@dataclass(frozen=True)
class Hidden:
    """Operand `which` of a dot, which contracts its dimension `dim`, is computed in `parts`.

    `tilings` are the ops that compute it, in order, with the divided dimensions of their values.
    """

    user: DotOp
    which: int
    dim: int
    parts: int
    tilings: Mapping[Operation, Tiling]

    @property
    def rows(self) -> int:
        """The extent of a part."""
        return shape_of(self.user.operands[self.which])[self.dim] // self.parts


def find_hidden(user: DotOp, machine: Machine, largest: int) -> Hidden | None:
    """Return how to divide an operand of a dot; None if no operand is too large, or if no large one
    can be divided.
    """
    contracted = (ints(user.lhs_contracting_dims), ints(user.rhs_contracting_dims))
    type_ = cast(TensorType, user.results[0].type)
    if ints(user.lhs_batch_dims) or len(contracted[0]) != 1:
        return None
    if not isinstance(type_.element_type, Float32Type):  # sums of parts would be rounded
        return None
    for which in (0, 1):
        value, (dim,) = user.operands[which], contracted[which]
        extent, step = shape_of(value)[dim], machine.partitions
        counts = (n for n in range(2, MOST_PARTS + 1) if extent % (n * step) == 0)
        parts = next((n for n in counts if nbytes(value) <= n * largest), 0)
        if nbytes(value) <= largest or not parts or user.operands[1 - which] is value:
            continue
        tilings = _computed_from(value, dim, user)
        if any(isinstance(op, DotOp) for op in tilings):
            return Hidden(user, which, dim, parts, tilings)
    return None


def _computed_from(value: SSAValue, dim: int, user: Operation) -> dict[Operation, Tiling]:
    """Return the ops between dots and `value` that compute parts of it from parts."""
    extent = shape_of(value)[dim]
    wanted: Tiling = {value: dim}
    found: list[tuple[Operation, Tiling]] = []
    inside = {user}
    op = user.prev_op
    while op is not None:
        result = op.results[0] if len(op.results) == 1 else None
        if result is not None and op.name in _MEMBERS and result in wanted:
            mine = all(use.operation in inside for use in result.uses)
            tiling = spread(op, result, wanted[result]) if mine else None
            if tiling is not None and _fits(tiling, wanted, extent):
                inside.add(op)
                found.append((op, tiling))
                if not isinstance(op, DotOp):
                    wanted |= {v: d for v, d in tiling.items() if d != WHOLE}
        op = op.prev_op
    return dict(reversed(found))


def _fits(tiling: Tiling, wanted: Tiling, extent: int) -> bool:
    return all(
        d == WHOLE or (shape_of(v)[d] == extent and wanted.get(v, d) == d)
        for v, d in tiling.items()
    )


def _split(hidden: Hidden) -> None:
    """Replace the dot and the ops before it by copies for each part, and add the results."""
    user, rows = hidden.user, hidden.rows
    block = user.parent
    assert block is not None
    total: SSAValue | None = None
    for part in range(hidden.parts):
        made: dict[SSAValue, SSAValue] = {}
        for op, tiling in hidden.tilings.items():
            local = dict(_pieces(op, tiling, hidden, part, block))
            copy = tiled_copy(op, tiling, rows, {**local, **made})
            block.insert_op_before(copy, user)
            made[op.results[0]] = copy.results[0]
        weights = user.operands[1 - hidden.which]
        dim = ints((user.rhs_contracting_dims, user.lhs_contracting_dims)[hidden.which])[0]
        operands = [made[user.operands[hidden.which]], _piece(weights, dim, hidden, part, block)]
        product = DotOp.create(
            operands=operands if hidden.which == 0 else operands[::-1],
            result_types=[user.results[0].type],
            properties=user.properties,
            location=user.location,
        )
        block.insert_op_before(product, user)
        if total is None:
            total = product.results[0]
            continue
        add = AddOp.create(
            operands=[total, product.results[0]],
            result_types=[user.results[0].type],
            location=user.location,
        )
        block.insert_op_before(add, user)
        total = add.results[0]
    assert total is not None
    user.results[0].replace_all_uses_with(total)
    for op in (user, *reversed(list(hidden.tilings))):
        op.detach()
        op.erase()


def _pieces(
    op: Operation, tiling: Tiling, hidden: Hidden, part: int, block: Block
) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Return the parts of the operands that are not themselves computed in parts."""
    for v in op.operands:
        dim = tiling.get(v, WHOLE)
        if dim != WHOLE and v.owner not in hidden.tilings:
            yield v, _piece(v, dim, hidden, part, block)


def _piece(value: SSAValue, dim: int, hidden: Hidden, part: int, block: Block) -> SSAValue:
    low, rows = part * hidden.rows, hidden.rows
    owner = value.owner
    if isinstance(owner, ConstantOp):  # a part of its own can be stored in the order of its use
        cut = tuple(slice(low, low + rows) if d == dim else slice(None) for d in range(dim + 1))
        piece: Operation = constant_op(constant_array(owner)[cut].copy(), owner, owned=True)
    else:
        piece = slice_of(value, dim, low, rows)
        piece.location = hidden.user.location
    block.insert_op_before(piece, hidden.user)
    return piece.results[0]
