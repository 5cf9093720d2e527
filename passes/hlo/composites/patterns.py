"""Provide small matchers for the recognisers: reductions, broadcasts, means, factors."""

from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.semantics.numeric import NARROW_FLOATS
from neuronir.passes.hlo.support.build import reducer_opcode
from neuronir.passes.hlo.support.shapes import same_but_ones
from neuronir.passes.hlo.support.values import (
    ints,
    is_splat_of,
    is_tensor,
    producer,
    shape,
    splat,
)


def strip_reshape(value: SSAValue) -> SSAValue:
    """Return the value before reshapes that only move dimensions of size 1."""
    while (op := producer(value, "reshape")) is not None:
        if not same_but_ones(shape(value), shape(op.operands[0])):
            break
        value = op.operands[0]
    return value


@dataclass(frozen=True)
class Spread:
    """A broadcast of `value`, whose dimensions (not of size 1) map to `dims`."""

    value: SSAValue
    dims: tuple[int, ...]


def spread(value: SSAValue) -> Spread:
    """Return the operand of a broadcast and its dimensions; for other values, all dimensions."""
    op = producer(value, "broadcast")
    if op is None:
        return Spread(value, tuple(range(len(shape(value)))))
    source = op.operands[0]
    positions = ints(op, "dimensions")
    wide = shape(value)
    kept = tuple(d for d, n in zip(positions, shape(source), strict=True) if n != 1 or wide[d] != 1)
    return Spread(strip_reshape(source), kept)


@dataclass(frozen=True)
class Reduction:
    """A reduction of `operand` over `dims` with `opcode`, starting from `init`."""

    operand: SSAValue
    dims: tuple[int, ...]
    opcode: str
    init: SSAValue


def reduction(value: SSAValue) -> Reduction | None:
    """Match a single-input reduction, looking through reshapes of dimensions of size 1."""
    op = producer(strip_reshape(value), "reduce")
    if op is None or len(op.operands) != 2:
        return None
    opcode = reducer_opcode(op)
    if opcode is None:
        return None
    return Reduction(op.operands[0], ints(op, "dimensions"), opcode, op.operands[1])


def total(value: SSAValue) -> Reduction | None:
    """Match a sum that starts at zero."""
    found = reduction(value)
    if found is None or found.opcode != "add" or not is_splat_of(found.init, 0):
        return None
    return found


def mean(value: SSAValue) -> Reduction | None:
    """Match a sum divided by the number of its terms (or multiplied by the inverse)."""
    value = strip_reshape(value)
    for opcode, inverse in (("divide", False), ("multiply", True)):
        op = producer(value, opcode)
        if op is None:
            continue
        sides = [(op.operands[0], op.operands[1])]
        if inverse:
            sides.append((op.operands[1], op.operands[0]))
        for side, factor in sides:
            found, number = total(side), splat(factor)
            if found is None or number is None:
                continue
            count = prod(shape(found.operand)[d] for d in found.dims)
            if _is_near(number, 1.0 / count if inverse else float(count)):
                return found
    return None


def _is_near(number: Array, expected: float) -> bool:
    """Return whether a printed constant is a number rounded to its type: in 16 bits to the last
    bit, because 255 and 256 are neighbours in bf16.
    """
    if number.dtype in NARROW_FLOATS:
        return bool(number == np.asarray(expected, number.dtype))
    eps = {"float32": 2.0**-22, "float64": 2.0**-51}.get(number.dtype.name, 0.0)
    return abs(float(number) - expected) <= abs(expected) * eps


def fits(stat: Spread, dims: tuple[int, ...], rank_of: SSAValue) -> bool:
    """Return whether a broadcast statistic varies exactly along the dimensions that were kept."""
    kept = [d for d, n in enumerate(shape(rank_of)) if d not in set(dims) and n != 1]
    return [d for d in stat.dims if shape(rank_of)[d] != 1] == kept


@dataclass
class Factors:
    """A product: numerator and denominator factors, with constants folded separately."""

    above: list[SSAValue] = field(default_factory=list)
    below: list[SSAValue] = field(default_factory=list)


def factors(value: SSAValue) -> Factors:
    """Return the factors of a tree of multiplications and divisions over whole arrays.

    Inner products with several users are not expanded: they are factors themselves.
    """
    result = Factors()
    pending: list[tuple[SSAValue, bool, bool]] = [(value, True, True)]
    while pending:
        current, above, root = pending.pop()
        op = current.op if isinstance(current, OpResult) else None
        splits = op is not None and op.name in ("hlo.multiply", "hlo.divide")
        if op is None or not splits or not (root or current.has_one_use()):
            (result.above if above else result.below).append(current)
            continue
        lhs, rhs = op.operands
        pending.append((lhs, above, False))
        pending.append((rhs, above if op.name == "hlo.multiply" else not above, False))
    return result


def binary(value: SSAValue, opcode: str) -> tuple[SSAValue, SSAValue] | None:
    """Return the operands of a binary op with this opcode."""
    op: Operation | None = producer(value, opcode)
    return None if op is None or not is_tensor(value) else (op.operands[0], op.operands[1])
