"""Find the first position of a value in each row with find_index8, which never matches NaN."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.nc.enums import Activation, AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.emitter import Emitter
from neuronir.passes.lowering.layouts.layout import span
from neuronir.passes.lowering.layouts.values import new_value, rename_dims
from neuronir.passes.lowering.rows.row_work import rows_of
from neuronir.passes.lowering.rules.reduce import full_value, kept_form
from neuronir.passes.lowering.state import Lowering

FOUND = 8
"""Values that find_index8 searches at once."""


@dataclass(frozen=True)
class Row:
    """One row on each partition: its elements, the value, and the destination ([P, 1] each)."""

    values: View
    wanted: View
    place: View

    @property
    def partitions(self) -> int:
        """Return the partitions in use."""
        return self.values.partitions

    @property
    def length(self) -> int:
        """Return the elements of a partition."""
        size = 1
        for _, n in self.values.free:
            size *= n
        return size


def lower_first_match(state: Lowering, op: CompositeOp) -> bool:
    """Lower a first_match with rows on the free axis; return False for others."""
    value, wanted = (state.value(v) for v in op.operands)
    if value.scalar is not None or wanted.scalar is not None:
        return False
    axes = ints(op.params.data["axes"])
    rows = rows_of(state, full_value(state, value), axes)
    if rows is None:
        return False
    kept = [d for d in range(len(value.shape)) if d not in axes]
    wide = rename_dims(wanted, value.shape, kept)
    partition = state.partition_of(rows.form)
    looked_for = state.converter.ensure(wide, partition, span(partition))
    places = rows.numbers()
    one = ((1, 1),)
    found = [
        Row(
            rows.source(chunk),
            looked_for.at(chunk.number, chunk.partitions, one),
            places.at(chunk.number, chunk.partitions, one),
        )
        for chunk in rows.each()
    ]
    find_first(state.emitter, found, value.dtype.is_float and value.may_be_special())
    made = new_value(state.shape(op.results[0]), DType.F32)
    made.forms.append(kept_form(places, value.shape, kept))
    state.set(op.results[0], made)
    return True


def find_first(emitter: Emitter, rows: Sequence[Row], special: bool) -> None:
    """Write the first position of each row's value, or the length of the row if there is none.

    With `special`, a value may be infinite or NaN, and NaN matches NaN. `place` is fp32. Rows have
    at least 8 and at most 16384 elements, all of one length.
    """
    wide, count = max(row.partitions for row in rows), len(rows)
    found = emitter.sbuf(wide, FOUND * count, DType.U32)
    codes = Codes(emitter, rows) if special else None
    for i, row in enumerate(rows):
        if codes is None:
            source, wanted = row.values, replace(row.wanted, free=((0, FOUND),))
        else:
            source, wanted = codes.of(i, row), codes.zeros(row)
        out = View(found, 0, row.partitions, ((1, FOUND),), FOUND * i)
        emitter.emit("find_index8", [out], [source, wanted], {}, Engine.DVE)
    for i, row in enumerate(rows):  # all ones if there is none
        first = View(found, 0, row.partitions, ((1, 1),), FOUND * i)
        emitter.tensor_scalar(row.place, first, AluOp.MIN, float(row.length))


class Codes:
    """Map the elements x of rows to 8-bit codes: 0 if x matches the value y of its row.

    The code is sign(x - y), converted to an integer. For equal infinities x - y is NaN, which
    converts to 0. If y is NaN, the code is sign(x) + 2, which is 1, 2 or 3 for all x but NaN. If
    a row contains NaN, its y must be NaN. ACT computes the codes in parallel with DVE.
    """

    def __init__(self, emitter: Emitter, rows: Sequence[Row]) -> None:
        self.emitter = emitter
        wide, count = max(row.partitions for row in rows), len(rows)
        self.low = emitter.sbuf(wide, count, DType.F32)
        self.more = emitter.sbuf(wide, count, DType.F32)
        number = emitter.sbuf(wide, count, DType.BOOL)
        self._zeros = emitter.sbuf(wide, 1, DType.I8)
        emitter.memset(View(self._zeros, 0, wide, ((1, 1),)), 0.0)
        every = View(self.low, 0, wide, ((1, count),))
        emitter.memset(every, 0.0)
        for i, row in enumerate(rows):
            low, more, mark = (
                View(b, 0, row.partitions, ((1, 1),), i) for b in (self.low, self.more, number)
            )
            emitter.tensor_tensor(AluOp.IS_EQ, mark, row.wanted, row.wanted)
            emitter.tensor_scalar(more, row.wanted, AluOp.MULTIPLY, -1.0)
            emitter.emit("copy_predicated", [low], [mark, more], {}, Engine.DVE)
            # 2 where y is NaN
            emitter.tensor_scalar(more, mark, AluOp.MULTIPLY, -2.0, AluOp.ADD, 2.0)

    def of(self, which: int, row: Row) -> View:
        """Return the codes of a row."""
        wide, free = row.partitions, ((1, row.length),)
        signs = View(self.emitter.sbuf(wide, row.length, DType.BF16), 0, wide, free)
        codes = View(self.emitter.sbuf(wide, row.length, DType.I8), 0, wide, free)
        low, more = (View(b, 0, wide, ((1, 1),), which) for b in (self.low, self.more))
        self.emitter.activation(signs, row.values, Activation.SIGN, 1.0, low)
        self.emitter.activation(codes, signs, Activation.COPY, 1.0, more)
        return codes

    def zeros(self, row: Row) -> View:
        """Return the code of a match, 8 times."""
        return View(self._zeros, 0, row.partitions, ((0, FOUND),))
