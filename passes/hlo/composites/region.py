"""Extract a single-result subgraph from a block and wrap it as hlo.composite."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from neuronir.dialects.hlo.attributes import string_attr
from neuronir.dialects.support.cloning import clone
from neuronir.passes.hlo.support.build import OP_CLASSES, Emitter
from neuronir.passes.hlo.support.values import splat

_LARGEST = 512


@dataclass(frozen=True)
class Part:
    """The ops between some inputs and a root value, producers first, including constants."""

    root: SSAValue
    inputs: tuple[SSAValue, ...]
    ops: tuple[Operation, ...]


def duplicable(op: Operation) -> bool:
    """Return whether an op is a constant scalar, which may be copied into a composite."""
    return op.name == "hlo.constant" or splat(op.results[0]) is not None


def cut(root: SSAValue, inputs: Sequence[SSAValue]) -> Part | None:
    """Return the ops from `inputs` to `root`.

    Returns None if the root depends on another value that is not constant, or if an intermediate
    value has other users.
    """
    stop = set(inputs)
    order: list[Operation] = []
    state: dict[Operation, bool] = {}
    stack: list[tuple[SSAValue, bool]] = [(root, False)]
    while stack:
        value, leaving = stack.pop()
        if not isinstance(value, OpResult):
            return None
        op = value.op
        if leaving:
            order.append(op)
            continue
        if op in state:
            continue
        state[op] = True
        if len(state) > _LARGEST or not op.operands and op.name not in ("hlo.constant", "hlo.iota"):
            return None
        stack.append((value, True))
        for operand in op.operands:
            if operand not in stop:
                stack.append((operand, False))
    for op in order:
        if op.results[0] is root or duplicable(op):
            continue
        if _read_outside(op, state):
            return None
    return Part(root, tuple(inputs), tuple(order))


def wrap(part: Part, kind: str, params: Mapping[str, Attribute]) -> SSAValue:
    """Replace a subgraph by a hlo.composite of this kind and return its result."""
    if not isinstance(part.root, OpResult):
        raise ValueError("the root of a part is the result of an op")
    anchor = part.root.op
    block = Block(arg_types=[v.type for v in part.inputs])
    result = Emitter(anchor).emit(
        "composite",
        part.inputs,
        part.root.type,
        {"kind": string_attr(kind), "params": DictionaryAttr(dict(params))},
        [Region(block)],
    )
    part.root.replace_all_uses_with(result)
    mapping: dict[SSAValue, SSAValue] = dict(zip(part.inputs, block.args, strict=True))
    staying = _staying(part)
    for op in part.ops:
        if op in staying:
            block.add_op(clone(op, mapping))
            continue
        op.detach()
        for i, operand in enumerate(op.operands):
            if operand in mapping:
                op.operands[i] = mapping[operand]
        block.add_op(op)
    block.add_op(OP_CLASSES["hlo.return"].create(operands=[mapping.get(part.root, part.root)]))
    return result


def _staying(part: Part) -> set[Operation]:
    """Return the constant ops of a subgraph that have other users; the composite gets copies."""
    moving = set(part.ops)
    for op in reversed(part.ops):
        if _read_outside(op, moving):
            moving.remove(op)
    return set(part.ops) - moving


def _read_outside(op: Operation, inside: Container[Operation]) -> bool:
    for use in op.results[0].uses:
        if use.operation not in inside:
            return True
    return False
