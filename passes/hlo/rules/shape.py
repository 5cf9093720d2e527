"""Simplify reshape, broadcast and transpose: merge chains, sink reshapes of size-1 dimensions."""

from collections.abc import Sequence

from xdsl.ir import Operation, OpResult, SSAValue

from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.shapes import common_factors, place, same_but_ones, squeezed
from neuronir.passes.hlo.support.values import (
    element,
    ints,
    producer,
    shape,
    size,
    splat,
    tensor,
)
from neuronir.passes.hlo.support.walk import Rule


def reshape(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove identities; merge reshape(reshape); reshape(broadcast) -> broadcast(reshape) if
    possible.
    """
    operand, target = op.operands[0], shape(op.results[0])
    if shape(operand) == target:
        return operand
    inner = producer(operand, "reshape")
    if inner is not None:
        return e.reshape(inner.operands[0], target)
    inner = producer(operand, "broadcast")
    return None if inner is None else _reshape_of_broadcast(inner, target, e)


def _reshape_of_broadcast(op: Operation, target: tuple[int, ...], e: Emitter) -> SSAValue | None:
    source, middle, dimensions = op.operands[0], shape(op.results[0]), ints(op, "dimensions")
    if size(source) == 1:
        return e.broadcast(e.reshape(source, ()), target, ())
    groups = common_factors(middle, target)
    if groups is None or list(dimensions) != sorted(dimensions):
        return None
    held = {d for d, n in zip(dimensions, shape(source), strict=True) if n != 1}
    dims: list[int] = []
    positions: list[int] = []
    for left, right in groups:
        inside = [d for d in left if d in held]
        if not inside:
            continue
        if inside != left:
            return None
        dims += [target[d] for d in right]
        positions += right
    return e.broadcast(e.reshape(source, dims), target, positions)


def broadcast(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove identities; merge broadcast(broadcast) and broadcast of reshapes of size-1
    dimensions.
    """
    operand, target, dimensions = op.operands[0], shape(op.results[0]), ints(op, "dimensions")
    given = shape(operand)
    if given == target and dimensions == tuple(range(len(target))):
        return operand
    single = size(operand) == 1
    if single and given:
        return e.broadcast(e.reshape(operand, ()), target, ())
    inner = producer(operand, "broadcast")
    if inner is not None:
        composed = [dimensions[d] for d in ints(inner, "dimensions")]
        return e.broadcast(inner.operands[0], target, composed)
    if same_but_ones(given, target) and list(dimensions) == sorted(dimensions):
        return e.reshape(operand, target)
    inner = None if single else producer(operand, "reshape")
    if inner is None:
        return None
    source = inner.operands[0]
    if same_but_ones(given, shape(source)):
        positions = [d for d, n in zip(dimensions, given, strict=True) if n != 1]
        placed = place(shape(source), target, positions)
        if placed is not None:
            return e.broadcast(source, target, placed)
        if squeezed(given) != given:
            return e.broadcast(e.reshape(source, squeezed(shape(source))), target, positions)
    return None


def transpose(op: Operation, e: Emitter) -> SSAValue | None:
    """Remove identities and moves of size-1 dimensions; merge with transpose and broadcast."""
    operand, permutation = op.operands[0], ints(op, "permutation")
    if list(permutation) == sorted(permutation):
        return operand
    moved = [p for p in permutation if shape(operand)[p] != 1]
    if moved == sorted(moved):
        return e.reshape(operand, shape(op.results[0]))
    inner = producer(operand, "transpose")
    if inner is not None:
        first = ints(inner, "permutation")
        return e.transpose(inner.operands[0], [first[p] for p in permutation])
    inner = producer(operand, "broadcast")
    if inner is not None:
        source = inner.operands[0]
        where = [permutation.index(d) for d in ints(inner, "dimensions")]
        order = sorted(range(len(where)), key=lambda i: where[i])
        positions = [where[i] for i in order]
        return e.broadcast(e.transpose(source, order), shape(op.results[0]), positions)
    return None


ELEMENTWISE = tuple(
    f"hlo.{name}"
    for name in (
        "abs cbrt ceil cosine erf exponential exponential_minus_one floor is_finite log "
        "log_plus_one logistic negate not popcnt count_leading_zeros round_nearest_afz "
        "round_nearest_even rsqrt "
        "sign sine sqrt tan tanh convert bitcast_convert reduce_precision add atan2 divide maximum "
        "minimum multiply power remainder subtract and or xor shift_left shift_right_arithmetic "
        "shift_right_logical compare select clamp"
    ).split()
)


_VIEWS = ("hlo.reshape", "hlo.broadcast")


def sink(op: Operation, e: Emitter) -> SSAValue | None:
    """Sink reshapes and broadcasts below elementwise ops.

    f(reshape(a), reshape(b), c) -> reshape(f(a, b, c)) for reshapes that only move size-1
    dimensions, and f(broadcast(a), c) -> broadcast(f(a, c)), where c is uniform.
    """
    for first in op.operands:
        if splat(first) is None:
            break
    else:
        return _all_splats(op, e)
    outer = first.op if isinstance(first, OpResult) else None
    if outer is None or outer.name not in _VIEWS:
        return None
    opcode = outer.name.removeprefix("hlo.")
    source, result = outer.operands[0], op.results[0]
    if opcode == "reshape":
        if not same_but_ones(shape(source), shape(first)):
            return None
    elif size(source) >= size(first) or size(source) == 1:
        return None
    if shape(result) != shape(first) or shape(result) == () or shape(source) == ():
        return None
    operands: list[SSAValue] = []
    for value in op.operands:
        inner = producer(value, opcode)
        if splat(value) is not None:
            operands.append(_splat_at(value, shape(source), e))
        elif inner is not None and _same_view(inner, outer):
            operands.append(inner.operands[0])
        else:
            return None
    small = e.like(op, operands, tensor(shape(source), element(result)))
    if opcode == "reshape":
        return e.reshape(small, shape(result))
    return e.broadcast(small, shape(result), ints(outer, "dimensions"))


def _all_splats(op: Operation, e: Emitter) -> SSAValue | None:
    """f(c, d) of uniform operands -> broadcast of a scalar f(c, d)."""
    result = op.results[0]
    if shape(result) == ():
        return None
    if op.name == "hlo.bitcast_convert" and shape(result) != shape(op.operands[0]):
        return None  # an element becomes several, or several become one
    operands = [_splat_at(v, (), e) for v in op.operands]
    return e.broadcast(e.like(op, operands, tensor((), element(result))), shape(result), ())


def _same_view(a: Operation, b: Operation) -> bool:
    return shape(a.operands[0]) == shape(b.operands[0]) and (
        ints(a, "dimensions") == ints(b, "dimensions")
    )


def _splat_at(value: SSAValue, dims: Sequence[int], e: Emitter) -> SSAValue:
    number = splat(value)
    if number is None:
        raise ValueError("the value is not a splat")
    if shape(value) == ():  # a scalar (or a predicate or bound that applies to all elements)
        return value
    scalar = value
    while True:
        inner = producer(scalar, "broadcast")
        if inner is None or shape(inner.operands[0]) != ():
            break
        scalar = inner.operands[0]
    if shape(scalar) != ():
        scalar = e.scalar(number, element(value))
    return e.broadcast(scalar, dims, ())


RULES: dict[str, tuple[Rule, ...]] = {
    "hlo.reshape": (reshape,),
    "hlo.broadcast": (broadcast,),
    "hlo.transpose": (transpose,),
    **{name: (sink,) for name in ELEMENTWISE},
}
