"""Lower hlo.dot: matmul tiles accumulate in PSUM, and the reader evicts the product."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.interface import tiling_of
from neuronir.dialects.tile.rules import contracting, shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    atom,
    dense,
    parts_of,
    row_major,
    split_at,
)
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.tile.layouts.dot_plans import vector_side
from neuronir.passes.tile.layouts.maps import cut, pieces_of, repeats
from neuronir.passes.tile.lower.binary import BINARIES
from neuronir.passes.tile.lower.columns import blocks_beside, together
from neuronir.passes.tile.lower.memory import copy
from neuronir.passes.tile.lower.state import Lower, register_lowering
from neuronir.passes.tile.lower.unary import UNARY
from neuronir.passes.tile.lower.values import Lazy, Piece, Pieces
from neuronir.passes.tile.lower.waiting import write

READERS = frozenset((*UNARY, *BINARIES, "hlo.select", "hlo.composite")) - {"hlo.bitcast_convert"}
"""Ops that evict a product from PSUM piece by piece."""


@register_lowering("hlo.dot")
def lower_dot(state: Lower, op: Operation) -> None:
    """Defer a product to its reader if that is one elementwise op, else compute it now."""
    if _by_rows(state, op):
        lower_rows(state, op)
        return
    hand_on(state, op, Product(state, op))


def hand_on(state: Lower, op: Operation, product: Pieces) -> None:
    """Defer a product to its reader if that is one elementwise op, or compute it."""
    result = op.results[0]
    lazy = Lazy(product, (), DType.F32)
    if read_from_psum(state, result):
        state.values[result] = lazy
        return
    form = state.allocate(result)
    write(state, form, lazy)
    state.set(result, form)


def read_from_psum(state: Lower, result: SSAValue) -> bool:
    """Return whether a PE result has one reader, which evicts it from PSUM itself."""
    user, owner = result.get_user_of_unique_use(), result.owner
    if user is None or not isinstance(owner, Operation) or user.parent is not owner.parent:
        return False
    dtype = state.dtype(result)
    # A narrower float must be rounded before it is converted further.
    exact = dtype is DType.F32 or (user.name == "hlo.convert" and not dtype.is_float)
    return exact and user.name in READERS


def _by_rows(state: Lower, op: Operation) -> bool:
    """Return whether only the batch of a dot is on partitions: DVE then computes it."""
    batch = len(ints(op, "lhs_batch_dims"))
    pieces = cut(state.place(op.results[0]).partition, shape_of(op.results[0])) or ()
    dims = [d for _, _, d in pieces if d >= 0]
    return bool(dims) and all(d < batch for d in dims)


def lower_rows(state: Lower, op: Operation) -> None:
    """Compute a dot as products of a per-partition scalar and a row, summed by DVE."""
    side = vector_side(op)
    assert side is not None
    shape, batch = shape_of(op.results[0]), len(ints(op, "lhs_batch_dims"))
    strides = row_major(shape)
    out = state.allocate(op.results[0])
    forms = [state.held(v) for v in op.operands]
    tiling = tiling_of(op)
    assert tiling is not None
    maps = [{n: d for d, n in enumerate(needs) if isinstance(n, int)} for needs in tiling.operands]
    pairs = contracting(op)
    own = [row_major(shape_of(v)) for v in op.operands]
    steps = [(0, 0)]
    for left, right in zip(*pairs, strict=True):
        n = shape_of(op.operands[0])[left]
        steps = [(a + i * own[0][left], b + i * own[1][right]) for a, b in steps for i in range(n)]
    border = strides[batch - 1]
    free = [b for a, _ in out.free for b in split_at(a, {border}) or (a,)]
    rows, inner = [a for a in free if a.stride >= border], [a for a in free if a.end <= border]
    number_form, row_form = forms[side], forms[1 - side]
    if state.dtype(op.operands[side]) is not DType.F32:
        number_form = _single(state, number_form)
    renamed: list[tuple[Atom, Atom]] = []  # digits of the result and of the row operand
    cuts = {c for s, n in zip(strides, shape, strict=True) for c in (s, s * n)}
    edges = {c for x in row_form.atoms() for c in (x.stride, x.end)}
    for a in (b for whole in inner for b in split_at(whole, cuts) or (whole,)):
        mine = _renamed(a, strides, shape, maps[1 - side], own[1 - side])
        renamed += [
            (atom(x.size, a.stride * (x.stride // mine.stride)), x)
            for x in split_at(mine, edges) or (mine,)
        ]
    if any(row_form.stride(x) is None or out.stride(a) is None for a, x in renamed):
        raise NeuronError("NIR_TIL008", "an operand of a dot does not have the required layout")
    rows = [*rows, *(a for a, _ in renamed[:-3])]
    renamed = renamed[-3:]
    for row in numbers_of(rows):
        places = [
            sum(row // strides[d] % shape[d] * own[w][mine] for d, mine in maps[w].items())
            for w in (0, 1)
        ]
        for i, step in enumerate(steps):
            scalar = number_form.at(places[side] + step[side], out.partitions, ((1, 1),))
            dims = [(row_form.whole_stride(x), x.size) for _, x in renamed] or [(1, 1)]
            src = row_form.at(places[1 - side] + step[1 - side], out.partitions, dims)
            made = [(out.whole_stride(a), a.size) for a, _ in renamed] or [(1, 1)]
            dst = out.at(row, out.partitions, made)
            if i == 0:
                state.emitter.tensor_scalar(dst, src, AluOp.MULTIPLY, scalar)
                continue
            params = {"op0": AluOp.MULTIPLY, "op1": AluOp.ADD}
            state.emitter.emit(
                "scalar_tensor_tensor", [dst], [src, scalar, dst], params, Engine.DVE
            )
    state.set(op.results[0], out)


def _single(state: Lower, form: Form) -> Form:
    """Return a copy in fp32, the type of scalar operands."""
    buffer = state.emitter.sbuf(form.partitions, max(1, form.elements), DType.F32)
    made = Form(buffer, form.partition, dense([a for a, _ in form.free]), copies=form.copies)
    copy(state, form, made)
    return made


def _renamed(
    a: Atom,
    strides: Sequence[int],
    shape: Sequence[int],
    dims: dict[int, int],
    own: Sequence[int],
) -> Atom:
    d = next(
        i
        for i, (s, n) in enumerate(zip(strides, shape, strict=True))
        if n > 1 and s <= a.stride < s * n
    )
    return atom(a.size, a.stride // strides[d] * own[dims[d]])


_DIFFERENT = "the operands have different layouts of the contraction"


class Product:
    """A dot in progress, by the layouts of its operands and its result."""

    def __init__(self, state: Lower, op: Operation) -> None:
        self.state = state
        self.op = op
        self.source = state.emitter.source
        self.shape = shape_of(op.results[0])
        self.strides = row_major(self.shape)
        where = state.place(op.results[0])
        self.form = where.form(op.results[0], prod(self.shape))
        self.shapes = [shape_of(v) for v in op.operands]
        self.sides = [row_major(s) for s in self.shapes]
        self.maps = self._maps()
        self.stationary = self._stationary()
        self.forms = [state.held(v) for v in op.operands]
        self.bank = state.machine.psum_bank_bytes // 4
        self.depth = 1  # contracted partitions

    def _maps(self) -> list[dict[int, int]]:
        """Return for each operand a map from dimensions of the result to its own."""
        tiling = tiling_of(self.op)
        assert tiling is not None
        return [
            {need: d for d, need in enumerate(needs) if isinstance(need, int)}
            for needs in tiling.operands
        ]

    def _stationary(self) -> int:
        batch = len(ints(self.op, "lhs_batch_dims"))
        pieces = pieces_of(self.form.partition, self.shape)
        for _, _, d in pieces:
            if d >= batch:
                return 0 if d in self.maps[0] else 1
        free = [prod(self.shape[d] for d in m if d >= batch) for m in self.maps]
        return 0 if free[0] <= free[1] else 1

    def side(self, which: int, a: Atom) -> Atom | None:
        """Map a result digit to an operand; None if the operand does not have it."""
        d = self._dim(a)
        if d not in self.maps[which]:
            return None
        mine = self.maps[which][d]
        return atom(a.size, a.stride // self.strides[d] * self.sides[which][mine])

    def _dim(self, a: Atom) -> int:
        return next(
            d
            for d, (s, n) in enumerate(zip(self.strides, self.shape, strict=True))
            if n > 1 and s <= a.stride < s * n
        )

    def number(self, which: int, number: int) -> int:
        """Return the operand element at the start of a result element."""
        total = 0
        for d, mine in self.maps[which].items():
            total += number // self.strides[d] % self.shape[d] * self.sides[which][mine]
        return total

    def _free(self, beside: Sequence[Form]) -> list[Atom]:
        """Return the free result digits, split at dimensions, at the ends of the operands' digits,
        and at those of the copies `beside`.
        """
        cuts = {c for s, n in zip(self.strides, self.shape, strict=True) for c in (s, s * n)}
        cuts |= {c for form in beside for a in form.atoms() for c in (a.stride, a.end)}
        for which in (0, 1):
            for a in self.forms[which].atoms():
                for d, mine in self.maps[which].items():
                    low, high = self.sides[which][mine], self.sides[which][mine] * self.shape[d]
                    for c in (a.stride, a.end):
                        if low < c < high and c % low == 0:
                            cuts.add(c // low * self.strides[d])
        out: list[Atom] = []
        for whole, _ in sorted(self.form.free, key=lambda p: -p[1]):
            parts = split_at(whole, cuts)
            if parts is None:
                raise NeuronError("NIR_TIL008", "a layout digit of a dot spans several dimensions")
            out += parts
        return out

    def _contracted(self) -> list[tuple[int, int]]:
        """Return the steps, in elements of both operands, of each iteration of the contraction.

        These are the contracted digits that are not on partitions.
        """
        s, v = self.stationary, 1 - self.stationary
        dims = contracting(self.op)
        total = [(0, 0)]
        on_partitions: list[tuple[int, int]] = []
        repeated: list[int] = []  # rounds in which neither operand moves
        for left, right in zip(dims[s], dims[v], strict=True):
            n = self.shapes[s][left]
            low, other = self.sides[s][left], self.sides[v][right]
            cuts = {c for a in self.forms[s].atoms() for c in (a.stride, a.end)}
            cuts |= {
                c // other * low
                for a in self.forms[v].atoms()
                for c in (a.stride, a.end)
                if other < c < other * n and c % other == 0
            }
            if n == 1:
                continue
            for a in parts_of(atom(n, low), cuts):
                b = atom(a.size, a.stride // low * other)
                steps = {self.forms[s].step(a) or 0, self.forms[v].step(b) or 0} - {0}
                if len(steps) > 1:
                    raise NeuronError("NIR_TIL008", _DIFFERENT)
                if steps:
                    on_partitions.append((steps.pop(), a.size))
                    continue
                mine, its = self.forms[s].stride(a), self.forms[v].stride(b)
                if mine is None or its is None:
                    raise NeuronError("NIR_TIL008", _DIFFERENT)
                if mine or its:
                    total = [(x + i * mine, y + i * its) for x, y in total for i in range(a.size)]
                else:
                    repeated.append(a.size)
        self.depth, rounds = self._covered(on_partitions, repeated)
        return total * rounds

    def _covered(
        self, on_partitions: Sequence[tuple[int, int]], repeated: Sequence[int]
    ) -> tuple[int, int]:
        """Return the number of partitions that a matmul contracts over, and the number of matmuls
        that read the same elements.

        `on_partitions` gives (step, size) of the contracted digits on partitions. Copies between
        them replace `repeated` digits: a matmul over 7 adjacent copies computes the same as 7
        matmuls over one copy.
        """
        depth, rounds = 1, prod(repeated)
        for step, size in sorted(on_partitions):
            gap = step // depth
            whole = all(form.usable for form in self.forms if form.partition)
            if step % depth or rounds % gap or (gap > 1 and not whole):
                raise NeuronError("NIR_TIL008", _DIFFERENT)
            rounds //= gap
            depth = step * size
        return depth, rounds

    def pieces(self, others: Sequence[Form] = ()) -> Iterator[Piece]:
        """Compute the result one PSUM bank at a time."""
        state, s, v = self.state, self.stationary, 1 - self.stationary
        here = state.emitter.source
        batch = len(ints(self.op, "lhs_batch_dims"))
        border = prod(self.shape[batch:])
        parts = [(a, step) for a, step, d in self._on_partitions() if 0 <= d < batch]
        rows = [
            b
            for a, _ in self.form.partition
            if a.stride < border
            for b in self._cut_rows(a, border)
        ]
        count = max(1, prod(a.size for a in rows))
        moving = {d for d in self.maps[v] if d >= batch}
        blocks, outer = blocks_beside(
            self._free, lambda a: self._dim(a) in moving, others, state.machine
        )
        contraction = self._contracted()
        stationary = [self._access(s, a) for a in rows]
        depth = self.depth
        for first, inner, repeated in blocks:
            group: list[Atom] = []
            width = prod(a.size for a in inner)
            rest = outer
            if not repeated:
                group, rest = together(outer, width, self.bank)
            for number in numbers_of([*rest, *repeated]):
                total = prod(a.size for a in group) * width
                psum = state.psum(count * prod(a.size for a, _ in parts), total, of=self.source)
                state.emitter.source = self.source
                for i, extra in enumerate(numbers_of(group)):
                    for start, also in _starts(parts):
                        target = replace(psum, start=start, partitions=count, offset=i * width)
                        target = replace(target, free=((1, width),))
                        at = first + number + extra + also
                        self._matmuls(target, at, inner, stationary, contraction, depth)
                state.emitter.source = here
                yield Piece(psum, first + number, (*group, *inner))

    def _on_partitions(self) -> Sequence[tuple[Atom, int, int]]:
        """Return (digit, step, dimension) of the result's digits on partitions."""
        return pieces_of(self.form.partition, self.shape)

    def _cut_rows(self, a: Atom, border: int) -> Sequence[Atom]:
        """Split a row digit at dimensions, without its batch part."""
        cuts = {c for s, n in zip(self.strides, self.shape, strict=True) for c in (s, s * n)}
        parts = [b for b in split_at(a, cuts) or (a,) if b.stride < border]
        out: list[Atom] = []
        for b in parts:
            mine = self.side(self.stationary, b)
            assert mine is not None
            edges = {c for x in self.forms[self.stationary].atoms() for c in (x.stride, x.end)}
            unit = mine.stride // b.stride if mine.stride >= b.stride else 0
            for piece in split_at(mine, edges) or (mine,):
                out.append(atom(piece.size, b.stride * (piece.stride // mine.stride)))
            assert unit >= 0
        return out

    def _access(self, which: int, a: Atom) -> tuple[int, int]:
        mine = self.side(which, a)
        stride = None if mine is None else self.forms[which].stride(mine)
        if stride is None:
            raise NeuronError("NIR_TIL008", "an operand of a dot does not have the required layout")
        return stride, a.size

    def _copies(self, which: int) -> list[int]:
        """Return the partitions at which the copies of an operand start, from its first one on."""
        starts = [0]
        for a, step in repeats(self.forms[which].partition, prod(self.shapes[which])):
            starts = [p + i * step for p in starts for i in range(a.size)]
        return starts

    def _matmuls(
        self,
        target: View,
        number: int,
        inner: Sequence[Atom],
        stationary: Sequence[tuple[int, int]],
        contraction: Sequence[tuple[int, int]],
        depth: int,
    ) -> None:
        s, v = self.stationary, 1 - self.stationary
        left, right = self.forms[s], self.forms[v]
        (mine, x0), (its, y0) = (
            left.locate(self.number(s, number)),
            right.locate(self.number(v, number)),
        )
        starts = {mine + p for p in self._copies(s)} & {its + p for p in self._copies(v)}
        if not starts:
            raise NeuronError(
                "NIR_TIL008", "the operands of a dot have different layouts of the batch"
            )
        low = min(starts)
        moving = [self._access(v, a) for a in inner]
        for i, (x, y) in enumerate(contraction):
            a = View(
                left.buffer,
                low,
                depth,
                tuple(stationary) or ((1, 1),),
                x0 + x,
                left.indices,
                0,
                left.dtype,
            )
            b = View(
                right.buffer,
                low,
                depth,
                tuple(moving) or ((1, 1),),
                y0 + y,
                right.indices,
                0,
                right.dtype,
            )
            self.state.emitter.matmul(target, a, b, i > 0)


def _starts(parts: Sequence[tuple[Atom, int]]) -> list[tuple[int, int]]:
    """Return (partition, element of the result) at the start of each part of the partitions."""
    out = [(0, 0)]
    for a, step in parts:
        out = [(p + i * step, n + i * a.stride) for p, n in out for i in range(a.size)]
    return out
