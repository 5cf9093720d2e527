"""Lower dot: matmul tiles accumulate over the contraction in PSUM, and eviction is fused.

Swapping the stationary and the moving operand transposes the result for free. The operand whose
free dimension users want on partitions is therefore stationary, unless that costs more
(assignment.py). hlo-assign-layouts decides for all dots together; otherwise each dot is decided
locally.
"""

from collections.abc import Sequence

from xdsl.ir import Operation

from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.cover import elements_of, lies_whole, remaining
from neuronir.passes.lowering.layouts.demand import Demand, inner_tile
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    Form,
    dense,
    dim_atoms,
    meet,
    merge,
    span,
    split_at,
    tile,
)
from neuronir.passes.lowering.layouts.values import Partition, Value
from neuronir.passes.lowering.layouts.views import numbers_of
from neuronir.passes.lowering.products.assigned import stationary_of
from neuronir.passes.lowering.products.assignment import (
    REUSE,
    direct_by_itself,
    product_of,
    wanted_side,
)
from neuronir.passes.lowering.products.epilogue import Epilogue, find_epilogue
from neuronir.passes.lowering.products.evict import Evict
from neuronir.passes.lowering.products.in_place import part_form
from neuronir.passes.lowering.products.operand_types import check_operands
from neuronir.passes.lowering.products.operands import PART_BYTES, Operands
from neuronir.passes.lowering.products.sides import (
    Pair,
    Side,
    apart,
    dims_of,
    divides,
    flipped,
    moved,
    pairs_of,
    translate,
    within,
)
from neuronir.passes.lowering.products.walks import (
    column_blocks,
    columns_of,
    is_dense,
    rest_of,
    rounds_of,
    strides_of,
    walk,
)
from neuronir.passes.lowering.state import Lowering


def lower_dot(state: Lowering, op: Operation) -> None:
    """Lower a dot and the ops that its eviction can compute."""
    assert isinstance(op, DotOp)
    check_operands(state, op, "dot")
    Dot(state, op).lower()


class Dot:
    """A dot in progress."""

    def __init__(self, state: Lowering, op: DotOp) -> None:
        self.state = state
        self.op = op
        self.dims = dims_of(op)
        self.out_shape = state.shape(op.results[0])
        self.limit = state.machine.partitions
        self.bank = state.machine.psum_bank_bytes // 4
        self.operands = Operands(state, self.dims, self.out_shape)

    def side(self, which: int, value: Value) -> Side:
        """Return operand number `which`, or a piece of it, with its factors."""
        nb = len(self.dims.batch[0])
        first = nb if which == 0 else nb + len(self.dims.free[0])
        dims = range(first, first + len(self.dims.free[which]))
        free = pairs_of(value.shape, self.dims.free[which], self.out_shape, dims)
        batch = pairs_of(value.shape, self.dims.batch[which], self.out_shape, range(nb))
        return Side(value, flipped(apart(free, value.support)), flipped(batch))

    def lower(self) -> None:
        """Choose the orientation and emit piece by piece."""
        state = self.state
        epilogue = find_epilogue(state, self.op.results[0])
        demand = state.demand(epilogue.result)
        values = [state.value(self.op.operands[i]) for i in (0, 1)]
        sides = [self.side(i, values[i]) for i in (0, 1)]
        first = self._stationary(sides, demand)
        partition, packed = self._output_partition(sides[first], demand.best())
        second = 1 - first
        out = self._allocate(sides[first], sides[second], partition, packed, epilogue)
        evict = Evict(state, epilogue, out, [p.mine for p in sides[second].free])
        width = elements_of([a for a, _ in partition])
        m_pieces = self.operands.split(second, values[second], self.bank * REUSE)
        for s_value, s_base in self.operands.split(first, values[first], width):
            for m_value, m_base in m_pieces:
                self._block(
                    self.side(first, s_value),
                    self.side(second, m_value),
                    first,
                    partition,
                    evict,
                    s_base + m_base,
                )
        evict.flush()
        state.done.update(epilogue.ops)
        shape = state.shape(epilogue.result)
        support = merge(dim_atoms(shape, range(len(shape))))
        state.set(epilogue.result, Value(shape, epilogue.dtype, support, [out]))

    def _stationary(self, sides: Sequence[Side], demand: Demand) -> int:
        """Return the stationary operand: its free factors are on partitions."""
        assigned = stationary_of(self.op)
        if assigned is not None:
            return assigned
        left, right = ([p.mine for p in side.free] for side in sides)
        which = wanted_side(demand, (left, right))
        if which is not None:
            problem = product_of(self.op, which)
            direct = problem is None or direct_by_itself(problem, self.state.machine)
            return which if direct else 1 - which
        in_right = any(meet(f, a) for f in demand.free for a in right)
        in_left = any(meet(f, a) for f in demand.free for a in left)
        if in_right != in_left:
            return 0 if in_right else 1
        m, n = elements_of(left), elements_of(right)
        cost_left = -(-m // self.limit) * -(-n // self.bank)
        cost_right = -(-n // self.limit) * -(-m // self.bank)
        return 1 if cost_right < cost_left else 0

    def _output_partition(
        self, stationary: Side, want: Partition | None
    ) -> tuple[Partition, Atom | None]:
        """Return the result's layout; the second has a batch factor of 2 next to it on
        partitions.
        """
        mine = [p.mine for p in stationary.free]
        if want:
            cuts = {c for a in mine for c in (a.stride, a.end)}
            cuts |= {c for p in stationary.batch for c in (p.mine.stride, p.mine.end)}
            parts = [
                (b, s * (b.stride // a.stride))
                for a, s in want
                for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))
            ]
            inner = tuple((a, s) for a, s in parts if any(divides(a, m) for m in mine))
            rest = [(a, s) for a, s in parts if not any(divides(a, m) for m in mine)]
            if inner and is_dense(inner) and span(inner) <= self.limit:
                if not rest:
                    return inner, None
                whole = span(inner) == elements_of(mine)
                a, step = rest[0]
                beside = a.size == 2 and step == span(inner) == self.limit // 2
                beside = beside and any(within(a, p.mine) for p in stationary.batch)
                if len(rest) == 1 and whole and beside:
                    return inner, a
        return inner_tile(tuple(mine), self.limit)[0], None

    def _allocate(
        self,
        stationary: Side,
        moving: Side,
        partition: Partition,
        packed: Atom | None,
        epilogue: Epilogue,
    ) -> Form:
        whole = merge(dim_atoms(self.out_shape, range(len(self.out_shape))))
        layout = partition if packed is None else ((packed, span(partition)), *partition)
        free = remaining(whole, [a for a, _ in layout])
        assert free is not None
        columns = [p.mine for p in moving.free]
        cuts = {c for a in columns for c in (a.stride, a.end)}
        parts = [b for a in free for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))]
        inner = [a for a in parts if any(within(a, c) for c in columns)]
        outer = [a for a in parts if a not in inner]
        # in the order of computation, so that the results of a bank are adjacent
        outer.sort(key=lambda a: any(within(a, p.mine) for p in stationary.batch))
        placed = part_form(self.state, epilogue.result, layout, epilogue.dtype)
        if placed is not None and all(placed.stride(a) == step for a, step in dense(inner)):
            return placed
        rows = span(layout) if layout else 1
        elements = elements_of(outer) * elements_of(inner)
        buffer = self.state.emitter.sbuf(rows, elements, epilogue.dtype)
        return Form(buffer, layout, dense([*outer, *inner]))

    def _block(
        self,
        stationary: Side,
        moving: Side,
        first: int,
        partition: Partition,
        evict: Evict,
        base: int,
    ) -> None:
        """Emit the matmuls of one pair of operand pieces."""
        s_dims, m_dims = self.dims.contracting[first], self.dims.contracting[1 - first]
        k = pairs_of(stationary.value.shape, s_dims, moving.value.shape, m_dims)
        k_s, k_m = self.layouts(stationary, moving, k)
        batch = {a for p in stationary.batch for a in (p.other,)}
        k_atoms = [a for a, _ in k_s if not any(within(a, b) for b in batch)]
        rounds = rounds_of([p.mine for p in k], k_atoms)
        parts = self._parts(1 - first, moving.value, k_m, len(rounds), PART_BYTES)
        # Pieces of the stationary operand are split if one tile of columns is too large.
        limit = self.operands.limit_of_stationary(stationary.value)
        s_parts = self._parts(first, stationary.value, k_s, len(rounds), limit)
        columns = columns_of(parts[0][1], moving.free)
        if columns is None:
            parts = [(side, self.state.converter.in_order(side.value, m)) for side, m in parts]
            columns = columns_of(parts[0][1], moving.free)
        if columns is None:
            raise NeuronError("NIR_LOW003", "a factor of a dot spans several dimensions")
        blocks = column_blocks(evict.cut(columns), self.bank)
        tiles = self._tiles(partition, [p.mine for p in stationary.free])
        s_parts = [(side, self._walkable(side, s, tiles)) for side, s in s_parts]
        depth = 0 if len(s_parts) == 1 else rounds[len(rounds) // len(s_parts)][0]
        for t, width, dims in tiles:
            s_strides = [
                strides_of(s, [(moved(a, side.free), n) for a, n in dims]) for side, s in s_parts
            ]
            for b in numbers_of([p.mine for p in stationary.batch]):
                for group in self._groups(blocks):
                    targets = evict.open(
                        [(base + t + b + c, width, elements_of(columns)) for c, columns in group]
                    )
                    for i, (kn, rows) in enumerate(rounds):
                        side, m = parts[i * len(parts) // len(rounds)]
                        part = i * len(s_parts) // len(rounds)
                        s_side, s = s_parts[part]
                        pairs = pairs_of(stationary.value.shape, s_dims, side.value.shape, m_dims)
                        for target, (c, columns) in zip(targets, group, strict=True):
                            local = t + b + c
                            m_strides = strides_of(
                                m, [(moved(a, side.free), a.size) for a in columns]
                            )
                            m_number = side.number(local) + translate(kn, pairs)
                            self.state.emitter.matmul(
                                target,
                                s.at(
                                    s_side.number(local) + kn - part * depth, rows, s_strides[part]
                                ),
                                m.at(m_number, rows, m_strides),
                                i > 0,
                            )
                    for c, columns in group:
                        evict.filled(base + t + b + c, width, columns)

    def _parts(
        self, which: int, value: Value, partition: Partition, rounds: int, limit: int | None
    ) -> list[tuple[Side, Form]]:
        """Return the equal parts of the contraction of an operand."""
        parts = self.operands.parts(which, value, partition, rounds, limit)
        return [(self.side(which, part), form) for part, form in parts]

    def _groups(self, blocks: list[tuple[int, list[Atom]]]) -> list[list[tuple[int, list[Atom]]]]:
        """Return blocks of columns that are computed together; small ones share a bank
        sequentially.
        """
        small = any(2 * elements_of(columns) <= self.bank for _, columns in blocks)
        size = 1 if small else REUSE
        return [blocks[i : i + size] for i in range(0, len(blocks), size)]

    def _walkable(
        self, side: Side, form: Form, tiles: Sequence[tuple[int, int, list[tuple[Atom, int]]]]
    ) -> Form:
        """Return a form of a stationary operand in which the columns of every tile have strides."""
        for _, _, dims in tiles:
            atoms = [(moved(a, side.free), n) for a, n in dims]
            if not all(lies_whole(form, a) for a, _ in atoms) or walk(form, atoms) is None:
                return self.state.converter.in_order(side.value, form)
        return form

    def layouts(self, stationary: Side, moving: Side, k: list[Pair]) -> tuple[Partition, Partition]:
        """Return the tile of the contraction on partitions, for both operands."""
        inner = self._inner(stationary, moving, k)
        count = elements_of([a for a, _ in inner])
        mirrored = tuple((moved(a, k), s) for a, s in inner)
        half = count == elements_of([p.mine for p in k]) and 2 * count == self.limit
        if half and stationary.batch and moving.batch:
            b_s, b_m = stationary.batch[-1].other, moving.batch[-1].other
            if b_s.size % 2 == 0 and b_s.size == b_m.size:
                two_s, two_m = (tile(b.size, b.stride, 2)[1] for b in (b_s, b_m))
                return ((two_s, count), *inner), ((two_m, count), *mirrored)
        return inner, mirrored

    def _inner(self, stationary: Side, moving: Side, k: list[Pair]) -> Partition:
        """Return the inner tile of the contraction: that of an on-chip operand, else the
        largest.
        """
        atoms = tuple(p.mine for p in k)
        if not atoms:
            return ()
        sides = ((stationary, [Pair(p.mine, p.mine, p.period) for p in k]), (moving, flipped(k)))
        for side, pairs in sides:
            if side.value.array is not None:
                continue
            for form in self.state.converter.source_forms(side.value):
                if form.hbm or form.start or not form.partition:
                    continue
                cuts = {c for p in pairs for c in (p.mine.stride, p.mine.end)}
                parts = [
                    (b, s * (b.stride // a.stride))
                    for a, s in form.partition
                    for b in ((a,) if a.ragged else split_at(a, cuts) or (a,))
                ]
                if all(any(divides(a, p.mine) for p in pairs) for a, _ in parts):
                    found = tuple((moved(a, pairs), s) for a, s in parts)
                    if is_dense(found) and found[-1][0].stride == atoms[-1].stride:
                        return found
        return inner_tile(atoms, self.limit)[0]

    def _tiles(
        self, partition: Partition, mine: Sequence[Atom]
    ) -> list[tuple[int, int, list[tuple[Atom, int]]]]:
        """Return (number, rows, stationary dims) of each tile of the result's partitions."""
        atoms = [a for a, _ in partition]
        rows = elements_of(atoms)
        ragged = next((a for a in atoms if a.ragged), None)
        out: list[tuple[int, int, list[tuple[Atom, int]]]] = []
        rest = rest_of(mine, atoms)
        for number in numbers_of([a for a in rest if not a.ragged]):
            if ragged is None:
                out.append((number, rows, [(a, a.size) for a in atoms]))
                continue
            for low in range(0, ragged.extent, ragged.size):
                n = min(ragged.size, ragged.extent - low)
                out.append((number + low * ragged.unit, n, [(ragged, n)]))
        return out
