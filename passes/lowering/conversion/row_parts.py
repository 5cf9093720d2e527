"""Split rows of float32 values into bfloat16 parts, for dots in one pass.

A bias along the columns is added in PSUM by a dot of ones and the bias. In float32 that takes PE
four passes. Three bfloat16 rows, in three quarters of the partitions, take one pass.
"""

import numpy as np

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.constants.chunk import ROW_PARTS
from neuronir.passes.lowering.layouts.layout import Form, dense
from neuronir.passes.lowering.layouts.values import Value
from neuronir.passes.lowering.layouts.views import chunks, walked
from neuronir.passes.lowering.state import Lowering

QUARTER = 32
"""Partitions between the parts: valid start partitions of a single row (machine-trn1:
partition_starts).
"""
LARGEST = float(np.finfo(np.float32).max)
TOP_BITS = -65536
"""As int32, the bits of a float32 value that bfloat16 holds: parts are truncated, not rounded, so
that no partial sum exceeds the value and overflows to infinity.
"""
INSTRUCTIONS = 10
"""Creates instructions that split a row."""


def row_parts(state: Lowering, value: Value, products: int, columns: int) -> Form | None:
    """Return the parts of a float32 row that `products` dots of that many columns add.

    Returns None if the split costs more than it saves. For infinity or NaN, the last part is one
    too.
    """
    form = state.converter.ensure(value, (), 1)
    known = state.norms.parts.get(form)
    if known is not None:
        return known
    machine = state.machine
    fixed = machine.matmul_overhead_cycles + machine.pe_columns // machine.stationary_load_divisor
    saved = products * (machine.fp32_passes - 1) * (columns + fixed) / machine.pe_ghz
    each = form.elements * machine.dve_two_input_cycles + machine.dve_overhead_cycles
    rows = (ROW_PARTS - 1) * QUARTER + 1
    if saved < INSTRUCTIONS * each / machine.dve_ghz or rows > machine.partitions:
        return None
    with state.emitter.outside(state.converter.home(value)):
        parts = _split(state, form, rows)
    state.norms.parts[form] = parts
    return parts


def parts_selector(state: Lowering, rows: int) -> View:
    """Return the stationary operand that sums the parts on `rows` partitions: ones in their
    rows.
    """
    n = state.machine.partitions
    ones = np.zeros((n, n), DType.BF16.numpy)
    ones[: ROW_PARTS * QUARTER : QUARTER] = 1
    buffer, at = state.constants.keep("row.parts", ones, DType.BF16)
    return View(buffer, 0, (ROW_PARTS - 1) * QUARTER + 1, ((1, rows),), at, (), 0, "bf16")


def _split(state: Lowering, form: Form, rows: int) -> Form:
    emitter = state.emitter
    atoms = [a for a, _ in form.free]
    n = form.elements
    parts = Form(emitter.sbuf(rows, n, DType.BF16), (), dense(atoms))
    emitter.memset(View(parts.buffer, 0, rows, ((1, n),)), 0.0)
    rest, part = (Form(emitter.sbuf(1, n, DType.F32), (), dense(atoms)) for _ in range(2))
    for piece in chunks(walked([rest, form], atoms), 1, 4, state.machine.max_free_psum):
        emitter.copy(piece.view(rest, 0), piece.view(form, 1), Engine.DVE)
    free = ((1, n),)
    left, top = View(rest.buffer, 0, 1, free), View(part.buffer, 0, 1, free)
    bits = View(part.buffer, 0, 1, free, 0, (), 0, "i32")
    for k in range(ROW_PARTS - 1):
        emitter.tensor_scalar(top, left, AluOp.MIN, LARGEST, AluOp.MAX, -LARGEST)
        emitter.tensor_scalar(bits, bits, AluOp.BITWISE_AND, TOP_BITS)
        emitter.tensor_tensor(AluOp.SUBTRACT, left, left, top)
        emitter.copy(View(parts.buffer, k * QUARTER, 1, free), top, Engine.DVE)
    last = (ROW_PARTS - 1) * QUARTER
    emitter.copy(View(parts.buffer, last, 1, free), left, Engine.DVE)
    return parts
