"""Sum long rows on ACT, which takes work from DVE."""

from collections.abc import Sequence
from math import prod

from neuronir.dialects.nc.enums import Activation, DType
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.emitter import dense_dims
from neuronir.passes.lowering.layouts.layout import Form
from neuronir.passes.lowering.layouts.views import Dim, chunks
from neuronir.passes.tile.lower.memory import target_type
from neuronir.passes.tile.lower.state import Lower
from neuronir.passes.tile.lower.steps import PIECE

LEAST_SUM = PIECE // 2 + 1
"""From this number of elements, DVE too takes an instruction for each row."""


def sum_on_act(
    state: Lower,
    form: Form,
    partial: Form,
    walk: Sequence[Dim],
    inside: Sequence[Dim],
    *,
    negate: bool,
) -> bool:
    """Sum long rows on ACT, one instruction for each; nc-balance-evictions gives DVE its share.

    ACT also writes the elements that it sums, to a buffer without readers. Returns False, without
    effect, for short rows and for integers.
    """
    count, m = prod(d.size for d in inside), state.machine
    kinds = [target_type(f) for f in (form, partial)]
    if not LEAST_SUM <= count <= m.max_free_psum or not all(k.is_float for k in kinds):
        return False
    if "ACT" not in m.engines or kinds[1] is not DType.F32:
        return False
    rows = min(form.partitions, partial.partitions)
    dims = [(d.strides[0], d.size) for d in inside]
    for chunk in chunks(walk, rows, 1, 1):
        source = form.at(chunk.number, chunk.partitions, dims)
        unread = state.emitter.sbuf(rows, count, DType.BF16)
        out = View(unread, 0, chunk.partitions, dense_dims([n for _, n in dims]))
        scale = -1.0 if negate else 1.0
        sums = chunk.view(partial, 0)
        state.emitter.activation(out, source, Activation.COPY, scale, 0.0, sums)
    return True
