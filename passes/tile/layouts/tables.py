"""Compute the cost of each partition of each value, from the end of the function backwards."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.tensor import InsertSliceOp
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.loops import (
    LoopOp,
    body_of,
    carried_values,
    first_operand,
    first_result,
)
from neuronir.dialects.tile.ops import ToIndexOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.layouts import convolution_plans, dot_plans, mask_plans, scan_plans
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.carried import assembled, final, part_of
from neuronir.passes.tile.layouts.conversions import Way, way
from neuronir.passes.tile.layouts.costs import NEVER, Costs, run_of
from neuronir.passes.tile.layouts.maps import SLICES, Partition, own
from neuronir.passes.tile.layouts.margins import margin_dims, parts
from neuronir.passes.tile.layouts.plans import Plan, dtype, has_plans, plans_of
from neuronir.passes.tile.layouts.values import Use, Values, trips
from neuronir.passes.tile.whole import whole

PLANS = (convolution_plans, dot_plans, mask_plans, scan_plans)
"""Modules that register their rules on import."""

Copies = Mapping[SSAValue, Sequence[Partition]]
"""The chosen partitions of values."""


_Kind = tuple[tuple[int, ...], DType, bool]
"""The shape and type of a value, and whether it may be infinite or NaN."""
_Routes = dict[tuple[Partition, Partition], tuple[float, Partition | None]]
"""The costs of conversions, and their intermediate partitions."""


class Filled(NamedTuple):
    """Tables, and the choice that they were filled with (see Tables)."""

    of: dict[SSAValue, dict[Partition, float]]
    next: dict[SSAValue, dict[Partition, float]]
    known: Copies


class Tables:
    """Cost tables of on-chip values.

    For each partition that a value may have, the table has the cost of everything that follows: for
    each reader, its cheapest plan, including a conversion if it needs another partition.
    """

    def __init__(self, values: Values, costs: Costs) -> None:
        self.values = values
        self.costs = costs
        self.of: dict[SSAValue, dict[Partition, float]] = {}
        self.next: dict[
            SSAValue, dict[Partition, float]
        ] = {}  # of loop-carried values, in the next iteration
        self.known: Copies = {}
        self._plans: dict[Operation, list[Plan]] = {}
        self._counts: dict[Operation, int] = {}
        self._routes: dict[SSAValue, tuple[_Kind, _Routes]] = {}
        self._routes_of_kind: dict[_Kind, _Routes] = {}

    def fill(self, known: Copies) -> None:
        """Compute all tables; `known` has the partitions of the readers' other operands in the
        previous choice.
        """
        self.of, self.next = {}, {}
        self.known = known
        self._backward(self.values.block)

    @property
    def filled(self) -> Filled:
        """The present tables, which the next `fill` leaves as they are."""
        return Filled(self.of, self.next, self.known)

    @filled.setter
    def filled(self, tables: Filled) -> None:
        self.of, self.next, self.known = tables

    def _backward(self, block: Block) -> None:
        for op in reversed(list(block.ops)):
            last = isinstance(op, InsertSliceOp) and final(op.result, reshapes=False) is op.result
            for r in op.results:
                if isinstance(r.type, TensorType) and (last or self.values.laid_out(op)):
                    self._tabulate(r)
            if isinstance(op, LoopOp):
                self._body(op)

    def _body(self, op: LoopOp) -> None:
        """Compute the tables of a loop's body; those of states a second time, with the costs of the
        next iteration.
        """
        arguments = carried_values(op)
        states = [a for a in arguments if self._is_state(a)]
        for again in (False, True)[: 2 if states else 1]:
            if again:
                self.next.update((a, self.of[a]) for a in states)
            self._backward(body_of(op))
            for a in arguments:
                self._tabulate(a)

    def _is_state(self, argument: SSAValue) -> bool:
        tensor = isinstance(argument.type, TensorType)
        return tensor and not self.values.in_hbm(argument) and not assembled(argument)

    def _tabulate(self, value: SSAValue) -> None:
        if self.values.in_hbm(value):
            return
        weight = self.values.weight(value)
        readers = [self._reader(value, use, weight) for use in self.values.uses(value)]
        self.of[value] = {c: sum(cost(c) for cost in readers) for c in self.candidates(value)}

    def candidates(self, value: SSAValue) -> list[Partition]:
        """Return the possible partitions of a value: those of its dimensions, and others its op can
        give.
        """
        found = dict.fromkeys(self.costs.candidates(value))
        op = value.owner
        if isinstance(op, Operation) and not whole(op) and has_plans(op):
            for p in self.plans(op):
                if p.result is not None:
                    found[p.result] = None
        shape, kind = shape_of(value), dtype(value)
        return [c for c in found if self.costs.fits(shape, kind, c)]

    def plans(self, op: Operation) -> list[Plan]:
        """Return the plans of an op."""
        if op not in self._plans:
            self._plans[op] = plans_of(op, self.costs)
        return self._plans[op]

    # one reader

    def _reader(self, value: SSAValue, use: Use, weight: float) -> Callable[[Partition], float]:
        """Return the least cost of a reader and its successors for each partition of the value, per
        execution at the value's definition.
        """
        op = use.op
        assert op.parent is not None
        times = self.values.weights[op.parent] / weight
        if isinstance(op, ToIndexOp):
            return lambda c: self.seen(value, c, use.views, (), times)
        stored = op.name in ("func.return", "hlo.tuple") or whole(op)
        if stored or (op.name == "tensor.insert_slice" and use.index == 0):
            return lambda c: self._stored(value, c, use, times)
        if op.name == "scf.yield":
            return lambda c: self._handed_on(value, c, use, times)
        if isinstance(op, LoopOp):
            return lambda c: self._begun(value, c, use, times)
        if op.name == "tensor.insert_slice":
            return lambda c: 0.0
        return partial(self._computed, value, use, times, self._needs(use, times, weight))

    def _needs(self, use: Use, times: float, weight: float) -> list[tuple[float, Partition | None]]:
        """Return the partitions that a reader's plans need of its operand, the cheapest first, each
        with the cost of the rest of its cheapest plan and of its successors.
        """
        op = use.op
        least: dict[Partition | None, float] = {}
        operands = self._arrays(op)
        table = self.of.get(op.results[0])
        for p in self.plans(op):
            after = 0.0
            if p.result is not None and table is not None:
                after = table.get(p.result, NEVER)
            need = p.needs[use.index]
            best = least.get(need, NEVER)
            total = times * (p.cost + after) / operands
            if total < best and self.known:
                total += self._others(use, p) / weight
            if total < best:
                least[need] = total
        return sorted(((cost, need) for need, cost in least.items()), key=lambda found: found[0])

    def _computed(
        self,
        value: SSAValue,
        use: Use,
        times: float,
        needs: Sequence[tuple[float, Partition | None]],
        c: Partition,
    ) -> float:
        """Return the least cost of a reader with these needs, including the conversion from `c`."""
        best = NEVER
        for cost, need in needs:
            if cost >= best:
                break
            change = 0.0 if need is None else self.seen(value, c, use.views, need, times)
            best = min(best, change + cost)
        return best

    def _handed_on(self, value: SSAValue, c: Partition, use: Use, times: float) -> float:
        """Return the least cost of passing a state on to the next iteration and to the users of the
        last one.
        """
        loop = use.op.parent_op()
        assert isinstance(loop, LoopOp)
        table = self.next.get(body_of(loop).args[use.index + 1 - first_result(loop)])
        if table is None:
            return 0.0
        after = self.of.get(loop.results[use.index], {})
        return min(
            self.seen(value, c, use.views, w, times)
            + times * (cost + after.get(w, 0.0) / max(1, trips(loop)))
            for w, cost in table.items()
        )

    def _begun(self, value: SSAValue, c: Partition, use: Use, times: float) -> float:
        """Return the least cost of a loop that begins with a state in this layout, including its
        iterations.
        """
        assert isinstance(use.op, LoopOp)
        number = use.index - first_operand(use.op)
        argument = carried_values(use.op)[number] if number >= 0 else None
        if argument is None or not self._is_state(argument):
            return 0.0
        each = times * trips(use.op)
        table = self.of.get(argument, {})
        return min(
            (self.seen(value, c, use.views, w, times) + each * cost for w, cost in table.items()),
            default=0.0,
        )

    def _arrays(self, op: Operation) -> int:
        """Return the number of operands that are not scalars, at least one."""
        if op not in self._counts:
            arrays = sum(not self.values.is_number(v) for v in op.operands)
            self._counts[op] = max(1, arrays)
        return self._counts[op]

    def _others(self, use: Use, plan: Plan) -> float:
        """Return the cost of converting the other operands for a plan, as last chosen."""
        assert use.op.parent is not None
        total = 0.0
        for i, need in enumerate(plan.needs):
            if i == use.index or need is None or self.values.is_number(use.op.operands[i]):
                continue
            root, views = self.values.chain(use.op.operands[i])
            copies = self.known.get(root, ())
            if copies:
                weight = self.values.weight(root)
                times = self.values.weights[use.op.parent] / weight
                total += weight * min(self.seen(root, c, views, need, times) for c in copies)
        return total

    def seen(
        self,
        value: SSAValue,
        c: Partition,
        views: Sequence[Operation],
        need: Partition,
        times: float = 1.0,
    ) -> float:
        """Return the least cost of converting a view of a value from partition `c` to `need`.

        Either the value is converted or the view, which is read `times` as often.
        """
        if not views:
            return self.change(value, c, need)
        wanted = self.values.back(views, need)
        best = NEVER if wanted is None else self.change(value, c, wanted)
        if best > 0 and (wanted is None or any(v.name in SLICES for v in views)):
            best = min(best, times * self.turn(views, c, need)[0])
        return best

    def turn(
        self, views: Sequence[Operation], c: Partition, need: Partition
    ) -> tuple[float, int, Partition]:
        """Return the least cost of converting one of the views of a value in partition `c`, so that
        the last one, which comes first in `views`, is in `need`.

        Also returns the number of that view, and its new partition. What a broadcast reads is
        smaller than its result.
        """
        best, least = (NEVER, 0, need), 0
        for k, view in enumerate(views):
            size = prod(shape_of(view.results[0]))
            if k and (size >= least or view in self.values.casts):
                continue
            least = size
            found, wanted = self.values.forward(views[k:], c), self.values.back(views[:k], need)
            if found is not None and wanted is not None:
                cost = self.change(view.results[0], found, wanted)
                if cost < best[0]:
                    best = cost, k, wanted
        return best

    def _stored(self, value: SSAValue, c: Partition, use: Use, times: float) -> float:
        if isinstance(use.op, InsertSliceOp):
            if not self.values.in_hbm(use.op.dest):
                return self._put(value, c, use, times)
            run = run_of(shape_of(use.op.source), shape_of(use.op.dest))
        else:
            run = prod(shape_of(value))
        return times * self.store(value, c, use.views, run, margin_dims(use.op))[0]

    def _put(self, value: SSAValue, c: Partition, use: Use, times: float) -> float:
        """Return the least cost of inserting a tile into an on-chip array, and of the array's
        readers.
        """
        op = use.op
        assert isinstance(op, InsertSliceOp)
        target = final(op.result, reshapes=False)
        share = self.values.weight(target) / self.values.weight(value)
        best = NEVER
        for w, after in self.of.get(target, {}).items():
            part = part_of(op, w)
            if part is not None:
                each = times * self.seen(value, c, use.views, part) + share * after
                best = min(best, each)
        return best

    def store(
        self,
        value: SSAValue,
        c: Partition,
        views: Sequence[Operation],
        run: int,
        trimmed: Sequence[int] = (),
    ) -> tuple[float, Partition]:
        """Return the least time of storing a value with partition `c`, and the partition to
        store.

        Less than all of it is stored along the dimensions `trimmed`.
        """
        best = NEVER, c
        shape = shape_of(value)
        out = shape_of(views[0].results[0]) if views else shape
        for d in (c, *candidates(shape, self.values.limit)):
            target = self.values.forward(views, d)
            if target is None or own(target, prod(out)) != target:
                continue
            cost = self.change(value, c, d) + self.costs.transfer(out, run, dtype(value), target)
            cost += (parts(target, out, trimmed) - 1) * self.costs.machine.dma_trigger_ns
            if cost < best[0]:
                best = cost, d
        return best

    # changes

    def change(self, value: SSAValue, source: Partition, target: Partition) -> float:
        """Return the cost of a conversion, through a third partition if that is faster."""
        return self.route(value, source, target)[0]

    def route(
        self, value: SSAValue, source: Partition, target: Partition
    ) -> tuple[float, Partition | None]:
        """Return the least cost of a conversion, and the intermediate partition."""
        known = self._routes.get(value)
        if known is None:
            kind = shape_of(value), self.values.kind(value), value in self.values.special
            known = self._routes[value] = kind, self._routes_of_kind.setdefault(kind, {})
        kind, routes = known
        found = routes.get((source, target))
        if found is None:
            found = routes[source, target] = self._route(*kind, source, target)
        return found

    def _route(
        self,
        shape: tuple[int, ...],
        kind: DType,
        special: bool,
        source: Partition,
        target: Partition,
    ) -> tuple[float, Partition | None]:
        if not self.costs.fits(shape, kind, target):
            return NEVER, None
        convert = self.costs.convert
        best: tuple[float, Partition | None] = convert(shape, kind, source, target, special), None
        machine = self.costs.machine
        if way(machine, prod(shape), kind, source, target, special) is Way.MEMORY:
            for via in candidates(shape, self.values.limit):
                if via in (source, target) or not self.costs.fits(shape, kind, via):
                    continue
                total = convert(shape, kind, source, via, special)
                if total < best[0]:
                    total += convert(shape, kind, via, target, special)
                if total < best[0]:
                    best = total, via
        return best
