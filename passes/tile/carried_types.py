"""Carry states of loops also in the type in which products read them.

Without this, a state that a product reads in 16 bits would be converted at the start of each
iteration, and all other work would wait for it. With it, the preceding iteration computes the state
in both types.
"""

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.dialects.tile.rules import ELEMENTWISE
from neuronir.passes.hlo.support.values import element


def carry_converted(op: scf.ForOp) -> scf.ForOp:
    """Let a loop also carry the converted form of a state, which its iterations would otherwise
    compute.
    """
    block, last = op.body.block, op.body.block.last_op
    assert last is not None
    found = [(k, type_) for k, a in enumerate(block.args[1:]) if (type_ := _read_as(a)) is not None]
    if not found:
        return op
    begins: list[SSAValue] = []
    for k, type_ in found:
        argument = block.args[k + 1]
        begin = _convert(op.iter_args[k], type_, op)
        begins.append(begin)
        new = block.insert_arg(type_, len(block.args))
        for use in list(argument.uses):
            if use.operation.name == "hlo.convert" and use.operation.results[0].type == type_:
                use.operation.results[0].replace_all_uses_with(new)
                use.operation.detach()
                use.operation.erase()
        handed = _made_again(last.operands[k], last)
        last.operands = [*last.operands, _convert(handed, type_, last)]
    return _again(op, block, begins)


def _again(op: scf.ForOp, block: Block, begins: list[SSAValue]) -> scf.ForOp:
    """Rebuild the loop with more carried values."""
    low, high, step, inits = op.lb, op.ub, op.step, [*op.iter_args, *begins]
    op.body.detach_block(block)
    new = scf.ForOp(low, high, step, inits, Region(block))
    new.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    for old, result in zip(op.results, new.results, strict=False):
        old.replace_all_uses_with(result)
    op.detach()
    op.erase()
    return new


def _read_as(argument: BlockArgument) -> Attribute | None:
    """Return the narrower float type to which a state is converted; None if there is no single
    one.
    """
    kinds: set[Attribute] = set()
    for use in argument.uses:
        reader = use.operation
        if reader.name == "hlo.convert" and reader.parent is argument.owner:
            kinds.add(reader.results[0].type)
    if len(kinds) != 1:
        return None
    (type_,) = kinds
    assert isinstance(type_, TensorType)
    old, new = element(argument), type_.element_type
    narrower = is_float(old) and is_float(new) and byte_size(new) < byte_size(old)
    return type_ if narrower else None


def _convert(value: SSAValue, type_: Attribute, before: Operation) -> SSAValue:
    new = ConvertOp.create(operands=[value], result_types=[type_])
    new.location = before.location
    assert before.parent is not None
    before.parent.insert_op_before(new, before)
    return new.results[0]


def _made_again(value: SSAValue, before: Operation) -> SSAValue:
    """Duplicate an elementwise value with other users.

    The conversion then merges into that instruction and waits for no other.
    """
    while isinstance(value.owner, Operation) and value.owner.name == "hlo.copy":
        value = value.owner.operands[0]
    maker = value.owner
    if not isinstance(maker, Operation) or maker.parent is not before.parent:
        return value
    if maker.name not in ELEMENTWISE or maker.regions:
        return value
    copy = maker.clone()
    copy.location = maker.location
    assert maker.parent is not None
    maker.parent.insert_op_before(copy, maker)
    return copy.results[0]
