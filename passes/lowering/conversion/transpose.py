"""Transposes: PE brings atoms of the free axis to partitions, DVE where infinities may be there."""

from dataclasses import replace

from neuronir.dialects.nc.enums import Engine, Space
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.layouts.cover import elements_of, positions, remaining
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, dense, join, split_at
from neuronir.passes.lowering.layouts.values import Partition, Value
from neuronir.passes.lowering.layouts.views import numbers_of

DVE_BLOCK = 32
"""Rows and columns of a DVE transpose (hardware.md section 2.4)."""


class Transposer:
    """Makes copies of values with other atoms on partitions, from copies on the chip."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self.machine: Machine = emitter.machine

    def _transpose(self, value: Value, form: Form, wanted: Partition) -> Form | None:
        """PE transposes: `wanted` comes from the free axis, the partition atoms go there."""
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
        """DVE transposes of 32 x 32 blocks, which keep infinities and NaN where they are; PE would
        multiply them by the zeros of the identity and spoil their neighbours."""
        side = DVE_BLOCK
        stride = source.free[0][0]
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
                    free=((1, height),),
                    offset=out.offset + i,
                )
                self.emitter.emit("transpose_dve", [dst], [src], {}, Engine.DVE)

    def _free_dims(self, form: Form, wanted: Partition) -> list[tuple[int, int]] | None:
        """(stride, size) dims of the wanted atoms on a form's free axis; None where one is not."""
        cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
        dims: list[tuple[int, int]] = []
        for whole, _ in wanted:
            for a in (whole,) if whole.ragged else split_at(whole, cuts) or (whole,):
                stride = form.stride(a)
                if stride is None or stride == 0:
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
        # on the free axis: what was there and stays, then the old partition atoms, contiguous
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
        strides = self._free_dims(form, wanted) or []
        if value.may_be_special() and len(strides) > 1:
            return None
        target = self.emitter.sbuf(width, elements_of([a for a, _ in layout]), value.dtype)
        result = Form(target, wanted, layout)
        group = max(1, self.machine.psum_bank_bytes // value.dtype.size // rows)
        jobs = [
            (number + base_out + base_in, count, wide)
            for number in numbers_of([a for a in rest if not a.ragged])
            for wide, base_out in _tiles(ragged_out, width)
            for count, base_in in _tiles(ragged_in, rows)
        ]
        if value.may_be_special():
            for number, count, wide in jobs:
                source = form.at(number, count, [(strides[0][0], wide)])
                self.transpose_blocks(result.at(number, wide, ((1, count),)), source, wide, count)
            return result
        index = 0
        while index < len(jobs):
            number, _, wide = jobs[index]
            start = result.locate(number)
            batch: list[int] = []
            total = 0
            for following, count, w in jobs[index : index + group]:
                if w != wide or result.locate(following) != (start[0], start[1] + total):
                    break
                batch.append(following)
                total += count
            psum = self.emitter.psum(wide, total, value.dtype)
            offset = 0
            for n, (_, count, _) in zip(batch, jobs[index:], strict=False):
                dims = strides if wide == width else [(strides[0][0], wide)]
                out = View(psum, 0, wide, ((1, count),), offset)
                self.emitter.emit("transpose", [out], [form.at(n, count, dims)], {}, Engine.PE)
                offset += count
            flat = ((1, total),)
            self.emitter.copy(result.at(number, wide, flat), View(psum, 0, wide, flat))
            index += len(batch)
        return result


def _tiles(ragged: Atom | None, width: int) -> list[tuple[int, int]]:
    """(positions, element number of the first) of each tile."""
    if ragged is None:
        return [(width, 0)]
    count = -(-ragged.extent // width)
    tail = ragged.extent - (count - 1) * width
    return [(width if t < count - 1 else tail, t * width * ragged.unit) for t in range(count)]
