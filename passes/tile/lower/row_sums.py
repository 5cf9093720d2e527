"""Find reductions that an instruction can perform along the free axis beside its own work."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.tile.rules import combiner, shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    parts_of,
    row_major,
    span,
    split_at,
)
from neuronir.passes.tile.layouts.maps import repeated
from neuronir.passes.tile.layouts.short_rows import least_sum
from neuronir.passes.tile.lower.state import Lower
from neuronir.passes.tile.numbers import number_of


def kept_dims(op: Operation) -> list[int]:
    """Return the dimensions of a reduction's operand that are dimensions of its result."""
    reduced = ints(op, "dimensions")
    return [d for d in range(len(shape_of(op.operands[0]))) if d not in reduced]


def seen_from_operand(op: Operation, form: Form) -> Form:
    """Return the copy of a reduction's result, numbered like its operand."""
    return seen_from(shape_of(op.operands[0]), shape_of(op.results[0]), kept_dims(op), form)


def seen_from(
    source: Sequence[int], result: Sequence[int], kept: Sequence[int], form: Form
) -> Form:
    """Return the copy of a value of shape `result`, numbered like `source`.

    Its dimensions are dimensions `kept` of `source`.
    """
    old, new = row_major(source), row_major(result)
    cuts = {c for s, n in zip(new, result, strict=True) for c in (s, s * n)}
    groups: list[list[tuple[Atom, int]]] = [[], []]
    again: list[tuple[int, int]] = []
    for group, pairs in zip(groups, (form.partition, form.free), strict=True):
        for whole, step in pairs:
            if whole.stride >= max(1, prod(result)):
                again.append((whole.size, step))
                continue
            for a in parts_of(whole, cuts):
                d = next(
                    i
                    for i, (s, n) in enumerate(zip(new, result, strict=True))
                    if n > 1 and s <= a.stride < s * n
                )
                renamed = atom(a.size, a.stride // new[d] * old[kept[d]])
                group.append((renamed, step * (a.stride // whole.stride)))
    partition = (*groups[0], *repeated(again, prod(source)))
    return replace(form, partition=partition, free=tuple(groups[1]))


def reduced_axes(op: Operation) -> list[Atom]:
    """Return the digits of the operand that are reduced."""
    source = shape_of(op.operands[0])
    strides = row_major(source)
    return [atom(source[d], strides[d]) for d in ints(op, "dimensions") if source[d] > 1]


def split_free(op: Operation, form: Form) -> tuple[list[Atom], list[Atom]]:
    """Split the free digits of an operand's copy into kept and reduced ones."""
    axes = reduced_axes(op)
    cuts = {c for a in axes for c in (a.stride, a.end)}
    outer: list[Atom] = []
    inner: list[Atom] = []
    for whole, _ in form.free:
        for a in split_at(whole, cuts) or (whole,):
            inside = any(x.stride <= a.stride and a.end <= x.end for x in axes)
            (inner if inside else outer).append(a)
    return outer, inner


def reduced_free(op: Operation, form: Form) -> list[Atom]:
    """Return reduced digits that are not on partitions, including those along which a copy
    repeats.
    """
    cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
    return [
        a for axis in reduced_axes(op) for a in split_at(axis, cuts) or (axis,) if not form.step(a)
    ]


def sums_rows(state: Lower, op: Operation, value: SSAValue, out: Form) -> bool:
    """Return whether `op` sums all of the innermost free digits of a value in the layout of
    `out`.
    """
    if op.name != "hlo.reduce" or op.operands[0] is not value or combiner(op) != "hlo.add":
        return False
    if number_of(op.operands[1]) != 0.0 or state.dtype(op.results[0]) is not DType.F32:
        return False
    axes = reduced_axes(op)
    if any(a.stride < x.end and x.stride < a.end for a, _ in out.partition for x in axes):
        return False
    if span(state.place(op.results[0]).partition) != out.partitions:
        return False  # the sums are repeated on other partitions than the elements
    outer, inner = split_free(op, out)
    row = prod(a.size for a in inner)
    if not inner or row > state.machine.max_free_psum:
        return False
    # DVE sums many short rows in less time than ACT needs to start an instruction for each
    if outer and row < least_sum(value, state.machine):
        return False
    strides = [out.whole_stride(a) for a in inner]
    return max(strides) < min([out.whole_stride(a) for a in outer], default=1 << 60)


def sums_beside(state: Lower, op: Operation) -> Operation | None:
    """Return the reduction that ACT can perform: a sum of exactly the innermost free digits."""
    result = op.results[0]
    if state.dtype(result) is not DType.F32:
        return None
    form = state.place(result).form(result, prod(shape_of(result)))
    users = (use.operation for use in result.uses)
    return next((user for user in users if sums_rows(state, user, result, form)), None)


def row_sums(state: Lower, op: Operation) -> Form:
    """Return the destination of the sums of a reduction."""
    form = state.allocate(op.results[0])
    state.done.add(op)
    state.set(op.results[0], form)
    return seen_from_operand(op, form)
