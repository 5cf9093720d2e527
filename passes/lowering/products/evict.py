"""Evict PSUM: results are collected in a bank and evicted by one instruction with the epilogue."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.layouts.cover import elements_of
from neuronir.passes.lowering.layouts.layout import Atom, Form
from neuronir.passes.lowering.layouts.runs import Run, runs
from neuronir.passes.lowering.products.epilogue import Epilogue
from neuronir.passes.lowering.products.terms import Terms
from neuronir.passes.lowering.state import Lowering


@dataclass
class Bank:
    """A bank of PSUM whose first column is element `first` of the output, for result `number`.

    `used` has the rows and the columns that are filled, by the first partition.
    """

    psum: SSAValue
    first: int
    number: int
    used: dict[int, tuple[int, int]] = field(default_factory=dict)


class Evict:
    """Allocates PSUM for results and evicts them to `out` with the epilogue.

    `columns` are the atoms along the free axis of a result (the moving side). `narrow`, with the
    layout of `out`, receives the results in another type as well.
    """

    def __init__(
        self,
        state: Lowering,
        epilogue: Epilogue,
        out: Form,
        columns: Sequence[Atom],
        narrow: Form | None = None,
    ) -> None:
        self.state = state
        self.epilogue = epilogue
        self.out = out
        self.narrow = narrow
        self.columns = state.machine.psum_bank_bytes // 4
        self.terms = Terms(state, epilogue, out, columns)
        self.bank: Bank | None = None
        self.waiting: list[Bank] = []  # of results in progress

    def cut(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Split the columns of results into factors along which a bias varies or repeats."""
        return self.terms.cut(atoms)

    @property
    def _number(self) -> int:
        assert self.bank is not None
        return self.bank.number

    def reserve(self, number: int, rows: int, size: int) -> View:
        """Return the PSUM view of a result of shape [rows, size] at element `number` of the dot."""
        partition, offset = self.out.locate(number)
        if self.bank is not None:
            column = offset - self.bank.first
            filled = self.bank.used.get(partition, (rows, 0))
            fits = column + size <= self.columns and filled == (rows, column)
            if not fits or self.terms.offset(number) != self.terms.offset(self.bank.number):
                self.flush()
        if self.bank is None:
            psum = self.state.emitter.psum(self.out.partitions, self.columns)
            self.bank = Bank(psum, offset, number)
        return View(self.bank.psum, partition, rows, ((1, size),), offset - self.bank.first)

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
            assert self.bank is not None
            self.waiting.append(self.bank)
            self.bank = None
        return views

    def filled(self, number: int, rows: int, atoms: Sequence[Atom]) -> None:
        """Complete a result, except for a bias along its columns."""
        partition, offset = self.out.locate(number)
        size = elements_of(atoms)
        alone = bool(self.waiting)
        if alone:
            self.bank = self.waiting.pop(0)
        assert self.bank is not None
        column = offset - self.bank.first
        self.terms.add(self.bank.psum, number, rows, (partition, column), size, atoms)
        self.bank.used[partition] = (rows, column + size)
        if alone:
            self.flush()

    def flush(self) -> None:
        """Evict the contents of the buffer."""
        if self.bank is None:
            return
        psum, first = self.bank.psum, self.bank.first
        groups = sorted((p, rows, n) for p, (rows, n) in self.bank.used.items())
        same = len({n for _, _, n in groups}) == 1
        adjacent = all(
            groups[i][0] + groups[i][1] == groups[i + 1][0] for i in range(len(groups) - 1)
        )
        if len(groups) > 1 and same and adjacent:
            groups = [(groups[0][0], sum(r for _, r, _ in groups), groups[0][2])]
        for start, rows, n in groups:
            src = View(psum, start, rows, ((1, n),))
            dst = View(self.out.buffer, start, rows, ((1, n),), first, (), 0, self.out.dtype)
            narrow = None if self.narrow is None else replace(dst, buffer=self.narrow.buffer)
            self._evict(dst, narrow, src, start, rows)
        self.bank = None

    def _along_partitions(self, form: Form | None, start: int, rows: int) -> View | None:
        """Return the [rows, 1] view of a vector along the partitions of the evicted results."""
        if form is None:
            return None
        _, offset = form.locate(self._number)
        first = start if form.partition else 0
        return View(form.buffer, first, rows, ((1, 1),), offset, (), 0, form.dtype)

    def _evict(self, dst: View, narrow: View | None, src: View, start: int, rows: int) -> None:
        e = self.epilogue
        if self.terms.row_terms:
            self._evict_terms(dst, narrow, src)
            return
        bias: View | float = self._along_partitions(self.terms.bias, start, rows) or 0.0
        scale: View | float = self._along_partitions(self.terms.factor, start, rows) or e.scale
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
        for run in runs(form, self.out, self._number, src.free[0][1]):
            at = (run.dims, run.offset, (), 0, form.dtype)
            yield run, View(form.buffer, dst.start, dst.partitions, *at)

    def _evict_terms(self, dst: View, narrow: View | None, src: View) -> None:
        """Emit dst = func(src * scale * factor + offset +- residual), with vectors along the
        columns.
        """
        e, emitter = self.epilogue, self.state.emitter
        terms = list(self.terms.row_terms)
        if e.residual is not None:
            terms.append((e.residual[0], self.terms.spread(e.residual[1])))
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
