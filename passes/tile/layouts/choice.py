"""Choose partitions from the start of the function.

For each op, the cheapest plan is chosen, given the partitions of its operands and the cost tables
of its users.
"""

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.hlo.control_flow import CompositeOp
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
from neuronir.passes.tile.layouts.copies import Copies, Copy, NoLayouts
from neuronir.passes.tile.layouts.costs import NEVER, run_of
from neuronir.passes.tile.layouts.maps import Partition, own
from neuronir.passes.tile.layouts.margins import margin_dims
from neuronir.passes.tile.layouts.place import Place
from neuronir.passes.tile.layouts.plans import Plan, dtype, has_plans
from neuronir.passes.tile.layouts.tables import Tables
from neuronir.passes.tile.layouts.values import trips
from neuronir.passes.tile.row_composites import ROWS
from neuronir.passes.tile.whole import trims, whole

FAR = 1e9
"""Penalty in ns of a plan without a valid result, so that the least bad one can be found."""


class Choice(Copies):
    """Chooses partitions and records the choice (write.py writes it)."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self.given: dict[SSAValue, Partition] = {}  # for arrays that loops assemble or carry
        self.moves = False  # whether the converted operand is the moving operand of a dot

    # apply the choices

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
            self.values.lower_whole(op)
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
