"""hlo-split-attention: compute softmaxes between two dots for a few heads at a time.

The scores of all heads together are large. Computed as a whole, they make the tensor engine and the
vector engines wait for each other. Heads are independent, so the ops from the scores to the dot
with the values are replicated for tiles of the batch and the heads whose scores fill a bank of
PSUM. The dots of one tile overlap the exponentials of another, and only the scores of a few tiles
are live at once. Concatenating the results needs no instruction, because each tile writes its own
part (products/in_place.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.data_movement import ConcatenateOp, ReshapeOp, TransposeOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.batch.slices import slice_of
from neuronir.passes.lowering.entry import entry_on
from neuronir.passes.lowering.products.attention_match import match_attention
from neuronir.passes.lowering.streaming.dims import WHOLE, Tiling, close, tiled_copy
from neuronir.passes.lowering.streaming.size import nbytes
from neuronir.passes.statistics import record

BETWEEN = ("hlo.add", "hlo.subtract", "hlo.multiply", "hlo.divide", "hlo.convert", "hlo.select")
"""Elementwise ops allowed between the scores and their softmax, and after it."""
_VIEWS = (ConcatenateOp, ReshapeOp, TransposeOp)


@dataclass(frozen=True)
class HloSplitAttentionPass(ModulePass):
    """Compute attention with short rows by tiles of its batch and heads.

    Rows longer than a PSUM bank are left to the lowering. Without a target, the module is not
    changed.
    """

    name = "hlo-split-attention"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    columns: int = field(
        default=0,
        metadata={
            "help": ("elements in a row of scores, over the heads of a tile; 0: one PSUM bank")
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Split the attentions of the entry function."""
        for block, machine in entry_on(op, self.target):
            split_block(block, machine, self.columns or machine.psum_bank_bytes // 4)


def split_block(block: Block, machine: Machine, columns: int) -> None:
    """Split all attentions of a block."""
    place = {op: i for i, op in enumerate(block.ops)}
    slices: dict[tuple[SSAValue, int, int, int], SSAValue] = {}
    for op in list(block.ops):
        chain = find_chain(op, machine)
        if chain is None:
            continue
        sizes = tile_sizes(chain, columns)
        count = prod(n // size for n, size in zip(shape_of(op.results[0]), sizes, strict=False))
        if count == 1:
            continue
        scores = nbytes(chain[0].results[0])
        _hoist(chain, place)
        made = [chain]
        for d, size in enumerate(sizes):
            made = [tile for part in made for tile in _split(part, d, size, slices, place)]
        _cast_parts(made[0][-1].results[0])
        record(HloSplitAttentionPass.name, "attentions")
        record(HloSplitAttentionPass.name, "tiles", len(made))
        record(HloSplitAttentionPass.name, "bytes of scores", scores)
        record(HloSplitAttentionPass.name, "bytes of scores of one tile", scores // count)


def find_chain(product: Operation, machine: Machine) -> list[Operation] | None:
    """Return the ops from the dot of the scores to `product`, if a softmax is in between.

    The intermediate values must have no other users.
    """
    if not isinstance(product, DotOp) or not ints(product.lhs_batch_dims):
        return None
    for operand in product.operands:
        chain: list[Operation] = [product]
        found, value = False, operand
        while value.has_one_use() and isinstance(value.owner, Operation):
            op = value.owner
            chain.append(op)
            if isinstance(op, DotOp):
                rank = len(ints(op.lhs_batch_dims))
                scores = rank and len(shape_of(value)) == rank + 2
                if found and scores and match_attention(op, machine) is None:
                    return chain[::-1]
                break
            if isinstance(op, CompositeOp):
                last = len(shape_of(value)) - 1
                if found or op.kind.data != "softmax" or ints(op.params.data["axes"]) != (last,):
                    break
                found = True
            elif op.name not in BETWEEN:
                break
            value = next((v for v in op.operands if _computed(v)), op.operands[0])
    return None


def _computed(value: SSAValue) -> bool:
    """Return whether an operand is passed along the chain; the others are masks and scalars."""
    return value.has_one_use() and getattr(value.owner, "name", "") != "hlo.broadcast"


def tile_sizes(chain: Sequence[Operation], columns: int) -> list[int]:
    """Return the tile size along each batch dimension of the scores.

    The sizes are chosen from the innermost dimension outwards, each the largest divisor for which a
    row of scores, over all heads of the tile, has at most `columns` elements. Dimensions outside of
    the first one that is split have size 1. If the number of heads is even, so is the tile size
    along the heads, because pairs of heads share the partitions of their dot.
    """
    shape = shape_of(chain[0].results[0])
    batch = shape[:-2]
    sizes = [1] * len(batch)
    taken = shape[-1]
    for d in reversed(range(len(batch))):
        n = batch[d]
        least = 2 if d == len(batch) - 1 and n % 2 == 0 else 1
        fits = [k for k in range(least, n + 1, least) if n % k == 0 and k * taken <= columns]
        sizes[d] = max(fits, default=least)
        taken *= sizes[d]
        if sizes[d] < n:
            break
    return sizes


def _hoist(chain: Sequence[Operation], place: dict[Operation, int]) -> None:
    """Move the chain to the earliest position where its operands are available.

    The tensor engine then prefers it to parallel work.
    """
    mine = set(chain)
    block = chain[0].parent
    owners = {v.owner for op in chain for v in op.operands} - mine
    before = [op for op in owners if isinstance(op, Operation) and op.parent is block]
    if block is None or not before:
        return
    anchor = max(before, key=lambda op: place[op])
    number = place[anchor]
    for op in chain:
        op.detach()
        block.insert_op_after(op, anchor)
        place[op] = number
        anchor = op


def _split(
    chain: Sequence[Operation],
    dim: int,
    size: int,
    slices: dict[tuple[SSAValue, int, int, int], SSAValue],
    place: dict[Operation, int],
) -> list[list[Operation]]:
    """Replace a chain by copies for tiles of `size` along dimension `dim` of its result."""
    product = chain[-1]
    result = product.results[0]
    extent = shape_of(result)[dim]
    tiling = _tiling(chain, dim, extent) if size < extent else None
    block = product.parent
    if tiling is None or block is None:
        return [list(chain)]
    made: list[list[Operation]] = []
    regions: dict[Operation, Tiling] = {}
    for low in range(0, extent, size):
        mapping: dict[SSAValue, SSAValue] = {}
        local: dict[SSAValue, SSAValue] = {}
        mine = set(chain)
        for op in chain:
            for v in op.operands:
                d = tiling.get(v, WHOLE)
                if v.owner not in mine and d != WHOLE:
                    local[v] = _sliced(block, v, d, low, size, chain[0], slices)
        copies: list[Operation] = []
        for op in chain:
            copies.append(tiled_copy(op, tiling, size, {**local, **mapping}, regions))
            mapping.update(zip(op.results, copies[-1].results, strict=True))
        block.insert_ops_before(copies, product)
        made.append(copies)
    assert isinstance(result.type, TensorType)
    join = ConcatenateOp.create(
        operands=[copies[-1].results[0] for copies in made],
        result_types=[result.type],
        properties={"dimension": IntegerAttr(dim, i64)},
    )
    join.location = product.location
    block.insert_op_before(join, product)
    place[join] = place.get(product, 0)
    result.replace_all_uses_with(join.results[0])
    for op in reversed(chain):
        op.detach()
        op.erase()
    return made


def _cast_parts(value: SSAValue) -> None:
    """Cast the results of tiles before the concatenation, if only a cast of the whole follows.

    The dot of each tile then writes that type.
    """
    joined = False
    while value.has_one_use():
        op = next(iter(value.uses)).operation
        joined |= isinstance(op, ConcatenateOp)
        if isinstance(op, ConvertOp) and joined:
            narrow = cast(TensorType[Attribute], op.results[0].type).element_type
            if isinstance(narrow, AnyFloat):
                op.results[0].replace_all_uses_with(_cast(value, narrow))
                _erase(op)
            return
        if not isinstance(op, _VIEWS):
            return
        value = op.results[0]


def _cast(value: SSAValue, element: Attribute) -> SSAValue:
    """Cast `value` by casting the operands of its concatenation."""
    owner = value.owner
    assert isinstance(owner, Operation) and owner.parent is not None
    copy: Operation
    if isinstance(owner, _VIEWS) and value.has_one_use():
        operands = [_cast(v, element) for v in owner.operands]
        copy = type(owner).create(
            operands=operands,
            result_types=[TensorType(element, shape_of(value))],
            properties=owner.properties,
            attributes=owner.attributes,
        )
    else:
        copy = ConvertOp.create(
            operands=[value], result_types=[TensorType(element, shape_of(value))]
        )
    copy.location = owner.location
    owner.parent.insert_op_after(copy, owner)
    return copy.results[0]


def _erase(op: Operation) -> None:
    """Erase an op without users, and the views that only it used."""
    operands = list(op.operands)
    op.detach()
    op.erase()
    for value in operands:
        if isinstance(value.owner, _VIEWS) and not list(value.uses):
            _erase(value.owner)


def _tiling(chain: Sequence[Operation], dim: int, extent: int) -> Tiling | None:
    """Return the tiled dimension of every value of the chain."""
    tiling = close(chain, {chain[-1].results[0]: dim})
    if tiling is None or any(tiling.get(op.results[0], WHOLE) == WHOLE for op in chain):
        return None
    if any(d != WHOLE and shape_of(v)[d] != extent for v, d in tiling.items()):
        return None
    return tiling


def _sliced(
    block: Block,
    value: SSAValue,
    dim: int,
    low: int,
    size: int,
    before: Operation,
    slices: dict[tuple[SSAValue, int, int, int], SSAValue],
) -> SSAValue:
    """Return a part of an operand, shared by all users (masks are those of all layers)."""
    key = (value, dim, low, size)
    if key not in slices:
        cut = slice_of(value, dim, low, size)
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is block:
            cut.location = owner.location
            block.insert_op_after(cut, owner)
        else:
            cut.location = before.location
            assert block.first_op is not None
            block.insert_op_before(cut, block.first_op)
        slices[key] = cut.results[0]
    return slices[key]
