"""Build products of matrices: numpy's matmul, dots by dimension, einsum."""

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import broadcast_shape, broadcast_to, need_one_type
from neuronir.frontends.graph.reductions import total
from neuronir.passes.hlo.support.values import shape


def dot(
    b: BlockBuilder,
    lhs: SSAValue,
    rhs: SSAValue,
    contracting: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> SSAValue:
    """Build hlo.dot; the result dimensions are the batch, lhs's free and rhs's free ones."""
    need_one_type(lhs, rhs)
    return b.op(
        "dot",
        [lhs, rhs],
        lhs_batch_dims=batch[0],
        rhs_batch_dims=batch[1],
        lhs_contracting_dims=contracting[0],
        rhs_contracting_dims=contracting[1],
    )


def matmul(
    b: BlockBuilder,
    lhs: SSAValue,
    rhs: SSAValue,
    *,
    transpose_lhs: bool = False,
    transpose_rhs: bool = False,
) -> SSAValue:
    """Build numpy.matmul: multiply the last two dimensions and broadcast the others.

    A vector is a row on the left and a column on the right. `transpose_*` swap the last two
    dimensions.
    """
    left, right = shape(lhs), shape(rhs)
    if not left or not right:
        refuse("a matrix product needs operands of rank 1 at least")
    if len(left) == 1 and not transpose_lhs:
        row = matmul(b, b.reshape(lhs, (1, *left)), rhs, transpose_rhs=transpose_rhs)
        return _drop(b, row, -1 if len(right) == 1 else -2)
    if len(right) == 1 and not transpose_rhs:
        return _drop(
            b, matmul(b, lhs, b.reshape(rhs, (*right, 1)), transpose_lhs=transpose_lhs), -1
        )
    inner_left = len(left) - (2 if transpose_lhs else 1)
    inner_right = len(right) - (1 if transpose_rhs else 2)
    if left[inner_left] != right[inner_right]:
        refuse(
            f"matrices of shapes {list(left)} and {list(right)} do not multiply: "
            f"{left[inner_left]} and {right[inner_right]} must be equal"
        )
    if len(right) == 2 and not transpose_lhs:
        # One weight for all batches: a single product of all rows.
        return dot(b, lhs, rhs, ([inner_left], [inner_right]))
    outer = broadcast_shape(left[:-2], right[:-2])
    lhs = broadcast_to(b, lhs, (*outer, *left[-2:]))
    rhs = broadcast_to(b, rhs, (*outer, *right[-2:]))
    n = len(outer)
    contracting = ([n if transpose_lhs else n + 1], [n + 1 if transpose_rhs else n])
    return dot(b, lhs, rhs, contracting, (range(n), range(n)))


def _drop(b: BlockBuilder, value: SSAValue, axis: int) -> SSAValue:
    dims = list(shape(value))
    del dims[axis]
    return b.reshape(value, dims)


def einsum(b: BlockBuilder, equation: str, operands: Sequence[SSAValue]) -> SSAValue:
    """Build an Einstein summation with letters and `...`, contracted from left to right.

    A letter that appears twice in one operand takes the diagonal.
    """
    terms, result = _terms(equation.replace(" ", ""), [len(shape(v)) for v in operands])
    diagonals = [_diagonal(b, v, t) for v, t in zip(operands, terms, strict=True)]
    values = [_spread(b, v, t) for v, t in diagonals]
    value, term = values[0]
    for i, (other, other_term) in enumerate(values[1:], start=1):
        later = "".join(t for _, t in values[i + 1 :]) + result
        value, term = _contract(b, value, term, other, other_term, later)
    gone = [d for d, letter in enumerate(term) if letter not in result]
    value = total(b, value, gone)
    term = "".join(letter for letter in term if letter in result)
    present = [letter for letter in result if letter in term]
    value = b.transpose(value, [term.index(letter) for letter in present])
    sizes = dict(zip(present, shape(value), strict=True))
    return b.reshape(value, [sizes.get(letter, 1) for letter in result])


def _terms(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Return the letters of each operand and the result; `...` becomes upper-case digits."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        refuse(f"einsum '{equation}' has {len(terms)} terms for {len(ranks)} operands")
    widest = 0
    out: list[str] = []
    for term, rank in zip(terms, ranks, strict=True):
        extra = rank - len(term.replace("...", ""))
        if extra < 0 or (extra and "..." not in term):
            refuse(f"einsum '{equation}': term '{term}' does not fit an operand of rank {rank}")
        widest = max(widest, extra)
        out.append(term.replace("...", _ellipsis(extra)))
    if arrow:
        result = right.replace("...", _ellipsis(widest))
    else:
        letters = "".join(out)
        once = sorted(c for c in set(letters) if letters.count(c) == 1 and ord(c) < 256)
        result = _ellipsis(widest) + "".join(once)
    if not set(result) <= set("".join(out)) or len(set(result)) != len(result):
        refuse(f"einsum '{equation}': the result must name each dimension once")
    return out, result


def _ellipsis(count: int) -> str:
    """Return non-ASCII letters for the dimensions of `...`, aligned at the last dimension."""
    return "".join(chr(0x1000 - n) for n in range(count, 0, -1))


def _diagonal(b: BlockBuilder, value: SSAValue, term: str) -> tuple[SSAValue, str]:
    """Reduce a value to one dimension for each letter; off-diagonal elements are dropped."""
    while (twice := next((d for d, c in enumerate(term) if term.index(c) != d), None)) is not None:
        first, dims = term.index(term[twice]), shape(value)
        if dims[first] != dims[twice]:
            refuse(f"einsum: dimension '{term[twice]}' has sizes {dims[first]} and {dims[twice]}")
        on = b.compare(b.iota(dims, first, i32), b.iota(dims, twice, i32), "EQ")
        value = total(b, b.select(on, value, b.fill_like(0, value)), [twice])
        term = _remove(term, [twice])
    return value, term


def _spread(b: BlockBuilder, value: SSAValue, term: str) -> tuple[SSAValue, str]:
    """Drop the dimensions of size 1 of an ellipsis, which broadcast."""
    dims = shape(value)
    kept = [d for d, c in enumerate(term) if not (dims[d] == 1 and ord(c) > 255)]
    return b.reshape(value, [dims[d] for d in kept]), "".join(term[d] for d in kept)


def _contract(
    b: BlockBuilder, lhs: SSAValue, left: str, rhs: SSAValue, right: str, later: str
) -> tuple[SSAValue, str]:
    """Multiply two operands and sum over the letters that later operands and the result do not
    use.
    """
    gone_left = [d for d, c in enumerate(left) if c not in right and c not in later]
    gone_right = [d for d, c in enumerate(right) if c not in left and c not in later]
    lhs, left = total(b, lhs, gone_left), _remove(left, gone_left)
    rhs, right = total(b, rhs, gone_right), _remove(right, gone_right)
    both = [c for c in left if c in right]
    batch = [c for c in both if c in later]
    inner = [c for c in both if c not in later]
    value = dot(
        b,
        lhs,
        rhs,
        ([left.index(c) for c in inner], [right.index(c) for c in inner]),
        ([left.index(c) for c in batch], [right.index(c) for c in batch]),
    )
    free = [c for c in left if c not in both] + [c for c in right if c not in both]
    return value, "".join(batch + free)


def _remove(term: str, places: Sequence[int]) -> str:
    return "".join(c for d, c in enumerate(term) if d not in set(places))
