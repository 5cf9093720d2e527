"""Lower layer and RMS norms of rows: statistics in one pass over x, then scale and offset."""

from typing import cast

from xdsl.dialects.builtin import FloatAttr

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.values import Value, new_value
from neuronir.passes.lowering.rows.across import lower_across
from neuronir.passes.lowering.rows.normalization import norm_affine
from neuronir.passes.lowering.rows.row_work import Rows, rows_of
from neuronir.passes.lowering.rows.softmax import converted
from neuronir.passes.lowering.rules.reduce import full_value
from neuronir.passes.lowering.state import Lowering

PSUM_SHARE = 4
"""The fraction of PSUM for a scale or an offset."""
TRIPLE = 3
"""Values of a group in bn_stats: count, mean, variance * count; one group for the even and one for
the odd elements.
"""

FEW_ROWS = 4
"""Up to this number of rows per partition, dots wait for the whole norm, so latency counts rather
than engine load.
"""

Vector = list[tuple[int, Form]]
"""A vector along the rows, equal on all partitions: its pieces by their first elements."""


def lower_norm(state: Lowering, op: CompositeOp) -> bool:
    """Lower a float32 layer_norm or rms_norm with rows on the free axis; return False for
    others.
    """
    if op in state.norms.across and lower_across(state, op):
        return True
    block = op.regions[0].block
    values = [state.value(v) for v in op.operands]
    if any(v.dtype is not DType.F32 for v in values) or values[0].scalar is not None:
        return False
    if any(state.dtype(r) is not DType.F32 for o in block.ops for r in o.results):
        return False
    rows = rows_of(state, full_value(state, values[0]), ints(op.params.data["axes"]))
    if rows is None:
        return False
    factor, offset = norm_affine(state, op, values)
    result, dtype, absorbed = converted(state, op)
    out = rows.result(dtype)
    epsilon = float(cast(FloatAttr, op.params.data["epsilon"]).value.data)
    moments, deviation = _statistics(rows, op.kind.data, epsilon)
    vectors = [(AluOp.MULTIPLY, factor, 1.0), (AluOp.ADD, offset, 0.0)]
    used = [(alu, v) for alu, v, neutral in vectors if v is not None and v.scalar != neutral]
    terms = [(alu, _spread(state, rows, v)) for alu, v in used]
    _apply(rows, moments, deviation, terms, out)
    if op in state.norms.recentred and factor is not None:
        _recentre(rows, out)
    state.done.update(absorbed)
    made = new_value(state.shape(result), dtype)
    made.forms.append(out)
    state.set(result, made)
    return True


def _statistics(rows: Rows, kind: str, epsilon: float) -> tuple[Form | None, Form]:
    """Compute moments (of a layer norm) and inverse deviation of each row, shared by norms of one
    value.
    """
    known = rows.state.norms.statistics.get((rows.form, kind, epsilon))
    if known is not None:
        return known
    moments = None
    if kind == "layer_norm":
        moments = _moments(rows)
        deviation = _inverse_root(rows, moments, 1, 2, epsilon)
    else:
        deviation = _inverse_root(rows, _square_means(rows), 0, 1, epsilon)
    rows.state.norms.statistics[rows.form, kind, epsilon] = moments, deviation
    return moments, deviation


def _spread(state: Lowering, rows: Rows, value: Value) -> Vector:
    """Return a vector along the rows on all partitions, as (first element, form) pieces.

    It is in PSUM if it is small, because an instruction reads one operand from SBUF and one from
    PSUM at full rate.
    """
    if len(rows.dims) == 1:
        limit = state.machine.psum_partition_bytes // PSUM_SHARE
        banks = state.converter.in_psum(value, limit)
        if banks is not None:
            return banks
    form = state.converter.ensure(value, state.partition_of(rows.form), rows.partitions)
    return [(0, form)]


def _moments(rows: Rows) -> Form:
    """Compute mean and variance of each row, two values each."""
    emitter, machine = rows.state.emitter, rows.state.machine
    pieces = rows.piece_count(machine.bn_stats_max)
    moments = rows.numbers(2)

    def by_statistics() -> None:
        groups = rows.numbers(2 * TRIPLE * pieces)
        for chunk in rows.each():
            for i, piece in enumerate(rows.pieces(chunk, machine.bn_stats_max)):
                view = rows.run(groups, chunk, 2 * TRIPLE * i, 2 * TRIPLE)
                emitter.emit("bn_stats", [view], [piece], {}, Engine.DVE)
            source = rows.run(groups, chunk, 0, 2 * TRIPLE * pieces)
            emitter.emit("bn_aggr", [rows.run(moments, chunk, 0, 2)], [source], {}, Engine.DVE)

    def by_sums() -> None:
        unused, shift = rows.result(DType.BF16), rows.numbers()
        for chunk in rows.each():
            mean, square = (rows.number(moments, chunk, k, 2) for k in (0, 1))
            source, target = rows.source(chunk), rows.of(unused, chunk)
            emitter.activation(target, source, Activation.COPY, 1.0, 0.0, mean)
            emitter.tensor_scalar(
                rows.number(shift, chunk), mean, AluOp.MULTIPLY, -1.0 / rows.length
            )
            emitter.activation(
                target, source, Activation.SQUARE, 1.0, rows.number(shift, chunk), square
            )
        for chunk in rows.together():
            for k in (0, 1):
                view = rows.number(moments, chunk, k, 2)
                emitter.tensor_scalar(view, view, AluOp.MULTIPLY, 1.0 / rows.length)

    emitter.cheapest(by_statistics, by_sums, awaited=rows.count <= FEW_ROWS)
    return moments


def _square_means(rows: Rows) -> Form:
    """Compute the mean of the squares of each row."""
    emitter = rows.state.emitter
    means = rows.numbers()

    def by_sums() -> None:
        unused = rows.result(DType.BF16)
        for chunk in rows.each():
            view = rows.number(means, chunk)
            emitter.activation(
                rows.of(unused, chunk), rows.source(chunk), Activation.SQUARE, 1.0, 0.0, view
            )
        for chunk in rows.together():
            view = rows.number(means, chunk)
            emitter.tensor_scalar(view, view, AluOp.MULTIPLY, 1.0 / rows.length)

    def by_products() -> None:
        squares = rows.result(DType.F32)
        for chunk in rows.groups(rows.state.machine.max_free_psum):
            source, view = rows.source(chunk), rows.of(squares, chunk)
            emitter.tensor_tensor(AluOp.MULTIPLY, view, source, source)
            target = rows.number(means, chunk)
            params = {"op": AluOp.ADD, "axes": len(rows.dims)}
            emitter.emit("tensor_reduce", [target], [view], params, Engine.DVE)
            emitter.tensor_scalar(target, target, AluOp.MULTIPLY, 1.0 / rows.length)

    emitter.cheapest(by_sums, by_products)
    return means


def _inverse_root(rows: Rows, variance: Form, which: int, width: int, epsilon: float) -> Form:
    """Compute 1 / sqrt(variance + epsilon) of each row, on POOL if possible, else on ACT.

    There are few values, and POOL needs no activation table for them. ACT is used if the machine
    has no POOL, or if rows are gathered: POOL then generates the descriptors.
    """
    emitter, form = rows.state.emitter, rows.numbers()
    for chunk in rows.together():
        source, target = rows.number(variance, chunk, which, width), rows.number(form, chunk)
        if rows.state.machine.has_pool and not rows.by_rows:
            emitter.tensor_scalar(
                target, source, AluOp.ADD, epsilon, AluOp.RSQRT, engine=Engine.POOL
            )
        else:
            emitter.activation(target, source, Activation.RSQRT, 1.0, epsilon)
    return form


def _apply(
    rows: Rows,
    moments: Form | None,
    deviation: Form,
    terms: list[tuple[AluOp, list[tuple[int, Form]]]],
    out: Form,
) -> None:
    """Emit out = (x - mean) * deviation, then each of `terms` in turn."""
    emitter, limit = rows.state.emitter, rows.state.machine.max_free_psum
    work = rows.result(DType.F32) if terms else out

    def by_vector() -> None:
        for chunk in rows.each():
            source, target = rows.source(chunk), rows.of(work, chunk)
            factor = rows.number(deviation, chunk)
            if moments is None:
                emitter.tensor_scalar(target, source, AluOp.MULTIPLY, factor)
            else:
                mean = rows.number(moments, chunk, 0, 2)
                emitter.tensor_scalar(target, source, AluOp.SUBTRACT, mean, AluOp.MULTIPLY, factor)

    def by_scalar() -> None:
        shift = None if moments is None else rows.numbers()
        if moments is not None and shift is not None:
            for chunk in rows.together():
                emitter.emit(
                    "scalar_tensor_tensor",
                    [rows.number(shift, chunk)],
                    [rows.number(moments, chunk, 0, 2), None, rows.number(deviation, chunk)],
                    {"op0": AluOp.MULTIPLY, "imm0": -1.0, "op1": AluOp.MULTIPLY},
                    Engine.DVE,
                )
        for chunk in rows.each():
            bias = 0.0 if shift is None else rows.number(shift, chunk)
            factor = rows.number(deviation, chunk)
            target = rows.of(work, chunk)
            emitter.activation(target, rows.source(chunk), Activation.COPY, factor, bias)

    emitter.cheapest(by_vector, by_scalar, awaited=rows.count <= FEW_ROWS)
    for i, (alu, vector) in enumerate(terms):
        target = work if i < len(terms) - 1 else out
        firsts = [low for low, _ in vector]
        for (_, form), part in zip(vector, rows.parts(firsts), strict=True):
            for chunk in part.groups(limit):
                source, result = part.of(work, chunk), part.of(target, chunk)
                emitter.tensor_tensor(alu, result, source, part.along(form, chunk))


def _recentre(rows: Rows, out: Form) -> None:
    """Subtract the mean of each row of a result."""
    emitter, means = rows.state.emitter, rows.numbers()
    for chunk in rows.each():
        view, mean = rows.of(out, chunk), rows.number(means, chunk)
        params = {"op": AluOp.ADD, "axes": len(rows.dims)}
        emitter.emit("tensor_reduce", [mean], [view], params, Engine.DVE)
        emitter.tensor_scalar(mean, mean, AluOp.MULTIPLY, -1.0 / rows.length)
        emitter.tensor_scalar(view, view, AluOp.ADD, mean)
