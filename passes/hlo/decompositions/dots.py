"""Decompose dots that the tensor engine does not support directly.

These are batches of many tiny dots, dots of integers, and dots with operands of two types.
"""

from collections.abc import Callable
from functools import partial
from math import prod

from xdsl.dialects.builtin import bf16, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.dtypes import byte_size, is_float, is_integer
from neuronir.passes.hlo.decompositions.operands import of_one_type
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.ranges import integer_range
from neuronir.passes.hlo.support.values import element, ints, shape, tensor
from neuronir.passes.hlo.support.walk import Rule

TINY = 1024
"""Up to this many multiplications, a dot of a batch is computed elementwise.

A matmul takes at least about 165 PE cycles (59 ns), in which DVE does about 4,000 multiplications
and additions over 128 partitions.
"""
MANY = 32
"""From this batch size, that is worth the copies that align the operands."""
EXACT_SUM = 2**24
"""Integers below this are summed exactly in f32."""
_EXACT_FACTOR = 256
"""Integers up to this magnitude are exact in bf16."""

Exact = Callable[[SSAValue, SSAValue, int], SSAValue | None]
"""Returns the s32 product of two operands in bf16 whose products of elements are at most a number;
None if there are too many elements.
"""


def dot(op: Operation, e: Emitter) -> SSAValue | None:
    """Decompose dots of unsupported form.

    A batch of tiny dots becomes a multiplication and a sum. Integers become exact bf16 dots.
    Operands of f32 and a narrower type get one type.
    """
    if all(is_integer(element(v)) for v in op.operands) and is_integer(element(op.results[0])):
        return integer_products(op, partial(_exact, op, e), e)
    if not all(is_float(element(v)) for v in op.operands):
        return None
    lhs, rhs = op.operands
    free_l, free_r = (_free(op, side) for side in (0, 1))
    k = prod(shape(lhs)[d] for d in ints(op, "lhs_contracting_dims"))
    m = prod(shape(lhs)[d] for d in free_l)
    n = prod(shape(rhs)[d] for d in free_r)
    batch = prod(shape(lhs)[d] for d in ints(op, "lhs_batch_dims"))
    if batch < MANY or m * n * k > TINY:
        return of_one_type(op, e)
    return e.convert(_elementwise(op, e, f32), element(op.results[0]))


def _free(op: Operation, side: int) -> list[int]:
    name = ("lhs", "rhs")[side]
    taken = {*ints(op, f"{name}_batch_dims"), *ints(op, f"{name}_contracting_dims")}
    return [d for d in range(len(shape(op.operands[side]))) if d not in taken]


def _elementwise(op: Operation, e: Emitter, type_: Attribute) -> SSAValue:
    """Sum the products of both operands, broadcast over [batch, lhs, rhs, contracted]."""
    contracted = [ints(op, f"{name}_contracting_dims") for name in ("lhs", "rhs")]
    batches = [ints(op, f"{name}_batch_dims") for name in ("lhs", "rhs")]
    free = [_free(op, side) for side in (0, 1)]
    shapes = [shape(v) for v in op.operands]
    nb, nl, nr, nk = len(batches[0]), len(free[0]), len(free[1]), len(contracted[0])
    dims = [shapes[0][d] for d in (*batches[0], *free[0])]
    dims += [shapes[1][d] for d in free[1]]
    dims += [shapes[0][d] for d in contracted[0]]
    spread = []
    for side, value in enumerate(op.operands):
        place = {d: i for i, d in enumerate(batches[side])}
        place |= {d: nb + i + (nl if side else 0) for i, d in enumerate(free[side])}
        place |= {d: nb + nl + nr + i for i, d in enumerate(contracted[side])}
        order = sorted(place, key=lambda d: place[d])
        value = e.transpose(e.convert(value, type_), order)
        spread.append(e.broadcast(value, dims, sorted(place.values())))
    total = nb + nl + nr
    return e.reduce(e.binary("multiply", *spread), 0, range(total, total + nk), "add")


def integer_products(op: Operation, exact: Exact, e: Emitter) -> SSAValue | None:
    """Multiply digits that bf16 holds exactly, sum in f32 below 2^24, and combine modulo 2^32."""
    types = [element(v) for v in (*op.operands, op.results[0])]
    if any(byte_size(t) > 4 for t in types):
        return None
    digits = [_digits(e, v, byte_size(element(op.results[0]))) for v in op.operands]
    width = byte_size(element(op.results[0])) * 8
    total: SSAValue | None = None
    for i, (a, top_a) in enumerate(digits[0]):
        for j, (b, top_b) in enumerate(digits[1]):
            if 8 * (i + j) >= width:
                continue
            part = exact(a, b, top_a * top_b)
            if part is None:
                return None
            if i + j:
                part = e.binary_number("shift_left", part, 8 * (i + j))
            total = part if total is None else e.binary("add", total, part)
    assert total is not None
    result = element(op.results[0])
    return e.bitcast(total, result) if width == 32 else e.convert(total, result)


def _digits(e: Emitter, value: SSAValue, most: int) -> list[tuple[SSAValue, int]]:
    """Return (digit in bf16, largest magnitude), lowest first; digit k has weight 256^k.

    Values known to be small have one digit; other values are split into bytes modulo 256^`most`.
    """
    low, high = integer_range(value)
    top = max(-low, high)
    if top <= _EXACT_FACTOR:
        return [(e.convert(value, bf16), max(top, 1))]
    same = byte_size(element(value)) == 4
    word = e.bitcast(value, i32) if same else e.convert(value, i32)
    out: list[tuple[SSAValue, int]] = []
    for k in range(min(most, -(-high.bit_length() // 8) if low >= 0 else 4)):
        byte = e.binary_number("shift_right_logical", word, 8 * k) if k else word
        out.append((e.convert(e.binary_number("and", byte, 255), bf16), 255))
    return out


def _exact(op: Operation, e: Emitter, a: SSAValue, b: SSAValue, top: int) -> SSAValue:
    """Return the s32 dot of integers whose products are at most `top`.

    The contraction is split into pieces whose sums f32 holds exactly; the pieces are added as
    integers.
    """
    contracted = [ints(op, f"{name}_contracting_dims") for name in ("lhs", "rhs")]
    if not contracted[0]:
        return e.convert(_dot(op, e, a, b), i32)
    d = max(range(len(contracted[0])), key=lambda i: shape(a)[contracted[0][i]])
    n = shape(a)[contracted[0][d]]
    others = prod(shape(a)[c] for c in contracted[0]) // max(n, 1)
    step = max(1, (EXACT_SUM - 1) // (top * max(others, 1)))
    total: SSAValue | None = None
    for low in range(0, max(n, 1), step):
        pieces = []
        for value, dims in ((a, contracted[0]), (b, contracted[1])):
            starts, limits = [0] * len(shape(value)), list(shape(value))
            starts[dims[d]], limits[dims[d]] = low, min(low + step, n)
            pieces.append(e.slice(value, starts, limits))
        part = e.convert(_dot(op, e, *pieces), i32)
        total = part if total is None else e.binary("add", total, part)
    assert total is not None
    return total


def _dot(op: Operation, e: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    names = ("lhs_batch_dims", "rhs_batch_dims", "lhs_contracting_dims", "rhs_contracting_dims")
    properties = {name: i64_array(ints(op, name)) for name in names}
    return e.emit("dot", [a, b], tensor(shape(op.results[0]), f32), properties)


RULES: dict[str, Rule] = {"dot": dot}
