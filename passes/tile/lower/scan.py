"""Lower tile.scan: a recurrence along a row is one DVE instruction."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.ops import ScanOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, split_at
from neuronir.passes.lowering.layouts.natural import borders
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.tile.layouts.maps import repeated
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.values import Number

OPERATORS = {
    "linear": (AluOp.MULTIPLY, AluOp.ADD),
    "add": (AluOp.MULTIPLY, AluOp.ADD),
    "multiply": (AluOp.MULTIPLY, AluOp.ADD),
    "maximum": (AluOp.MAX, AluOp.MAX),
    "minimum": (AluOp.MIN, AluOp.MIN),
}
"""`h = (data0 op0 h) op1 data1`: a sum multiplies by one, a product adds negative zero."""


@register_lowering("tile.scan")
def lower_scan(state: Lower, op: Operation) -> None:
    """Emit one instruction per row of each partition."""
    assert isinstance(op, ScanOp)
    _Rows(state, op).emit()


class _Rows:
    """The rows of a recurrence, in order."""

    def __init__(self, state: Lower, op: ScanOp) -> None:
        self.state, self.op = state, op
        shape = shape_of(op.result)
        self.length = shape[-1]
        self.backwards = op.backwards is not None
        self.sources = [self._source(v) for v in op.arrays]
        self.begin = None if op.begin is None else state.get(op.begin)
        self.first = self._begin_form(op.begin) if op.begin is not None else None
        self.out = state.allocate(op.result)
        forms = [self.out, *(s for s in self.sources if s), *((self.first,) if self.first else ())]
        self.steps = self._along(shape)
        self.rest = self._rest(shape, forms)

    def _source(self, value: SSAValue) -> Form | None:
        """Return the copy of an array; None for a scalar."""
        found = self.state.get(value)
        return None if isinstance(found, Number) else self.state.held(value)

    def _begin_form(self, value: SSAValue) -> Form | None:
        """Return the initial value of each row, numbered like the rows; None for a scalar."""
        if isinstance(self.state.get(value), Number):
            return None
        form, size = self.state.held(value), prod(shape_of(value))
        again = [(a.size, s) for a, s in form.partition if a.stride >= size]

        def longer(pairs: Sequence[tuple[Atom, int]]) -> tuple[tuple[Atom, int], ...]:
            return tuple(
                (atom(a.size, a.stride * self.length), s) for a, s in pairs if a.stride < size
            )

        partition = (*longer(form.partition), *repeated(again, size * self.length))
        return replace(form, partition=partition, free=longer(form.free))

    def _along(self, shape: Sequence[int]) -> list[int]:
        """Return the stride of the result and of each array along a row."""
        whole = atom(shape[-1], 1)
        steps = [0 if f is None else f.stride(whole) for f in (self.out, *self.sources)]
        if None in steps:
            raise NeuronError("NIR_TIL007", "a recurrence runs along a row that is not contiguous")
        return [s or 0 for s in steps]

    def _rest(self, shape: Sequence[int], forms: Sequence[Form]) -> list[Atom]:
        """Return the digits of the rows of a partition."""
        cuts = {c for f in forms for a in f.atoms() for c in (a.stride, a.end)}
        cuts |= {shape[-1], *borders(shape)}
        return [
            b for a, _ in self.out.free for b in split_at(a, cuts) or (a,) if b.stride >= shape[-1]
        ]

    def emit(self) -> None:
        """Emit the instructions."""
        state, op = self.state, self.op
        kind = op.kind.data
        rows, n = self.out.partitions, self.length
        other = {"add": 1.0, "multiply": -0.0}.get(kind)
        constant = None if other is None else self._filled(other)
        numbers = {}
        for k, v in enumerate(op.arrays):
            found = state.get(v)
            if isinstance(found, Number):
                numbers[k] = self._filled(found.value)
        if self.begin is None:
            self._first(numbers)
        ops = OPERATORS[kind]
        for place in numbers_of(self.rest):
            arrays = [
                replace(numbers[k], free=((0, n),)) if f is None else self._row(f, k + 1, place)
                for k, f in enumerate(self.sources)
            ]
            if constant is not None:
                fixed = replace(constant, free=((0, n),))
                arrays = [fixed, *arrays] if kind == "add" else [*arrays, fixed]
            elif len(arrays) == 1:
                arrays *= 2
            self._emit_row(self._row(self.out, 0, place), arrays, ops, place, rows)
        state.set(op.result, self.out)

    def _emit_row(
        self, dst: View, arrays: list[View], ops: tuple[AluOp, AluOp], place: int, rows: int
    ) -> None:
        params: dict[str, float | int] = {"op0": ops[0], "op1": ops[1]}
        initial: View | None = None
        if self.begin is None:
            initial = replace(dst, free=((1, 1),))  # the first element, which is already written
            dst, arrays = self._behind(dst), [self._behind(a) for a in arrays]
            if not dst.free[0][1]:
                return
        elif isinstance(self.begin, Number):
            params["initial"] = self.begin.value
        else:
            assert self.first is not None
            initial = self.first.at(place, rows, ((1, 1),))
        self.state.emitter.emit("tensor_tensor_scan", [dst], [*arrays, initial], params, Engine.DVE)

    def _row(self, form: Form, which: int, place: int) -> View:
        """Return a row, in the order of the recurrence."""
        view, step = form.at(place, self.out.partitions, ((1, 1),)), self.steps[which]
        if not self.backwards:
            return replace(view, free=((step, self.length),))
        offset = view.offset + step * (self.length - 1)
        return replace(view, free=((-step, self.length),), offset=offset)

    def _behind(self, view: View) -> View:
        """Return a row without its first element."""
        ((step, n),) = view.free
        return replace(view, free=((step, n - 1),), offset=view.offset + step)

    def _filled(self, number: float) -> View:
        """Return a scalar on each partition."""
        rows = self.out.partitions
        view = View(self.state.emitter.sbuf(rows, 1, DType.F32), 0, rows, ((1, 1),))
        self.state.emitter.memset(view, number)
        return view

    def _first(self, numbers: dict[int, View]) -> None:
        """Copy the first elements of the last array, for many rows at once."""
        last, which = self.sources[-1], len(self.sources)
        dims = [(a, self.out.whole_stride(a)) for a in self.rest]
        for place in numbers_of([a for a, _ in dims[:-3]]):
            inner = dims[-3:]
            dst = self._row(self.out, 0, place)
            dst = replace(dst, free=tuple((s, a.size) for a, s in inner) or ((1, 1),))
            if last is None:
                self.state.emitter.memset(dst, self._number(which - 1))
                continue
            src = self._row(last, which, place)
            free = tuple((last.whole_stride(a), a.size) for a, _ in inner) or ((1, 1),)
            self.state.emitter.copy(dst, replace(src, free=free))

    def _number(self, which: int) -> float:
        found = self.state.get(self.op.arrays[which])
        assert isinstance(found, Number)
        return found.value
