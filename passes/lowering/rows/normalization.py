"""Compute the scale, offset and statistics of norms."""

from typing import cast

import numpy as np
from xdsl.dialects.builtin import BoolAttr, FloatAttr, IntegerAttr
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import Activation, AluOp, DType
from neuronir.passes.lowering.layouts.demand import inner_tile
from neuronir.passes.lowering.layouts.layout import Form, dim_atoms, span
from neuronir.passes.lowering.layouts.values import Value, constant_value, new_value, rename_dims
from neuronir.passes.lowering.layouts.views import chunks, walked
from neuronir.passes.lowering.state import VIEWS, Lowering


def batch_norm_affine(state: Lowering, op: CompositeOp) -> tuple[Value, Value] | None:
    """Return (factor, offset) with which an inference batch norm is x * factor + offset.

    factor = scale / sqrt(variance + epsilon), offset = offset - mean * factor, along the feature
    dimension, in the result's shape. Constants are computed here, others on the chip. Returns None
    if the operands are not available yet or are not float32 vectors.
    """
    params = op.params.data
    scaled, shifted = (
        bool(cast(IntegerAttr, params[k]).value.data) for k in ("has_scale", "has_offset")
    )
    feature = int(cast(IntegerAttr, params["feature_index"]).value.data)
    epsilon = float(cast(FloatAttr, params["epsilon"]).value.data)
    shape = state.shape(op.results[0])
    given = [state.values.get(v) for v in op.operands[1:]]
    count = shape[feature]
    if any(v is None or v.dtype is not DType.F32 or v.shape != (count,) for v in given):
        return None
    values = [cast(Value, v) for v in given]
    scale = values.pop(0) if scaled else None
    offset = values.pop(0) if shifted else None
    mean, variance = values
    parts = [v for v in (scale, offset, mean, variance) if v is not None]
    if all(v.array is not None or v.scalar is not None for v in parts):
        factor, shift = _fold(scale, offset, mean, variance, epsilon, count)
    else:
        factor, shift = _compute(state, scale, offset, mean, variance, epsilon, count)
    return rename_dims(factor, shape, [feature]), rename_dims(shift, shape, [feature])


def _numbers(value: Value | None, count: int, default: float) -> np.ndarray:
    if value is None:
        return np.full(count, default, np.float32)
    if value.array is not None:
        return value.array.astype(np.float32)
    return np.full(count, value.scalar, np.float32)


def _fold(
    scale: Value | None,
    offset: Value | None,
    mean: Value,
    variance: Value,
    epsilon: float,
    count: int,
) -> tuple[Value, Value]:
    deviation = np.sqrt(_numbers(variance, count, 1.0) + np.float32(epsilon))
    factor = _numbers(scale, count, 1.0) / deviation
    shift = _numbers(offset, count, 0.0) - _numbers(mean, count, 0.0) * factor
    return vector_value(factor), vector_value(shift)


def vector_value(array: np.ndarray) -> Value:
    """Return a constant vector, including one with a single element."""
    value = constant_value(array, DType.F32)
    if value.scalar is not None:
        value = new_value(array.shape, DType.F32)
        value.array = array
    return value


def _compute(
    state: Lowering,
    scale: Value | None,
    offset: Value | None,
    mean: Value,
    variance: Value,
    epsilon: float,
    count: int,
) -> tuple[Value, Value]:
    support = dim_atoms((count,), [0])
    partition = inner_tile(support, state.machine.partitions)[0]
    rows = span(partition)

    def form(value: Value) -> Form:
        return state.converter.ensure(value, partition, rows)

    def fresh() -> Form:
        return state.allocate(support, partition, DType.F32)

    factor, shift = fresh(), fresh()
    emitter = state.emitter
    v, m = form(variance), form(mean)
    g = None if scale is None else form(scale)
    o = None if offset is None else form(offset)
    forms = [factor, shift, v, m, *[f for f in (g, o) if f is not None]]
    walk = walked(forms, [a for a, _ in factor.free])
    for piece in chunks(walk, rows, 3, state.machine.max_free_sbuf):
        views = [piece.view(f, i) for i, f in enumerate(forms)]
        rest = views[4:]
        emitter.tensor_scalar(views[1], views[2], AluOp.ADD, epsilon)
        emitter.activation(views[0], views[1], Activation.RSQRT)
        if g is not None:
            emitter.tensor_tensor(AluOp.MULTIPLY, views[0], views[0], rest.pop(0))
        emitter.tensor_tensor(AluOp.MULTIPLY, views[1], views[3], views[0])
        if o is not None:
            emitter.tensor_tensor(AluOp.SUBTRACT, views[1], rest.pop(0), views[1])
        else:
            emitter.tensor_scalar(views[1], views[1], AluOp.MULTIPLY, -1.0)
    results: list[Value] = []
    for made in (factor, shift):
        value = new_value((count,), DType.F32)
        value.forms.append(made)
        results.append(value)
    return results[0], results[1]


def norm_affine(
    state: Lowering, op: CompositeOp, values: list[Value]
) -> tuple[Value | None, Value | None]:
    """Return the scale and offset of a layer or RMS norm as values of x's shape, None if absent.

    They are the values that the region builds with views.
    """
    block = op.regions[0].block
    for argument, value in zip(block.args, values, strict=True):
        state.set(argument, value)
    params = op.params.data
    names = [k for k in ("has_scale", "has_offset") if cast(BoolAttr, params[k]).value.data]
    found: dict[str, Value] = {}
    for name, argument in zip(names, block.args[1:], strict=True):
        found[name] = state.value(_seen(state, argument))
    return found.get("has_scale"), found.get("has_offset")


def _seen(state: Lowering, ssa: SSAValue) -> SSAValue:
    """Return the last of the views that follow a value, each its only use."""
    while ssa.has_one_use():
        user = next(iter(ssa.uses)).operation
        if user.name not in VIEWS:
            break
        ssa = user.results[0]
        state.available(ssa)
    return ssa
