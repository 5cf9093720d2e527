"""Simplify reduce, reduce_window, dot and map."""

from collections.abc import Sequence
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.cloning import clone_region
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter, reducer_opcode
from neuronir.passes.hlo.support.values import (
    element,
    ints,
    is_splat_of,
    is_tensor,
    producer,
    shape,
    size,
    splat,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule


def reduce(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a reduction over dimensions of size 1 (or none) as a reshape combined with the
    start.
    """
    if len(op.operands) != 2:
        return None
    operand, init = op.operands
    dims = ints(op, "dimensions")
    opcode = reducer_opcode(op)
    if opcode is None:
        return None
    source = shape(operand)
    if prod(source[d] for d in dims) == 1:
        value = e.reshape(operand, shape(op.results[0]))
        neutral = neutral_element(opcode, element(operand))
        if neutral is not None and is_splat_of(init, neutral):
            return value
        return e.binary(opcode, value, e.broadcast(init, shape(value), ()))
    inner = producer(operand, "reshape")
    if inner is None or 0 in source:
        return None
    return _reduce_of_reshape(op, inner, e)


def _reduce_of_reshape(op: Operation, inner: Operation, e: Emitter) -> SSAValue | None:
    """Move a reduction before a reshape that only moves dimensions of size 1."""
    narrow, wide = inner.operands[0], shape(op.operands[0])
    keep = [d for d, n in enumerate(wide) if n != 1]
    ones = [d for d, n in enumerate(shape(narrow)) if n != 1]
    if [wide[d] for d in keep] != [shape(narrow)[d] for d in ones]:
        return None
    reduced = set(ints(op, "dimensions"))
    dims = [n for k, n in zip(keep, ones, strict=True) if k in reduced]
    kept = tuple(n for d, n in enumerate(shape(narrow)) if d not in set(dims))
    properties = dict(op.properties) | {"dimensions": i64_array(dims)}
    value = e.emit(
        "reduce",
        [narrow, op.operands[1]],
        tensor(kept, element(op.results[0])),
        properties,
        [clone_region(op.regions[0])],
    )
    return e.reshape(value, shape(op.results[0]))


def reduce_window(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a window of one element without padding or strides by the operand."""
    if len(op.operands) != 2 or shape(op.operands[0]) != shape(op.results[0]):
        return None
    if any(n != 1 for n in ints(op, "window_dimensions")):
        return None
    if any(n != 1 for n in (*ints(op, "window_strides"), *ints(op, "base_dilations"))):
        return None
    opcode = reducer_opcode(op)
    operand, init = op.operands
    neutral = None if opcode is None else neutral_element(opcode, element(operand))
    if any(ints(op, "padding")) or neutral is None:
        return None
    return operand if is_splat_of(init, neutral) else None


def dot(op: Operation, e: Emitter) -> SSAValue | None:
    """Rewrite a dot without contraction and with a uniform side as a multiplication."""
    if ints(op, "lhs_contracting_dims") or element(op.operands[0]) != element(op.operands[1]):
        return None
    result = op.results[0]
    if element(result) != element(op.operands[0]):
        return None
    names = ("lhs_batch_dims", "rhs_batch_dims")
    for side in (0, 1):
        number, other = splat(op.operands[side]), op.operands[1 - side]
        if number is None:
            continue
        batch = ints(op, names[1 - side])
        free = [d for d in range(len(shape(other))) if d not in set(batch)]
        splat_rank = len(shape(op.operands[side])) - len(batch)
        # Result dimensions: batch, lhs free, rhs free.
        begin = len(batch) + (splat_rank if side == 0 else 0)
        positions = [*range(len(batch)), *range(begin, begin + len(free))]
        moved = e.transpose(other, [*batch, *free])
        wide = e.broadcast(moved, shape(result), positions)
        return (
            wide if float(number) == 1 else e.binary("multiply", wide, e.fill(number, result.type))
        )
    return None


def map_(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace hlo.map by its region applied to whole arrays."""
    return applied(op.regions[0].blocks.first, op.operands, e)


def applied(block: Block | None, operands: Sequence[SSAValue], e: Emitter) -> SSAValue | None:
    """Apply a region of scalars to whole arrays of one shape.

    A region of several results gives a tuple. Returns None if one of its ops has a region or
    several results.
    """
    if block is None:
        return None
    dims = shape(operands[0])
    known: dict[SSAValue, SSAValue] = dict(zip(block.args, operands, strict=True))
    for inner in block.ops:
        if inner.name == "hlo.return":
            return known[inner.operands[0]]
        if inner.regions or len(inner.results) != 1:
            return None
        if inner.name == "hlo.tuple":
            value = e.tuple([known[v] for v in inner.operands])
        elif not is_tensor(inner.results[0]):
            return None
        elif inner.name == "hlo.constant":
            scalar = e.like(inner, (), inner.results[0].type)
            value = e.broadcast(scalar, dims, ())
        else:
            values = [known[v] for v in inner.operands]
            value = e.like(inner, values, tensor(dims, element(inner.results[0])))
        known[inner.results[0]] = value
    return None


def empty(op: Operation, e: Emitter) -> SSAValue | None:
    """Replace a reduction of no elements by its start value."""
    if len(op.operands) != 2 or size(op.operands[0]) != 0:
        return None
    return e.broadcast(op.operands[1], shape(op.results[0]), ())


RULES: dict[str, tuple[Rule, ...]] = {
    "hlo.reduce": (empty, reduce),
    "hlo.reduce_window": (reduce_window,),
    "hlo.dot": (dot,),
    "hlo.map": (map_,),
}
