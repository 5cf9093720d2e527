"""Represent groups: ops that are executed together, tile by tile, in loops over shared axes."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.support.dtypes import is_float
from neuronir.dialects.support.identity import by_identity
from neuronir.dialects.support.loops import is_body
from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.hlo.support.values import integer, ints
from neuronir.passes.tile.axes import Key, Related
from neuronir.passes.tile.steps import Step

VIEWS = frozenset(
    ("hlo.broadcast", "hlo.reshape", "hlo.bitcast", "hlo.transpose", "hlo.constant", "hlo.iota")
)
"""Ops whose results need no memory: they are rebuilt at every reader."""
_ELEMENTWISE = frozenset(ELEMENTWISE)


def item_bytes(value: SSAValue) -> int:
    """Return the bytes of an element."""
    assert isinstance(value.type, TensorType)
    return _size(value.type.element_type)


@by_identity
def _size(element: Attribute) -> int:
    return dtype_of(element).size


def nbytes(value: SSAValue) -> int:
    """Return the bytes of a tensor value."""
    return prod(shape_of(value)) * item_bytes(value)


@dataclass(frozen=True)
class Loop:
    """A loop over an axis of `size` positions, `tile` of them in each iteration."""

    axis: int
    size: int
    tile: int

    @property
    def rounds(self) -> int:
        """Return the trip count, including a last shorter iteration."""
        return -(-self.size // self.tile)


@dataclass(eq=False)
class Group:
    """Ops in program order, views included, with their axes; `loops` from the outside in.

    `steps` is what buffers.py knows of the ops; groups that differ in their loops share it.
    """

    ops: tuple[Operation, ...]
    related: Related
    loops: tuple[Loop, ...] = ()
    steps: list[Step] = field(default_factory=list)
    inside: frozenset[Operation] = field(init=False)

    def __post_init__(self) -> None:
        self.inside = frozenset(self.ops)

    def with_loops(self, loops: tuple[Loop, ...]) -> "Group":
        """Return the group with other loops; what does not depend on them is not found again."""
        made = Group.__new__(Group)
        made.__dict__.update(self.__dict__)
        for name in ("extents", "known_extents", "known_elements"):
            made.__dict__.pop(name, None)
        made.loops = loops
        return made

    @cached_property
    def kinds(self) -> tuple[list[Operation], list[int]]:
        """Return the first op of each kind, and the number of the kind of each op but views.

        Elementwise ops of one kind do the same on tiles of the same axes: they take the same time,
        whatever the loops are. Any other op is a kind of its own.
        """
        first: list[Operation] = []
        kinds: list[int] = []
        known: dict[Hashable, int] = {}
        for op in self.ops:
            if is_view(op):
                continue
            kind: Hashable = op
            if op.name in _ELEMENTWISE:
                keys = [self.related.key(op, i) for i in range(len(op.operands))]
                leaves = [tuple(self.related.leaves(key)) for key in (*op.results, *keys)]
                kind = op.name, tuple(leaves)
            number = known.setdefault(kind, len(first))
            if number == len(first):
                first.append(op)
            kinds.append(number)
        return first, kinds

    @cached_property
    def outputs(self) -> tuple[SSAValue, ...]:
        """Return results with readers outside the group."""
        return tuple(
            r
            for op in self.ops
            for r in op.results
            if any(use.operation not in self.inside for use in r.uses)
        )

    @cached_property
    def inputs(self) -> tuple[tuple[Operation, int], ...]:
        """Return uses of outer values that are read from memory."""
        return tuple((op, i) for op, i in self.related.inputs() if not is_number(op.operands[i]))

    def value(self, key: Key) -> SSAValue:
        """Return the value of a key."""
        return key[0].operands[key[1]] if isinstance(key, tuple) else key

    def axes_of(self, op: Operation) -> frozenset[int]:
        """Return the axes that an op works on, derived axes replaced by their bases."""
        return self.related.of_op(op)

    def depth_of(self, axes: frozenset[int]) -> int:
        """Return how many loops enclose a value with these axes: down to the innermost that moves
        it.
        """
        depth = 0
        for i, loop in enumerate(self.loops):
            if loop.axis in axes:
                depth = i + 1
        return depth

    def extent(self, axis: int) -> int:
        """Return the positions of an axis in one iteration."""
        found = self.known_extents.get(axis)
        if found is None:
            found = self.known_extents[axis] = self._extent(axis)
        return found

    def _extent(self, axis: int) -> int:
        derived = self.related.derived.get(axis)
        if derived is not None and self.related.base(axis) in self.extents:
            return derived.span(self.extent(derived.base), self.related.axes.size(axis))
        return self.extents.get(axis) or self.related.axes.size(axis)

    @cached_property
    def known_extents(self) -> dict[int, int]:
        """Return the extents that were asked for, by axis."""
        return {}

    @cached_property
    def known_elements(self) -> dict[Key, int]:
        """Return the elements of the tiles that were asked for."""
        return {}

    @cached_property
    def extents(self) -> Mapping[int, int]:
        """Return the positions of the looped axes in one iteration."""
        return {loop.axis: loop.tile for loop in self.loops}

    def tile(self, key: Key) -> tuple[int, ...]:
        """Return the axes of a value; uses of a value with the same axes read the same tile.

        A use by an overlapping slice has the axes of which an iteration has a part, and -1 for each
        other dimension.
        """
        if not isinstance(key, tuple) or key[0] not in self.overlapping:
            return tuple(self.related.leaves(key))
        out: list[int] = []
        for row in self.related.of(key):
            mine = [a for a in row if self.related.base(a) in self.extents]
            out += mine or [-1]
        return tuple(out)

    @cached_property
    def overlapping(self) -> frozenset[Operation]:
        """Return the slices of values whose slices have more elements together than the value.

        They are views of one tile.
        """
        slices: dict[SSAValue, list[Operation]] = {}
        for op in self.ops:
            if op.name == "hlo.slice":
                slices.setdefault(op.operands[0], []).append(op)
        return frozenset(
            op
            for value, some in slices.items()
            for op in some
            if sum(prod(shape_of(o.results[0])) for o in some) > prod(shape_of(value))
        )

    def tile_elements(self, key: Key) -> int:
        """Return the elements of a tile of a value."""
        found = self.known_elements.get(key)
        if found is None:
            found = prod([self.extent(axis) for axis in self.related.leaves(key)])
            self.known_elements[key] = found
        return found

    def rounds(self, depth: int) -> int:
        """Return the product of the trip counts of the `depth` outer loops."""
        return prod(loop.rounds for loop in self.loops[:depth])

    @cached_property
    def batch(self) -> frozenset[int]:
        """Return the axes that are batch dimensions of a dot."""
        found: set[int] = set()
        for op in self.ops:
            if op.name == "hlo.dot":
                dims = self.related.of(op.results[0])
                found.update(a for row in dims[: len(ints(op, "lhs_batch_dims"))] for a in row)
        return frozenset(found)

    @cached_property
    def counts(self) -> list[list[int]]:
        """Return the axes that iotas count where there are several: 6147 positions as 3 by 2049."""
        rows = (
            self.related.of(op.results[0])[integer(op, "iota_dimension")]
            for op in self.ops
            if op.name == "hlo.iota"
        )
        return [row for row in rows if len(row) > 1]

    def parallel(self) -> list[int]:
        """Return the axes over which loops are possible: nothing is needed whole or reduced along
        them.
        """
        related = self.related
        found: dict[int, None] = {}
        overlapping: set[int] = set()
        for v in self.outputs:
            for axis in related.leaves(v):
                if axis in related.derived:
                    overlapping.add(related.base(axis))
                elif axis not in related.whole and axis not in related.reduced:
                    found[axis] = None
        overlapping |= {related.base(a) for a in related.reduced if a in related.derived}
        return [a for a in found if a not in overlapping]

    def summed(self) -> list[int]:
        """Return the axes over which loops may accumulate partial results.

        All reductions along them are read only outside the group. Other outputs may have such an
        axis: their tiles are stored, unless windows of them overlap.
        """
        out: list[int] = []
        windows = {derived.base for derived in self.related.derived.values()}
        for axis, ops in self.related.reduced.items():
            if axis in self.related.whole or not all(_combines(op) for op in ops):
                continue
            last = all(use.operation not in self.inside for op in ops for use in op.results[0].uses)
            stored = any(axis in self.related.leaves(v) for v in self.outputs)
            if last and not (stored and axis in windows):
                out.append(axis)
        return out


def _combines(op: Operation) -> bool:
    return op.name in ("hlo.reduce", "hlo.dot")


def is_number(value: SSAValue) -> bool:
    """Return whether a value is a known scalar."""
    return (
        isinstance(value.owner, Operation)
        and value.owner.name == "hlo.constant"
        and (prod(shape_of(value)) == 1)
    )


def is_view(op: Operation) -> bool:
    """Return whether an op needs no instruction; arrays of constants are loaded like arguments."""
    name = op.name
    if name == "hlo.constant":
        return prod(shape_of(op.results[0])) == 1
    return name in VIEWS or (name == "hlo.convert" and is_cast(op))


def is_cast(op: Operation) -> bool:
    """Return whether an op is a conversion that is part of the load of its operand."""
    if op.name != "hlo.convert" or not all(
        isinstance(v.type, TensorType) and is_float(v.type.element_type)
        for v in (op.operands[0], op.results[0])
    ):
        return False
    value = op.operands[0]
    while isinstance(value.owner, Operation) and value.owner.name in VIEWS:
        if not value.owner.operands:
            return False
        value = value.owner.operands[0]
    if isinstance(value, BlockArgument):
        return not is_body(value.owner)
    return is_source(value.owner)


def is_source(op: Operation | Block) -> bool:
    """Return whether an op is an array constant, or a slice or counter that a program loop reads.

    Such ops keep their positions.
    """
    if not isinstance(op, Operation):
        return False
    if op.name in ("tensor.extract_slice", "tile.index") or op.name.startswith("arith."):
        return True
    return op.name == "hlo.constant" and prod(shape_of(op.results[0])) != 1


def root_of(value: SSAValue) -> SSAValue:
    """Return the base of a value, through all views."""
    while isinstance(value, OpResult) and is_view(value.op) and value.op.operands:
        value = value.op.operands[0]
    return value


def views_between(value: SSAValue) -> Iterator[Operation]:
    """Return the views between a value and its base, nearest first; a constant or an iota is the
    last one.
    """
    while isinstance(value, OpResult) and is_view(value.op):
        yield value.op
        if not value.op.operands:
            return
        value = value.op.operands[0]


def make_group(ops: Sequence[Operation], order: Mapping[Operation, int]) -> Group | None:
    """Create a group of ops and the views that they read; None if their axes are incompatible."""
    members = set(ops)
    for op in ops:
        for v in op.operands:
            members.update(views_between(v))
    ordered = tuple(sorted(members, key=order.__getitem__))
    related = Related(ordered)
    return Group(ordered, related) if related.fits else None


def loaded(value: SSAValue) -> bool:
    """Return whether a value is an argument of the function, possibly permuted or converted."""
    while isinstance(value.owner, Operation):
        if not (is_view(value.owner) or value.owner.name == "hlo.convert"):
            return False
        if not value.owner.operands:
            return False
        value = value.owner.operands[0]
    return isinstance(value, BlockArgument)
