"""Lower softmax: the maximum of each row, exponentials with their sum, and a product with its
inverse.
"""

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine, Space
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.values import new_value
from neuronir.passes.lowering.products.attention_match import PLAIN
from neuronir.passes.lowering.rows.row_work import Rows, rows_of
from neuronir.passes.lowering.rules.reduce import full_value
from neuronir.passes.lowering.state import Lowering


def lower_softmax(state: Lowering, op: CompositeOp) -> bool:
    """Lower a float32 softmax with rows on the free axis; return False for others."""
    block = op.regions[0].block
    if any(o.name not in PLAIN for o in block.ops if o is not block.last_op):
        return False
    value = state.value(op.operands[0])
    if value.scalar is not None or value.array is not None or value.dtype is not DType.F32:
        return False
    scale = 1.0
    if value.lazy is not None and not value.forms:
        source, factor, bias = value.lazy
        if factor > 0.0 and bias == 0.0:
            value, scale = source, factor
    rows = rows_of(state, full_value(state, value), ints(op.params.data["axes"]))
    if rows is None:
        return False
    result, dtype, absorbed = converted(state, op)
    raised, sums = exponentials(rows, scale)
    out = rows.result(dtype)
    _scaled(rows, raised, sums, out)
    state.done.update(absorbed)
    made = new_value(state.shape(result), dtype)
    made.forms.append(out)
    state.set(result, made)
    return True


def converted(state: Lowering, op: Operation) -> tuple[SSAValue, DType, list[Operation]]:
    """Return the result that the last instructions of an op write.

    If only a conversion to another float type follows, this is its result. Also returns its type
    and the fused ops.
    """
    result = op.results[0]
    if result.has_one_use():
        user = next(iter(result.uses)).operation
        apart = state.loops.apart(op, user)
        if user.name == "hlo.convert" and not apart:
            dtype = state.dtype(user.results[0])
            if dtype.is_float:
                return user.results[0], dtype, [user]
    return result, state.dtype(result), []


def exponentials(rows: Rows, scale: float) -> tuple[Form, Form]:
    """Compute exp(scale * (x - max x)) and its sum for each row, for a positive `scale`."""
    emitter, machine = rows.state.emitter, rows.state.machine
    low = rows.numbers()  # minus the maximum, times the scale
    limit = machine.max_free_psum
    for chunk in rows.groups(limit):
        emitter.emit(
            "tensor_reduce",
            [rows.number(low, chunk)],
            [rows.source(chunk)],
            {"op": AluOp.MAX, "axes": len(rows.dims), "negate": 1},
            Engine.DVE,
        )
    if scale != 1.0:
        for chunk in rows.together():
            view = rows.number(low, chunk)
            emitter.tensor_scalar(view, view, AluOp.MULTIPLY, scale)
    raised, sums = rows.result(DType.F32), rows.numbers()

    def by_row() -> None:
        for chunk in rows.each():
            emitter.activation(
                rows.of(raised, chunk),
                rows.source(chunk),
                Activation.EXP,
                scale,
                rows.number(low, chunk),
                rows.number(sums, chunk),
            )

    def by_group() -> None:
        for chunk in rows.groups(limit):
            view = rows.of(raised, chunk)
            emitter.tensor_tensor(AluOp.ADD, view, rows.source(chunk), rows.spread(low, chunk))
            emitter.activation(view, view, Activation.EXP)
            emitter.emit(
                "tensor_reduce",
                [rows.number(sums, chunk)],
                [view],
                {"op": AluOp.ADD, "axes": len(rows.dims)},
                Engine.DVE,
            )

    emitter.cheapest(by_row, *([by_group] if scale == 1.0 and rows.count > 1 else []))
    return raised, sums


def _scaled(rows: Rows, raised: Form, sums: Form, out: Form) -> None:
    """Emit out = raised / sums."""
    emitter, limit = rows.state.emitter, rows.state.machine.max_free_psum

    def inverse(space: Space = Space.SBUF) -> Form:
        form = rows.numbers(1, space)
        for chunk in rows.together():
            emitter.emit(
                "reciprocal", [rows.number(form, chunk)], [rows.number(sums, chunk)], {}, Engine.DVE
            )
        return form

    def by_row(engine: Engine) -> None:
        form = inverse()
        for chunk in rows.each():
            factor = rows.number(form, chunk)
            source, target = rows.of(raised, chunk), rows.of(out, chunk)
            if engine is Engine.ACT:
                emitter.activation(target, source, Activation.COPY, factor)
            else:
                emitter.tensor_scalar(target, source, AluOp.MULTIPLY, factor)

    def by_group() -> None:
        form = inverse(Space.PSUM)  # with one operand in PSUM the other is read at full rate
        for chunk in rows.groups(limit):
            source, target = rows.of(raised, chunk), rows.of(out, chunk)
            emitter.tensor_tensor(AluOp.MULTIPLY, target, source, rows.spread(form, chunk))

    emitter.cheapest(lambda: by_row(Engine.DVE), lambda: by_row(Engine.ACT), by_group)
