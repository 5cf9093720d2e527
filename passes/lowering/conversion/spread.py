"""Broadcast vectors to all partitions: PE multiplies a row by ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.passes.lowering.constants.bound import Constants, digits_of, splits
from neuronir.passes.lowering.conversion.transpose import Transposer
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.layouts.cover import elements_of
from neuronir.passes.lowering.layouts.layout import Atom, Form, dense, join
from neuronir.passes.lowering.layouts.values import Partition, Value
from neuronir.passes.lowering.layouts.views import chunks, packed, walked

Put = Callable[[View, int], None]
"""Writes a vector's elements, from a given one on, to a view in PSUM."""


class Spreader(Transposer):
    """Creates copies of vectors that are equal on all partitions."""

    def __init__(self, emitter: Emitter, constants: Constants) -> None:
        super().__init__(emitter)
        self.constants = constants

    def ensure(self, value: Value, partition: Partition, copies: int = 1) -> Form:
        """Return a copy of `value` with these partition atoms (Converter)."""
        raise NotImplementedError

    def home(self, value: Value) -> int:
        """Return the loop depth at which copies of `value` are made (Converter)."""
        raise NotImplementedError

    def in_psum(self, value: Value, limit: int) -> list[tuple[int, Form]] | None:
        """Return a float32 vector that PE has broadcast to PSUM, bank by bank.

        The result has the first element of each bank, with a form of the elements from there on. It
        is None if the vector takes more than `limit` bytes of a partition, or if PE cannot
        broadcast it.
        """
        if value.source is not None and value.from_source is not None:
            found = self.in_psum(value.source, limit)
            if found is None:
                return None
            seen = [(low, value.from_source(form)) for low, form in found]
            return [(low, form) for low, form in seen if form is not None] or None
        size = value.size
        if value.dtype is not DType.F32 or DType.F32.name not in self.machine.matmul_dtypes:
            return None
        whole = elements_of(value.support) == size > 1 and value.lazy is None
        if not whole or size * DType.F32.size > limit:
            return None
        with self.emitter.outside(self.home(value)):
            put = self._product_of(value)
            if put is None:
                return None
            n, bank = self.machine.partitions, self.machine.psum_bank_bytes // DType.F32.size
            step = -(-size // -(-size // bank))
            banks: list[tuple[int, Form]] = []
            for low in range(0, size, step):
                width = min(step, size - low)
                buffer = self.emitter.psum(n, width)
                put(View(buffer, 0, n, ((1, width),)), low)
                banks.append((low, Form(buffer, (), dense(value.support), 0, -low, copies=n)))
        return banks

    def _product_of(self, value: Value) -> Put | None:
        if value.array is not None:
            flat = value.array.reshape(-1)
            return self._row_product(flat) if splits(flat) else None
        form = self.ensure(value, (), 1)
        if form.start or join(form.free) != join(dense(value.support)):
            return None
        if space_of(form.buffer) is Space.PSUM:
            return None
        stationary = self._ones(value.dtype)

        def put(out: View, low: int) -> None:
            moving = replace(form.at(0, 1, out.free), offset=form.offset + low)
            self._multiply(out, stationary, moving)

        return put

    def _row_product(self, vector: np.ndarray) -> Put:
        """Broadcast a constant float32 vector from a row block: its rows times a column of the
        identity.
        """
        rows, partition, column, height = self.constants.row(vector.astype(np.float32))
        selector, base = self.constants.row_selector()
        n = self.machine.partitions
        stationary = View(selector, 0, height, ((0, n),), base + partition, (), 0, "bf16")

        def put(out: View, low: int) -> None:
            moving = View(rows, 0, height, out.free, column + low, (), 0, "bf16")
            self._multiply(out, stationary, moving)

        return put

    def _multiply(self, out: View, stationary: View, moving: View) -> None:
        """Emit out = stationary^T @ moving for equal columns of the stationary operand, in array
        widths.
        """
        rows = out.partitions
        for low in range(0, rows, self.machine.pe_columns):
            count = min(self.machine.pe_columns, rows - low)
            columns = replace(stationary, free=((stationary.free[0][0], count),))
            self.emitter.matmul(replace(out, start=low, partitions=count), columns, moving, False)

    def _ones(self, dtype: DType) -> View:
        n = self.machine.partitions
        ones, base = self.constants.keep(f"ones.{dtype.name}", np.ones((1, n), dtype.numpy), dtype)
        return View(ones, 0, 1, ((1, n),), base, (), 0, dtype.name.lower())

    def _broadcast_rows(
        self, flat: np.ndarray, free: tuple[Atom, ...], value: Value, copies: int
    ) -> Form:
        """Return a constant float32 vector on all partitions."""
        put = self._row_product(flat[digits_of([(a.size, a.stride) for a in free])])
        n, bank = self.machine.partitions, self.machine.psum_bank_bytes // DType.F32.size
        size = elements_of(free)
        target = self.emitter.sbuf(n, size, DType.F32)
        for low in range(0, size, bank):
            flat_dims = ((1, min(bank, size - low)),)
            out = View(self.emitter.psum(n, flat_dims[0][1]), 0, n, flat_dims)
            put(out, low)
            self.emitter.copy(View(target, 0, n, flat_dims, low), out)
        return Form(target, (), dense(free), copies=n)

    def _replicate(self, value: Value, forms: Sequence[Form], copies: int) -> Form | None:
        """Broadcast a value on one partition to all, with a matmul by ones (K = 1)."""
        form = next((f for f in forms if not f.partition and not f.start), None)
        if form is None or space_of(form.buffer) is Space.PSUM:
            return None
        if not value.dtype.is_float or value.dtype.name not in self.machine.matmul_dtypes:
            return None
        n = self.machine.partitions
        stationary = self._ones(value.dtype)
        target = self.emitter.sbuf(n, form.elements, value.dtype)
        result = Form(target, (), dense([a for a, _ in form.free]), copies=n)
        dims = walked([result, form], [a for a, _ in form.free])
        for piece in chunks(dims, 1, 3, self.machine.psum_bank_bytes // 4):
            psum = self.emitter.psum(n, piece.elements)
            out = View(psum, 0, n, ((1, piece.elements),))
            self._multiply(out, stationary, piece.view(form, 1))
            shaped = View(psum, 0, n, packed([d.size for d in piece.dims]))
            self.emitter.copy(replace(piece.view(result, 0), partitions=n), shaped)
        return result
