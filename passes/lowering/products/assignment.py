"""Which operand of each product is stationary, chosen for all products of a block together.

The free dimension of the stationary operand lies on the partitions of the result. Where the users
of a result want that of the longer side there, the product can be computed so at once, or the other
way round and then be transposed by PE, 128 x 128 at a time, and evicted once more. The first may
take more of PE (short moving operands do not outweigh what a matmul takes besides), the second
always takes more of the port to PSUM. So it depends on what the whole block is bound by: the choice
is the one for which its busiest resource takes the least time, then all of them together. Products
that are alike are decided alike; those without a constant, whose operands DMA brings in the order
in which they lie, by PE alone.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.dialects.hlo.data_movement import BroadcastOp, ReshapeOp
from neuronir.dialects.hlo.elementwise import AddOp
from neuronir.dialects.hlo.flops import useful_flops
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layers.twins import NO_TWINS
from neuronir.passes.lowering.layouts.demand import Demand, shape_of
from neuronir.passes.lowering.layouts.layout import Atom
from neuronir.passes.lowering.products.sides import (
    dims_of,
    flipped,
    pairs_of,
    product,
    within,
)
from neuronir.passes.lowering.products.times import eviction_ns, matmul_ns, transpose_ns
from neuronir.passes.statistics import gains, record

REUSE = 4
"""Blocks of columns that are computed for a stationary while it is loaded: half of the banks, so
that the others are evicted meanwhile."""


@dataclass(frozen=True)
class Product:
    """A product [rows, depth] @ [depth, columns] whose users want the rows on partitions, of
    operands of `dtype`. With `bias` a vector along the rows is added: as the result is evicted
    where rows lie on partitions, else by products with its parts. `packed`: one operand is a
    constant, so that it comes from HBM in the order that the product wants."""

    rows: int
    columns: int
    depth: int
    dtype: DType
    bias: bool = False
    packed: bool = True


@dataclass(frozen=True)
class Loads:
    """Nanoseconds that PE and the port to PSUM are busy, and how many transposes PE does."""

    pe: float = 0.0
    port: float = 0.0
    transposes: int = 0

    def plus(self, other: "Loads", times: int = 1) -> "Loads":
        """The sum of this and `times` the other."""
        return Loads(
            self.pe + times * other.pe,
            self.port + times * other.port,
            self.transposes + times * other.transposes,
        )


def loads(p: Product, direct: bool, machine: Machine) -> Loads:
    """What a product takes with the rows on partitions at once (`direct`), or computed the other
    way round and transposed."""
    if direct:
        return _computed(p.rows, p.columns, p.depth, p.dtype, machine)
    other = _computed(p.columns, p.rows, p.depth, p.dtype, machine)
    if p.bias:
        other = other.plus(Loads(_computed(p.columns, p.rows, 1, p.dtype, machine).pe))
    return other.plus(transposed(p.rows, p.columns, p.dtype, machine))


def transposed(rows: int, columns: int, dtype: DType, machine: Machine) -> Loads:
    """What it takes to transpose [columns, rows], so that the rows lie on partitions."""
    limit = machine.partitions
    tiles = -(-rows // limit) * -(-columns // limit)
    short = min(limit, columns)
    bank = machine.psum_bank_bytes // dtype.size // short  # transposes that fill one
    full, rest = divmod(tiles, bank)
    port = full * eviction_ns(machine, dtype, limit, bank * short)
    if rest:
        port += eviction_ns(machine, dtype, limit, rest * short)
    pe = tiles * transpose_ns(machine, dtype, short, min(limit, rows))
    return Loads(pe, port, tiles)


def _computed(stationary: int, moving: int, depth: int, dtype: DType, machine: Machine) -> Loads:
    """A product with the first operand stationary; each result leaves PSUM by itself."""
    limit = machine.partitions
    bank = machine.matmul_max_moving
    tiles, steps = -(-stationary // limit), -(-depth // machine.partitions)
    rows, k = min(limit, stationary), min(machine.partitions, depth)
    blocks, rest = divmod(moving, bank)
    widths = [bank] * blocks + ([rest] if rest else [])
    pe = sum(matmul_ns(machine, dtype, k, rows, n, i % REUSE > 0) for i, n in enumerate(widths))
    port = sum(eviction_ns(machine, DType.F32, rows, n) for n in widths)
    return Loads(tiles * steps * pe, tiles * port)


def wanted_side(want: Demand, free: Sequence[Sequence[Atom]]) -> int | None:
    """Which operand (0, 1) of a product has the innermost factor that its users want on
    partitions; `free` are the operands' free factors, as numbered in the product."""
    best = want.best()
    if not best:
        return None
    inner = best[-1][0]
    return next((i for i in (1, 0) if any(within(inner, a) for a in free[i])), None)


def free_factors(op: DotOp) -> tuple[list[Atom], list[Atom]]:
    """The free factors of both operands, as numbered in the product."""
    dims, out = dims_of(op), shape_of(op.results[0])
    nb, nl = len(dims.batch[0]), len(dims.free[0])
    places = (range(nb, nb + nl), range(nb + nl, len(out)))
    left, right = (
        [p.mine for p in flipped(pairs_of(shape_of(v), free, out, place))]
        for v, free, place in zip(op.operands, dims.free, places, strict=True)
    )
    return left, right


def product_of(op: DotOp, side: int) -> Product | None:
    """The sizes of a dot with the rows of operand `side`; None of one with a batch, whose result
    PE can't transpose as one."""
    dims = dims_of(op)
    if any(shape_of(op.operands[0])[d] > 1 for d in dims.batch[0]):
        return None
    factors = free_factors(op)
    depth = 1
    for d in dims.contracting[0]:
        depth *= shape_of(op.operands[0])[d]
    dtype = dtype_of(cast(TensorType, op.operands[side].type).element_type)
    rows, columns = (product(factors[i]) for i in (side, 1 - side))
    packed = any(isinstance(v.owner, ConstantOp) for v in op.operands)
    return Product(rows, columns, depth, dtype, _has_bias(op.results[0], rows), packed)


def _has_bias(value: SSAValue, rows: int) -> bool:
    """Whether a vector of `rows` numbers is added to a product."""
    while value.has_one_use():
        (use,) = value.uses
        op = use.operation
        if isinstance(op, AddOp):
            vector = op.operands[1 - use.index]
            while isinstance(vector.owner, (BroadcastOp, ConvertOp, ReshapeOp)):
                vector = vector.owner.operands[0]
            return prod(shape_of(vector)) == rows
        if not isinstance(op, (ConvertOp, ReshapeOp)):
            return False
        value = op.results[0]
    return False


def direct_by_itself(p: Product, machine: Machine) -> bool:
    """Whether a product is computed with its rows on partitions at once, if it were alone."""
    return Sides(machine).direct(p)


class Sides:
    """The choices for the products of a block."""

    def __init__(self, machine: Machine, least: Loads = Loads(), dma_ns: float = 0.0) -> None:
        self.machine = machine
        self.dma_ns = dma_ns
        self._total = least
        self._direct: dict[Product, bool] = {}

    def direct(self, p: Product) -> bool:
        """Whether a product is computed with its rows on partitions at once."""
        if p not in self._direct:
            self._decide(Counter([p]))
        return self._direct[p]

    @property
    def busiest(self) -> tuple[float, float]:
        """Nanoseconds of the busiest resource, and of PE and the port to PSUM together."""
        return self._key(self._total)

    def note(self, products: Counter[Product]) -> int:
        """Decide on products together; gives the transposes that are spared beyond those that
        PE alone would have spared."""
        least = self._total
        before = self._decide(products)
        if products and gains():
            for p, n in products.items():
                least = least.plus(loads(p, before[p], self.machine), n)
            for name, total in (("PE alone", least), ("all resources", self._total)):
                for resource, ns in (("PE", total.pe), ("the PSUM port", total.port)):
                    text = f"layout assignment: ns of {resource}, sides by {name}"
                    record("hlo-assign-layouts", text, round(ns))
        return sum(
            n * loads(p, False, self.machine).transposes
            for p, n in products.items()
            if self._direct[p] and not before[p]
        )

    def _decide(self, products: Counter[Product]) -> dict[Product, bool]:
        """Begin with what is least for PE (which is returned), and change what makes the busiest
        resource less busy, or else all of them, until nothing does."""
        m = self.machine
        both = {p: {way: loads(p, way, m) for way in (False, True)} for p in products}
        chosen = {p: both[p][True].pe <= both[p][False].pe for p in products}
        first = dict(chosen)
        for p, n in products.items():
            self._total = self._total.plus(both[p][chosen[p]], n)
        changed = True
        while changed:
            changed = False
            for p, n in products.items():
                if not p.packed:
                    continue
                turned = self._total.plus(both[p][chosen[p]], -n).plus(both[p][not chosen[p]], n)
                if self._key(turned) < self._key(self._total):
                    self._total, chosen[p], changed = turned, not chosen[p], True
        self._direct.update(chosen)
        return first

    def _key(self, total: Loads) -> tuple[float, float]:
        """What is to be least, in whole nanoseconds: sums of floats differ in their order."""
        return (round(max(total.pe, total.port, self.dma_ns)), round(total.pe + total.port))


def choose_sides(
    ops: Iterable[Operation],
    want: Callable[[SSAValue], Demand],
    machine: Machine,
    dma_ns: float,
    twins: Mapping[Operation, Operation] = NO_TWINS,
) -> dict[DotOp, int]:
    """The stationary operands (0, 1) of the products among `ops` of whose results users want one
    side on partitions, as `want` tells. `dma_ns` is what DMA takes; all other products count with
    their FLOPs at the peak; `twins` are of ops others of which users want the same."""
    found: dict[DotOp, tuple[Product, int]] = {}
    known: dict[Operation, tuple[Product, int] | None] = {}
    flops = 0
    for op in ops:
        wanted = None
        if isinstance(op, DotOp):
            twin = cast(DotOp, twins.get(op, op))
            if twin not in known:
                known[twin] = wanted_product(twin, want, machine)
            wanted = known[twin]
        if wanted is None:
            flops += useful_flops(op)
        else:
            found[cast(DotOp, op)] = wanted
    sides = Sides(machine, Loads(pe=flops / machine.peak_flops_bf16 * 1e9), dma_ns)
    spared = sides.note(Counter(p for p, _ in found.values()))
    if spared:
        record("hlo-assign-layouts", "transposes spared by the other side", spared)
    return {op: side if sides.direct(p) else 1 - side for op, (p, side) in found.items()}


def wanted_product(
    op: DotOp, want: Callable[[SSAValue], Demand], machine: Machine
) -> tuple[Product, int] | None:
    """A product of floats of which the users want one side on partitions, with that side's rows,
    and which (0, 1) it is."""
    if not known_types(op, machine):
        return None
    side = wanted_side(want(op.results[0]), free_factors(op))
    found = None if side is None else product_of(op, side)
    return None if found is None or side is None else (found, side)


def known_types(op: DotOp, machine: Machine) -> bool:
    """Whether a product is one of floats that the machine has."""
    types = [cast(TensorType, v.type).element_type for v in (*op.operands, *op.results)]
    return all(isinstance(t, AnyFloat) and dtype_of(t).name in machine.dtypes for t in types)
