"""Lower attention with long rows: scores leave PSUM only as exponentials.

Each block of queries visits the keys twice. First the scores are computed row by row for their
maxima. Then they are computed again with the keys on partitions, and a further matmul (of ones and
the row of maxima) subtracts the maxima. The exponentials feed the second dot directly, without a
transpose. A column of ones next to the values makes that dot sum the exponentials. The inverse of
the sums is applied during eviction.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.constants.chunk import ROW_PARTS
from neuronir.passes.lowering.layouts.cover import remaining
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    join,
    span,
    split_at,
    tile,
    tile_width,
)
from neuronir.passes.lowering.layouts.values import Value, new_value
from neuronir.passes.lowering.layouts.views import chunks, numbers_of, plan
from neuronir.passes.lowering.products.attention_match import Attention, match_attention
from neuronir.passes.lowering.products.dot import Dot, lower_dot
from neuronir.passes.lowering.products.sides import pairs_of
from neuronir.passes.lowering.state import Lowering


def lower_product(state: Lowering, op: Operation) -> None:
    """Lower a dot.

    A dot that starts attention is deferred until the dot that ends it, whose other operand may be
    computed in between.
    """

    def number(ssa: SSAValue) -> float | None:
        value = state.available(ssa)
        return None if value is None or value.scalar is None else float(value.scalar)

    ending = state.products.attentions.pop(op, None)
    if ending is not None:
        _lower_attention(state, ending)
        return
    found = match_attention(op, state.machine, number)
    if found is None or any(state.loops.apart(op, o) for o in (*found.between, found.product)):
        lower_dot(state, op)
        return
    state.products.attentions[found.product] = found
    state.done.update(found.between)


def _lower_attention(state: Lowering, found: Attention) -> None:
    work = _prepare(state, found)
    if work is not None:
        work.lower()
        return
    state.done.difference_update(found.between)
    lower_dot(state, found.scores)
    for op in found.between:
        if op not in state.done:
            state.lower.op(state, op)
    state.emitter.source = found.product
    lower_dot(state, found.product)


@dataclass(frozen=True)
class _Batch:
    """The first elements of a batch in q, k, v and the result."""

    q: int
    k: int
    v: int
    out: int


@dataclass(frozen=True)
class _Line:
    """The order in which a dimension is processed.

    Position n is digit n % width of `inner`, in tile n // width, each in the numberings of two
    values. Tiles are `outer` apart.
    """

    count: int
    inner: tuple[Atom, Atom]
    outer: tuple[int, int]

    @property
    def width(self) -> int:
        """Return the positions of a tile, all of which fit on partitions."""
        return self.inner[0].size

    def number(self, which: int, place: int) -> int:
        """Return the element number of a position in one of the two values."""
        number, rest = divmod(place, self.width)
        return number * self.outer[which] + rest * self.inner[which].stride

    def stride(self, form: Form) -> int | None:
        """Return the stride of a copy of the first value along all positions, or None."""
        inner = self.inner[0]
        if inner.ragged:
            return form.stride(atom(self.count, inner.stride))
        step = form.stride(inner)
        if step is None or self.count == self.width:
            return step
        tiles = form.stride(atom(self.count // self.width, self.outer[0]))
        return step if tiles == step * self.width else None

    def whole_stride(self, form: Form) -> int:
        """Return that stride. Raises ValueError if the positions have no common distance."""
        found = self.stride(form)
        if found is None:
            raise ValueError(f"{self} is in pieces in {form.free}")
        return found


def _line(pair: tuple[Atom, Atom], limit: int, apart: bool) -> _Line:
    """Split a dimension into tiles of at most `limit`.

    Tiles are contiguous. With `apart`, elements of a tile are as far apart as there are tiles, so
    that the elements of each partition are contiguous in memory.
    """
    count, (a, b) = pair[0].size, pair
    if apart and count % limit == 0 and count > limit:
        step = count // limit
        inner = atom(limit, a.stride * step), atom(limit, b.stride * step)
        return _Line(count, inner, (a.stride, b.stride))
    width = tile_width(count, limit)
    both = tile(count, a.stride, width)[1], tile(count, b.stride, width)[1]
    return _Line(count, both, (a.stride * width, b.stride * width))


@dataclass(frozen=True)
class _Work:
    """One attention in progress.

    `q` and `k` have the contraction on partitions, `v` the keys, `out` the queries. `query` is the
    order of the queries in q and in the result, `key` that of the keys in k and in v, and `column`
    the atom of the values in the result.
    """

    state: Lowering
    found: Attention
    batches: tuple[_Batch, ...]
    depth: int
    q: Form
    k: Form
    v: Form
    out: Form
    query: _Line
    key: _Line
    column: Atom

    @property
    def dtype(self) -> DType:
        """Return the operand type of both dots."""
        return self.state.dtype(self.found.scores.operands[0])

    def lower(self) -> None:
        """Emit all blocks of queries of all batches."""
        state, found = self.state, self.found
        count, width = self.query.count, self.query.width
        step = state.machine.matmul_max_moving // width * width  # blocks end where tiles do
        blocks = [
            _Block(self, batch, low, min(step, count - low))
            for batch in self.batches
            for low in range(0, count, step)
        ]
        following = [block.begin() for block in blocks]
        for _ in following[0]:
            pass
        for i, block in enumerate(blocks):
            # The maxima of the next block, on DVE, overlap the exponentials, on ACT.
            ahead = following[i + 1] if i + 1 < len(blocks) else iter(())
            for _ in block.finish():
                next(ahead, None)
            for _ in ahead:
                pass
        state.done.add(found.product)
        result = found.product.results[0]
        value = new_value(state.shape(result), state.dtype(result))
        value.forms.append(self.out)
        state.set(result, value)

    def queries(self, batch: _Batch, low: int, size: int) -> View:
        """Return some queries as a PE operand."""
        dims = [(self.query.whole_stride(self.q), size)]
        return self.q.at(batch.q + self.query.number(0, low), self.depth, dims)

    def keys(self, batch: _Batch, low: int, size: int) -> View:
        """Return some keys as a PE operand."""
        dims = [(self.key.whole_stride(self.k), size)]
        return self.k.at(batch.k + self.key.number(0, low), self.depth, dims)

    def values(self, batch: _Batch, low: int, size: int) -> View:
        """Return the values of some keys on partitions, each followed by a one."""
        number = batch.v + self.key.number(1, low)
        return self.v.at(number, size, ((1, self.column.size + 1),))


@dataclass
class _Block:
    """Queries `low` to `low + size` of a batch: as many as one matmul moves."""

    work: _Work
    batch: _Batch
    low: int
    size: int
    shift: View | None = None

    def begin(self) -> Iterator[None]:
        """Emit the maxima of the scores, step by step."""
        column = yield from self._maxima()
        self.shift = self._row_of(column)

    def finish(self) -> Iterator[None]:
        """Emit the rest, step by step."""
        assert self.shift is not None
        sums = yield from self._products(self.shift)
        self._evict(sums)

    def _tiles(self) -> list[tuple[int, int]]:
        """Return (first, number) of the queries of each tile of the result's partitions."""
        width = self.work.out.partitions
        return [(t, min(width, self.size - t)) for t in range(0, self.size, width)]

    def _key_tiles(self) -> list[tuple[int, int]]:
        count, width = self.work.key.count, self.work.key.width
        return [(n, min(width, count - n)) for n in range(0, count, width)]

    def _runs(self) -> list[tuple[int, int, int]]:
        """Return (first tile, tiles, rows) of tiles of equal height."""
        out: list[tuple[int, int, int]] = []
        for i, (_, rows) in enumerate(self._tiles()):
            if out and out[-1][2] == rows:
                out[-1] = (out[-1][0], out[-1][1] + 1, rows)
            else:
                out.append((i, 1, rows))
        return out

    def _maxima(self) -> Generator[None, None, SSAValue]:
        """Compute the negated maximum of the scores of each query: [queries of a tile, tiles]
        float32.
        """
        work, emitter, machine = self.work, self.work.state.emitter, self.work.state.machine
        bank, count = machine.psum_bank_bytes // DType.F32.size, work.key.count
        width, tiles, pieces = work.out.partitions, self._tiles(), -(-count // bank)
        parts = emitter.sbuf(width, len(tiles) * pieces, DType.F32)
        for i, (first, rows) in enumerate(tiles):
            stationary = work.queries(self.batch, self.low + first, rows)
            for j in range(pieces):
                low, size = j * bank, min(bank, count - j * bank)
                scores = View(emitter.psum(width, size), 0, rows, ((1, size),))
                moving = work.keys(self.batch, low, size)
                emitter.matmul(scores, stationary, moving, False)
                target = View(parts, 0, rows, ((1, 1),), i * pieces + j)
                self._reduce(target, scores, AluOp.MAX, True)
                yield
        if pieces == 1:
            return parts
        least = emitter.sbuf(width, len(tiles), DType.F32)
        for first, tile_count, rows in self._runs():
            self._reduce(
                View(least, 0, rows, ((1, tile_count),), first),
                View(parts, 0, rows, ((pieces, tile_count), (1, pieces)), first * pieces),
                AluOp.MIN,
                False,
            )
        return least

    def _reduce(self, dst: View, src: View, op: AluOp, negate: bool) -> None:
        params = {"op": op, "axes": 1, "negate": int(negate)}
        self.work.state.emitter.emit("tensor_reduce", [dst], [src], params, Engine.DVE)

    def _row_of(self, column: SSAValue) -> View:
        """Return a value per query in a row, as a PE operand: [parts, queries].

        The sum of the parts is the float32 value.
        """
        work, emitter = self.work, self.work.state.emitter
        parts = 1 if work.dtype is DType.F32 else ROW_PARTS
        tiles = self._tiles()
        split = column if parts == 1 else self._split(column)
        psum = emitter.psum(parts, self.size, work.dtype)
        for i, (first, rows) in enumerate(tiles):
            source = View(split, 0, rows, ((1, parts),), i * parts)
            target = View(psum, 0, parts, ((1, rows),), first)
            emitter.emit("transpose", [target], [source], {}, Engine.PE)
        row = emitter.sbuf(parts, self.size, work.dtype)
        whole = View(row, 0, parts, ((1, self.size),))
        emitter.copy(whole, View(psum, 0, parts, ((1, self.size),)))
        return whole

    def _split(self, column: SSAValue) -> SSAValue:
        """Split each value into narrower ones with the same sum: [queries of a tile, tiles *
        parts].
        """
        work, emitter = self.work, self.work.state.emitter
        width, count = work.out.partitions, len(self._tiles())
        split = emitter.sbuf(width, count * ROW_PARTS, work.dtype)
        rest = emitter.sbuf(width, count, DType.F32)
        for first, tiles, rows in self._runs():
            source = View(column, 0, rows, ((1, tiles),), first)
            left = View(rest, 0, rows, ((1, tiles),), first)
            for k in range(ROW_PARTS):
                part = View(split, 0, rows, ((ROW_PARTS, tiles),), first * ROW_PARTS + k)
                emitter.copy(part, source, Engine.DVE)
                if k < ROW_PARTS - 1:
                    emitter.tensor_tensor(AluOp.SUBTRACT, left, source, part)
                    source = left
        return split

    def _products(self, shift: View) -> Generator[None, None, list[View]]:
        """Compute the sums over all keys of exponentials times values, and of the exponentials.

        The result is in PSUM, as a view for each tile of queries.
        """
        work, state, emitter = self.work, self.work.state, self.work.state.emitter
        bank = state.machine.psum_bank_bytes // DType.F32.size
        n, wide = state.machine.partitions, work.column.size + 1
        ones, base = state.constants.keep(
            f"ones.{shift.partitions}.{work.dtype.name}",
            np.ones((shift.partitions, n), work.dtype.numpy),
            work.dtype,
        )
        each = bank // wide
        sums: list[View] = []
        for i, (_, rows) in enumerate(self._tiles()):
            if i % each == 0:
                psum = emitter.psum(work.out.partitions, bank)
            sums.append(View(psum, 0, rows, ((1, wide),), i % each * wide))
        for step, (first, keys) in enumerate(self._key_tiles()):
            psum = emitter.psum(work.v.partitions, self.size)
            scores = View(psum, 0, keys, ((1, self.size),))
            stationary = work.keys(self.batch, first, keys)
            emitter.matmul(scores, stationary, work.queries(self.batch, self.low, self.size), False)
            spread = View(
                ones, 0, shift.partitions, ((1, keys),), base, (), 0, work.dtype.name.lower()
            )
            emitter.matmul(scores, spread, shift, True)
            raised = emitter.sbuf(work.v.partitions, self.size, work.dtype)
            flat = View(raised, 0, keys, ((1, self.size),))
            emitter.activation(flat, scores, Activation.EXP, work.found.scale)
            values = work.values(self.batch, first, keys)
            for (low, rows), target in zip(self._tiles(), sums, strict=True):
                part = View(raised, 0, keys, ((1, rows),), low)
                emitter.matmul(target, part, values, step > 0)
            yield
        return sums

    def _evict(self, sums: list[View]) -> None:
        """Divide the dots by the sums of the exponentials."""
        work, emitter = self.work, self.work.state.emitter
        column = work.column
        stride = work.out.whole_stride(column)
        for (first, rows), source in zip(self._tiles(), sums, strict=True):
            last = replace(source, free=((1, 1),), offset=source.offset + column.size)
            inverse = View(emitter.sbuf(rows, 1, DType.F32), 0, rows, ((1, 1),))
            emitter.emit("reciprocal", [inverse], [last], {}, Engine.DVE)
            number = self.batch.out + work.query.number(1, self.low + first)
            target = work.out.at(number, rows, [(stride, column.size)])
            numerator = replace(source, free=((1, column.size),))
            emitter.tensor_scalar(target, numerator, AluOp.MULTIPLY, inverse)


def _prepare(state: Lowering, found: Attention) -> _Work | None:
    """Return the operands in the layouts of both dots; None if one is not possible."""
    first, second = Dot(state, found.scores), Dot(state, found.product)
    q, k = (state.value(v) for v in found.scores.operands)
    v = state.value(found.product.operands[1 - found.which])
    sides = first.side(0, q), first.side(1, k)
    shape = state.shape(found.scores.results[0])
    raised = second.side(found.which, new_value(shape, q.dtype))
    right = second.side(1 - found.which, v)
    shapes = shape, v.shape
    dims = second.dims.contracting
    along = pairs_of(shapes[0], dims[found.which], shapes[1], dims[1 - found.which])
    alone = (sides[0].free, sides[1].free, raised.free, right.free, along)
    if any(len(pairs) != 1 for pairs in alone):
        return None
    contracted = pairs_of(q.shape, first.dims.contracting[0], k.shape, first.dims.contracting[1])
    q_layout, k_layout = first.layouts(sides[0], sides[1], contracted)
    depth = prod(state.shape(found.scores.operands[0])[d] for d in first.dims.contracting[0])
    limit, converter = state.machine.partitions, state.converter
    far = [not any(not f.hbm for f in converter.source_forms(x)) for x in (q, k, v)]
    # Constants are laid out for PE at compile time, and not by rows first.
    rows = [away and x.root().array is None for away, x in zip(far, (q, k), strict=False)]
    query = _line((sides[0].free[0].other, raised.free[0].mine), limit, rows[0])
    key = _line((sides[1].free[0].other, along[0].other), limit, rows[1] and far[2])
    for value, line, apart in ((q, query, rows[0]), (k, key, rows[1])):
        if apart:
            converter.ensure(value, ((line.inner[0], 1),), line.width)
    q_form = converter.ensure(q, q_layout, span(q_layout))
    k_form = converter.ensure(k, k_layout, span(k_layout))
    if query.stride(q_form) is None or key.stride(k_form) is None:
        return None
    v_form = _with_ones(state, v, key.inner[1], right.free[0].other)
    if v_form is None:
        return None
    result = found.product.results[0]
    whole = new_value(state.shape(result), state.dtype(result))
    out = state.allocate(whole.support, ((query.inner[1], 1),), whole.dtype)
    column = right.free[0].mine
    if out.stride(column) is None:
        return None
    mine = numbers_of([p.mine for p in raised.batch])
    scored = numbers_of([p.other for p in raised.batch])
    batches = tuple(
        _Batch(sides[0].number(s), sides[1].number(s), right.number(m), m)
        for m, s in zip(mine, scored, strict=True)
    )
    return _Work(state, found, batches, depth, q_form, k_form, v_form, out, query, key, column)


def _with_ones(state: Lowering, value: Value, inner: Atom, column: Atom) -> Form | None:
    """Return the values with tiles of the keys on partitions, and a one after each."""
    emitter, converter = state.emitter, state.converter
    rest = remaining(value.support, [inner])
    if rest is None:
        return None
    cuts = (column.stride, column.end)
    atoms = [b for a in rest for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))]
    outer = [a for a in atoms if not column.stride <= a.stride < column.end]
    if [a for a in atoms if a not in outer] != [column]:
        return None
    wide, count = column.size + 1, prod(a.size for a in outer)
    with emitter.outside(converter.home(value)):
        buffer = emitter.sbuf(inner.size, count * wide, value.dtype)
        form = Form(buffer, ((inner, 1),), join((*dense(outer, wide), (column, 1))))
        source = converter.ensure(value, form.partition, inner.size)
        dims = plan([form, source], [*outer, column])
        if dims is None:
            return None
        for piece in chunks(dims, inner.size, 3, state.machine.max_free_psum):
            emitter.copy(piece.view(form, 0), piece.view(source, 1))
        emitter.memset(View(buffer, 0, inner.size, ((wide, count),), column.size), 1.0)
    return form
