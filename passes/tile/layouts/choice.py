"""Choose partitions from the start of the function.

For each op, the cheapest plan is chosen, given the partitions of its operands and the cost tables
of its users. Conversions are placed where they are needed, as far out of loops as possible.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.loops import (
    LoopOp,
    body_of,
    carried_values,
    copy_types,
    final_values,
    first_operand,
    first_result,
    initial_values,
    next_values,
    yield_of,
)
from neuronir.dialects.tile.ops import ToIndexOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.carried import RESHAPES, assembled, carriers, final, part_of
from neuronir.passes.tile.layouts.costs import NEVER, run_of
from neuronir.passes.tile.layouts.maps import SLICES, Partition, own
from neuronir.passes.tile.layouts.margins import margin_dims, parts
from neuronir.passes.tile.layouts.place import Place
from neuronir.passes.tile.layouts.plans import Plan, dtype, has_plans
from neuronir.passes.tile.layouts.tables import Tables
from neuronir.passes.tile.layouts.values import trips
from neuronir.passes.tile.row_composites import ROWS
from neuronir.passes.tile.whole import MARK, trims, whole

FAR = 1e9
"""Penalty in ns of a plan without a valid result, so that the least bad one can be found."""


class NoLayouts(NeuronError):
    """Raised if no layouts are known for an op: the program is lowered in another way.

    `array` is the array in SBUF whose tiles do not fit together, if that is the reason.
    """

    def __init__(self, what: str, array: SSAValue | None = None) -> None:
        super().__init__("NIR_TIL001", f"no layout at the tiled level: {what}")
        self.array = array


@dataclass
class Copy:
    """A value in one layout."""

    value: SSAValue
    place: Place


@dataclass
class Known:
    """The known copies of a value: those on the chip, and whether it is in HBM.

    `run` elements of the value are contiguous in HBM.
    """

    value: SSAValue
    hbm: bool = False
    run: int = 1
    constant: bool = False
    copies: list[Copy] = field(default_factory=list)


class Choice:
    """Chooses partitions and records the choice (write.py writes it)."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.values = tables.values
        self.machine = tables.values.machine
        self.known: dict[SSAValue, Known] = {}
        self.given: dict[SSAValue, Partition] = {}  # for arrays that loops assemble or carry
        self.moves = False  # whether the converted operand is the moving operand of a dot
        self.total = 0.0  # the time of ops and conversions, in ns

    def copies(self) -> dict[SSAValue, list[Partition]]:
        """Return the chosen partitions of values."""
        return {v: [c.place.partition for c in k.copies] for v, k in self.known.items()}

    def info(self, root: SSAValue) -> Known:
        """Return what is known of a value that is not a view."""
        if root not in self.known:
            found = Known(root, hbm=self.values.in_hbm(root))
            if found.hbm:
                found.run = self.values.run(root)
                op = root.owner
                found.constant = isinstance(op, Operation) and op.name == "hlo.constant"
            self.known[root] = found
        return self.known[root]

    # what is made of a choice

    def lay_out(self, value: SSAValue, where: Place) -> None:
        """Record the layout of a value."""
        self.info(value).copies.append(Copy(value, where))

    def load(self, root: SSAValue, partition: Partition, reader: Operation, kind: object) -> Copy:
        """Record a copy of a value in HBM."""
        copy = Copy(root, Place(partition, ()))
        self.info(root).copies.append(copy)
        return copy

    def converted(self, root: SSAValue, copy: Copy, wanted: Partition, reader: Operation) -> Copy:
        """Record a copy of a value in another partition."""
        made = Copy(root, Place(wanted, ()))
        self.info(root).copies.append(made)
        return made

    def seen(
        self,
        op: Operation,
        index: int,
        copy: Copy,
        views: Sequence[Operation],
        turned: Partition | None,
    ) -> Place:
        """Let an op read a copy through views.

        With `turned`, the last view changes its partition. Returns the layout as the op sees it.
        """
        return copy.place

    def joined(
        self, op: Operation, plan: Plan, places: Sequence[Place | None]
    ) -> list[Place | None]:
        """Return operands of dots and convolutions whose digits can be traversed."""
        return list(places)

    def result_place(self, op: Operation, plan: Plan, places: Sequence[Place | None]) -> Place:
        """Return the full layout of a result."""
        assert plan.result is not None
        return Place(plan.result, ())

    def filled(self, op: Operation, index: int, where: Partition | None = None) -> None:
        """Materialise a scalar as an array, to store it or in a partition."""

    def to_hbm(self, op: Operation, index: int) -> None:
        """Let an op read an operand from HBM."""

    def views_in_hbm(
        self, op: Operation, index: int, copy: Copy, views: Sequence[Operation]
    ) -> None:
        """Let an op read views of a copy from HBM."""

    def carried_on(self, loop: LoopOp, index: int) -> None:
        """Give a carried value, at the end of an iteration, the layout that the next iteration
        expects.
        """
        last, number = yield_of(loop), first_result(loop) + index
        if not self.values.is_number(last.operands[number]):
            self.operand(last, number, self.given[carried_values(loop)[index]])

    def exactly(self, op: Operation, index: int, like: SSAValue) -> None:
        """Let an op read an operand in the same layout as another value."""

    def put_together(self, value: SSAValue, where: Partition) -> None:
        """Assign a layout to an assembled array, wherever it is carried."""

    # choices

    def run(self) -> None:
        """Choose for all ops."""
        self._block(self.values.block)

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            if isinstance(op, LoopOp):
                self._loop(op)
            elif isinstance(op, InsertSliceOp):
                self._insert(op)
            elif op.name in ("func.return", "hlo.tuple") or whole(op):
                self._to_memory(op)
            elif op.results and isinstance(op.results[0].type, TensorType):
                if self.values.laid_out(op):
                    self._choose(op)

    def _choose(self, op: Operation) -> None:
        best: tuple[float, Plan] | None = None
        table = self.tables.of[op.results[0]]
        for p in self.tables.plans(op):
            total = p.cost + (table.get(p.result, NEVER) if p.result is not None else 0.0)
            for i, need in enumerate(p.needs):
                if need is None or (best is not None and total >= best[0]):
                    continue
                total += self.need_cost(op, i, need)
            if best is None or total < best[0]:
                best = total, p
        if best is None or best[0] == NEVER:
            op.attributes[MARK] = UnitAttr()
            for r in op.results:
                self.known.pop(r, None)
            self._to_memory(op)
            return
        assert op.parent is not None
        self.total += self.values.weights[op.parent] * best[1].cost
        places: list[Place | None] = []
        for i, need in enumerate(best[1].needs):
            self.moves = best[1].stationary == 1 - i
            if need is not None and self.values.is_number(op.operands[i]) and takes_arrays(op, i):
                self.filled(op, i, need)
                places.append(Place(need, ()))
            elif need is None or self.values.is_number(op.operands[i]):
                places.append(None)
            else:
                places.append(self.operand(op, i, need))
        places = self.joined(op, best[1], places)
        self.lay_out(op.results[0], self.result_place(op, best[1], places))

    def need_cost(self, op: Operation, index: int, need: Partition) -> float:
        """Return the cost of an operand in a partition, given the existing copies."""
        if self.values.is_number(op.operands[index]):
            return 0.0
        return self.way_to(op, index, need)[0]

    def way_to(
        self, op: Operation, index: int, need: Partition
    ) -> tuple[float, Partition | None, bool]:
        """Return the least cost per execution of an operand, which is a view of a value, in a
        partition.

        Also returns the partition of the value for that, and whether the view is converted instead.
        """
        root, views = self.values.chain(op.operands[index])
        assert op.parent is not None
        share = self.values.weight(root) / self.values.weights[op.parent]
        best: tuple[float, Partition | None, bool] = NEVER, None, False
        wanted = self.values.back(views, need)
        if wanted is not None:
            cost, way = self.bring(root, wanted)
            if isinstance(way, tuple) and any(v.name in SLICES for v in views):
                others = sum(any(v.name in SLICES for v in u.views) for u in self.values.uses(root))
                cost /= max(1, others)  # other slices will need the same partition
            best = share * cost, wanted, False
        if not views or not (wanted is None or any(v.name in SLICES for v in views)):
            return best
        view = views[0].results[0]
        for c in [*(copy.place.partition for copy in self.info(root).copies), *self._seeds(root)]:
            found = self.values.forward(views, c)
            if found is None:
                continue
            cost = share * self.bring(root, c)[0] + self.tables.change(view, found, need)
            if cost < best[0]:
                best = cost, c, True
        return best

    def _seeds(self, root: SSAValue) -> Sequence[Partition]:
        """Return the partitions in which to load a value that is not on the chip."""
        return () if self.info(root).copies else candidates(shape_of(root), self.values.limit)

    def bring(self, root: SSAValue, wanted: Partition) -> tuple[float, Copy | Partition | None]:
        """Return the least cost of a copy of a value in a partition.

        Also returns its source: an existing copy, or a partition to load.
        """
        info = self.info(root)
        best: tuple[float, Copy | Partition | None] = NEVER, None
        for copy in info.copies:
            cost = self.tables.change(root, copy.place.partition, wanted)
            if cost < best[0]:
                best = cost, copy
        if info.hbm:
            for c in (wanted, *candidates(shape_of(root), self.values.limit)):
                if not self.tables.costs.fits(shape_of(root), dtype(root), c):
                    continue
                load = self._loading(root, c)
                if load >= best[0]:
                    continue
                cost = load + self.tables.change(root, c, wanted)
                if cost < best[0]:
                    best = cost, c
        return best

    def _loading(self, root: SSAValue, partition: Partition) -> float:
        """Return the time of loading a value from HBM."""
        info, shape = self.info(root), shape_of(root)
        if info.constant:
            return prod(shape) * dtype(root).size / self.machine.dma_gbps
        more = parts(partition, shape, margin_dims(root.owner)) - 1
        once = self.tables.costs.transfer(shape, info.run, dtype(root), partition)
        return once + more * self.machine.dma_trigger_ns

    def operand(self, op: Operation, index: int, need: Partition) -> Place:
        """Give an operand a partition; return its layout as the op sees it."""
        root, views = self.values.chain(op.operands[index])
        _, wanted, turned = self.way_to(op, index, need)
        if wanted is None:
            raise NoLayouts(f"a value of {shape_of(root)} for {op.name}")
        cast = next((v for v in views if v in self.values.casts), None)
        like = root if cast is None else cast.results[0]
        copy = self.copy(root, wanted, op, like)
        if turned:
            assert op.parent is not None
            view = views[0].results[0]
            found = self.values.forward(views, wanted)
            assert found is not None
            self.total += self.values.weights[op.parent] * self.tables.change(view, found, need)
        return self.seen(op, index, copy, views, need if turned else None)

    def copy(self, root: SSAValue, wanted: Partition, reader: Operation, like: SSAValue) -> Copy:
        """Return a copy of a value in a partition, made at the value's definition if missing."""
        info = self.info(root)
        kind = element_of(like)
        same = [c for c in info.copies if self.element(c) == kind]
        found = next((c for c in same if c.place.partition == wanted), None)
        if found is not None:
            return found
        everything, info.copies = info.copies, same
        _, way = self.bring(root, wanted)
        info.copies = everything
        if way is None:
            raise NoLayouts(f"a value of {shape_of(root)}")
        if not isinstance(way, Copy):
            loaded = next((c for c in same if c.place.partition == way), None)
            if loaded is None:
                self.total += self.values.weight(root) * self._loading(root, way)
            way = loaded or self.load(root, way, reader, kind)
        return self._changed(root, way, wanted, reader)

    def element(self, copy: Copy) -> object:
        """Return the element type of a copy."""
        return element_of(copy.value)

    def _changed(self, root: SSAValue, copy: Copy, wanted: Partition, reader: Operation) -> Copy:
        source = copy.place.partition
        if source == wanted or not self.tables.change(root, source, wanted):
            return copy
        cost, via = self.tables.route(root, source, wanted)
        if via is None:
            self.total += self.values.weight(root) * cost
        if via is not None:
            copy = self._changed(root, copy, via, reader)
        return self.converted(root, copy, wanted, reader)

    # loops and terminators

    def _loop(self, op: LoopOp) -> None:
        block = body_of(op)
        pairs = list(zip(initial_values(op), carried_values(op), strict=True))
        for i, (init, argument) in enumerate(pairs):
            if isinstance(init.type, TensorType) and not self.values.in_hbm(init):
                if not assembled(init):
                    self._carried(op, i, init, argument)
        self._block(block)
        for i, (init, argument) in enumerate(pairs):
            if self.values.in_hbm(init):
                continue
            if assembled(init):
                root = list(carriers(init))[-1]
                if root not in self.given:
                    continue  # a loop around it inserts tiles
                where = Place(self.given[root], ())
            else:
                where = Place(self.given[argument], ())
                self.carried_on(op, i)
            self.lay_out(final_values(op)[i], self.settled(argument, where))
        copy_types(op)

    def settled(self, argument: SSAValue, where: Place) -> Place:
        """Return the full layout of a carried value."""
        return where

    def _carried(self, op: LoopOp, i: int, init: SSAValue, argument: BlockArgument) -> None:
        """Choose the partition of an accumulator: the one that is cheapest to compute."""
        table = self.tables.of[argument]
        after = self.tables.of.get(final_values(op)[i], {})
        following = next_values(op)[i]
        combined = following.owner
        partial: dict[Partition, float] = {}
        if isinstance(combined, Operation):
            for v in combined.operands:
                maker = v.owner
                if v is not argument and isinstance(maker, Operation) and has_plans(maker):
                    for p in self.tables.plans(maker):
                        if p.result is not None:
                            partial[p.result] = min(partial.get(p.result, NEVER), p.cost)
        rounds = trips(op)
        best = min(
            self.tables.candidates(argument),
            key=lambda c: (
                after.get(c, 0.0)
                + rounds
                * (table.get(c, 0.0) + partial.get(c, FAR) + self._handed_on(following, c)),
                str(c),
            ),
        )
        self.given[argument] = best
        self.carry(argument, best)
        if not self.values.is_number(init):
            self.operand(op, first_operand(op) + i, best)
            self.exactly(op, first_operand(op) + i, argument)

    def _handed_on(self, value: SSAValue, wanted: Partition) -> float:
        """Return the cost of a carried value in a partition, given its partition in the last
        choice.
        """
        root, views = self.values.chain(value)
        made = self.tables.known.get(root, ())
        return self.tables.seen(root, made[0], views, wanted) if made else 0.0

    def carry(self, argument: BlockArgument, partition: Partition) -> None:
        """Assign a layout to an accumulator."""
        self.lay_out(argument, Place(partition, ()))

    def _insert(self, op: InsertSliceOp) -> None:
        if self.values.in_hbm(op.dest):
            source, views = self.values.chain(op.source)
            if self.values.in_hbm(source) and all(v.name in RESHAPES for v in views):
                return  # a copy within HBM, or nothing
            self._stored(op, 0, run_of(shape_of(op.source), shape_of(op.dest)))
            return
        root = list(carriers(op.dest))[-1]
        if root not in self.given:
            self.given[root] = self._together(op, root)
        self.put_together(op.dest, self.given[root])
        part = part_of(op, self.given[root])
        if part is None:
            raise NoLayouts(f"tiles of {shape_of(op.dest)} that are put together", root)
        self.operand(op, 0, part)
        if final(op.result, reshapes=False) is op.result:
            self.lay_out(op.result, self.settled(op.dest, Place(self.given[root], ())))

    def _together(self, op: InsertSliceOp, root: SSAValue) -> Partition:
        """Return the layout of an array assembled on the chip."""
        table = self.tables.of[final(op.result, reshapes=False)]
        assert op.parent is not None
        rounds = self.values.weights[op.parent] / self.values.weight(root)
        best: tuple[float, Partition | None] = NEVER, None
        for w, after in table.items():
            part = part_of(op, w)
            if part is None or own(w, prod(shape_of(op.dest))) != w:
                continue
            cost = after / max(1.0, rounds) + self.need_cost(op, 0, part)
            if cost < best[0]:
                best = cost, w
        if best[1] is None:
            raise NoLayouts(f"tiles of {shape_of(op.dest)} that are put together", root)
        return best[1]

    def _stored(self, op: Operation, index: int, run: int) -> None:
        """Convert a stored value to the partition from which a store is cheapest."""
        value = op.operands[index]
        if self.values.is_number(value):
            self.filled(op, index)
            return
        root, views = self.values.chain(value)
        info = self.info(root)
        cut = margin_dims(op)
        best: tuple[float, Partition | None] = NEVER, None
        for copy in info.copies:
            cost, partition = self.tables.store(root, copy.place.partition, views, run, cut)
            if cost < best[0]:
                best = cost, partition
        if not info.copies:
            for c in candidates(shape_of(root), self.values.limit):
                cost, partition = self.tables.store(root, c, views, run, cut)
                cost += self.bring(root, c)[0]
                if cost < best[0]:
                    best = cost, partition
        if best[1] is None:
            raise NoLayouts(f"a value of {shape_of(root)} that is stored")
        assert op.parent is not None
        out = shape_of(value)
        need = self.values.forward(views, best[1])
        if need is not None:
            stored = self.tables.costs.transfer(out, run, dtype(value), need)
            self.total += self.values.weights[op.parent] * stored
        assert need is not None
        self.operand(op, index, need)

    def _to_memory(self, op: Operation) -> None:
        """Store the results of a function, and the operands of ops lowered as a whole, to HBM.

        An index stays on the chip.
        """
        for i, v in enumerate(op.operands):
            if not isinstance(v.type, TensorType):
                continue
            root, views = self.values.chain(v)
            casts = any(w in self.values.casts for w in views)
            there = self.values.in_hbm(root)
            made = isinstance(root.owner, Operation) and root.owner.name == "hlo.constant"
            if whole(op) and (self.values.is_number(v) or (there and not casts)):
                continue  # its rule sees through views
            if there and not made and all(w.name in RESHAPES for w in views):
                continue
            if isinstance(op, ToIndexOp) and not there:
                self.operand(op, i, ())  # a sequencer loads it from SBUF
                continue
            if whole(op) and not there and not trims(op):
                self._from_memory(op, i, root, views)
                continue
            self._stored(op, i, prod(shape_of(v)))
            self.to_hbm(op, i)

    def _from_memory(
        self, op: Operation, index: int, root: SSAValue, views: Sequence[Operation]
    ) -> None:
        """Let an op read views of a value from HBM, if the value is stored without them."""
        run = prod(shape_of(root))
        stores = [
            self.tables.store(root, copy.place.partition, (), run)
            for copy in self.info(root).copies
        ]
        if not stores:
            raise NoLayouts(f"a value of {shape_of(root)} for {op.name}")
        cost, partition = min(stores, key=lambda s: s[0])
        self.total += self.values.weight(root) * cost
        self.views_in_hbm(op, index, self.copy(root, partition, op, root), views)


def takes_arrays(op: Operation, index: int) -> bool:
    """Return whether the rule of an op needs an array operand even for a scalar."""
    if isinstance(op, CompositeOp):
        return op.kind.data in ROWS
    return op.name in ("hlo.dot", "hlo.convolution") or (op.name == "hlo.reduce" and index == 0)


def element_of(value: SSAValue) -> object:
    """Return the element type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.element_type
