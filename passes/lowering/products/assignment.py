"""Choose the stationary operand of every dot of a block, globally.

The free dimension of the stationary operand is on the partitions of the result. If the users of a
result want the longer side there, the dot can compute it directly, or compute the other orientation
that PE then transposes, 128 x 128 at a time, with a second eviction. The first may take more PE
time (short moving operands do not amortise the overhead of a matmul); the second always takes more
of the PSUM port. The choice therefore depends on the bottleneck of the whole block: it minimises
the time of the busiest resource, then the sum of all. Equal dots get the same choice. Dots without
a
constant, whose operands DMA loads in memory order, are decided by PE time alone.
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
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layers.twins import NO_TWINS
from neuronir.passes.lowering.layouts.cover import elements_of
from neuronir.passes.lowering.layouts.demand import Demand
from neuronir.passes.lowering.layouts.layout import Atom
from neuronir.passes.lowering.products.sides import (
    dims_of,
    flipped,
    pairs_of,
    within,
)
from neuronir.passes.lowering.products.times import eviction_ns, matmul_ns, transpose_ns
from neuronir.passes.statistics import gains, record

REUSE = 4
"""Blocks of columns computed per stationary operand while it is loaded: half of the banks, so that
the others are evicted meanwhile.
"""


@dataclass(frozen=True)
class Product:
    """A dot [rows, depth] @ [depth, columns] with operands of `dtype`; users want rows on
    partitions.

    With `bias`, a vector along the rows is added: during eviction if rows are on partitions, else
    by matmuls with its parts. `packed` means that one operand is a constant, which is stored in HBM
    in the order that the dot wants.
    """

    rows: int
    columns: int
    depth: int
    dtype: DType
    bias: bool = False
    packed: bool = True


@dataclass(frozen=True)
class Loads:
    """The busy time in ns of PE and of the PSUM port, and the number of PE transposes."""

    pe: float = 0.0
    port: float = 0.0
    transposes: int = 0

    def plus(self, other: "Loads", times: int = 1) -> "Loads":
        """Return the sum of this and `times` the other."""
        return Loads(
            self.pe + times * other.pe,
            self.port + times * other.port,
            self.transposes + times * other.transposes,
        )


def loads(p: Product, direct: bool, machine: Machine) -> Loads:
    """Return the cost of a dot with the rows on partitions: `direct`, or transposed afterwards."""
    if direct:
        return _computed(p.rows, p.columns, p.depth, p.dtype, machine)
    other = _computed(p.columns, p.rows, p.depth, p.dtype, machine)
    if p.bias:
        other = other.plus(Loads(_computed(p.columns, p.rows, 1, p.dtype, machine).pe))
    return other.plus(transposed(p.rows, p.columns, p.dtype, machine))


def transposed(rows: int, columns: int, dtype: DType, machine: Machine) -> Loads:
    """Return the cost of transposing [columns, rows] so that the rows are on partitions."""
    limit = machine.partitions
    tiles = -(-rows // limit) * -(-columns // limit)
    short = min(limit, columns)
    bank = machine.psum_bank_bytes // dtype.size // short  # transposes that fill a bank
    full, rest = divmod(tiles, bank)
    port = full * eviction_ns(machine, dtype, limit, bank * short)
    if rest:
        port += eviction_ns(machine, dtype, limit, rest * short)
    pe = tiles * transpose_ns(machine, dtype, short, min(limit, rows))
    return Loads(pe, port, tiles)


def _computed(stationary: int, moving: int, depth: int, dtype: DType, machine: Machine) -> Loads:
    """Return the cost of a dot with the first operand stationary; each result is evicted
    separately.
    """
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
    """Return the operand (0, 1) of a dot with the innermost factor that users want on partitions.

    `free` are the operands' free factors, as numbered in the dot.
    """
    best = want.best()
    if not best:
        return None
    inner = best[-1][0]
    return next((i for i in (1, 0) if any(within(inner, a) for a in free[i])), None)


def free_factors(op: DotOp) -> tuple[list[Atom], list[Atom]]:
    """Return the free factors of both operands, as numbered in the dot."""
    dims, out = dims_of(op), shape_of(op.results[0])
    nb, nl = len(dims.batch[0]), len(dims.free[0])
    places = (range(nb, nb + nl), range(nb + nl, len(out)))
    left, right = (
        [p.mine for p in flipped(pairs_of(shape_of(v), free, out, place))]
        for v, free, place in zip(op.operands, dims.free, places, strict=True)
    )
    return left, right


def product_of(op: DotOp, side: int) -> Product | None:
    """Return the sizes of a dot with the rows of operand `side`.

    Returns None for a batched dot, whose result PE cannot transpose as a whole.
    """
    dims = dims_of(op)
    if any(shape_of(op.operands[0])[d] > 1 for d in dims.batch[0]):
        return None
    factors = free_factors(op)
    depth = 1
    for d in dims.contracting[0]:
        depth *= shape_of(op.operands[0])[d]
    dtype = dtype_of(cast(TensorType, op.operands[side].type).element_type)
    rows, columns = (elements_of(factors[i]) for i in (side, 1 - side))
    packed = any(isinstance(v.owner, ConstantOp) for v in op.operands)
    return Product(rows, columns, depth, dtype, _has_bias(op.results[0], rows), packed)


def _has_bias(value: SSAValue, rows: int) -> bool:
    """Return whether a vector of `rows` elements is added to a dot."""
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
    """Return whether a single dot is best computed directly with its rows on partitions."""
    return Sides(machine).direct(p)


class Sides:
    """The choices for the dots of a block."""

    def __init__(self, machine: Machine, least: Loads = Loads(), dma_ns: float = 0.0) -> None:
        self.machine = machine
        self.dma_ns = dma_ns
        self._total = least
        self._direct: dict[Product, bool] = {}

    def direct(self, p: Product) -> bool:
        """Return whether a dot is computed directly with its rows on partitions."""
        if p not in self._direct:
            self._decide(Counter([p]))
        return self._direct[p]

    @property
    def busiest(self) -> tuple[float, float]:
        """Return the ns of the busiest resource, and of PE and the PSUM port together."""
        return self._key(self._total)

    def note(self, products: Counter[Product]) -> int:
        """Decide for dots together; return the saved transposes compared with PE-only decisions."""
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
        """Start from the best for PE (which is returned), and change single decisions.

        A change is kept if it reduces the busiest resource, or else the sum of all.
        """
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
        """Return the objective in whole ns: float sums depend on their order."""
        return (round(max(total.pe, total.port, self.dma_ns)), round(total.pe + total.port))


def choose_sides(
    ops: Iterable[Operation],
    want: Callable[[SSAValue], Demand],
    machine: Machine,
    dma_ns: float,
    twins: Mapping[Operation, Operation] = NO_TWINS,
) -> dict[DotOp, int]:
    """Return the stationary operands (0, 1) of the dots among `ops` with a wanted side.

    `want` is the side that users want on partitions. `dma_ns` is the DMA time. All other dots count
    with their FLOPs at the peak rate. `twins` maps ops to others with equal users.
    """
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
    """Match a float dot whose users want one side on partitions.

    Returns its sizes with that side's rows, and the side (0, 1).
    """
    if not known_types(op, machine):
        return None
    side = wanted_side(want(op.results[0]), free_factors(op))
    found = None if side is None else product_of(op, side)
    return None if found is None or side is None else (found, side)


def known_types(op: DotOp, machine: Machine) -> bool:
    """Return whether a dot has float types that the machine supports."""
    types = [cast(TensorType, v.type).element_type for v in (*op.operands, *op.results)]
    return all(isinstance(t, AnyFloat) and dtype_of(t).name in machine.dtypes for t in types)
