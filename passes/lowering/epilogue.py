"""What can be computed while a result is evicted from PSUM: bias, residual, activation, cast."""

from dataclasses import dataclass, field

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import Activation, AluOp, DType
from neuronir.passes.lowering.elementwise import ACTIVATIONS
from neuronir.passes.lowering.layout import row_major
from neuronir.passes.lowering.state import Lowering
from neuronir.passes.lowering.values import Value, reshape

COMPOSITES = {
    "gelu_exact": Activation.GELU,
    "gelu_tanh": Activation.GELU_TANH,
    "silu": Activation.SILU,
    "erf": Activation.ERF,
}


@dataclass
class Epilogue:
    """Steps that follow a dot or a convolution, each the only user of what comes before.

    Values have the shape and numbering of the product. `result` is the last one's SSA value,
    `dtype` its type. Order: scale by a scalar, biases, residual, function.
    """

    result: SSAValue
    dtype: DType
    scale: float = 1.0
    biases: list[Value] = field(default_factory=list)
    residual: tuple[AluOp, Value] | None = None
    func: Activation = Activation.COPY
    ops: list[Operation] = field(default_factory=list)


def find_epilogue(state: Lowering, product: SSAValue) -> Epilogue:
    """Follow single uses of `product` as far as one eviction can compute."""
    shape = state.shape(product)
    found = Epilogue(product, state.dtype(product))
    current = product
    while current.has_one_use():
        use = next(iter(current.uses))
        op = use.operation
        if len(op.results) != 1 or not isinstance(op.results[0].type, TensorType):
            break
        if not _take(state, found, op, use.index, shape):
            break
        found.ops.append(op)
        current = op.results[0]
        found.result = current
        found.dtype = state.dtype(current)
        if found.func is not Activation.COPY and op.name == "hlo.convert":
            break
    return found


def _take(state: Lowering, e: Epilogue, op: Operation, index: int, shape: tuple[int, ...]) -> bool:
    if op.name == "hlo.reshape":
        return True
    plain = e.func is Activation.COPY
    if op.name == "hlo.convert":
        return state.dtype(op.results[0]).is_float and state.dtype(op.operands[0]) is DType.F32
    if state.dtype(op.results[0]) is not DType.F32 or not plain:
        return False
    if op.name in ("hlo.add", "hlo.subtract") and op.operands[0] is not op.operands[1]:
        other = state.values.get(op.operands[1 - index])
        if other is None or (op.name == "hlo.subtract" and index == 1):
            return False
        if other.dtype is not DType.F32:
            return False
        return _take_operand(e, op.name, other, shape)
    if op.name == "hlo.multiply" and op.operands[0] is not op.operands[1]:
        other = state.values.get(op.operands[1 - index])
        if other is not None and other.scalar is not None and not e.biases and not e.residual:
            e.scale *= float(other.scalar)
            return True
        return False
    if op.name == "hlo.maximum":
        other = state.values.get(op.operands[1 - index])
        if other is not None and other.scalar == 0.0:
            e.func = Activation.RELU
            return True
        return False
    if op.name in ACTIVATIONS and op.name != "hlo.sign":
        e.func = ACTIVATIONS[op.name]
        return True
    if isinstance(op, CompositeOp) and len(op.operands) == 1:
        func = COMPOSITES.get(op.kind.data)
        if func is not None:
            e.func = func
            return True
    return False


def _one_dimension(value: Value, shape: tuple[int, ...]) -> bool:
    """Whether a value varies along one dimension of `shape` only."""
    strides = row_major(shape)
    touched = 0
    for stride, n in zip(strides, shape, strict=True):
        low, high = stride, stride * n
        touched += n > 1 and any(a.stride < high and low < a.end for a in value.support)
    return touched == 1


def _take_operand(e: Epilogue, name: str, other: Value, shape: tuple[int, ...]) -> bool:
    if other.lazy is not None and not other.forms:
        return False
    value = other if other.shape == shape else reshape(other, shape)
    small = 1
    for a in other.support:
        small *= a.size
    total = 1
    for n in shape:
        total *= n
    if name == "hlo.add" and other.scalar is None and not e.residual and not e.biases:
        if small < total and _one_dimension(value, shape):
            e.biases.append(value)
            return True
    if e.residual is None and other.scalar is None and other.array is None:
        e.residual = (AluOp.ADD if name == "hlo.add" else AluOp.SUBTRACT, value)
        return True
    return False
