"""Multiply factors that vary along few dimensions before they are broadcast."""

from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.hlo.support.walk import erase_dead

SHARE = 8
"""Minimum elements of the scaled value for each element of the factors."""
MOST = 512
"""Limit of elements of the combined factors: a bank of PSUM, from which DVE reads a row that all
partitions share. Longer rows are better scaled with features on partitions, where each factor is a
scalar.
"""


def join_factors(op: Operation) -> None:
    """Rewrite (x * broadcast(r)) * broadcast(s) as x * broadcast(r * s).

    Both vary along few dimensions, and r is an inverse square root, as of a variance. Such a factor
    is small enough that the order of multiplication does not matter. A reshape of the product in
    between is allowed.
    """
    if op.name != "hlo.multiply" or not is_float(element(op.results[0])):
        return
    for i in (0, 1):
        outer, inner = op.operands[i].owner, op.operands[1 - i].owner
        if not isinstance(outer, Operation) or outer.name != "hlo.broadcast":
            continue
        reshape = inner if isinstance(inner, Operation) and inner.name == "hlo.reshape" else None
        if reshape is not None:
            inner = reshape.operands[0].owner
        if not isinstance(inner, Operation) or inner.name != "hlo.multiply":
            continue
        used = [inner, *([reshape] if reshape is not None else [])]
        if any(not o.results[0].has_one_use() for o in used):
            continue
        for j in (0, 1):
            first = inner.operands[j].owner
            if isinstance(first, Operation) and first.name == "hlo.broadcast" and _root(first):
                if _join(op, outer, first, inner.operands[1 - j]):
                    return


def _root(op: Operation) -> bool:
    """Return whether the broadcast value is an inverse square root."""
    value = op.operands[0].owner
    while isinstance(value, Operation) and value.name in ("hlo.reshape", "hlo.bitcast"):
        value = value.operands[0].owner
    return isinstance(value, Operation) and value.name == "hlo.rsqrt"


def _join(op: Operation, outer: Operation, first: Operation, value: SSAValue) -> bool:
    shape, seen = shape_of(value), shape_of(op.results[0])
    dims = _same_dims(shape, seen, _varied(outer))
    if dims is None:
        return False
    both = sorted({*dims, *_varied(first)})
    few = [shape[d] for d in both]
    if SHARE * prod(few) > prod(shape) or prod(few) > MOST:
        return False
    build = Emitter(op)
    factors = [
        _spread(build, source, few, [both.index(d) for d in mine])
        for source, mine in ((first.operands[0], _varied(first)), (outer.operands[0], dims))
    ]
    factor = build.binary("multiply", *factors)
    scaled = build.binary("multiply", value, build.broadcast(factor, shape, both))
    op.results[0].replace_all_uses_with(build.reshape(scaled, list(seen)))
    erase_dead(op)
    return True


def _varied(op: Operation) -> list[int]:
    """Return the dimensions along which a broadcast varies."""
    source = shape_of(op.operands[0])
    return [d for d, n in zip(ints(op, "dimensions"), source, strict=True) if n > 1]


def _spread(build: Emitter, value: SSAValue, shape: list[int], dims: list[int]) -> SSAValue:
    """Return a factor as an array of `shape`, in which it has the dimensions `dims`."""
    flat = build.reshape(value, [shape[d] for d in dims])
    return flat if len(dims) == len(shape) else build.broadcast(flat, shape, dims)


def _same_dims(
    before: tuple[int, ...], after: tuple[int, ...], dims: list[int]
) -> list[int] | None:
    """Map dimensions `dims` of the reshape `after` to dimensions of `before`.

    Returns None if one of them is joined with others, or is a part of one.
    """
    out: list[int] = []
    i = j = 0
    while i < len(before) and j < len(after):
        left, right, m, n = [i], [j], before[i], after[j]
        while m != n:
            if m < n:
                i += 1
                left.append(i)
                m *= before[i]
            else:
                j += 1
                right.append(j)
                n *= after[j]
        taken = {d in dims for d in right if after[d] > 1}
        if len(taken) > 1:
            return None
        if True in taken:
            out += [d for d in left if before[d] > 1]
        i, j = i + 1, j + 1
    return out
