"""Lower tile.unfold: blocks of an array in HBM need no instruction."""

from collections.abc import Sequence
from dataclasses import replace

from neuronir.dialects.tile.ops import UnfoldOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import Atom, Form, atom, join, row_major, split_at
from neuronir.passes.lowering.layouts.natural import borders


def unfolded(form: Form, op: UnfoldOp) -> Form | None:
    """Return the blocks of an array in HBM; None if the dimension has no single stride there."""
    shape, blocks, d = shape_of(op.source), shape_of(op.result), op.along
    old, new = row_major(shape), row_major(blocks)
    along: list[tuple[Atom, int]] = []
    free: list[tuple[Atom, int]] = []
    for whole, stride in form.free:
        parts = split_at(whole, borders(shape))
        if parts is None:
            return None
        for a in parts:
            each = stride * (a.stride // whole.stride)
            e = _dimension(a, old, shape)
            if e == d:
                along.append((atom(a.size, a.stride // old[d]), each))
            else:
                free.append((atom(a.size, a.stride // old[e] * new[e + (e > d)]), each))
    one = join(sorted(along, key=lambda p: -p[0].stride))
    if len(one) != 1 or one[0][0].size != shape[d]:
        return None
    stride = one[0][1]
    free += [(atom(blocks[d], new[d]), op.apart * stride)] if blocks[d] > 1 else []
    free += [(atom(blocks[d + 1], new[d + 1]), stride)] if blocks[d + 1] > 1 else []
    ordered = sorted(free, key=lambda p: -p[0].stride)
    return replace(form, free=join(ordered), offset=form.offset + op.first * stride)


def _dimension(a: Atom, strides: Sequence[int], shape: Sequence[int]) -> int:
    pairs = enumerate(zip(strides, shape, strict=True))
    return next(i for i, (s, n) in pairs if n > 1 and s <= a.stride < s * n)
