"""Iterate over a result and its operands together, in pieces for one instruction each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import TensorType

from neuronir.dialects.nc.enums import DType, Space
from neuronir.dialects.nc.ops import View
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.layout import Atom, Form, dense
from neuronir.passes.lowering.layouts.views import Chunk, Dim, chunks, numbers_of, plan
from neuronir.passes.tile.lower.row_pieces import MOST, spreads
from neuronir.passes.tile.lower.state import Lower
from neuronir.passes.tile.lower.values import Held, Lazy, Number, Piece, Value

MAX_DIMS = 3
PIECE = 1024
"""Limit of elements per partition of an instruction outside of loops, so that another engine can
continue with finished parts; in a loop, iterations overlap.
"""


@dataclass(frozen=True)
class Step:
    """The views of one instruction: its result and operands, and their start elements."""

    out: View
    sources: tuple[View, ...]
    number: int
    partitions: int
    dims: tuple[tuple[Atom, int], ...]  # (digit, stride of the result)


def steps(
    state: Lower,
    out: Form,
    sources: Sequence["Held | Lazy"],
    scalars: Sequence["float | Form"] = (),
    most: int | None = None,
) -> Iterator[Step]:
    """Yield the pieces of a result and its operands, one instruction each.

    If an operand is a product, these are its pieces. `scalars` are one value per partition in each
    piece. Without a product, a piece has at most `most` elements per partition.
    """
    found = list(scalars)
    for s in sources:
        if isinstance(s, Lazy):
            found += [step.operand for step in s.steps]
    extra = [s for s in found if isinstance(s, Form)]
    product = next(
        (s for s in sources if isinstance(s, Lazy) and not isinstance(s.source, Held)), None
    )
    if product is not None:
        yield from _out_of_psum(out, sources, product, extra)
        return
    forms = [s.form for s in sources]
    dims = plan([out, *forms, *extra], [a for a, _ in out.free])
    if dims is None:
        raise NeuronError("NIR_TIL007", "the layout digits of the operands do not match")
    outer, inner = _by_scalars(dims, 1 + len(forms))
    limit = state.machine.max_free_sbuf
    if not scalars and not state.emitter.depth:
        limit = min(PIECE, piece_of_rows(state, prod(a.size for a, _ in out.free)))
    if any(space_of(f.buffer) is Space.PSUM for f in forms):
        limit = min(limit, state.machine.max_free_psum)
    limit = limit if most is None else min(limit, most)
    for base in numbers_of([d.atom for d in outer]):
        for chunk in chunks(inner, out.partitions, MAX_DIMS, limit):
            at = replace(chunk, number=chunk.number + base)
            yield Step(
                at.view(out, 0),
                tuple(at.view(f, 1 + i) for i, f in enumerate(forms)),
                at.number,
                at.partitions,
                tuple((d.atom, d.strides[0]) for d in at.dims),
            )


def piece_of_rows(state: Lower, elements: int) -> int:
    """Return the elements of a partition that an instruction of the lowered op processes."""
    op = state.emitter.source
    if elements >= PIECE or op is None or len(op.results) != 1:
        return PIECE
    (result,) = op.results
    repeats = max(spreads(result), 1)
    if not isinstance(result.type, TensorType):
        return PIECE
    pieces = min(MOST, 2 * elements * repeats // PIECE)
    return -(-elements // pieces) if pieces > 1 else PIECE


def _out_of_psum(
    out: Form,
    sources: Sequence["Held | Lazy"],
    product: Lazy,
    extra: Sequence[Form],
) -> Iterator[Step]:
    pieces = product.source
    assert not isinstance(pieces, Held)
    forms = [s.form for s in sources if s is not product]
    for piece in pieces.pieces([out, *forms, *extra]):
        dims = plan([out, *forms, *extra], piece.atoms)
        if dims is None:
            raise NeuronError(
                "NIR_TIL007", "the layout digits of the operands do not match those of a dot"
            )
        strides = dense([d.atom for d in dims])
        for chunk in _parts(*_by_scalars(dims, 1 + len(forms)), piece):
            at = Chunk(chunk.number + piece.number, piece.partitions, chunk.dims)
            views: list[View] = []
            k = 1
            for s in sources:
                if s is product:
                    views.append(_part_view(piece, chunk, strides))
                else:
                    views.append(at.view(forms[k - 1], k))
                    k += 1
            yield Step(
                at.view(out, 0),
                tuple(views),
                at.number,
                at.partitions,
                tuple((d.atom, d.strides[0]) for d in at.dims),
            )


def _by_scalars(dims: Sequence[Dim], first: int) -> tuple[list[Dim], list[Dim]]:
    """Return the dimensions along which scalars vary, the forms from number `first` on, and the
    others, which an instruction may contain.
    """
    varies = [any(d.strides[first:]) for d in dims]
    pairs = list(zip(dims, varies, strict=True))
    return [d for d, v in pairs if v], [d for d, v in pairs if not v]


def _parts(outer: Sequence[Dim], inner: Sequence[Dim], piece: Piece) -> Iterator[Chunk]:
    for base in numbers_of([d.atom for d in outer]):
        for chunk in chunks(inner, piece.partitions, MAX_DIMS, 1 << 20):
            yield replace(chunk, number=chunk.number + base)


def _part_view(piece: Piece, chunk: Chunk, strides: Sequence[tuple[Atom, int]]) -> View:
    """Return the part of a PSUM piece that belongs to a chunk; PSUM holds the digits densely."""
    offset, number = 0, chunk.number
    for a, stride in strides:
        offset += a.digit(number) * stride
    free = []
    for d in chunk.dims:
        stride = next(
            s * (d.atom.stride // a.stride)
            for a, s in strides
            if a.stride <= d.atom.stride and d.atom.end <= a.end
        )
        free.append((stride, d.size))
    return replace(piece.view, free=tuple(free) or ((1, 1),), offset=piece.view.offset + offset)


def scalar_of(
    value: Value, out: Form, least: int, dtype: DType = DType.F32
) -> "float | Form | None":
    """Return a scalar operand: a uniform value, or a copy with one value per row of a partition,
    of type `dtype`.

    Rows must have at least `least` elements, to be worth an instruction each. Returns None if the
    operand is a tile.
    """
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Held) and value.dtype is dtype:
        dims = plan([out, value.form], [a for a, _ in out.free])
        if not dims:
            return None
        cut = leading(dims, 1)
        row = prod(d.size for d in dims[cut:])
        if row >= (least if cut else 2):
            return value.form
    return None


def leading(dims: Sequence[Dim], which: int) -> int:
    """Return the number of leading dimensions up to the last along which a copy varies."""
    return max((i + 1 for i, d in enumerate(dims) if d.strides[which]), default=0)


def rows_of(out: Form, scalars: Sequence["float | Form"]) -> int:
    """Return how many outer dimensions to iterate so that scalars have one value per partition."""
    forms = [s for s in scalars if isinstance(s, Form)]
    return leading_all(out, forms)


def leading_all(out: Form, forms: Sequence[Form]) -> int:
    """Return the maximum of `leading` over copies from each of `forms` to `out`."""
    if not forms:
        return 0
    dims = plan([out, *forms], [a for a, _ in out.free])
    assert dims is not None
    return max(leading(dims, 1 + i) for i in range(len(forms)))


def view_scalar(operand: "float | Form", step: Step) -> "float | View":
    """Return the instruction operand."""
    if isinstance(operand, float):
        return operand
    return operand.at(step.number, step.partitions, ((1, 1),))
