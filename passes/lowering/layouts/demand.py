"""Find the layout that the users of a value want.

Contractions want their dimension on partitions, reductions want theirs on the free axis.
"""

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.data_movement import (
    BroadcastOp,
    ConcatenateOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from neuronir.dialects.hlo.linear import ConvolutionOp, DotOp
from neuronir.dialects.hlo.reduction import ReduceOp
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import (
    Atom,
    atom,
    dense,
    dim_atoms,
    divisor,
    join,
    row_major,
    tile,
    tile_width,
)
from neuronir.passes.lowering.layouts.values import Partition, Parts, new_value, rename_dims

MapBack = Callable[[Atom], Parts | None]
DEPTH = 12
"""How many ops downstream are examined."""


@dataclass
class Demand:
    """Wanted partition layouts with their votes, and atoms wanted on the free axis.

    `spread` means that the value is broadcast for a user that reduces or slices along its atoms.
    """

    partitions: Counter[Partition] = field(default_factory=Counter)
    free: list[Atom] = field(default_factory=list)
    spread: bool = False

    def best(self) -> Partition | None:
        """Return the layout with most votes among those without atoms wanted on the free axis."""
        found = [
            (layout, votes)
            for layout, votes in self.partitions.items()
            if not any(a.stride < f.end and f.stride < a.end for a, _ in layout for f in self.free)
        ]
        return max(found, key=lambda item: item[1])[0] if found else None


def inner_tile(atoms: tuple[Atom, ...], limit: int) -> tuple[Partition, int]:
    """Return the innermost factors of `atoms`, at most `limit` positions, as dense partition atoms.

    `atoms` are outermost first. Also returns how many atoms are whole.
    """
    taken: list[Atom] = []
    count = 1
    for a in reversed(atoms):
        if count * a.size <= limit:
            taken.insert(0, a)
            count *= a.size
            continue
        room = limit // count
        if count == 1:
            width = tile_width(a.size, room)
        else:
            width = divisor(a.size, room)
        if width > 1:
            taken.insert(0, tile(a.size, a.stride, width)[1])
        break
    return dense(taken), count


def contraction(op: DotOp, operand: int) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
    """Return (contracted, batch) atoms of an operand of a dot, outermost first."""
    shape = shape_of(op.operands[operand])
    k = ints(op.lhs_contracting_dims if operand == 0 else op.rhs_contracting_dims)
    b = ints(op.lhs_batch_dims if operand == 0 else op.rhs_batch_dims)
    return dim_atoms(shape, k), dim_atoms(shape, b)


def packed_tile(k: tuple[Atom, ...], batch: tuple[Atom, ...], limit: int) -> Partition:
    """Return the partition layout for a contraction: its inner tile.

    A tile of half the partitions has two batch elements on partitions, because PE has row tiles of
    64 (docs/hardware.md section 2.4).
    """
    inner, count = inner_tile(k, limit)
    whole = 1
    for a in k:
        whole *= a.size
    if count == whole and 2 * count == limit and batch and batch[-1].size % 2 == 0:
        two = tile(batch[-1].size, batch[-1].stride, 2)[1]
        return ((two, count), *inner)
    return inner


FEW_FEATURES = 16
"""Up to this number of features, an eighth of the array, a convolution packs taps with them."""
MANY_ROWS = 4
"""Rows fill partitions well if there is at least this fraction of them."""


def row_groups(shape: Sequence[int], rows: int, stride: int, limit: int) -> Partition | None:
    """Return the layout from which taps are packed: groups of rows, as many as the stride.

    Returns None if the rows cannot be grouped this way.
    """
    groups, left = divmod(shape[rows], stride)
    if left:
        return None
    count = groups if groups <= limit else divisor(groups, limit)
    if MANY_ROWS * count < limit:
        return None
    return ((atom(count, row_major(shape)[rows] * stride), 1),)


def _of_image(op: ConvolutionOp, shape: Sequence[int], limit: int) -> Partition:
    """Return the layout in which a convolution reads its image.

    Features are on partitions, or rows if there are few features and many rows.
    """
    feature, spatial = int(op.input_feature_dim.value.data), ints(op.input_spatial_dims)
    taps = prod(shape_of(op.operands[1])[d] for d in ints(op.kernel_spatial_dims))
    if shape[feature] <= FEW_FEATURES and taps > 1 and len(spatial) == 2:
        if MANY_ROWS * shape[spatial[0]] >= limit:
            grouped = row_groups(shape, spatial[0], ints(op.window_strides)[0], limit)
            return grouped or inner_tile(dim_atoms(shape, spatial[:1]), limit)[0]
    return inner_tile(dim_atoms(shape, [feature]), limit)[0]


def demand(
    value: SSAValue, limit: int, across: Set[Operation] = frozenset(), depth: int = DEPTH
) -> Demand:
    """Return the layouts that the users of `value` want, in atoms of `value`.

    Norms in `across` want their rows along partitions. Users are examined up to `depth` ops
    downstream.
    """
    result = Demand()
    _walk(value, lambda a: [(a, 1)], result, limit, depth, set(), across)
    return result


def _mapped(atoms: Partition, back: MapBack) -> Partition | None:
    out: list[tuple[Atom, int]] = []
    for a, step in atoms:
        parts = back(a)
        if parts is None:
            return None
        out.extend((b, step * k) for b, k in parts)
    return join(out)


def _walk(
    value: SSAValue,
    back: MapBack,
    out: Demand,
    limit: int,
    depth: int,
    seen: set[Operation],
    across: Set[Operation],
) -> None:
    for use in value.uses:
        op = use.operation
        if op in seen or depth == 0:
            continue
        seen.add(op)
        if isinstance(op, DotOp):
            k, batch = contraction(op, use.index)
            wanted = _mapped(packed_tile(k, batch, limit), back)
            if wanted:
                out.partitions[wanted] += 1
        elif isinstance(op, ConvolutionOp):
            if use.index == 0:
                wanted = _mapped(_of_image(op, shape_of(value), limit), back)
                if wanted:
                    out.partitions[wanted] += 1
        elif isinstance(op, ReduceOp):
            if use.index >= len(op.operands) // 2:
                continue  # an initial value, which has no dimensions
            if all(n == 1 for n in shape_of(op.results[0])):
                continue  # a full reduction accepts any layout
            for a in dim_atoms(shape_of(value), ints(op.dimensions)):
                parts = back(a)
                if parts is not None:
                    out.free.extend(b for b, _ in parts)
        elif isinstance(op, SliceOp):
            for a in _cut_digits(op):
                parts = back(a)
                if parts is not None:
                    out.free.extend(b for b, _ in parts)
            _walk(op.results[0], _from_slice(op, back), out, limit, depth - 1, seen, across)
        elif isinstance(op, ReshapeOp):
            _walk(op.results[0], back, out, limit, depth - 1, seen, across)
        elif isinstance(op, ConcatenateOp):
            _walk(
                op.results[0], _from_whole(op, use.index, back), out, limit, depth - 1, seen, across
            )
        elif isinstance(op, BroadcastOp) or op.name == "hlo.transpose":
            before = len(out.free)
            _walk(op.results[0], _through(op, back), out, limit, depth - 1, seen, across)
            repeats = prod(shape_of(op.results[0])) > prod(shape_of(value))
            out.spread |= repeats and len(out.free) > before
        elif op in across:
            last = dim_atoms(shape_of(value), [len(shape_of(value)) - 1])
            wanted = _mapped(inner_tile(last, limit)[0], back)
            if wanted:
                out.partitions[wanted] += 1
        elif isinstance(op, CompositeOp) and op.kind.data in ("softmax", "layer_norm", "rms_norm"):
            last = dim_atoms(shape_of(value), [len(shape_of(value)) - 1])
            for a in last:
                parts = back(a)
                if parts is not None:
                    out.free.extend(b for b, _ in parts)
        elif len(op.results) == 1 and isinstance(op.results[0].type, TensorType):
            if shape_of(op.results[0]) == shape_of(value):
                _walk(op.results[0], back, out, limit, depth - 1, seen, across)


def _cut_digits(op: SliceOp) -> list[Atom]:
    """Return the number of the part if a slice takes one of several equal parts of a dimension."""
    shape, part = shape_of(op.operands[0]), shape_of(op.results[0])
    out: list[Atom] = []
    for d, (n, kept, low) in enumerate(zip(shape, part, ints(op.start_indices), strict=True)):
        if n == kept:
            continue
        (a,) = dim_atoms(shape, [d])
        equal = kept and low % kept == 0 == n % kept and ints(op.strides)[d] == 1
        out.append(atom(n // kept, a.stride * kept) if equal else a)
    return out


def _from_slice(op: SliceOp, back: MapBack) -> MapBack:
    """Map atoms of a slice to its operand, if it starts and ends between them."""
    shape, part = shape_of(op.operands[0]), shape_of(op.results[0])
    old, new = row_major(shape), row_major(part)
    starts, steps = ints(op.start_indices), ints(op.strides)

    def mapped(a: Atom) -> Parts | None:
        for d, n in enumerate(part):
            if n == 1 or not (new[d] <= a.stride and a.end <= new[d] * n):
                continue
            reach = a.end // new[d]
            whole = n == shape[d]
            if whole or (
                steps[d] == 1 and not a.ragged and starts[d] % reach == 0 == shape[d] % reach
            ):
                scale = old[d]
                return back(
                    Atom(a.size, a.stride // new[d] * scale, a.unit // new[d] * scale, a.extent)
                )
        return None

    return mapped


def _from_whole(op: ConcatenateOp, index: int, back: MapBack) -> MapBack:
    """Map atoms of a concatenation to an operand, if they divide it."""
    shape, part = shape_of(op.results[0]), shape_of(op.operands[index])
    old, new = row_major(shape), row_major(part)

    def mapped(a: Atom) -> Parts | None:
        for d, n in enumerate(part):
            inside = n > 1 and old[d] <= a.stride and a.end <= old[d] * n
            if inside and not a.ragged and n * old[d] % a.end == 0 == a.stride % old[d]:
                return back(atom(a.size, a.stride // old[d] * new[d]))
        return None

    return mapped


def _through(op: Operation, back: MapBack) -> MapBack:
    source = new_value(shape_of(op.operands[0]), DType.F32)
    if isinstance(op, BroadcastOp):
        dims = ints(op.dimensions)
    else:
        permutation = ints(cast(TransposeOp, op).permutation)
        dims = tuple(permutation.index(i) for i in range(len(permutation)))
    view = rename_dims(source, shape_of(op.results[0]), dims)

    def mapped(a: Atom) -> Parts | None:
        assert view.to_source is not None
        parts = view.to_source(a)
        if parts is None:
            return None
        out: Parts = []
        for b, k in parts:
            deeper = back(b)
            if deeper is None:
                return None
            out.extend((c, k * j) for c, j in deeper)
        return out

    return mapped
