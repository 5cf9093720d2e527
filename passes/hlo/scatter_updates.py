"""Apply updates of a scatter without computed addresses: windows in turn, or rows by ones."""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import Operation, SSAValue

from neuronir.passes.hlo.decompositions.scatter_windows import window_sizes, windows_of
from neuronir.passes.hlo.gather_to_dot import looked_up
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.index_vectors import bounded, component
from neuronir.passes.hlo.support.shifts import covered, part, placed
from neuronir.passes.hlo.support.values import element, integer, ints, shape, tensor

_AT_ONCE = 1 << 17
"""Limit of masked elements: 32 KiB of fp32 in each partition, if only 16 have rows."""
_OF_FLAGS = {"maximum": "or", "minimum": "and"}


def windows_in_turn(
    op: Operation, moved: Sequence[int], opcode: str | None, e: Emitter
) -> SSAValue:
    """Apply the windows of a scatter one after another; `opcode` None overwrites.

    Each is moved to its position as a dynamic update is (hlo-select-slices).
    """
    old, indices, _ = op.operands
    dims, sizes = shape(old), window_sizes(op)
    windows, first = windows_of(op, e)
    count = prod(shape(windows)[:first])
    windows = e.reshape(windows, (count, *sizes))
    mapped, vector_dim = ints(op, "scatter_dims_to_operand_dims"), integer(op, "index_vector_dim")
    chosen = {
        d: e.convert(component(e, indices, vector_dim, k, ()), f32) for k, d in enumerate(mapped)
    }
    zero = e.scalar(0, f32)
    for k in range(count):
        at = {d: e.reshape(e.slice(number, [k], [k + 1]), ()) for d, number in chosen.items()}
        limits = {d: dims[d] - sizes[d] for d in at}
        inside: SSAValue = e.fill(1, tensor((), i1))
        for d, start in at.items():
            for direction, limit in (("GE", 0), ("LE", limits[d])):
                inside = e.binary("and", inside, e.compare_number(start, limit, direction))
        starts = {d: bounded(e, at[d], limits[d], f32) if d in at else zero for d in moved}
        window = e.reshape(e.slice(windows, [k] + [0] * len(dims), [k + 1, *sizes]), sizes)
        for d in sorted(moved, key=lambda d: dims[d] / sizes[d]):  # what adds most, last
            window = placed(e, window, d, starts[d], dims[d])
        where = e.binary("and", covered(e, dims, starts, sizes), e.broadcast(inside, dims, ()))
        new = window if opcode is None else e.binary(opcode, old, window)
        old = e.select(where, new, old)
    return old


def last_of_each(e: Emitter, old: SSAValue, hits: SSAValue, new: SSAValue) -> SSAValue:
    """Overwrite rows [..., m, d] by the last update [..., n, d] that hits them: [..., n, m]."""
    dims, axis = shape(hits), len(shape(hits)) - 2
    order = e.iota(dims, axis, f32)
    last = e.reduce(e.select(hits, order, e.fill_like(-1, order)), -1, [axis], "maximum")
    found = e.convert(looked_up(e, new, last), element(old))
    where = e.compare_number(last, 0, "GE")
    return e.select(e.broadcast(where, shape(old), range(axis + 1)), found, old)


def masked(e: Emitter, old: SSAValue, hits: SSAValue, new: SSAValue, opcode: str) -> SSAValue:
    """Combine rows [..., m, d] with all updates [..., n, d] that hit them: [..., n, m].

    So many updates at a time that all pairs of one and an element of a row have `_AT_ONCE`.
    """
    if element(old) == i1:
        opcode = _OF_FLAGS.get(opcode, opcode)
    neutral = neutral_element(opcode, element(old))
    assert neutral is not None
    *outer, count, rows = shape(hits)
    k, width = len(outer), shape(new)[-1]
    step = max(1, _AT_ONCE // prod((*outer, rows, width)))
    for first in range(0, count, step):
        some = min(step, count - first)
        wide = (*outer, some, rows, width)
        own = e.select(
            e.broadcast(part(hits, k, first, first + some, e), wide, range(k + 2)),
            e.broadcast(part(new, k, first, first + some, e), wide, [*range(k + 1), k + 2]),
            e.fill(neutral, tensor(wide, element(new))),
        )
        old = e.binary(opcode, old, e.reduce(own, neutral, [k], opcode))
    return old
