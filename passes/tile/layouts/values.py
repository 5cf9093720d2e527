"""Classify the values of a function for layouts: in HBM, views, scalars, or tiles."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, TensorType, UnitAttr
from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from neuronir.dialects.nc.counts import constant_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.instruction import ASSUMED_ITERATIONS
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.loops import (
    LoopOp,
    body_of,
    first_result,
    initial_value,
    initial_values,
)
from neuronir.dialects.support.unchanged import forget
from neuronir.dialects.tile.ops import EmptyOp, UnfoldOp
from neuronir.dialects.tile.rules import contracting, shape_of
from neuronir.passes.tile.layouts import maps
from neuronir.passes.tile.layouts.candidates import candidates
from neuronir.passes.tile.layouts.carried import carriers, part_of
from neuronir.passes.tile.layouts.costs import ELEMENT_NS, Weights, run_of
from neuronir.passes.tile.layouts.maps import Partition, sees
from neuronir.passes.tile.layouts.plans import dtype
from neuronir.passes.tile.special import special_values
from neuronir.passes.tile.whole import MARK, whole

NOT_LAID_OUT = ("hlo.tuple", "tile.index", "tile.empty", "tensor.insert_slice", "hlo.constant")
"""Ops whose results have no layout of their own choice."""


@dataclass(frozen=True)
class Use:
    """A reader of an on-chip value, with the views in between (nearest first)."""

    op: Operation
    index: int
    views: tuple[Operation, ...]


class Values:
    """The values of a function, with the execution count of each block."""

    def __init__(self, block: Block, machine: Machine) -> None:
        self.block = block
        self.machine = machine
        self.limit = machine.partitions
        self.weights: dict[Block, float] = {block: 1.0}
        self._in_hbm: dict[SSAValue, bool] | None = None
        self._chains: dict[SSAValue, tuple[SSAValue, tuple[Operation, ...]]] | None = None
        self.ops = list(self._walk(block))
        self.inserts = self._inserts()
        for op in self.ops:
            if isinstance(op, EmptyOp):
                self._home(op)
        self.casts = {op for op in self.ops if self._casts(op)}
        self.special = special_values(block)
        self._kinds: dict[SSAValue, DType] = {}
        self._back: dict[tuple[tuple[Operation, ...], Partition], Partition | None] = {}
        self._forward: dict[tuple[tuple[Operation, ...], Partition], Partition | None] = {}

    def _walk(self, block: Block) -> Iterator[Operation]:
        for op in block.ops:
            yield op
            if isinstance(op, LoopOp):
                self.weights[body_of(op)] = self.weights[block] * max(1, trips(op))
                yield from self._walk(body_of(op))

    def _inserts(self) -> dict[SSAValue, list[InsertSliceOp]]:
        """Return the insertions of tiles, by the array that they begin with."""
        out: dict[SSAValue, list[InsertSliceOp]] = {}
        for op in self.ops:
            if isinstance(op, InsertSliceOp):
                out.setdefault(list(carriers(op.dest))[-1], []).append(op)
        return out

    def _home(self, op: EmptyOp) -> None:
        """Assemble an array in HBM if no partition digits divide its tiles."""
        inserts = self.inserts.get(op.tensor, [])
        for c in candidates(shape_of(op.tensor), self.limit):
            if maps.own(c, prod(shape_of(op.tensor))) == c and all(
                part_of(o, c) is not None for o in inserts
            ):
                return
        op.memory = StringAttr("hbm")

    def _casts(self, op: Operation) -> bool:
        """Return whether an op is a conversion that the load of its operand performs."""
        if op.name != "hlo.convert" or not self.machine.dma_casts:
            return False
        if not (dtype(op.operands[0]).is_float and dtype(op.results[0]).is_float):
            return False
        root, views = self.chain(op.operands[0], casts=False)
        return self.in_hbm(root) and not any(v.name == "hlo.slice" for v in views)

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Remember where values are and what they are views of; ops must not change meanwhile,
        except by `lower_whole`.
        """
        self._in_hbm, self._chains = {}, {}
        try:
            yield
        finally:
            self._in_hbm = self._chains = None

    def lower_whole(self, op: Operation) -> None:
        """Mark an op as lowered as a whole: its results are in HBM."""
        op.attributes[MARK] = UnitAttr()
        forget(op)
        if self._in_hbm is not None:
            self._in_hbm, self._chains = {}, {}

    def in_hbm(self, value: SSAValue) -> bool:
        """Return whether a value is in HBM."""
        if self._in_hbm is None:
            return self._is_in_hbm(value)
        found = self._in_hbm.get(value)
        if found is None:
            found = self._in_hbm[value] = self._is_in_hbm(value)
        return found

    def _is_in_hbm(self, value: SSAValue) -> bool:
        if isinstance(value, BlockArgument):
            begin = initial_value(value)
            return begin is None or self.in_hbm(begin)
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, ExtractSliceOp):
            return self.in_hbm(op.source)
        if isinstance(op, EmptyOp):
            return op.memory.data == "hbm"
        if isinstance(op, InsertSliceOp):
            return self.in_hbm(op.dest)
        if isinstance(op, LoopOp):
            assert isinstance(value, OpResult)
            return self.in_hbm(initial_values(op)[value.index - first_result(op)])
        return whole(op) or (op.name == "hlo.constant" and prod(shape_of(value)) > 1)

    def laid_out(self, op: Operation) -> bool:
        """Return whether the result of an op is on the chip, in a chosen layout."""
        if sees(op) or op in self.casts or op.name in NOT_LAID_OUT:
            return False
        return not all(self.in_hbm(r) for r in op.results)

    def chain(
        self, value: SSAValue, *, casts: bool = True
    ) -> tuple[SSAValue, tuple[Operation, ...]]:
        """Return the base of a value, and the views in between, nearest first.

        A slice of a value in HBM is a base if its address is known.
        """
        if self._chains is None or not casts:
            return self._chain(value, casts)
        found = self._chains.get(value)
        if found is None:
            found = self._chains[value] = self._chain(value, casts)
        return found

    def _chain(self, value: SSAValue, casts: bool) -> tuple[SSAValue, tuple[Operation, ...]]:
        views: list[Operation] = []
        while isinstance(value, OpResult):
            op = value.op
            view = sees(op) or (casts and op in self.casts)
            if isinstance(op, ExtractSliceOp) and self.in_hbm(op.source):
                view = False
            if not view:
                break
            views.append(op)
            value = op.operands[0]
        return value, tuple(views)

    def is_number(self, value: SSAValue) -> bool:
        """Return whether a value is uniform."""
        root, _ = self.chain(value)
        op = root.owner
        return isinstance(op, Operation) and (
            op.name == "tile.index" or (op.name == "hlo.constant" and prod(shape_of(root)) == 1)
        )

    def run(self, root: SSAValue) -> int:
        """Return the contiguous elements of a value in HBM."""
        run = prod(shape_of(root))
        value = root
        while isinstance(value.owner, ExtractSliceOp):
            source = value.owner.source
            run = min(run, run_of(shape_of(value), shape_of(source)))
            value = source
        if isinstance(value.owner, UnfoldOp):
            run = min(run, prod(shape_of(value)[value.owner.along + 1 :]))
        return max(1, run)

    def uses(self, value: SSAValue) -> Iterator[Use]:
        """Return the readers of a value, through views."""
        work: list[tuple[SSAValue, tuple[Operation, ...]]] = [(value, ())]
        while work:
            v, views = work.pop()
            for use in v.uses:
                op = use.operation
                if sees(op) or op in self.casts:
                    work.append((op.results[0], (op, *views)))
                else:
                    yield Use(op, use.index, views)

    def kind(self, value: SSAValue) -> DType:
        """Return the element type of the copies of a value on the chip: a load may convert it."""
        if value not in self._kinds:
            kinds = {self._cast_by(use) or dtype(value) for use in self.uses(value)}
            wide = max(kinds, key=lambda k: k.size, default=dtype(value))
            self._kinds[value] = wide if self.in_hbm(value) else dtype(value)
        return self._kinds[value]

    def _cast_by(self, use: Use) -> DType | None:
        """Return the type of the last conversion between a value and a reader."""
        return next((dtype(v.results[0]) for v in use.views if v in self.casts), None)

    def weight(self, value: SSAValue) -> float:
        """Return how often a value is computed."""
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        assert block is not None
        return self.weights[block]

    def back(self, views: Sequence[Operation], partition: Partition) -> Partition | None:
        """Return the partition that the base of views needs."""
        if not views:
            return partition
        key = tuple(views), partition
        if key not in self._back:
            found: Partition | None = partition
            for op in views:
                if op not in self.casts:
                    found = maps.back(op, found) if found is not None else None
            self._back[key] = found
        return self._back[key]

    def forward(self, views: Sequence[Operation], partition: Partition) -> Partition | None:
        """Return the partition of views of a value in `partition`."""
        if not views:
            return partition
        key = tuple(views), partition
        if key not in self._forward:
            found: Partition | None = partition
            for op in reversed(views):
                if op not in self.casts:
                    found = maps.forward(op, found) if found is not None else None
            self._forward[key] = found
        return self._forward[key]

    def loads(self) -> Weights:
        """Return the minimum busy times of transfers, PE, and ACT and DVE."""
        m = self.machine
        dma = pe = vector = 0.0
        for op in self.ops:
            times = self.weights[op.parent] if op.parent is not None else 1.0
            for r in op.results:
                if not isinstance(r.type, TensorType) or sees(op) or op in self.casts:
                    if isinstance(op, ExtractSliceOp) and self.in_hbm(r):
                        dma += times * prod(shape_of(r)) * dtype(r).size / m.dma_gbps
                    continue
                if isinstance(op, InsertSliceOp):
                    source = op.source
                    dma += times * prod(shape_of(source)) * dtype(source).size / m.dma_gbps
                elif op.name == "hlo.dot":
                    k = prod(shape_of(op.operands[0])[d] for d in contracting(op)[0])
                    pe += times * 2 * k * prod(shape_of(r)) / m.peak_flops_bf16 * 1e9
                elif op.name.startswith("hlo.") and op.name != "hlo.constant":
                    most = max(prod(shape_of(v)) for v in (r, *op.operands))
                    vector += times * most * ELEMENT_NS / m.partitions
        for a in self.block.args:
            if isinstance(a.type, TensorType) and any(
                not isinstance(u.operation, ExtractSliceOp) for u in a.uses
            ):
                dma += prod(shape_of(a)) * dtype(a).size / m.dma_gbps
        return Weights.of(dma, pe, vector)


def trips(op: LoopOp) -> int:
    """Return the trip count of a loop; ASSUMED_ITERATIONS if it depends on data."""
    if isinstance(op, scf.WhileOp):
        return ASSUMED_ITERATIONS
    low, high, step = (constant_of(value) for value in (op.lb, op.ub, op.step))
    assert low is not None and step is not None
    return ASSUMED_ITERATIONS if high is None else -(-(high - low) // step)
