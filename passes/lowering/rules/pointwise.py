"""Traverse the operands of an elementwise op and its result together."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.fault import NoLayout
from neuronir.passes.lowering.layouts.cover import elements_of, nested
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, span
from neuronir.passes.lowering.layouts.natural import refined, widest
from neuronir.passes.lowering.layouts.values import Partition, Value
from neuronir.passes.lowering.layouts.views import chunks, numbers_of, plan
from neuronir.passes.lowering.state import Lowering, union, whole

MAX_DIMS = 3
"""Free dims of an instruction with several operands (docs/hardware.md section 2.3: at most four;
with two sources and a destination, three each).
"""

LEAST_PIECE = 128
"""Elements of a partition from which a separate piece for each scalar pays."""


def choose_partition(state: Lowering, op: Operation, operands: Sequence[Value]) -> Partition:
    """Choose the layout of an elementwise result.

    It is that of its largest on-chip operand, else the one that its users want, else rows of
    contiguous elements.
    """
    result = op.results[0]
    best: Form | None = None
    size = -1
    for value in operands:
        if value.array is not None or value.scalar is not None:
            continue
        extent = 1
        for a in value.support:
            extent *= a.size
        wanted = next((f for f in state.converter.source_forms(value, lazy=True) if f.usable), None)
        if wanted is not None and wanted.partition and extent > size:
            best, size = wanted, extent
    if best is not None:
        return state.partition_of(best)
    want = state.demand(result)
    chosen = want.best()
    if chosen is not None and not any(
        a.stride < f.end and f.stride < a.end for a, _ in chosen for f in want.free
    ):
        return chosen
    support = union([v.support for v in operands])
    avoid = list(want.free)
    chosen = state.default_partition(support, avoid)
    if not chosen and want.spread and _quick(state, support):
        return _everywhere(state, state.shape(result))
    while not chosen and avoid and elements_of(support) > state.machine.partitions:
        avoid.pop()  # that of the most distant reduction: all on one partition is worse
        chosen = state.default_partition(support, avoid)
    return chosen


def as_scalars(view: View | None) -> View | None:
    """Return the [P,1] view of an access to one element per partition; None for other accesses."""
    if view is None or any(stride and size > 1 for stride, size in view.free):
        return None
    return replace(view, free=((1, 1),))


def _quick(state: Lowering, support: Sequence[Atom]) -> bool:
    """Return whether an instruction over all elements takes less than the minimum of a transfer."""
    machine = state.machine
    return elements_of(support) <= machine.dma_fixed_ns * machine.dve_ghz


def _everywhere(state: Lowering, shape: Sequence[int]) -> Partition:
    """Return a partition with equal data on all partitions: a digit above all those of a value."""
    return ((atom(state.machine.partitions, prod(shape)), 1),)


class Pointwise:
    """One elementwise computation in progress: its output form and its operands' forms."""

    def __init__(
        self,
        state: Lowering,
        op: Operation,
        operands: Sequence[Value],
        dtype: DType,
        partition: Partition | None = None,
    ) -> None:
        self.state = state
        self.dtype = dtype
        self.all = whole(op.results[0])
        self.forms: list[Form | None] = []
        self.by_rows = any(v.root().by_rows for v in operands)
        if all(v.scalar is not None for v in operands):  # uniform: compute one element
            one = operands[0]
            form = state.converter.ensure(one, (), 1)
            operands = [Value(one.shape, one.dtype, (), [form]), *operands[1:]]
        for attempt in (False, True):
            self.partition = (
                self._refined(operands, state.shape(op.results[0]))
                if attempt
                else partition
                if partition is not None
                else choose_partition(state, op, [v for v in operands if v.scalar is None])
            )
            if self._lay_out(operands):
                return
        if self.forms and self._put_in_order(operands):
            return
        # Repeats are materialised, so that only the layout can still fail to divide them.
        operands = [v if v.scalar is not None else state.converter.expanded(v) for v in operands]
        self.partition = choose_partition(state, op, [v for v in operands if v.scalar is None])
        if self._lay_out(operands) or (self.forms and self._put_in_order(operands)):
            return
        raise NeuronError("NIR_LOW004", "the layouts of the operands are incompatible")

    def _refined(self, operands: Sequence[Value], shape: tuple[int, ...]) -> Partition:
        """Return a layout in factors along which each operand varies or is constant."""
        varying = [v for v in operands if v.scalar is None]
        atoms = refined(varying, shape)
        return widest(atoms or (), self.state.machine.partitions)

    def _lay_out(self, operands: Sequence[Value]) -> bool:
        """Convert the operands to the layout, and find how to traverse them together."""
        converter, count = self.state.converter, span(self.partition)
        varying = [v for v in operands if v.scalar is None]
        self.support = union([converter.support(v, self.partition) for v in varying])
        if not nested(self.support):
            self.support = self.all
        self.forms = []
        try:
            self.forms = [
                None if v.scalar is not None else converter.ensure(v, self.partition, count)
                for v in operands
            ]
            present = [f for f in self.forms if f is not None]
            largest = max(present, key=lambda f: f.elements * f.partitions)
            self.out = self.state.allocate(self.support, self.partition, self.dtype, largest)
        except NoLayout:  # this layout does not divide an operand
            return False
        self.present = [self.out, *present]
        dims = plan(self.present, [a for a, _ in self.out.free])
        self.dims = dims or []
        return dims is not None

    def _put_in_order(self, operands: Sequence[Value]) -> bool:
        """Traverse copies of the operands with their factors in element order."""
        self.forms = [
            None if f is None else self.state.converter.in_order(v, f)
            for v, f in zip(operands, self.forms, strict=True)
        ]
        self.out = self.state.allocate(self.support, self.partition, self.dtype)
        self.present = [self.out, *(f for f in self.forms if f is not None)]
        dims = plan(self.present, [a for a, _ in self.out.free])
        self.dims = dims or []
        return dims is not None

    def pieces(
        self, max_dims: int = MAX_DIMS, cut: int = 0
    ) -> list[tuple[View, list[View | None]]]:
        """Yield (output, operands) of each instruction; None for scalars.

        The first `cut` dimensions, at least, are iterated one by one.
        """
        limit = self.state.machine.max_free_sbuf
        if any(space_of(f.buffer) is Space.PSUM for f in self.present):
            limit = self.state.machine.max_free_psum
        cut = max(cut, self._rows())
        outer, inner = self.dims[:cut], self.dims[cut:]
        out: list[tuple[View, list[View | None]]] = []
        for base in numbers_of([d.atom for d in outer]):
            for chunk in chunks(inner, self.out.partitions, max_dims, limit):
                piece = replace(chunk, number=chunk.number + base)
                views: list[View | None] = []
                k = 1
                for form in self.forms:
                    if form is None:
                        views.append(None)
                    else:
                        views.append(piece.view(form, k))
                        k += 1
                out.append((piece.view(self.out, 0), views))
        return out

    def _rows(self) -> int:
        """Return the dimensions along which operands arrive row by row."""
        ragged = any(d.atom.ragged for d in self.dims)
        return int(self.by_rows and len(self.dims) > 1 and not ragged)

    def varying_dims(self, which: int) -> int:
        """Return how many dimensions to iterate so that an operand is one element per partition.

        Returns 0 if pieces would be too small to gain from that.
        """
        form = self.forms[which]
        if form is None or any(d.atom.ragged for d in self.dims):
            return 0
        k = 1 + [f for f in self.forms if f is not None].index(form)
        cut = max((i + 1 for i, d in enumerate(self.dims) if d.strides[k]), default=0)
        inner = prod(d.size for d in self.dims[cut:])
        return cut if inner >= LEAST_PIECE else 0

    def finish(self, op: Operation) -> None:
        """Record the result."""
        shape = self.state.shape(op.results[0])
        value = Value(shape, self.dtype, self.support, [self.out], by_rows=self.by_rows)
        self.state.set(op.results[0], value)
