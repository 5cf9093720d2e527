"""Recognise scan networks: slices, products and sums that compute a recurrence in log(n) steps.

The analysis tracks which steps of the recurrence each row of every value combines. If row t of the
result combines all steps up to t, the network is a recurrence. The construction (odd and even rows,
doubling, any length) does not matter.
"""

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from neuronir.passes.hlo.composites.region import cut, wrap
from neuronir.passes.hlo.recurrences.composite import KIND, params_of
from neuronir.passes.hlo.support.values import integer, ints, is_single, is_splat_of, shape

Label = tuple[str, int, int, int] | None
"""The label of a row:

("", 0, 0, 0) is zero; ("a", i, j, 0) is the product of a[i] to a[j]; ("b", i, j, 0) is the
recurrence over i to j; ("ab", i, j, k) is the latter times the product of a[j+1] to a[k]; None is
anything else.
"""

ZERO = ("", 0, 0, 0)
LEAST = 16
"""Minimum rows for which a recurrence is worth an instruction."""


def find_prefixes(block: Block) -> int:
    """Outline the networks of a block as composites and return their number."""
    count = 0
    for op in reversed(list(block.ops)):
        if op.parent is block and op.name == "hlo.add":
            along = _interleaved(op)
            if along is not None and _found(op, along):
                count += 1
    return count


def _interleaved(op: Operation) -> int | None:
    """Return the dimension along which a sum interleaves rows; None for other sums."""
    dims: set[int] = set()
    for v in op.operands:
        pad = v.owner
        if not isinstance(pad, Operation) or pad.name != "hlo.pad":
            return None
        dims |= {d for d, n in enumerate(ints(pad, "interior_padding")) if n}
    if len(dims) != 1:
        return None
    (along,) = dims
    return along if shape(op.results[0])[along] >= LEAST else None


def interleaves(op: Operation) -> bool:
    """Return whether an op may be the result of a network."""
    return op.name == "hlo.add" and _interleaved(op) is not None


def _found(op: Operation, along: int) -> bool:
    """Outline the network whose result is a sum, and return whether there was one."""
    root = op.results[0]
    if not is_single(root):
        return False
    leaves = _leaves(root, along)
    if leaves is None or len(leaves) != 2:
        return False
    for a, b in (leaves, tuple(reversed(leaves))):
        labels = _Labels(a, b, along).of(root)
        if labels is None or any(x != ("b", 0, t, 0) for t, x in enumerate(labels)):
            continue
        part = cut(root, [a, b])
        if part is None:
            return False
        wrap(part, KIND, params_of("linear", along, backwards=False))
        return True
    return False


def _leaves(root: SSAValue, along: int) -> tuple[SSAValue, ...] | None:
    """Return the arrays, as long as the result, of which the network reads slices."""
    length = shape(root)[along]
    found: dict[SSAValue, None] = {}
    seen: set[SSAValue] = {root}
    work = [root]
    while work:
        op = work.pop().owner
        if not isinstance(op, Operation) or op.name not in _STEPS:
            return None
        for v in op.operands:
            if not shape(v):
                continue
            if op.name == "hlo.slice" and shape(v)[along] == length:
                found[v] = None
            elif v not in seen:
                seen.add(v)
                work.append(v)
    return tuple(found)


class _Labels:
    """Labels the rows of values along a dimension of arrays `a` and `b`."""

    def __init__(self, a: SSAValue, b: SSAValue, along: int) -> None:
        self.along = along
        n = shape(a)[along]
        self.known: dict[SSAValue, list[Label] | None] = {
            a: [("a", t, t, 0) for t in range(n)],
            b: [("b", t, t, 0) for t in range(n)],
        }

    def of(self, root: SSAValue) -> list[Label] | None:
        """Return the labels of a value; None if it does not belong to a network."""
        work = [root]
        while work:
            value = work[-1]
            if value in self.known:
                work.pop()
                continue
            op = value.owner
            assert isinstance(op, Operation)  # _leaves would have found it
            missing = [v for v in op.operands if shape(v) and v not in self.known]
            if missing:
                work += missing
                continue
            self.known[value] = self._step(op)
            work.pop()
        return self.known[root]

    def _step(self, op: Operation) -> list[Label] | None:
        rows = [self.known[v] for v in op.operands if shape(v)]
        known = [r for r in rows if r is not None]
        if len(known) != len(rows):
            return None
        return _STEPS[op.name](self, op, known)

    def moves_along(self, op: Operation, names: Sequence[str], neutral: int) -> bool:
        """Return whether an op only moves rows along the dimension."""
        return all(
            n == neutral or d == self.along for name in names for d, n in enumerate(ints(op, name))
        )


def _slice(labels: _Labels, op: Operation, rows: list[list[Label]]) -> list[Label] | None:
    d = labels.along
    source, result = shape(op.operands[0]), shape(op.results[0])
    if any(m != n for k, (m, n) in enumerate(zip(source, result, strict=True)) if k != d):
        return None
    start, limit, step = (ints(op, n)[d] for n in ("start_indices", "limit_indices", "strides"))
    return rows[0][start:limit:step]


def _pad(labels: _Labels, op: Operation, rows: list[list[Label]]) -> list[Label] | None:
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    if not labels.moves_along(op, names, 0) or not is_splat_of(op.operands[1], 0.0):
        return None
    low, high, inner = (ints(op, n)[labels.along] for n in names)
    if low < 0 or high < 0:
        return None
    out: list[Label] = [ZERO] * low
    for k, label in enumerate(rows[0]):
        out += [ZERO] * inner if k else []
        out.append(label)
    return [*out, *[ZERO] * high]


def _concatenate(labels: _Labels, op: Operation, rows: list[list[Label]]) -> list[Label] | None:
    if integer(op, "dimension") != labels.along:
        return None
    return [label for row in rows for label in row]


def _by_rows(
    combine: Callable[[Label, Label], Label],
) -> Callable[[_Labels, Operation, list[list[Label]]], list[Label] | None]:
    def step(labels: _Labels, op: Operation, rows: list[list[Label]]) -> list[Label] | None:
        found = [combine(x, y) or combine(y, x) for x, y in zip(*rows, strict=True)]
        return None if None in found else found

    return step


def _product(x: Label, y: Label) -> Label:
    """Label the product of earlier steps `x` and the product of the steps right after them."""
    if x is None or y is None or y[0] != "a" or x[2] + 1 != y[1]:
        return None
    if x[0] == "a":
        return "a", x[1], y[2], 0
    return ("ab", x[1], x[2], y[2]) if x[0] == "b" else None


def _sum(x: Label, y: Label) -> Label:
    """Label the sum of earlier steps, carried on to the end of `y`, and `y`."""
    if x is None or y is None:
        return None
    if x == ZERO:
        return y
    joins = x[0] == "ab" and y[0] == "b" and y[1] == x[2] + 1 and y[2] == x[3]
    return ("b", x[1], y[2], 0) if joins else None


_STEPS: dict[str, Callable[[_Labels, Operation, list[list[Label]]], list[Label] | None]] = {
    "hlo.slice": _slice,
    "hlo.pad": _pad,
    "hlo.concatenate": _concatenate,
    "hlo.multiply": _by_rows(_product),
    "hlo.add": _by_rows(_sum),
}
