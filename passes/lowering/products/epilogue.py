"""Find ops that eviction from PSUM can compute: bias, residual, activation, cast."""

from dataclasses import dataclass, field
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.enums import Activation, AluOp, DType
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.hlo.support.activations import ACTIVATIONS
from neuronir.passes.lowering.layouts.layout import atom, row_major
from neuronir.passes.lowering.layouts.values import Value, rename_dims, reshape
from neuronir.passes.lowering.rows.normalization import batch_norm_affine, vector_value
from neuronir.passes.lowering.state import Lowering

COMPOSITES = {
    "gelu_exact": Activation.GELU,
    "gelu_tanh": Activation.GELU_TANH,
    "silu": Activation.SILU,
    "erf": Activation.ERF,
    "logistic": Activation.SIGMOID,
    "mish": Activation.MISH,
    "softplus": Activation.SOFTPLUS,
}


def activation_of(op: Operation, machine: Machine) -> Activation | None:
    """Return the ACT function of a composite; None for other ops and unsupported functions."""
    if not isinstance(op, CompositeOp) or len(op.operands) != 1:
        return None
    func = COMPOSITES.get(op.kind.data)
    return func if func is not None and func.name in machine.activations else None


@dataclass
class Epilogue:
    """Steps that follow a dot or a convolution, each the only user of the previous one.

    Values have the shape and numbering of the dot. `result` is the SSA value of the last step,
    `dtype` its type. The steps are, in order: scale by a scalar or by a factor along one dimension,
    bias, residual (which is added, subtracted or, for a gate, multiplied), function. `affine`
    collects constant factors and offsets along one dimension on the way. `last_use` means that the
    residual is dead afterwards. `narrowed` is the result of a cast of `result`, which has other
    users too; both are stored.
    """

    result: SSAValue
    dtype: DType
    scale: float = 1.0
    factor: Value | None = None
    biases: list[Value] = field(default_factory=list)
    sharing: int = 1  # ops that use the bias: a mask is that of all layers
    residual: tuple[AluOp, Value] | None = None
    last_use: bool = False
    func: Activation = Activation.COPY
    ops: list[Operation] = field(default_factory=list)
    affine: tuple[int, np.ndarray, np.ndarray] | None = None
    narrowed: SSAValue | None = None
    relieve: bool = False  # a mask of scores is for DVE, because PE has the most work


def find_epilogue(state: Lowering, product: SSAValue) -> Epilogue:
    """Follow single uses of `product` as far as one eviction can compute."""
    shape = state.shape(product)
    found = Epilogue(product, state.dtype(product))
    dot = product.owner
    assert isinstance(dot, Operation)
    batched = isinstance(dot, DotOp) and bool(ints(dot.lhs_batch_dims))
    found.relieve = batched and state.products.tensor_bound
    current = product
    while current.has_one_use():
        use = next(iter(current.uses))
        op = use.operation
        if len(op.results) != 1 or not isinstance(op.results[0].type, TensorType):
            break
        if state.loops.apart(dot, op):
            break
        if not _take(state, found, op, use.index, shape):
            break
        found.ops.append(op)
        current = op.results[0]
        found.result = current
        found.dtype = state.dtype(current)
        if found.func is not Activation.COPY and op.name == "hlo.convert":
            break
    found.narrowed = _cast_beside(state, current)
    if found.affine is not None:
        dimension, factor, offset = found.affine
        if not np.all(factor == 1.0):
            found.factor = rename_dims(vector_value(factor), shape, [dimension])
        if np.any(offset != 0.0):
            found.biases = [rename_dims(vector_value(offset), shape, [dimension])]
    return found


def _cast_beside(state: Lowering, value: SSAValue) -> SSAValue | None:
    """Return the only cast to a smaller float among several uses of an fp32 value."""
    if value.has_one_use() or state.dtype(value) is not DType.F32:
        return None
    casts = [
        use.operation
        for use in value.uses
        if use.operation.name == "hlo.convert" and use.operation not in state.loops.streamed
    ]
    if len(casts) != 1:
        return None
    dtype = state.dtype(casts[0].results[0])
    return casts[0].results[0] if dtype.is_float and dtype.size == 2 else None


def _take(state: Lowering, e: Epilogue, op: Operation, index: int, shape: tuple[int, ...]) -> bool:
    if op.name == "hlo.reshape":
        return True
    plain = e.func is Activation.COPY
    if op.name == "hlo.convert":
        return state.dtype(op.results[0]).is_float and state.dtype(op.operands[0]) is DType.F32
    if state.dtype(op.results[0]) is not DType.F32 or not plain:
        return False
    if op.name in ("hlo.add", "hlo.subtract") and op.operands[0] is not op.operands[1]:
        other = state.available(op.operands[1 - index])
        if other is None or (op.name == "hlo.subtract" and index == 1):
            return False
        if other.dtype is not DType.F32:
            return False
        # A bias along the columns is a further matmul: of a constant's bf16 parts, else in fp32.
        constant = other.root().array is not None
        biases = constant or DType.F32.name in state.machine.matmul_dtypes
        if biases and _take_affine(e, op.name, other, shape):
            return True
        e.sharing = sum(1 for _ in op.operands[1 - index].uses)
        if not _take_operand(e, op.name, other, shape, biases, e.relieve):
            return False
        if e.residual is not None and e.residual[1] is other:
            e.last_use = _last_use(state, op.operands[1 - index], op)
        return True
    if op.name == "hlo.multiply" and op.operands[0] is not op.operands[1]:
        other = state.available(op.operands[1 - index])
        if other is not None and _take_affine(e, op.name, other, shape):
            return True
        free = not e.biases and not e.residual and e.factor is None and e.affine is None
        if other is not None and other.scalar is not None and free:
            e.scale *= float(other.scalar)
            return True
        return _take_gate(e, other, shape)
    if op.name == "hlo.maximum":
        other = state.available(op.operands[1 - index])
        if other is not None and other.scalar == 0.0:
            e.func = Activation.RELU
            return True
        return False
    if op.name in ACTIVATIONS and op.name != "hlo.sign":
        e.func = ACTIVATIONS[op.name]
        return True
    if isinstance(op, CompositeOp) and op.kind.data == "batch_norm_inference" and index == 0:
        if e.factor is None and _unbiased(e) and e.scale == 1.0:
            affine = batch_norm_affine(state, op)
            if affine is not None:
                e.factor = affine[0] if affine[0].shape == shape else reshape(affine[0], shape)
                e.biases.append(
                    affine[1] if affine[1].shape == shape else reshape(affine[1], shape)
                )
                return True
        return False
    func = activation_of(op, state.machine)
    if func is not None:
        e.func = func
        return True
    return False


def _unbiased(e: Epilogue) -> bool:
    return not e.residual and not e.biases and e.affine is None


def _take_affine(e: Epilogue, name: str, other: Value, shape: tuple[int, ...]) -> bool:
    """Fold a constant vector along one dimension into the factor and the offset."""
    if e.residual is not None or e.biases or e.factor is not None or other.scalar is not None:
        return False
    found = _constant_vector(other if other.shape == shape else reshape(other, shape), shape)
    if found is None:
        return False
    dimension, vector = found
    if e.scale != 1.0 and name == "hlo.multiply":
        return False
    if e.affine is None:
        e.affine = (dimension, np.ones_like(vector), np.zeros_like(vector))
    if e.affine[0] != dimension:
        return False
    _, factor, offset = e.affine
    if name == "hlo.multiply":
        e.affine = (dimension, factor * vector, offset * vector)
    else:
        e.affine = (dimension, factor, offset + (vector if name == "hlo.add" else -vector))
    return True


def _constant_vector(value: Value, shape: tuple[int, ...]) -> tuple[int, np.ndarray] | None:
    """Return (dimension, values) of a constant that varies along one whole dimension of `shape`."""
    root = value.root()
    if root.array is None or value.dtype is not DType.F32 or root.dtype is not DType.F32:
        return None
    for d, (stride, n) in enumerate(zip(row_major(shape), shape, strict=True)):
        if n > 1 and value.support == (atom(n, stride),) and root.array.size == n:
            return d, root.array.reshape(-1)
    return None


def _last_use(state: Lowering, value: SSAValue, op: Operation) -> bool:
    """Return whether all other uses of a computed value are lowered, except to views read later."""
    if isinstance(value, BlockArgument) or state.emitter.depth:
        return False
    if state.values[value].source is not None or state.values[value].lazy is not None:
        return False
    return all(use.operation is op or _copied(state, use.operation) for use in value.uses)


def _copied(state: Lowering, op: Operation) -> bool:
    if op in state.done and not any(r in state.values for r in op.results):
        return True  # fused into an earlier op
    found = [state.values.get(r) for r in op.results]
    return bool(found) and all(v and v.source is None and v.lazy is None for v in found)


def _one_dimension(value: Value, shape: tuple[int, ...]) -> bool:
    """Return whether a value varies along only one dimension of `shape`."""
    strides = row_major(shape)
    touched = 0
    for stride, n in zip(strides, shape, strict=True):
        low, high = stride, stride * n
        touched += n > 1 and any(a.stride < high and low < a.end for a in value.support)
    return touched == 1


def _take_gate(e: Epilogue, other: Value | None, shape: tuple[int, ...]) -> bool:
    """Multiply by a value computed earlier, of the size of the dot."""
    if other is None or other.scalar is not None or other.array is not None:
        return False
    if other.shape != shape or other.dtype is not DType.F32 or e.residual is not None:
        return False
    if other.lazy is not None or (e.scale != 1.0 and not _unbiased(e)):
        return False
    if prod(a.size for a in other.support) != prod(shape):
        return False
    e.residual = (AluOp.MULTIPLY, other)
    return True


def _take_operand(
    e: Epilogue, name: str, other: Value, shape: tuple[int, ...], biases: bool, relieve: bool
) -> bool:
    if other.lazy is not None and not other.forms:
        return False
    value = other if other.shape == shape else reshape(other, shape)
    small = 1
    for a in other.support:
        small *= a.size
    total = 1
    for n in shape:
        total *= n
    if biases and name == "hlo.add" and other.scalar is None and _unbiased(e):
        computed = other.root().array is None  # such as a mask, which DVE can add as well
        if small < total and _one_dimension(value, shape) and not (computed and relieve):
            e.biases.append(value)
            return True
    if e.residual is None and other.scalar is None and other.array is None:
        e.residual = (AluOp.ADD if name == "hlo.add" else AluOp.SUBTRACT, value)
        return True
    return False
