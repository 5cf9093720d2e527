"""Decompose reductions of several operands, and by regions that are no single operation."""

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.passes.hlo.rules.reduction import applied
from neuronir.passes.hlo.support.build import COMMUTATIVE, Emitter, binary_region
from neuronir.passes.hlo.support.shifts import part
from neuronir.passes.hlo.support.values import element, ints, shape, tensor

Combine = Callable[[Sequence[SSAValue], Sequence[SSAValue]], list[SSAValue] | None]
"""Combines the elements of two lists of arrays; None if there are no ops for it."""


def reduce_by_region(op: Operation, e: Emitter) -> SSAValue | None:
    """Reduce by a region: each operand by itself if the region does so, else pair by pair.

        %r = reduce(%x, %y, %a, %b)     ->    %s = reduce(%x, %a) add
             (add, maximum)                   %m = reduce(%y, %b) maximum
                                              %r = tuple(%s, %m)

    The region of other reductions is applied to pairs of neighbours until one element is left,
    which takes log2(n) steps and keeps the order of the elements. It is applied to the initial
    values last, because they may be any values. Returns None if the region is not elementwise.
    """
    block = op.regions[0].blocks.first
    count = len(op.operands) // 2
    if block is None:
        return None
    values, starts = list(op.operands[:count]), list(op.operands[count:])
    opcodes = _separate(block, count)
    if count > 1 and opcodes is not None:
        parts = zip(values, starts, opcodes, strict=True)
        return e.tuple([_reduced(op, x, start, opcode, e) for x, start, opcode in parts])

    def combine(left: Sequence[SSAValue], right: Sequence[SSAValue]) -> list[SSAValue] | None:
        return combined(block, left, right, e)

    dims = ints(op, "dimensions")
    made = [n for d, n in enumerate(shape(values[0])) if d not in dims]
    first = [e.broadcast(start, made, ()) for start in starts]
    if any(shape(values[0])[d] == 0 for d in dims):
        found: list[SSAValue] | None = first
    else:
        totals = in_pairs(values, dims, combine, e)
        found = None if totals is None else combine(first, totals)
    if found is None:
        return None
    return found[0] if count == 1 else e.tuple(found)


def in_pairs(
    values: Sequence[SSAValue], dims: Sequence[int], combine: Combine, e: Emitter
) -> list[SSAValue] | None:
    """Reduce dimensions of one element or more, keeping the row-major order of the elements."""
    total = list(values)
    for d in reversed(dims):
        found = _in_pairs(total, d, combine, e)
        if found is None:
            return None
        total = found
    made = [n for d, n in enumerate(shape(values[0])) if d not in dims]
    return [e.reshape(x, made) for x in total]


def _in_pairs(
    values: list[SSAValue], axis: int, combine: Combine, e: Emitter
) -> list[SSAValue] | None:
    """Reduce one dimension to one element."""
    total: list[SSAValue] | None = values
    rest: list[SSAValue] | None = None
    while total is not None and (n := shape(total[0])[axis]) > 1:
        if n % 2:
            last = [part(x, axis, n - 1, n, e) for x in total]
            rest = last if rest is None else combine(last, rest)
            if rest is None:
                return None
        even = n - n % 2
        pairs = [[_every_second(x, axis, k, even, e) for x in total] for k in (0, 1)]
        total = combine(*pairs)
    return total if total is None or rest is None else combine(total, rest)


def combined(
    block: Block, left: Sequence[SSAValue], right: Sequence[SSAValue], e: Emitter
) -> list[SSAValue] | None:
    """Apply the region of a reduction to arrays; None if it is not elementwise."""
    found = applied(block, [*left, *right], e)
    if found is None or len(left) == 1:
        return None if found is None else [found]
    return [e.tuple_element(found, k) for k in range(len(left))]


def _separate(block: Block, count: int) -> list[str] | None:
    """Return the operation by which a region combines each operand; None if it reads others."""
    last = block.last_op
    made = None if last is None else last.operands[0].owner
    if not isinstance(made, Operation) or made.name != "hlo.tuple":
        return None
    opcodes: list[str] = []
    for k, value in enumerate(made.operands):
        op = value.op if isinstance(value, OpResult) else None
        pair = {block.args[k], block.args[k + count]}
        if op is None or len(op.operands) != 2 or set(op.operands) != pair:
            return None
        opcodes.append(op.name.removeprefix("hlo."))
    return opcodes if all(opcode in COMMUTATIVE for opcode in opcodes) else None


def _reduced(op: Operation, x: SSAValue, start: SSAValue, opcode: str, e: Emitter) -> SSAValue:
    dims = ints(op, "dimensions")
    made = tuple(n for d, n in enumerate(shape(x)) if d not in dims)
    properties = {"dimensions": i64_array(dims)}
    regions = [binary_region(opcode, element(x))]
    return e.emit("reduce", [x, start], tensor(made, element(x)), properties, regions)


def _every_second(x: SSAValue, axis: int, first: int, end: int, e: Emitter) -> SSAValue:
    starts, limits, strides = [0] * len(shape(x)), list(shape(x)), [1] * len(shape(x))
    starts[axis], limits[axis], strides[axis] = first, end, 2
    return e.slice(x, starts, limits, strides)
