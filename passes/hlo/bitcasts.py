"""Expand hlo.bitcast, which depends on layouts, while the layouts are still those of the input."""

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.support.walking import ops_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, is_tensor, shape
from neuronir.passes.hlo.support.walk import blocks, replace

LAYOUT = "hlo.layout"


def layout_of(value: SSAValue) -> tuple[int, ...]:
    """Return minor_to_major of a value as declared by its op or argument; else descending."""
    stated = None
    owner = value.owner
    if isinstance(owner, Operation):
        stated = owner.attributes.get(LAYOUT)
    elif isinstance(value, BlockArgument):
        parent = owner.parent_op()
        if isinstance(parent, FuncOp):
            arguments = parent.arg_attrs
            stated = arguments.data[value.index].data.get(LAYOUT) if arguments else None
        elif parent is not None and parent.name == "hlo.fusion":
            return layout_of(parent.operands[value.index])
    if isinstance(stated, DenseArrayBase):
        return ints(stated)
    return tuple(range(len(shape(value)) - 1, -1, -1))


def _expand(op: Operation) -> bool:
    """Expand a bitcast (equal element types): transpose to memory order, reshape, transpose
    back.
    """
    operand, result = op.operands[0], op.results[0]
    if not is_tensor(operand) or element(operand) != element(result):
        return False
    emitter = Emitter(op)
    major = tuple(reversed(layout_of(operand)))
    target = tuple(reversed(layout_of(result)))
    stored = emitter.transpose(operand, major)
    read = emitter.reshape(stored, [shape(result)[d] for d in target])
    back = sorted(range(len(target)), key=lambda d: target[d])
    replace(op, emitter.transpose(read, back))
    return True


def lower_bitcasts(module: ModuleOp) -> int:
    """Replace the bitcasts of a module and return their number; layouts must be as imported."""
    found: list[Operation] = []
    for block in blocks(module, composites=True):
        found.extend(_bitcasts(block))
    # Users first: the layout of an operand is read while its op still exists.
    return sum(_expand(op) for op in reversed(found))


def _bitcasts(block: Block) -> list[Operation]:
    return [op for op in ops_of(block) if op.name == "hlo.bitcast"]
