"""Add the vectors of an epilogue: in PSUM by matmuls, or with the eviction of the results."""

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.constants.bound import splits
from neuronir.passes.lowering.conversion.row_parts import parts_selector, row_parts
from neuronir.passes.lowering.layouts.cover import covered, elements_of
from neuronir.passes.lowering.layouts.layout import Atom, Form, split_at
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.lowering.products.epilogue import Epilogue
from neuronir.passes.lowering.state import Lowering


class Terms:
    """The bias and the factor of an epilogue, by where they vary.

    `bias` and `factor` vary along the partitions of the results and are part of their eviction, as
    are the vectors `row_terms` along the columns. `row_bias` and `column_bias` are added in PSUM.
    """

    def __init__(
        self, state: Lowering, epilogue: Epilogue, out: Form, columns: Sequence[Atom]
    ) -> None:
        self.state = state
        self.epilogue = epilogue
        self.out = out
        self.columns = columns
        self.bias: Form | None = None
        self.factor: Form | None = None
        self.row_terms: list[tuple[AluOp, Form]] = []
        self.row_bias: Value | None = None
        self.column_bias: tuple[Value, np.ndarray] | None = None
        self._classify()

    def _along_columns(self, value: Value) -> bool:
        """Return whether a vector varies along the columns of a result."""
        return any(
            a.stride < c.end and c.stride < a.end for a in value.support for c in self.columns
        )

    def spread(self, value: Value) -> Form:
        """Return a copy of a vector on the partitions of the results."""
        return self.state.converter.ensure(value, self.out.partition, self.out.partitions)

    def _classify(self) -> None:
        factor = self.epilogue.factor
        if factor is not None and self._along_columns(factor):
            self.row_terms = [(AluOp.MULTIPLY, self.spread(factor))]
            self.row_terms += [(AluOp.ADD, self.spread(b)) for b in self.epilogue.biases]
            return
        biases = self.epilogue.biases
        if self.epilogue.scale != 1.0 and biases and self._along_columns(biases[0]):
            # A bias that is added in PSUM would be scaled, too.
            self.row_terms = [(AluOp.ADD, self.spread(biases[0]))]
            return
        if self.epilogue.factor is not None:
            self.factor = self.spread(self.epilogue.factor)
        if not self.epilogue.biases:
            return
        value = self.epilogue.biases[0]
        along = self._along_columns(value)
        if not along and self._takes_column(value):
            return
        if not along:
            self.bias = self.spread(value)
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

    def add(
        self,
        psum: SSAValue,
        number: int,
        rows: int,
        place: tuple[int, int],
        size: int,
        atoms: Sequence[Atom],
    ) -> None:
        """Accumulate the biases of a result, which lies at `place` (partition, column) of PSUM."""
        if self.row_bias is not None:
            self._add_rows(psum, number, rows, place, atoms)
        if self.column_bias is not None:
            self._add_column(psum, number, rows, place, size)

    def _add_rows(
        self,
        psum: SSAValue,
        number: int,
        rows: int,
        place: tuple[int, int],
        atoms: Sequence[Atom],
    ) -> None:
        """Accumulate a bias along the columns, split where it varies or repeats."""
        assert self.row_bias is not None
        parts = _cut_at(atoms, self.row_bias.support)
        inner = parts[-self.state.machine.max_free_dims :]
        size = elements_of(inner)
        for i, outer in enumerate(numbers_of(parts[: len(parts) - len(inner)])):
            target = View(psum, place[0], rows, ((1, size),), place[1] + i * size)
            self._add_row(target, number + outer, inner)

    def _add_row(self, target: View, number: int, atoms: Sequence[Atom]) -> None:
        """Accumulate a bias along the columns: a matmul of ones and the bias's row."""
        state, value = self.state, self.row_bias
        assert value is not None
        rows, size = target.partitions, target.free[0][1]
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

    def _add_column(
        self, psum: SSAValue, number: int, rows: int, place: tuple[int, int], size: int
    ) -> None:
        """Accumulate a bias along the partitions: a matmul of the bias's row and ones."""
        assert self.column_bias is not None
        value, vector = self.column_bias
        constants = self.state.constants
        buffer, row, base, height = constants.row(vector)
        selector, at = constants.row_selector()
        first = base + value.support[0].digit(number)
        stationary = View(buffer, 0, height, ((1, rows),), first, (), 0, "bf16")
        moving = View(selector, 0, height, ((0, size),), at + row, (), 0, "bf16")
        target = View(psum, place[0], rows, ((1, size),), place[1])
        self.state.emitter.matmul(target, stationary, moving, True)

    def offset(self, number: int) -> int:
        """Return the offset of a vector along the partitions for a result."""
        form = self.bias or self.factor
        return 0 if form is None else form.locate(number)[1]


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
