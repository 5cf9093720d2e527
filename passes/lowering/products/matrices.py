"""Identify dots of two matrices, and the layout of their operands in HBM."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Form, atom, row_major
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.products.blocking import Problem
from neuronir.passes.lowering.products.sides import dims_of
from neuronir.passes.lowering.state import Lowering


@dataclass(frozen=True)
class Matrix:
    """An array in HBM as a matrix, with the strides along its free dimension and the contraction.

    `terms` are loop variables with the elements by which each iteration moves it.
    """

    buffer: SSAValue
    offset: int
    free: int
    depth: int
    terms: tuple[tuple[SSAValue, int], ...] = ()

    @property
    def transposed(self) -> bool:
        """Return whether the contraction is along the rows."""
        return self.depth == 1 and self.free != 1


def is_matrix_product(op: Operation, machine: Machine) -> bool:
    """Return whether an op is a float dot of two matrices that can be blocked.

    There is no batch, and in each operand the free and the contracted dimensions are adjacent, in
    the order of the other operand's.
    """
    if not isinstance(op, DotOp):
        return False
    dims = dims_of(op)
    if dims.batch[0] or not dims.contracting[0] or not (dims.free[0] and dims.free[1]):
        return False
    if not _float(op.results[0]) or not all(_float(v) for v in op.operands):
        return False
    shapes = [shape_of(v) for v in op.operands]
    first, second = (
        [shape[d] for d in contracting]
        for shape, contracting in zip(shapes, dims.contracting, strict=True)
    )
    if first != second or 0 in (*shapes[0], *shapes[1]):
        return False
    apart = all(
        tuple(c) == tuple(range(c[0], c[0] + len(c))) and (c[0] == 0 or c[-1] == len(shape) - 1)
        for c, shape in zip(dims.contracting, shapes, strict=True)
    )
    if not apart:
        return False
    problem = problem_of(op)
    plain = all(d is problem.dtype for d in problem.loaded)
    known = all(_dtype(v).name in machine.matmul_dtypes for v in op.operands)
    one = len({_dtype(v) for v in op.operands}) == 1
    return known and one and (plain or machine.dma_casts)


def problem_of(op: DotOp, transposed: tuple[bool, bool] | None = None) -> Problem:
    """Return the sizes and types of a dot of two matrices.

    `transposed` defaults to that of row-major arrays.
    """
    dims = dims_of(op)
    shapes = [shape_of(v) for v in op.operands]
    m, n = (prod(shapes[i][d] for d in dims.free[i]) for i in (0, 1))
    k = prod(shapes[0][d] for d in dims.contracting[0])
    if transposed is None:
        transposed = (dims.contracting[0][0] != 0, dims.contracting[1][0] != 0)
    types = [_dtype(v) for v in op.operands]
    loaded = [_dtype(_loaded(v)) for v in op.operands]
    return Problem(m, n, k, types[0], (loaded[0], loaded[1]), _dtype(op.results[0]), transposed)


def _loaded(value: SSAValue) -> SSAValue:
    """Return the value that is loaded for `value`: DMA converts."""
    while isinstance(value.owner, Operation) and value.owner.name == "hlo.convert":
        value = value.owner.operands[0]
    return value


def _dtype(value: SSAValue) -> DType:
    type_ = value.type
    assert isinstance(type_, TensorType)
    return dtype_of(type_.element_type)


def _float(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and isinstance(value.type.element_type, AnyFloat)


def matrices_of(state: Lowering, op: DotOp, target: Form) -> tuple[tuple[Matrix, Matrix], Matrix]:
    """Return the operands of a dot as they are in HBM; `target` is the destination."""
    dims = dims_of(op)
    left, right = (
        _matrix(state, state.value(v), dims.free[i], dims.contracting[i])
        for i, v in enumerate(op.operands)
    )
    first = len(dims.free[0])
    shape = state.shape(op.results[0])
    rows, columns = (_linear(target, shape, r) for r in (range(first), range(first, len(shape))))
    assert rows is not None and columns is not None
    return (left, right), Matrix(target.buffer, target.offset, rows, columns, target.indices)


def _matrix(
    state: Lowering, value: Value, free: Sequence[int], contracting: Sequence[int]
) -> Matrix:
    """Return an operand as a matrix in HBM, copied if necessary."""
    converter = state.converter
    form = converter.in_hbm(value)
    for _ in range(2):
        steps = [_linear(form, value.shape, dims) for dims in (free, contracting)]
        if None not in steps and 1 in steps:
            break
        form = converter.in_order_in_hbm(value, form)
    a, b = steps
    assert a is not None and b is not None
    return Matrix(form.buffer, form.offset, a, b, form.indices)


def _linear(form: Form, shape: Sequence[int], dims: Sequence[int]) -> int | None:
    """Return the stride of dimensions that are treated as one; None if it varies."""
    strides = row_major(shape)
    found: int | None = None
    reach = 1
    for d in reversed(dims):
        if shape[d] == 1:
            continue
        stride = form.stride(atom(shape[d], strides[d]))
        if stride is None or stride == 0 or (found is not None and stride != found * reach):
            return None
        found = found if found is not None else stride
        reach *= shape[d]
    return found if found is not None else 1
