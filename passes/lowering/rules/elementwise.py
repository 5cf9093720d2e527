"""Lower elementwise ops: one instruction per piece, with scalar and per-partition operands."""

from typing import cast

from xdsl.ir import Operation

from neuronir.dialects.hlo.elementwise import CompareOp
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.passes.hlo.support.activations import ACTIVATIONS
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.values import Value, scalar_value
from neuronir.passes.lowering.rules.pointwise import Pointwise, as_scalars, choose_partition
from neuronir.passes.lowering.state import Lowering

BINARY = {
    "hlo.add": AluOp.ADD,
    "hlo.subtract": AluOp.SUBTRACT,
    "hlo.multiply": AluOp.MULTIPLY,
    "hlo.maximum": AluOp.MAX,
    "hlo.minimum": AluOp.MIN,
    "hlo.remainder": AluOp.MOD,
    "hlo.shift_left": AluOp.SHIFT_LEFT,
    "hlo.shift_right_logical": AluOp.SHIFT_RIGHT_LOGICAL,
    "hlo.shift_right_arithmetic": AluOp.SHIFT_RIGHT_ARITHMETIC,
}
LOGICAL = {
    "hlo.and": (AluOp.LOGICAL_AND, AluOp.BITWISE_AND),
    "hlo.or": (AluOp.LOGICAL_OR, AluOp.BITWISE_OR),
    "hlo.xor": (AluOp.LOGICAL_XOR, AluOp.BITWISE_XOR),
}
COMPARISONS = {
    "EQ": AluOp.IS_EQ,
    "NE": AluOp.IS_NE,
    "LT": AluOp.IS_LT,
    "LE": AluOp.IS_LE,
    "GT": AluOp.IS_GT,
    "GE": AluOp.IS_GE,
}
_EXACT = {DType.I32, DType.U32}
_WRAPPING = {AluOp.ADD, AluOp.SUBTRACT, AluOp.MULTIPLY, AluOp.DIVIDE, AluOp.MOD}
BITS = {
    AluOp.BITWISE_AND,
    AluOp.BITWISE_OR,
    AluOp.BITWISE_XOR,
    AluOp.SHIFT_LEFT,
    AluOp.SHIFT_RIGHT_LOGICAL,
    AluOp.SHIFT_RIGHT_ARITHMETIC,
}
"""Operators that DVE computes exactly on the bits of integers."""


def engine_for(op: AluOp, dtype: DType, machine_has_pool: bool) -> Engine:
    """Exact 32-bit integer arithmetic needs POOL (docs/hardware.md section 3.7).

    POOL also wraps narrower results, which fp32 would saturate.
    """
    integer = not dtype.is_float and dtype is not DType.BOOL
    if integer and op not in BITS and machine_has_pool:
        if dtype in _EXACT or op in _WRAPPING:
            return Engine.POOL
    return Engine.DVE


def lower_unary(state: Lowering, op: Operation) -> None:
    """Lower abs, exponential, negate, not, ... to one activation or one tensor_scalar."""
    operand = state.value(op.operands[0])
    dtype = state.dtype(op.results[0])
    result = op.results[0]
    if op.name == "hlo.negate" and dtype.is_float and result.has_one_use():
        source, scale, bias = operand.lazy or (operand, 1.0, 0.0)
        state.set(
            result, Value(operand.shape, dtype, operand.support, lazy=(source, -scale, -bias))
        )
        return
    func = ACTIVATIONS.get(op.name)
    scale, bias = 1.0, 0.0
    if func is not None and operand.lazy is not None and not operand.forms:
        operand, scale, bias = operand.lazy
    work = Pointwise(state, op, [operand], dtype)
    for out, (src,) in work.pieces(4):
        assert src is not None
        if func is not None and dtype.is_float:
            activation(state, out, src, func, scale, bias)
        elif op.name == "hlo.negate":
            engine = engine_for(AluOp.MULTIPLY, dtype, state.machine.has_pool)
            state.emitter.tensor_scalar(out, src, AluOp.MULTIPLY, -1.0, engine=engine)
        elif op.name == "hlo.not" and dtype is DType.BOOL:
            state.emitter.tensor_scalar(out, src, AluOp.IS_EQ, 0.0)
        elif op.name == "hlo.not":
            state.emitter.tensor_scalar(out, src, AluOp.BITWISE_NOT, 0.0)
        elif op.name == "hlo.abs":  # max(x, -x): the minimum stays itself
            engine = engine_for(AluOp.MULTIPLY, dtype, state.machine.has_pool)
            state.emitter.tensor_scalar(out, src, AluOp.MULTIPLY, -1.0, engine=engine)
            state.emitter.tensor_tensor(AluOp.MAX, out, src, out, engine)
        else:
            state.emitter.copy(out, src)
    work.finish(op)


def activation(
    state: Lowering,
    out: View,
    src: View,
    func: Activation,
    scale: float | View = 1.0,
    bias: float | View = 0.0,
) -> None:
    """Emit an activation; reciprocal takes no bias on this machine (docs/hardware.md section
    3.3).
    """
    state.emitter.activation(out, src, func, scale, bias)


def lower_convert(state: Lowering, op: Operation) -> None:
    """Lower convert: a copy, or the source in HBM, whose loads convert."""
    operand = state.value(op.operands[0])
    dtype = state.dtype(op.results[0])
    if dtype is operand.dtype:
        state.set(op.results[0], operand)
        return
    if operand.scalar is not None:
        state.set(
            op.results[0],
            scalar_value(operand.shape, dtype, dtype.numpy.type(operand.scalar).item()),
        )
        return
    resident = any(not f.hbm for f in state.converter.source_forms(operand))
    if state.machine.dma_casts and not resident and operand.array is None and operand.lazy is None:
        casts = dtype.is_float and operand.dtype.is_float
        if casts and not operand.rounds():
            view = Value(
                operand.shape,
                dtype,
                operand.support,
                source=operand,
                from_source=lambda form: form if form.hbm else None,
                to_source=lambda a: None,
            )
            state.set(op.results[0], view)
            return
    if operand.array is not None:
        array = operand.array.astype(dtype.numpy)
        state.set(op.results[0], Value(operand.shape, dtype, operand.support, array=array))
        return
    work = Pointwise(state, op, [operand], dtype)
    for out, (src,) in work.pieces(4):
        assert src is not None
        state.emitter.copy(out, src)
    work.finish(op)


def lower_binary(state: Lowering, op: Operation) -> None:
    """Lower add, subtract, multiply, maximum, minimum, divide, compare, and, or, xor, shifts."""
    lhs, rhs = state.value(op.operands[0]), state.value(op.operands[1])
    dtype = state.dtype(op.results[0])
    if op.name == "hlo.divide":
        lower_divide(state, op, lhs, rhs, dtype)
        return
    if op.name == "hlo.compare":
        alu = COMPARISONS[cast(CompareOp, op).direction.data]
    elif op.name in LOGICAL:
        alu = LOGICAL[op.name][0 if dtype is DType.BOOL else 1]
    else:
        alu = BINARY[op.name]
        if dtype is DType.BOOL:
            alu = {AluOp.ADD: AluOp.LOGICAL_OR, AluOp.MULTIPLY: AluOp.LOGICAL_AND}.get(alu, alu)
    if _stays_lazy(state, op, lhs, rhs, alu, dtype):
        return
    emit_binary(state, op, lhs, rhs, alu, dtype)


def _stays_lazy(
    state: Lowering, op: Operation, lhs: Value, rhs: Value, alu: AluOp, dtype: DType
) -> bool:
    """Defer a float value times or plus a scalar to its single user."""
    if dtype is not DType.F32 or not op.results[0].has_one_use():
        return False
    value, scalar = (lhs, rhs.scalar) if rhs.scalar is not None else (rhs, lhs.scalar)
    if scalar is None or value.scalar is not None or value.array is not None:
        return False
    user = next(iter(op.results[0].uses)).operation
    if user.name not in ACTIVATIONS and user.name not in (
        "hlo.add",
        "hlo.multiply",
        "hlo.subtract",
    ):
        return False
    source, scale, bias = value.lazy or (value, 1.0, 0.0)
    if value.forms:
        source, scale, bias = value, 1.0, 0.0
    number = float(scalar)
    if alu is AluOp.MULTIPLY and bias == 0.0 and scale == 1.0:
        lazy = (source, number, 0.0)
    elif alu is AluOp.ADD and bias == 0.0:
        lazy = (source, scale, number)
    elif alu is AluOp.SUBTRACT and rhs.scalar is not None and bias == 0.0:
        lazy = (source, scale, -number)
    elif alu is AluOp.SUBTRACT and lhs.scalar is not None and bias == 0.0 and scale == 1.0:
        lazy = (source, -1.0, number)
    else:
        return False
    state.set(op.results[0], Value(value.shape, dtype, value.support, lazy=lazy))
    return True


def emit_binary(
    state: Lowering, op: Operation, lhs: Value, rhs: Value, alu: AluOp, dtype: DType
) -> None:
    """Emit one binary computation, in the cheapest form that its operands allow."""
    engine = engine_for(alu, lhs.dtype, state.machine.has_pool)
    multiplier = 1.0
    swapped = False
    if dtype is DType.F32 and alu in (AluOp.ADD, AluOp.SUBTRACT, AluOp.MULTIPLY):
        for which, value in enumerate((lhs, rhs)):
            other = rhs if which == 0 else lhs
            lazy = value.lazy
            if (
                lazy
                and not value.forms
                and lazy[2] == 0.0
                and other.scalar is None
                and other is not value
            ):
                multiplier, swapped = lazy[1], which == 1
                lhs, rhs = (lazy[0], other) if which == 0 else (other, lazy[0])
                break
    work = Pointwise(state, op, [lhs, rhs], dtype)
    cut = 0
    if multiplier == 1.0 and lhs.dtype is DType.F32:
        cut = work.varying_dims(1) or work.varying_dims(0)
    for out, (a, b) in work.pieces(cut=cut):
        left, right = as_scalars(a), as_scalars(b)
        if multiplier != 1.0 and a is not None and b is not None:
            src, tensor = (b, a) if swapped else (a, b)
            state.emitter.emit(
                "scalar_tensor_tensor",
                [out],
                [src, None, tensor],
                {
                    "op0": AluOp.MULTIPLY,
                    "imm0": multiplier,
                    "op1": alu,
                    "reverse1": int(swapped and alu is AluOp.SUBTRACT),
                },
                Engine.DVE,
            )
        elif a is None:
            assert b is not None and lhs.scalar is not None
            state.emitter.tensor_scalar(
                out, b, alu, float(lhs.scalar), reverse0=True, engine=engine
            )
        elif b is None:
            assert rhs.scalar is not None
            state.emitter.tensor_scalar(out, a, alu, float(rhs.scalar), engine=engine)
        elif right is not None and lhs.dtype is DType.F32 and as_scalars(out) is None:
            state.emitter.tensor_scalar(out, a, alu, right, engine=engine)
        elif left is not None and lhs.dtype is DType.F32 and as_scalars(out) is None:
            state.emitter.tensor_scalar(out, b, alu, left, reverse0=True, engine=engine)
        else:
            both = space_of(a.buffer) is Space.PSUM and space_of(b.buffer) is Space.PSUM
            if both:
                form = work.forms[1]
                assert form is not None
                work.forms[1] = state.converter.to_sbuf(form)
            state.emitter.tensor_tensor(alu, out, a, b, engine)
    work.finish(op)


def lower_divide(state: Lowering, op: Operation, lhs: Value, rhs: Value, dtype: DType) -> None:
    """Lower a / b = a * (1 / b), with the reciprocal by DVE in fp32; a scalar divisor divides."""
    if rhs.scalar is not None and dtype.is_float:
        work = Pointwise(state, op, [lhs], dtype)
        for out, (a,) in work.pieces(4):
            assert a is not None
            state.emitter.tensor_scalar(out, a, AluOp.DIVIDE, float(rhs.scalar))
        work.finish(op)
        return
    if not dtype.is_float:
        emit_binary(state, op, lhs, rhs, AluOp.DIVIDE, dtype)
        return
    partition = choose_partition(state, op, [v for v in (lhs, rhs) if v.scalar is None])
    inverse = Pointwise(state, op, [rhs], DType.F32, partition)
    for out, (b,) in inverse.pieces(4):
        assert b is not None
        state.emitter.emit("reciprocal", [out], [b], {}, Engine.DVE)
    value = Value(rhs.shape, DType.F32, inverse.support, [inverse.out])
    if lhs.scalar == 1.0 and dtype is DType.F32:
        state.set(op.results[0], value)
        return
    emit_binary(state, op, lhs, value, AluOp.MULTIPLY, dtype)


def lower_select(state: Lowering, op: Operation) -> None:
    """Lower select: a copy of on_false, overwritten by on_true where the predicate holds."""
    predicate, on_true, on_false = (state.value(v) for v in op.operands)
    dtype = state.dtype(op.results[0])
    if predicate.scalar is not None:
        state.set(op.results[0], on_true if predicate.scalar else on_false)
        return
    work = Pointwise(state, op, [predicate, on_true, on_false], dtype)
    filled: Form | None = None
    if on_true.scalar is not None:
        filled = state.converter.ensure(on_true, (), work.out.partitions)
    for out, (p, t, f) in work.pieces():
        assert p is not None
        if f is None:
            assert on_false.scalar is not None
            state.emitter.memset(out, float(on_false.scalar))
        else:
            state.emitter.copy(out, f)
        if t is None:
            assert filled is not None
            t = filled.at(0, out.partitions, [(0, n) for _, n in out.free])
        state.emitter.emit("copy_predicated", [out], [p, t], {}, Engine.DVE)
    work.finish(op)
