"""Transpose: PE moves free atoms to partitions; DVE does it if infinities may be present."""

from collections.abc import Sequence
from dataclasses import replace

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.layouts.cover import elements_of, lies_whole, positions, remaining
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, dense, join, split_at
from neuronir.passes.lowering.layouts.values import Partition, Value
from neuronir.passes.lowering.layouts.views import numbers_of

DVE_BLOCK = 32
"""Rows and columns of a DVE transpose (docs/hardware.md section 2.4)."""


class Transposer:
    """Creates copies of on-chip values with other atoms on partitions."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.machine: Machine = emitter.machine

    def _transpose(self, value: Value, form: Form, wanted: Partition) -> Form | None:
        """Transpose with PE:

        `wanted` moves from the free axis to partitions, the old partition atoms back.
        """
        if not value.dtype.is_float or not wanted or value.dtype.size > 4:
            return None
        if space_of(form.buffer) is not Space.SBUF or form.start:
            return None
        if self._free_dims(form, wanted) is None:
            return None
        if sum((a.size - 1) * s for a, s in wanted) + 1 != positions(wanted):
            return None
        return self._transpose_tiles(value, form, wanted)

    def transpose_blocks(self, out: View, source: View, wide: int, rows: int) -> None:
        """Transpose with DVE in blocks of 32 x 32, which keep infinities and NaN in position.

        PE would multiply them by the zeros of the identity and spoil their neighbours. `out` has
        one free dimension.
        """
        side = DVE_BLOCK
        stride, ((across, _),) = source.free[0][0], out.free
        for i in range(0, rows, side):
            for j in range(0, wide, side):
                height, width = min(side, rows - i), min(side, wide - j)
                src = replace(
                    source,
                    start=source.start + i,
                    partitions=height,
                    free=((stride, width),),
                    offset=source.offset + j * stride,
                )
                dst = replace(
                    out,
                    start=out.start + j,
                    partitions=width,
                    free=((across, height),),
                    offset=out.offset + i * across,
                )
                self.emitter.emit("transpose_dve", [dst], [src], {}, Engine.DVE)

    def _free_dims(self, form: Form, wanted: Partition) -> list[tuple[int, int]] | None:
        """Return (stride, size) dims of the wanted atoms on a form's free axis; None if one is
        absent.
        """
        cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
        dims: list[tuple[int, int]] = []
        for whole, _ in wanted:
            for a in (whole,) if whole.ragged else split_at(whole, cuts) or (whole,):
                stride = form.stride(a)
                if stride is None or stride == 0 or not lies_whole(form, a):
                    return None
                if dims and dims[-1][0] == stride * a.size:
                    dims[-1] = (stride, dims[-1][1] * a.size)
                else:
                    dims.append((stride, a.size))
        return dims if len(dims) <= 3 else None

    def _transpose_tiles(self, value: Value, form: Form, wanted: Partition) -> Form | None:
        width = positions(wanted)
        ragged_in = next((a for a, _ in form.partition if a.ragged), None)
        ragged_out = next((a for a, _ in wanted if a.ragged), None)
        if (ragged_in and len(form.partition) > 1) or (ragged_out and len(wanted) > 1):
            return None
        rows = sum(s * (a.size - 1) for a, s in form.partition) + 1
        if rows != positions(form.partition):
            return None
        free = remaining(value.support, [a for a, _ in wanted])
        if free is None:
            return None
        # On the free axis: remaining atoms, then the old partition atoms, contiguous.
        old = [a for a, _ in form.partition]
        if ragged_in is not None:
            old = [atom(ragged_in.extent, ragged_in.unit)]
        cuts = {c for a in old for c in (a.stride, a.end)}
        rest: list[Atom] = []
        for a in free:
            parts = (a,) if a.ragged else split_at(a, cuts)
            if parts is None:
                return None
            rest.extend(
                b for b in parts if not any(o.stride <= b.stride and b.end <= o.end for o in old)
            )
        above = [a for a in rest if old and a.stride == old[0].end]
        rest = [*[a for a in rest if a not in above], *above]
        layout = join(dense([*rest, *old]))
        strides = self._free_dims(form, wanted)
        if not strides:
            return None
        if value.may_be_special() and len(strides) > 1:
            return None
        target = self.emitter.sbuf(width, elements_of([a for a, _ in layout]), value.dtype)
        result = Form(target, wanted, layout)
        bank = self.machine.psum_bank_bytes // value.dtype.size
        plain = [a for a in rest if not a.ragged]
        tiles = [
            (n + base_in, count)
            for n in numbers_of([a for a in plain if a in above])
            for count, base_in in _tiles(ragged_in, rows)
        ]
        columns = [
            (n + base_out, wide)
            for n in numbers_of([a for a in plain if a not in above])
            for wide, base_out in _tiles(ragged_out, width)
        ]
        pairs = [(t, c) for c in columns for t in tiles]
        if len(columns) * rows <= bank:  # the tile that is made first leaves PSUM first
            columns.sort(key=lambda c: -c[1])
            pairs = [(t, c) for t in tiles for c in columns]
        jobs = [(low + number, count, wide) for (low, count), (number, wide) in pairs]
        if value.may_be_special():
            for number, count, wide in jobs:
                source = form.at(number, count, [(strides[0][0], wide)])
                self.transpose_blocks(result.at(number, wide, ((1, count),)), source, wide, count)
            return result
        index = 0
        while index < len(jobs):
            batch, places = _batch(result, jobs, index, bank)
            number, _, wide = batch[0]
            total = sum(count for _, count, _ in batch)
            psum = self.emitter.psum(wide, total, value.dtype)
            offset = 0
            for n, count, _ in batch:
                dims = strides if wide == width else [(strides[0][0], wide)]
                out = View(psum, 0, wide, ((1, count),), offset)
                self.emitter.emit("transpose", [out], [form.at(n, count, dims)], {}, Engine.PE)
                offset += count
            flat: tuple[tuple[int, int], ...] = ((1, total),)
            if len(places) > 1:
                flat = ((places[-1][1], places[0][1]), places[-1])
            self.emitter.copy(result.at(number, wide, places), View(psum, 0, wide, flat))
            index += len(batch)
        return result


_Job = tuple[int, int, int]
"""A transpose: its first element, its rows, and the columns that become partitions."""


def _batch(
    result: Form, jobs: Sequence[_Job], first: int, bank: int
) -> tuple[list[_Job], tuple[tuple[int, int], ...]]:
    """Return the jobs from `first` on that one instruction can evict from a bank.

    Also returns the (stride, size) dims of their destination: consecutive, or equal results at
    equal distances. `size` is the number of elements of the bank.
    """
    number, count, wide = jobs[first]
    partition, start = result.locate(number)
    total, step = count, 0
    batch = [jobs[first]]
    for number, rows, w in jobs[first + 1 :]:
        place, offset = result.locate(number)
        distance = offset - start
        step = step or distance
        near = step == count and distance == total
        apart = step > count and rows == count and distance == step * len(batch)
        if w != wide or place != partition or total + rows > bank or not (near or apart):
            break
        batch.append((number, rows, w))
        total += rows
    if len(batch) == 1 or step == count:
        return batch, ((1, total),)
    return batch, ((step, len(batch)), (1, count))


def _tiles(ragged: Atom | None, width: int) -> list[tuple[int, int]]:
    """Return (positions, first element) of each tile."""
    if ragged is None:
        return [(width, 0)]
    count = -(-ragged.extent // width)
    tail = ragged.extent - (count - 1) * width
    return [(width if t < count - 1 else tail, t * width * ragged.unit) for t in range(count)]
