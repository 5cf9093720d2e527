"""Reduce over partitions: sums by a product, others by transposes."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from math import prod

import numpy as np
from xdsl.ir import Operation

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.views import Dim, chunks, numbers_of, packed, plan
from neuronir.passes.tile.layouts.plans import kept_and_reduced
from neuronir.passes.tile.lower.memory import target_type
from neuronir.passes.tile.lower.state import Lower

MAX_DIMS = 3
"""Free dimensions of an operand of a product."""


def _ones(state: Lower, op: Operation, form: Form, wide: int, dtype: DType) -> View:
    """Return the matrix whose product with a copy sums the partitions that are reduced together."""
    rows, groups = form.partitions, _groups(op, form)
    same = (groups[:, None] == np.resize(groups, wide)[None, :]).astype(dtype.numpy)
    name = f"same.{dtype.name}.{rows}.{wide}.{sha256(same.tobytes()).hexdigest()[:16]}"
    ones, base = state.constants.keep(name, same, dtype)
    return View(ones, 0, rows, ((1, wide),), base, (), 0, dtype.name.lower())


LEAST_WEIGHT = 0.5
"""The weight of a ns of PE, which has little work: the following instructions wait for the sum."""
MOST_SUMMED = 512
"""Limit of free positions that a product sums with the partitions."""


def add_on_pe(
    state: Lower, op: Operation, form: Form, inside: Sequence[Dim], partial: Form, out: Form
) -> bool:
    """Sum over partitions and the free digits `inside` by products that accumulate in PSUM.

    Returns False, without effect, if DVE has time to add up the free digits.
    """
    dtype, m = target_type(form), state.machine
    count = prod(d.size for d in inside)
    walk = plan([partial, form], [a for a, _ in partial.free])
    if walk is None or not 1 < count <= MOST_SUMMED or dtype not in (DType.F32, DType.BF16):
        return False
    if dtype.name not in m.matmul_dtypes:
        return False
    kept, bank = prod(d.size for d in walk), m.psum_bank_bytes // 4
    passes = m.fp32_passes if dtype is DType.F32 else 1
    columns = -(-kept // bank) * m.matmul_overhead_cycles + max(kept, m.matmul_min_cycles)
    pe = max(state.loads.pe, LEAST_WEIGHT) * count * columns * passes / m.pe_ghz
    apart = min(d.strides[0] for d in inside) * dtype.size > m.strided_access_bytes
    vector = (
        state.loads.vector * count * kept * (m.strided_access_factor if apart else 1.0) / m.dve_ghz
    )
    if pe >= vector:
        return False
    wide = out.partitions
    stationary = _ones(state, op, form, wide, dtype)
    for chunk in chunks(walk, form.partitions, MAX_DIMS, m.psum_bank_bytes // 4):
        psum = state.psum(wide, chunk.elements)
        for k, number in enumerate(numbers_of([d.atom for d in inside])):
            at = replace(chunk, number=chunk.number + number)
            state.emitter.matmul(psum, stationary, at.view(form, 1), k > 0)
        first = chunk.view(partial, 0).offset - partial.offset
        state.emitter.copy(_columns_of(out, wide, first, chunk.elements), psum)
    return True


def add_partitions(state: Lower, op: Operation, partial: Form, out: Form, alu: AluOp) -> None:
    """Sum over partitions by a product with ones, which leaves the sums on all partitions."""
    rows, wide = partial.partitions, out.partitions
    stationary = _ones(state, op, partial, wide, DType.F32)
    bank = state.machine.psum_bank_bytes // 4
    for first, count in _columns(partial, bank):
        psum = state.psum(wide, count)
        moving = View(partial.buffer, 0, rows, ((1, count),), first)
        state.emitter.matmul(psum, stationary, moving, False)
        state.emitter.copy(_columns_of(out, wide, first, count), psum)


def turn_partitions(state: Lower, op: Operation, partial: Form, out: Form, alu: AluOp) -> None:
    """Reduce over partitions by transposes: maxima, minima, and sums where PE does not take fp32.

    The operand is transposed to the free axis, reduced, and broadcast back to all partitions.
    """
    rows, wide, m = partial.partitions, out.partitions, state.machine
    kept, reduced = kept_and_reduced(op, partial.partition)
    for first, count in _columns(partial, m.partitions):
        turned = _turn(state, View(partial.buffer, 0, rows, ((1, count),), first), count, rows)
        least = state.emitter.sbuf(count, prod(n for n, _ in kept) or 1, DType.F32)
        source = replace(turned, free=tuple((s, n) for n, s in (*kept, *reduced)))
        result = View(least, 0, count, packed([n for n, _ in kept]))
        params = {"op": alu, "axes": len(reduced)}
        state.emitter.emit("tensor_reduce", [result], [source], params, Engine.DVE)
        order = _order(partial, kept, reduced, wide)
        if any(stride == 0 for stride, _ in order) or len(order) > 1:
            again = prod(n for _, n in order)
            copied = state.emitter.sbuf(count, again, DType.F32)
            state.emitter.copy(
                View(copied, 0, count, packed([n for _, n in order])),
                View(least, 0, count, tuple(order)),
            )
            least = copied
        back = _turn(state, View(least, 0, count, ((1, wide),)), wide, count)
        state.emitter.copy(_columns_of(out, wide, first, count), back)


def _turn(state: Lower, source: View, wide: int, rows: int) -> View:
    """Transpose with DVE, which keeps infinities: `rows` x `wide` becomes `wide` x `rows`."""
    buffer = state.emitter.sbuf(wide, rows, DType.F32)
    out = View(buffer, 0, wide, ((1, rows),))
    state.converter.transpose_blocks(out, source, wide, rows)
    return out


def _order(
    partial: Form, kept: list[tuple[int, int]], reduced: list[tuple[int, int]], wide: int
) -> list[tuple[int, int]]:
    """Return (stride, size) dims that read the reduced values once for each of at least `wide`
    partitions, in order: those of `partial`, again and again.
    """
    if not kept:
        return [(0, wide)]
    dense = [s for s, _ in packed([n for n, _ in kept])]
    strides = dict(zip([s for _, s in kept], dense, strict=True))
    dims = [(strides[s], n) for n, s in kept] + [(0, n) for n, _ in reduced]
    steps = [s for _, s in (*kept, *reduced)]
    order = [d for _, d in sorted(zip(steps, dims, strict=True), key=lambda p: -p[0])]
    times = -(-wide // partial.partitions)
    return order if times == 1 else [(0, times), *order]


def _groups(op: Operation, partial: Form) -> np.ndarray:
    """Return a number for each partition: equal ones are reduced together."""
    kept, _ = kept_and_reduced(op, partial.partition)
    numbers = np.zeros(partial.partitions, np.int64)
    p = np.arange(partial.partitions)
    scale = 1
    for n, step in kept:
        numbers += p // step % n * scale
        scale *= n
    return numbers


def _columns(partial: Form, most: int) -> list[tuple[int, int]]:
    """Return (first, count) of the pieces of the free axis."""
    total = max(1, partial.elements)
    return [(first, min(most, total - first)) for first in range(0, total, most)]


def _columns_of(out: Form, rows: int, first: int, count: int) -> View:
    return View(out.buffer, out.start, rows, ((1, count),), out.offset + first, out.indices)
