"""Lower masks: overwrite the padding of a value with a number."""

from dataclasses import replace

from xdsl.ir import Operation

from neuronir.dialects.nc.enums import AluOp, Engine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.ops import MaskOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Form, row_major, split_at
from neuronir.passes.lowering.layouts.natural import borders
from neuronir.passes.lowering.layouts.views import Dim, chunks
from neuronir.passes.tile.lower.margins import Box, boxes, part, reach_on_partitions
from neuronir.passes.tile.lower.memory import copy
from neuronir.passes.tile.lower.state import Lower, fill, register_lowering
from neuronir.passes.tile.lower.values import Number
from neuronir.passes.tile.lower.waiting import ends_here

MAX_DIMS = 4
"""Free dimensions of an instruction of POOL."""


@register_lowering("tile.mask")
def lower_mask(state: Lower, op: Operation) -> None:
    """Mask a value in place if nothing else reads it, otherwise a copy."""
    assert isinstance(op, MaskOp)
    shape, d = shape_of(op.result), op.along
    found = state.get(op.source)
    if isinstance(found, Number):
        if found.value == op.value.value.data:
            state.values[op.result] = found
            return
        form = state.allocate(op.result)  # the source has no layout
        fill(state, form, found.value)
    else:
        form = state.held(op.source)
    if not isinstance(found, Number) and not ends_here(state, op.source, op, op.result):
        target = state.allocate(op.result)
        copy(state, form, target)
        form = target
    state.set(op.result, form)
    kept, size = op.count, shape[d]
    if kept == size:
        return
    whole = Box((0,) * len(shape), shape)
    reach = reach_on_partitions(form, shape, d)
    if reach:
        first = kept // reach * reach
        _select(state, op, form, first, _from(whole, d, first, size - first))
        return
    margin = _from(whole, d, kept, size - kept)
    for box in boxes(form, shape, margin.starts, margin.sizes):
        fill(state, part(form, shape, box), op.value.value.data)


def _from(box: Box, d: int, start: int, count: int) -> Box:
    return Box(
        (*box.starts[:d], start, *box.starts[d + 1 :]), (*box.sizes[:d], count, *box.sizes[d + 1 :])
    )


def _select(state: Lower, op: MaskOp, form: Form, first: int, box: Box) -> None:
    """Select by position: the elements from position `first` on along the dimension are in `box`.

    The position along the dimension is an affine function of the partition and of the free digits.
    """
    shape, d = shape_of(op.result), op.along
    some = part(form, shape, box)
    stride = row_major(box.sizes)[d]
    edges = borders(box.sizes)

    def step(start: int, end: int) -> int:
        return start // stride if stride <= start and end <= stride * box.sizes[d] else 0

    if len(some.partition) != 1 or some.partition[0][1] != 1:
        raise NeuronError("NIR_TIL004", "a masked dimension is not contiguous on partitions")
    ((across, _),) = some.partition
    free = [
        (b, s * (b.stride // a.stride)) for a, s in some.free for b in split_at(a, edges) or (a,)
    ]
    some = replace(some, free=tuple(free))
    # if they were joined, none of them would have a step
    dims = [Dim(a, (s,)) for a, s in free if a.size > 1]
    for piece in chunks(dims, some.partitions, MAX_DIMS, state.machine.max_free_sbuf):
        view = piece.view(some, 0)
        moved = piece.number // stride % box.sizes[d]
        params: dict[str, int | float | AluOp] = {
            "op": AluOp.IS_GT,
            "fill": op.value.value.data,
            "base": op.count - first - moved,
            "channel_multiplier": -step(across.stride, across.end),
        }
        for i, dim in enumerate(piece.dims):
            params[f"step{i}"] = -step(dim.atom.stride, dim.atom.end)
        state.emitter.emit("affine_select", [view], [view], params, Engine.POOL)
