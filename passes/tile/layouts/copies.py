"""Record the copies of values, in HBM and in partitions, and find the cheapest way to another one.

Conversions are placed where they are needed, as far out of loops as possible.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.costs import NEVER
from neuronir.passes.tile.layouts.maps import SLICES, Partition
from neuronir.passes.tile.layouts.margins import margin_dims, parts
from neuronir.passes.tile.layouts.place import Place
from neuronir.passes.tile.layouts.plans import dtype
from neuronir.passes.tile.layouts.tables import Tables


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


@dataclass(frozen=True)
class Turned:
    """A view of a value that is converted: its number among the views of an operand, its new
    partition, and the cost in ns.
    """

    view: int
    partition: Partition
    cost: float


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


class Copies:
    """The copies of the values of a function; `total` is the time of all that is done, in ns."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.values = tables.values
        self.machine = tables.values.machine
        self.known: dict[SSAValue, Known] = {}
        self.total = 0.0

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
        turned: Turned | None,
    ) -> Place:
        """Let an op read a copy through views.

        With `turned`, a view changes its partition. Returns the layout as the op sees it.
        """
        return copy.place

    def need_cost(self, op: Operation, index: int, need: Partition) -> float:
        """Return the cost of an operand in a partition, given the existing copies."""
        if self.values.is_number(op.operands[index]):
            return 0.0
        return self.way_to(op, index, need)[0]

    def way_to(
        self, op: Operation, index: int, need: Partition
    ) -> tuple[float, Partition | None, Turned | None]:
        """Return the least cost per execution of an operand, which is a view of a value, in a
        partition.

        Also returns the partition of the value for that, and the view that is converted, if any.
        """
        root, views = self.values.chain(op.operands[index])
        assert op.parent is not None
        share = self.values.weight(root) / self.values.weights[op.parent]
        best: tuple[float, Partition | None, Turned | None] = NEVER, None, None
        wanted = self.values.back(views, need)
        if wanted is not None:
            cost, way = self.bring(root, wanted)
            if isinstance(way, tuple) and any(v.name in SLICES for v in views):
                others = sum(any(v.name in SLICES for v in u.views) for u in self.values.uses(root))
                cost /= max(1, others)  # other slices will need the same partition
            best = share * cost, wanted, None
        if not views or not (wanted is None or any(v.name in SLICES for v in views)):
            return best
        for c in [*(copy.place.partition for copy in self.info(root).copies), *self._seeds(root)]:
            turn, view, into = self.tables.turn(views, c, need)
            if turn >= best[0]:
                continue
            cost = share * self.bring(root, c)[0] + turn
            if cost < best[0]:
                best = cost, c, Turned(view, into, turn)
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
                if not self.tables.costs.fits(shape_of(root), self.values.kind(root), c):
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
        if turned is not None:
            assert op.parent is not None
            self.total += self.values.weights[op.parent] * turned.cost
        return self.seen(op, index, copy, views, turned)

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


def element_of(value: SSAValue) -> object:
    """Return the element type of a tensor value."""
    assert isinstance(value.type, TensorType)
    return value.type.element_type
