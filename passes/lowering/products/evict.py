"""Evict PSUM: results are collected in a bank and evicted by one instruction with the epilogue."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.constants.bound import splits
from neuronir.passes.lowering.conversion.row_parts import parts_selector, row_parts
from neuronir.passes.lowering.layouts.cover import covered, elements_of
from neuronir.passes.lowering.layouts.layout import Atom, Form, split_at
from neuronir.passes.lowering.layouts.runs import Run, runs
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.lowering.products.epilogue import Epilogue
from neuronir.passes.lowering.state import Lowering


class Evict:
    """Allocates PSUM for results and evicts them to `out` with the epilogue.

    `rows` are the partitions of one result. `columns` are the atoms along the free axis of one (the
    moving side). `narrow`, with the layout of `out`, receives the results in another type as well.
    """

    def __init__(
        self,
        state: Lowering,
        epilogue: Epilogue,
        out: Form,
        rows: int,
        columns: Sequence[Atom],
        narrow: Form | None = None,
    ) -> None:
        self.state = state
        self.epilogue = epilogue
        self.out = out
        self.narrow = narrow
        self.rows = rows
        self.columns = columns
        self.bank = state.machine.psum_bank_bytes // 4
        self.psum: SSAValue | None = None
        self.first = 0  # element offset in `out` of the buffer's first column
        self.number = 0
        self.waiting: list[tuple[SSAValue, int, int]] = []  # banks of results in progress
        self.used: dict[int, tuple[int, int]] = {}  # start partition -> (rows, columns)
        self.bias: Form | None = None
        self.factor: Form | None = None
        self.row_terms: list[
            tuple[AluOp, Form]
        ] = []  # vectors along the columns that cannot be added in PSUM
        self.row_bias: Value | None = None
        self.column_bias: tuple[Value, np.ndarray] | None = None
        self._classify()

    def _along_columns(self, value: Value) -> bool:
        """Return whether a vector varies along the columns of a result."""
        return any(
            a.stride < c.end and c.stride < a.end for a in value.support for c in self.columns
        )

    def _spread(self, value: Value) -> Form:
        return self.state.converter.ensure(value, self.out.partition, self.out.partitions)

    def _classify(self) -> None:
        factor = self.epilogue.factor
        if factor is not None and self._along_columns(factor):
            self.row_terms = [(AluOp.MULTIPLY, self._spread(factor))]
            self.row_terms += [(AluOp.ADD, self._spread(b)) for b in self.epilogue.biases]
            return
        biases = self.epilogue.biases
        if self.epilogue.scale != 1.0 and biases and self._along_columns(biases[0]):
            self.row_terms = [(AluOp.ADD, self._spread(biases[0]))]  # PSUM would scale it as well
            return
        if self.epilogue.factor is not None:
            self.factor = self.state.converter.ensure(
                self.epilogue.factor, self.out.partition, self.out.partitions
            )
        if not self.epilogue.biases:
            return
        value = self.epilogue.biases[0]
        along = any(
            a.stride < c.end and c.stride < a.end for a in value.support for c in self.columns
        )
        if not along and self._takes_column(value):
            return
        if not along:
            count = self.out.partitions
            self.bias = self.state.converter.ensure(value, self.out.partition, count)
        else:
            self.row_bias = value

    def _takes_column(self, value: Value) -> bool:
        """Add a constant bias along the partitions in PSUM if a residual follows.

        Then one DVE instruction adds only the residual, which takes half the time.
        """
        if self.epilogue.residual is None or self.factor is not None or self.epilogue.scale != 1.0:
            return False
        vector = _row_array(value)
        one = len(self.out.partition) == 1 and len(value.support) == 1
        inside = one and covered(value.support, self.out.partition[0][0])
        if vector is None or not inside:
            return False
        self.column_bias = value, vector
        return True

    def cut(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Split the columns of results into factors along which a bias varies or repeats."""
        return list(atoms) if self.row_bias is None else _cut_at(atoms, self.row_bias.support)

    def reserve(self, number: int, rows: int, size: int) -> View:
        """Return the PSUM view of a result of shape [rows, size] at element `number` of the dot."""
        partition, offset = self.out.locate(number)
        if self.psum is not None:
            column = offset - self.first
            filled = self.used.get(partition, (rows, 0))
            fits = column + size <= self.bank and filled == (rows, column)
            if not fits or self._bias_offset(number) != self._bias_offset(self.number):
                self.flush()
        if self.psum is None:
            self.psum = self.state.emitter.psum(self.out.partitions, self.bank)
            self.first = offset
            self.number = number
        return View(self.psum, partition, rows, ((1, size),), offset - self.first)

    def open(self, results: Sequence[tuple[int, int, int]]) -> list[View]:
        """Return PSUM for results (number, rows, size) that are computed together.

        Several have a bank each, and `filled` is called for them in the same order.
        """
        if len(results) == 1:
            return [self.reserve(*results[0])]
        views: list[View] = []
        for number, rows, size in results:
            self.flush()
            views.append(self.reserve(number, rows, size))
            assert self.psum is not None
            self.waiting.append((self.psum, self.first, self.number))
            self.psum = None
        return views

    def filled(self, number: int, rows: int, atoms: Sequence[Atom]) -> None:
        """Complete a result, except for a bias along its columns."""
        partition, offset = self.out.locate(number)
        size = 1
        for a in atoms:
            size *= a.size
        alone = bool(self.waiting)
        if alone:
            self.psum, self.first, self.number = self.waiting.pop(0)
        assert self.psum is not None
        if self.row_bias is not None:
            self._add_rows(number, rows, partition, offset - self.first, atoms)
        if self.column_bias is not None:
            self._add_column(number, rows, partition, offset - self.first, size)
        self.used[partition] = (rows, offset - self.first + size)
        if alone:
            self.flush()

    def _add_rows(
        self, number: int, rows: int, partition: int, column: int, atoms: Sequence[Atom]
    ) -> None:
        """Accumulate a bias along the columns, split where it varies or repeats."""
        assert self.row_bias is not None
        parts = _cut_at(atoms, self.row_bias.support)
        inner = parts[-self.state.machine.max_free_dims :]
        size = elements_of(inner)
        for i, outer in enumerate(numbers_of(parts[: len(parts) - len(inner)])):
            self._add_row(number + outer, rows, partition, column + i * size, inner, size)

    def _add_row(
        self, number: int, rows: int, partition: int, column: int, atoms: Sequence[Atom], size: int
    ) -> None:
        """Accumulate a bias along the columns: a matmul of ones and the bias's row."""
        state, value = self.state, self.row_bias
        assert value is not None and self.psum is not None
        target = View(self.psum, partition, rows, ((1, size),), column)
        root = _row_array(value)
        if root is not None and value.dtype is DType.F32:
            buffer, row, base, height = state.constants.row(root)
            selector, at = state.constants.row_selector()
            stationary = View(selector, 0, height, ((0, rows),), at + row, (), 0, "bf16")
            index = _row_index(value, number, atoms)
            moving = View(buffer, 0, height, index[1], base + index[0], (), 0, "bf16")
            state.emitter.matmul(target, stationary, moving, True)
            return
        products = self.out.elements * self.out.partitions // (rows * size)
        products *= self.epilogue.sharing
        parts = row_parts(state, value, products, size)
        if parts is not None:
            ones_of_parts = parts_selector(state, rows)
            dims = _strides(parts, atoms)
            moving = parts.at(number, ones_of_parts.partitions, dims)
            state.emitter.matmul(target, ones_of_parts, moving, True)
            return
        form = state.converter.ensure(value, (), 1)
        ones, at = state.constants.keep(
            "ones.F32", np.ones((1, state.machine.partitions), np.float32), DType.F32
        )
        stationary = View(ones, 0, 1, ((1, rows),), at, (), 0, "f32")
        dims = _strides(form, atoms)
        state.emitter.matmul(target, stationary, form.at(number, 1, dims), True)

    def _add_column(self, number: int, rows: int, partition: int, column: int, size: int) -> None:
        """Accumulate a bias along the partitions: a matmul of the bias's row and ones."""
        assert self.column_bias is not None and self.psum is not None
        value, vector = self.column_bias
        constants = self.state.constants
        buffer, row, base, height = constants.row(vector)
        selector, at = constants.row_selector()
        first = base + value.support[0].digit(number)
        stationary = View(buffer, 0, height, ((1, rows),), first, (), 0, "bf16")
        moving = View(selector, 0, height, ((0, size),), at + row, (), 0, "bf16")
        target = View(self.psum, partition, rows, ((1, size),), column)
        self.state.emitter.matmul(target, stationary, moving, True)

    def _bias_offset(self, number: int) -> int:
        form = self.bias or self.factor
        return 0 if form is None else form.locate(number)[1]

    def flush(self) -> None:
        """Evict the contents of the buffer."""
        if self.psum is None:
            return
        groups = sorted((p, rows, n) for p, (rows, n) in self.used.items())
        same = len({n for _, _, n in groups}) == 1
        adjacent = all(
            groups[i][0] + groups[i][1] == groups[i + 1][0] for i in range(len(groups) - 1)
        )
        if len(groups) > 1 and same and adjacent:
            groups = [(groups[0][0], sum(r for _, r, _ in groups), groups[0][2])]
        for start, rows, n in groups:
            src = View(self.psum, start, rows, ((1, n),))
            dst = View(self.out.buffer, start, rows, ((1, n),), self.first, (), 0, self.out.dtype)
            narrow = None if self.narrow is None else replace(dst, buffer=self.narrow.buffer)
            self._evict(dst, narrow, src, start, rows)
        self.psum = None
        self.used = {}

    def _along_partitions(self, form: Form | None, start: int, rows: int) -> View | None:
        """Return the [rows, 1] view of a vector along the partitions of the evicted results."""
        if form is None:
            return None
        _, offset = form.locate(self.number)
        first = start if form.partition else 0
        return View(form.buffer, first, rows, ((1, 1),), offset, (), 0, form.dtype)

    def _evict(self, dst: View, narrow: View | None, src: View, start: int, rows: int) -> None:
        e = self.epilogue
        if self.row_terms:
            self._evict_terms(dst, narrow, src)
            return
        bias: View | float = self._along_partitions(self.bias, start, rows) or 0.0
        scale: View | float = self._along_partitions(self.factor, start, rows) or e.scale
        if e.residual is not None:
            self._evict_residual(dst, narrow, src, scale, bias)
            return
        self.state.emitter.activation(dst, src, e.func, scale, bias)
        if narrow is not None:
            self.state.emitter.copy(narrow, dst)

    def _work(self, src: View) -> View:
        """Allocate an intermediate result in fp32."""
        buffer = self.state.emitter.sbuf(self.out.partitions, src.free[0][1], DType.F32)
        return View(buffer, src.start, src.partitions, src.free)

    def _beside(self, form: Form, dst: View, src: View) -> Iterator[tuple[Run, View]]:
        """Return the runs of the evicted elements, and the elements of `form` for each."""
        for run in runs(form, self.out, self.number, src.free[0][1]):
            at = (run.dims, run.offset, (), 0, form.dtype)
            yield run, View(form.buffer, dst.start, dst.partitions, *at)

    def _evict_terms(self, dst: View, narrow: View | None, src: View) -> None:
        """Emit dst = func(src * scale * factor + offset +- residual), with vectors along the
        columns.
        """
        e, emitter = self.epilogue, self.state.emitter
        terms = list(self.row_terms)
        if e.residual is not None:
            terms.append((e.residual[0], self._spread(e.residual[1])))
        work = self._work(src)
        if e.scale != 1.0:
            emitter.tensor_scalar(work, src, AluOp.MULTIPLY, e.scale)
            src = work
        for op, form in terms:
            for run, other in self._beside(form, dst, src):
                emitter.tensor_tensor(op, _part(work, run), _part(src, run), other)
            src = work
        emitter.activation(dst, work, e.func)
        if narrow is not None:
            emitter.copy(narrow, dst)

    def _evict_residual(
        self,
        dst: View,
        narrow: View | None,
        src: View,
        scale: View | float,
        bias: View | float,
    ) -> None:
        """Emit dst = func(src * scale + bias +- residual).

        The bias comes last if scale and bias are present, which is not the case if the residual is
        a factor.
        """
        e, state = self.epilogue, self.state
        assert e.residual is not None
        op, value = e.residual
        form = state.converter.ensure(value, self.out.partition, self.out.partitions)
        left = bias if scale != 1.0 else 0.0
        final = e.func is Activation.COPY and left == 0.0
        total = dst if final else self._work(src)
        first, number = (AluOp.MULTIPLY, scale) if scale != 1.0 else (AluOp.ADD, bias)
        view = number if isinstance(number, View) else None
        imm = {} if isinstance(number, View) else {"imm0": number}
        for run, other in self._beside(form, dst, src):
            target, source = _part(total, run), _part(src, run)
            if scale == 1.0 and bias == 0.0:
                state.emitter.tensor_tensor(op, target, source, other)
                continue
            state.emitter.emit(
                "scalar_tensor_tensor",
                [target],
                [source, view, other],
                {"op0": first, "op1": op, **imm},
                Engine.DVE,
            )
        simple = e.func in (Activation.COPY, Activation.RELU)
        if narrow is not None and simple and not final:
            # First: dots wait for it.
            state.emitter.activation(narrow, total, e.func, 1.0, left)
        if not final:
            state.emitter.activation(dst, total, e.func, 1.0, left)
        if narrow is not None and (final or not simple):
            state.emitter.copy(narrow, dst)


def _part(view: View, run: Run) -> View:
    """Return the part of a view of consecutive elements that a run covers."""
    return replace(view, free=((1, run.count),), offset=view.offset + run.start)


def _cut_at(atoms: Sequence[Atom], support: Sequence[Atom]) -> list[Atom]:
    """Split atoms where those of a value start and end."""
    cuts = {c for a in support for c in (a.stride, a.end)}
    out: list[Atom] = []
    for a in atoms:
        parts = split_at(a, cuts)
        if parts is None:
            raise NeuronError("NIR_LOW003", "a bias has a factor across the columns of a product")
        out.extend(parts)
    return out


def _strides(form: Form, atoms: Sequence[Atom]) -> list[tuple[int, int]]:
    """Return (stride, size) dims of a bias along the columns of a dot."""
    out: list[tuple[int, int]] = []
    for a in atoms:
        step = form.stride(a)
        if step is None:
            raise NeuronError("NIR_LOW003", "a bias has a factor across its layout")
        out.append((step, a.size))
    return out


def _row_array(value: Value) -> np.ndarray | None:
    """Return the vector of a view that varies along one constant's elements only."""
    root = value.root()
    if root.array is None or root.scalar is not None:
        return None
    if root.array.size != int(np.prod([a.size for a in value.support])):
        return None
    vector = root.array.reshape(-1).astype(np.float32)
    return vector if splits(vector) else None


def _row_index(
    value: Value, number: int, atoms: Sequence[Atom]
) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return (first element, dims) of a constant's row for a block of columns."""
    strides: list[tuple[Atom, int]] = []
    scale = 1
    for a in reversed(value.support):
        strides.append((a, scale))
        scale *= a.size
    first = sum(a.digit(number) * s for a, s in strides)
    dims: list[tuple[int, int]] = []
    for a in atoms:
        step = 0
        for b, s in strides:
            if b.stride <= a.stride and a.end <= b.end:
                step = s * (a.stride // b.stride)
        if a.size > 1:
            dims.append((step, a.size))
    if not covered(value.support, atoms[0]) and len(atoms) == 1:
        dims = [(0, atoms[0].size)]
    return first, tuple(dims) or ((1, 1),)
