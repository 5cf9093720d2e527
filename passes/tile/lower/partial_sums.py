"""Split long reductions along the outermost reduced digit, so that they start early."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from neuronir.dialects.nc.enums import AluOp, DType
from neuronir.passes.lowering.layouts.layout import Form, atom, dense
from neuronir.passes.lowering.layouts.views import Dim, chunks, plan
from neuronir.passes.lowering.rules.elementwise import engine_for
from neuronir.passes.tile.lower.state import Lower
from neuronir.passes.tile.lower.steps import PIECE
from neuronir.passes.tile.lower.sums_on_act import sum_on_act

SHARE = 8
"""Minimum operand elements per partial result."""


def in_pieces(
    state: Lower,
    form: Form,
    target: Form,
    inside: Sequence[Dim],
    alu: AluOp,
    dtype: DType,
    negate: bool,
) -> bool:
    """Reduce a copy along the digits `inside`, outermost first, in two steps.

    Pieces of the outermost digit are reduced first, then their results, whose sign changes with
    `negate`. Returns False, without
    effect, if that is not useful: in loops, whose iterations overlap; for few elements; and if the
    kept digits are outside the reduced ones, so that each result has its own rows.
    """
    atoms = [a for a, _ in target.free]
    walk = plan([target, form], atoms)
    outer, rest = inside[0], inside[1:]
    kept, count = prod(a.size for a in atoms), prod(d.size for d in inside)
    if state.emitter.depth or walk is None or kept * count <= 2 * PIECE:
        return False
    if any(d.strides[1] > outer.strides[0] for d in walk):
        return False
    step = max(1, PIECE * outer.size // (kept * count))
    pieces = -(-outer.size // step)
    if pieces < 2 or SHARE * pieces > count:
        return False
    rows = min(form.partitions, target.partitions)
    engine = engine_for(alu, dtype, state.machine.has_pool)
    buffer = state.emitter.sbuf(target.partitions, pieces * kept, dtype)
    partial = Form(buffer, target.partition, dense(atoms), copies=target.copies)
    for i in range(pieces):
        part = replace(partial, offset=i * kept)
        size = min(step, outer.size - i * step)
        along = [(outer.strides[0], size)] * (size > 1) + [(d.strides[0], d.size) for d in rest]
        room = 4 - max(1, len(along))
        dims = plan([part, form], atoms)
        assert dims is not None
        if alu is AluOp.ADD:
            at = replace(form, offset=form.offset + i * step * outer.strides[0])
            piece = [Dim(atom(size, outer.atom.stride), outer.strides), *rest]
            if sum_on_act(state, at, part, dims, piece, negate=False):
                continue
        for chunk in chunks(dims, rows, room, 16384):
            free = [(d.strides[1], d.size) for d in chunk.dims] + (along or [(1, 1)])
            source = form.at(chunk.number, chunk.partitions, free)
            source = replace(source, offset=source.offset + i * step * outer.strides[0])
            params = {"op": alu, "axes": max(1, len(along))}
            state.emitter.emit("tensor_reduce", [chunk.view(part, 0)], [source], params, engine)
    dims = plan([target, partial], atoms)
    assert dims is not None
    for chunk in chunks(dims, rows, 3, 16384):
        free = [*((d.strides[1], d.size) for d in chunk.dims), (kept, pieces)]
        source = partial.at(chunk.number, chunk.partitions, free)
        params = {"op": alu, "axes": 1, "negate": int(negate)}
        state.emitter.emit("tensor_reduce", [chunk.view(target, 0)], [source], params, engine)
    return True
