"""Choose the norms whose rows are along partitions, considering the dots that read them.

With rows on the free axis the statistics are cheap, but PE transposes the result for the dots that
contract it. With rows along partitions the statistics are dots with ones, and nothing is
transposed. The preceding dots must then also produce their columns on partitions, which takes more
PE time if there are few rows. Both are compared with all dots of the block, by the criterion of
assignment.py: the busiest resource. Norms of the same shape get the same choice, because the norms
of successive layers read the same residual sum.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType, bf16, f16, f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.flops import useful_flops
from neuronir.dialects.hlo.linear import ConvolutionOp, DotOp
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.center_norms import parts_of
from neuronir.passes.lowering.layers.twins import NO_TWINS
from neuronir.passes.lowering.layouts.cover import elements_of
from neuronir.passes.lowering.layouts.demand import Demand, demand, inner_tile
from neuronir.passes.lowering.layouts.layout import dim_atoms, meet
from neuronir.passes.lowering.layouts.values import Partition
from neuronir.passes.lowering.products.assignment import (
    Loads,
    Product,
    Sides,
    free_factors,
    known_types,
    loads,
    product_of,
    transposed,
    wanted_product,
)
from neuronir.passes.lowering.products.times import eviction_ns, matmul_ns, sum_ns
from neuronir.passes.statistics import gains, record

_PASS = "hlo-assign-layouts"

Want = Callable[[SSAValue], Demand]


def choose_norms(
    ops: Sequence[Operation],
    machine: Machine,
    dma_ns: float,
    tensor_bound: bool,
    twins: Mapping[Operation, Operation] = NO_TWINS,
) -> frozenset[Operation]:
    """Return the norms among `ops` whose rows should be along partitions.

    `dma_ns` is the DMA time of all of them. `tensor_bound` means that PE is the bottleneck. `twins`
    maps ops to others with equal properties.
    """
    comparison = _Comparison(ops, machine, dma_ns, tensor_bound, twins)
    chosen: frozenset[Operation] = frozenset()
    found: dict[tuple[int, ...], list[CompositeOp]] = {}
    for op in comparison.norms:
        found.setdefault(shape_of(op.results[0]), []).append(op)
    least = comparison.busiest(chosen) if found else (0.0, 0.0)
    for alike in found.values():
        if not any(comparison.taken(op) for op in alike):
            continue
        more = chosen.union(alike)
        other = comparison.busiest(more)
        if other < least:
            chosen, least = more, other
    if chosen:
        record(_PASS, "normalisations along partitions", len(chosen))
        if gains():
            before = comparison.busiest(frozenset())
            for text, (ns, _) in (("the free axis", before), ("partitions", least)):
                record(_PASS, f"norms: ns of what is busiest, rows along {text}", round(ns))
    return chosen


def means_of(op: Operation) -> list[CompositeOp] | None:
    """Return the norms whose means must be subtracted so that a norm needs only sums of squares.

    Returns None if it needs more.
    """
    if not isinstance(op, CompositeOp) or op.kind.data not in ("layer_norm", "rms_norm"):
        return None
    return [] if op.kind.data == "rms_norm" else parts_of(op)


def features_of(op: CompositeOp, machine: Machine) -> Partition | None:
    """Return the layout with the rows of a norm along partitions.

    Returns None if it needs more of its rows than sums of squares, or if a row is not a whole
    number of tiles.
    """
    if means_of(op) is None:
        return None
    shape = shape_of(op.results[0])
    if ints(op.params.data["axes"]) != (len(shape) - 1,):
        return None
    types = (cast(TensorType, v.type).element_type for v in (*op.operands, *op.results))
    if any(t != f32 for t in types):
        return None
    if _dtype(op).name not in machine.matmul_dtypes:
        return None
    found = inner_tile(dim_atoms(shape, [len(shape) - 1]), machine.partitions)[0]
    return None if any(a.ragged for a, _ in found) else found or None


def _dtype(op: CompositeOp) -> DType:
    """Return the type in which users read a norm."""
    types = {
        cast(TensorType, use.operation.results[0].type).element_type
        for use in op.results[0].uses
        if use.operation.name == "hlo.convert"
    }
    return dtype_of(types.pop()) if len(types) == 1 and types <= {bf16, f16} else DType.F32


class _Comparison:
    """The cost of the ops of a block, with the rows of some norms along partitions."""

    def __init__(
        self,
        ops: Sequence[Operation],
        machine: Machine,
        dma_ns: float,
        tensor_bound: bool,
        twins: Mapping[Operation, Operation],
    ) -> None:
        self.machine = machine
        self.dma_ns = dma_ns
        self.tensor_bound = tensor_bound
        self.twins = twins
        self.works = [op for op in ops if isinstance(op, (CompositeOp, ConvolutionOp, DotOp))]
        self._features: dict[Operation, Partition | None] = {}
        self._wanted: dict[Operation, Partition | None] = {}
        self.norms = [
            op for op in self.works if isinstance(op, CompositeOp) and self._features_of(op)
        ]

    def _features_of(self, op: CompositeOp) -> Partition | None:
        twin = cast(CompositeOp, self.twins.get(op, op))
        if twin not in self._features:
            self._features[twin] = features_of(twin, self.machine)
        return self._features[twin]

    def taken(self, op: CompositeOp) -> bool:
        """Return whether dots contract the rows of a norm."""
        twin = self.twins.get(op, op)
        if twin not in self._wanted:
            self._wanted[twin] = demand(twin.results[0], self.machine.partitions).best()
        return self._wanted[twin] == self._features_of(op)

    def busiest(self, across: Set[Operation]) -> tuple[float, float]:
        """Return the time of the busiest resource, and the total of PE and the PSUM port."""
        total, flops, machine = Loads(), 0, self.machine
        found: Counter[Product] = Counter()
        known: dict[SSAValue, DType] = {}
        recentred = {p for n in across for p in means_of(n) or ()}
        free = set(self.norms).difference(across)
        demands: dict[SSAValue, Demand] = {}
        products: dict[Operation, tuple[Product | None, bool]] = {}

        def want(value: SSAValue) -> Demand:
            if value not in demands:
                demands[value] = demand(value, machine.partitions, across)
            return demands[value]

        for op in self.works:
            if isinstance(op, DotOp):
                twin = cast(DotOp, self.twins.get(op, op))
                if twin not in products:
                    products[twin] = self._product(twin, want)
                p, chosen = products[twin]
                if p is None:
                    flops += useful_flops(op)
                elif chosen:
                    found[p] += 1
                else:
                    total = total.plus(loads(p, True, machine))
            elif isinstance(op, ConvolutionOp):
                flops += useful_flops(op)
            elif op in across:
                value = op.operands[0]
                sums = int(value not in known) + int(op in recentred)
                dtype = known.setdefault(value, _dtype(op))
                total = total.plus(self._across(op, sums, dtype, op in recentred))
            elif op in free and self.taken(op):
                rows, length = _rows(op)
                total = total.plus(transposed(length, rows, _dtype(op), machine))
        total = total.plus(Loads(pe=flops / machine.peak_flops_bf16 * 1e9))
        sides = Sides(machine, total, self.dma_ns)
        sides.note(found)
        return sides.busiest

    def _product(self, op: DotOp, want: Want) -> tuple[Product | None, bool]:
        """Return a float dot without a batch, and whether users want one of its sides on
        partitions.
        """
        wanted = wanted_product(op, want, self.machine)
        if wanted is not None:
            return wanted[0], True
        return _other(op, want) if known_types(op, self.machine) else None, False

    def _across(self, op: CompositeOp, sums: int, dtype: DType, recentred: bool) -> Loads:
        """Return the PE and PSUM port time of a norm with its rows along partitions.

        It consists of sums by dots of `dtype`, and the following work.
        """
        machine, (rows, length) = self.machine, _rows(op)
        n, bank = machine.partitions, machine.psum_bank_bytes // DType.F32.size
        tiles = length // min(n, length)
        summed = -(-tiles // 2) if self.tensor_bound else tiles
        total = Loads()
        for low in range(0, rows, bank):
            width = min(bank, rows - low)
            pe = sums * summed * matmul_ns(machine, dtype, n, n, width, True)
            port = 2 * sums * eviction_ns(machine, DType.F32, n, width)
            port += (1 + int(recentred)) * tiles * sum_ns(machine, n, width)
            total = total.plus(Loads(pe, port))
        return total


def _other(op: DotOp, want: Want) -> Product | None:
    """Return a dot none of whose factors users want on partitions."""
    free = want(op.results[0]).free
    left, right = ([a for a in side] for side in free_factors(op))
    rows = [any(meet(f, a) for f in free for a in side) for side in (left, right)]
    which = int(rows[0]) if rows[0] != rows[1] else int(elements_of(right) < elements_of(left))
    return product_of(op, which)


def _rows(op: CompositeOp) -> tuple[int, int]:
    """Return how many rows a norm has, and their length."""
    shape = shape_of(op.results[0])
    return prod(shape[:-1]), shape[-1]
