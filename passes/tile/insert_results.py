"""Insert arrays in HBM into the result that concatenates them, instead of loading them again."""

from math import prod

from xdsl.dialects import scf
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from neuronir.dialects.tile.ops import EmptyOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import integer
from neuronir.passes.tile.layouts.carried import RESHAPES
from neuronir.passes.tile.retile import slice_properties
from neuronir.passes.tile.whole import whole

_STORED = ("func.return", "hlo.tuple")


def insert_results(block: Block) -> int:
    """Rewrite concatenations that are only stored, of values in HBM; return their number.

        %r = hlo.concatenate %a, %b dimension = 0    %e = tile.empty "hbm"
                                                  -> %1 = tensor.insert_slice %a into %e[0, 0]
                                                     %r = tensor.insert_slice %b into %1[n, 0]

    Each operand is contiguous in the result, so that its producer can write it there. An operand on
    the chip is stored there; at least one is in HBM.
    """
    count = 0
    for op in [op for op in block.ops if op.name == "hlo.concatenate"]:
        shape, dim = shape_of(op.results[0]), integer(op, "dimension")
        if prod(shape[:dim]) > 1 or not all(
            use.operation.name in _STORED for use in op.results[0].uses
        ):
            continue
        roots = [_root(v) for v in op.operands]
        if any(_is_constant(v) for v in roots) or not any(_in_hbm(v) for v in roots):
            continue
        _insert(op, dim)
        count += 1
    return count


def _root(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, Operation) and value.owner.name in RESHAPES:
        value = value.owner.operands[0]
    return value


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name in (
        "hlo.constant",
        "hlo.broadcast",
    )


def _in_hbm(value: SSAValue) -> bool:
    """Return whether a value outside loops is an argument, or is written to HBM."""
    if isinstance(value, BlockArgument):
        return True
    op = value.owner
    assert isinstance(op, Operation)
    if isinstance(op, scf.ForOp):
        assert isinstance(value, OpResult)
        made = op.iter_args[value.index].owner
        return isinstance(made, EmptyOp) and made.memory.data == "hbm"
    return whole(op)


def _insert(op: Operation, dim: int) -> None:
    block, result = op.parent, op.results[0]
    assert block is not None and block.first_op is not None
    empty = EmptyOp.make("hbm", result.type)
    empty.location = op.location
    block.insert_op_before(empty, block.first_op)  # before the producers, which may write into it
    current: SSAValue = empty.tensor
    offsets = [0] * len(shape_of(result))
    for value in op.operands:
        sizes = shape_of(value)
        new = InsertSliceOp.build(
            operands=[value, current, [], [], []],
            result_types=[result.type],
            properties=slice_properties(offsets, sizes),
        )
        new.location = op.location
        block.insert_op_before(new, op)
        current = new.result
        offsets[dim] += sizes[dim]
    result.replace_all_uses_with(current)
    op.detach()
    op.erase()
