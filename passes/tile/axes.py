"""Identify axes: digits of dimensions that all values of a group of ops share.

Each dimension of each value is a list of axes. The tiling interface of an op unifies axes, and a
reshape splits them into common factors. A tile of one axis is therefore a tile of every value that
has it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.ir import Operation, OpResult, SSAValue

from neuronir.dialects.tile.interface import REDUCED, DimNeed, Tiling, Window
from neuronir.dialects.tile.rules import contracting, shape_of
from neuronir.passes.tile.whole import tiled


class Axes:
    """Numbered axes. An axis may be an alias of another axis, or a list of smaller axes."""

    def __init__(self) -> None:
        self._size: list[int] = []
        self._parts: list[tuple[int, ...]] = []  # the parts of an axis; empty for a leaf

    def new(self, size: int) -> int:
        """Create an axis."""
        return self.new_ones((size,))[0]

    def new_ones(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Create an axis of each size."""
        first = len(self._size)
        self._size += sizes
        self._parts += [()] * len(sizes)
        return tuple(range(first, first + len(sizes)))

    def apart(self, row: Sequence[int], extent: Callable[[int], int]) -> bool:
        """Return whether a tile is not contiguous along a dimension with these axes.

        This happens if an axis is split inside an axis that spans more than one position.
        """
        outer = 1
        for axis in row:
            if outer > 1 and extent(axis) < self.size(axis):
                return True
            outer *= extent(axis)
        return False

    def size(self, axis: int) -> int:
        """Return the number of positions."""
        return self._size[axis]

    def leaves(self, axes: Iterable[int]) -> list[int]:
        """Return the leaf axes with more than one position, outermost first."""
        out: list[int] = []
        all_parts = self._parts
        for axis in axes:
            parts = all_parts[axis]
            if not parts:
                if self._size[axis] > 1:
                    out.append(axis)
                continue
            for part in parts:
                if all_parts[part]:  # it was split later: record its current parts
                    parts = all_parts[axis] = tuple(self.leaves(parts))
                    break
            out += parts
        return out

    def unify(self, left: Sequence[int], right: Sequence[int]) -> bool:
        """Unify two lists of axes, outermost first.

        Returns False if their factors are incompatible; some inner axes may then have been unified.
        """
        a, b = self.leaves(left), self.leaves(right)
        while a and b:
            x, y = a.pop(), b.pop()
            if x == y:
                continue
            if self._size[x] < self._size[y]:
                a, b, x, y = b, a, y, x
            if self._size[x] == self._size[y]:
                if x in self.leaves((y,)) or y in self.leaves((x,)):
                    continue
                self._parts[x] = (y,)
                a, b = self._again(a, b)
                continue
            if self._size[x] % self._size[y]:
                return False
            outer = self.new(self._size[x] // self._size[y])
            self._parts[x] = (outer, y)
            a, b = self._again([*a, outer], b)
        return not a and not b

    def unify_one(self, left: int, right: int) -> bool:
        """Unify two axes: like `unify` of a list each, without lists in the usual case."""
        parts, size = self._parts, self._size
        if not parts[left] and not parts[right] and size[left] == size[right]:
            if left != right and size[left] > 1:
                parts[left] = (right,)
            return True
        return self.unify((left,), (right,))

    def _again(self, a: list[int], b: list[int]) -> tuple[list[int], list[int]]:
        return self.leaves(a), self.leaves(b)


Key = SSAValue | tuple[Operation, int]
"""A result of one of the ops, or one use (op, operand number) of an outer value: different uses may
read different slices.
"""


@dataclass(frozen=True)
class Derived:
    """An axis of which positions `base` * stride + first to `base` * stride + last are needed, if
    they exist.
    """

    base: int
    stride: int
    first: int
    last: int

    def span(self, count: int, size: int) -> int:
        """Return the positions that `count` neighbours of the base need, at most `size`."""
        return min(size, (count - 1) * self.stride + self.last - self.first + 1)


class Related:
    """The axes of all values that a set of ops (in program order) reads and makes.

    `whole` are axes along which some op needs or makes everything. `reduced` are axes over which
    some op reduces, with these ops. `derived` are axes of which a window is needed. `fits` is False
    if a value would have one axis twice.
    """

    def __init__(self, ops: Sequence[Operation]) -> None:
        self.axes = Axes()
        self.ops = ops
        self._inside = frozenset(ops)
        self.dims: dict[Key, tuple[int, ...]] = {}
        self._whole: list[int] = []
        self._reduced: list[tuple[Operation, int]] = []
        self._windows: list[tuple[int, int, Window]] = []
        self._rows: dict[Key, list[list[int]]] = {}
        self._leaves: dict[Key, list[int]] = {}
        self._of_op: dict[Operation, frozenset[int]] = {}
        self.fits = all(self._relate(op) for op in ops)
        if self.fits:
            rows = (self.axes.leaves(dims) for dims in self.dims.values())
            self.fits = all(len(set(row)) == len(row) for row in rows)
        self.derived: dict[int, Derived] = {}
        for axis, base, window in self._windows:
            self._derive(axis, base, window)
        self._order()
        self.whole = frozenset(self.axes.leaves(self._whole))
        self.reduced: dict[int, list[Operation]] = {}
        for op, axis in self._reduced:
            for leaf in self.axes.leaves((axis,)):
                self.reduced.setdefault(leaf, []).append(op)

    def key(self, op: Operation, which: int) -> Key:
        """Return the key of an operand."""
        value = op._operands[which]
        if isinstance(value, OpResult) and value.op in self._inside:
            return value
        return op, which

    def of(self, key: Key) -> list[list[int]]:
        """Return the leaf axes of each dimension."""
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = [self.axes.leaves((axis,)) for axis in self.dims[key]]
        return found

    def leaves(self, key: Key) -> list[int]:
        """Return all leaf axes, outermost first."""
        found = self._leaves.get(key)
        if found is None:
            found = self._leaves[key] = [axis for row in self.of(key) for axis in row]
        return found

    def of_op(self, op: Operation) -> frozenset[int]:
        """Return the axes that an op works on: those of its operands and its result."""
        if op not in self._of_op:
            found: set[int] = set()
            for i in range(len(op.operands)):
                found.update(self.leaves(self.key(op, i)))
            for r in op.results:
                found.update(self.leaves(r))
            self._of_op[op] = self.based(found)
        return self._of_op[op]

    def inputs(self) -> list[tuple[Operation, int]]:
        """Return the uses of outer values."""
        return [key for key in self.dims if isinstance(key, tuple)]

    def _known(self, key: Key) -> tuple[int, ...]:
        found = self.dims.get(key)
        if found is None:
            value = key[0].operands[key[1]] if isinstance(key, tuple) else key
            found = self.dims[key] = self.axes.new_ones(shape_of(value))
        return found

    def _relate(self, op: Operation) -> bool:
        tiling = tiled(op)
        if tiling is None:
            for i in range(len(op.operands)):
                self._whole += self._known(self.key(op, i))
            for v in op.results:
                self._whole += self._known(v)
            return True
        result = self._known(op.results[0])
        self._whole += [result[d] for d in tiling.whole]
        for i, needs in enumerate(tiling.operands):
            mine = self._known(self.key(op, i))
            if tiling.regroups:
                self._regroup(mine, result)
                continue
            for axis, need in zip(mine, needs, strict=True):
                if isinstance(need, int):
                    if not self.axes.unify_one(axis, result[need]):
                        return False
                elif isinstance(need, Window):
                    self._windows.append((axis, result[need.dim], need))
                elif need is REDUCED:
                    self._reduced.append((op, axis))
                else:
                    self._whole.append(axis)
        return self._contract(op, tiling)

    def _derive(self, axis: int, base: int, window: Window) -> None:
        """Record what is needed of an axis: all of it, unless it is a simple function of another
        axis.
        """
        mine, others = self.axes.leaves((axis,)), self.axes.leaves((base,))
        if len(mine) != 1 or len(others) != 1:
            self._whole += [*mine, *others]
            return
        (leaf,), (other,) = mine, others
        known = self.derived.get(leaf)
        found = Derived(other, window.stride, window.first, window.last)
        if known is not None:
            if known.base != other or known.stride != window.stride:
                self._whole += [leaf, known.base, other]
                return
            first, last = min(known.first, found.first), max(known.last, found.last)
            found = replace(known, first=first, last=last)
        self.derived[leaf] = found

    def _order(self) -> None:
        """Make axes whole that depend on themselves or on whole axes."""
        for axis in list(self.derived):
            seen = {axis}
            base = axis
            while base in self.derived:
                base = self.derived[base].base
                if base in seen:
                    self._whole.append(axis)
                    break
                seen.add(base)
        changed = True
        while changed:
            whole = frozenset(self.axes.leaves(self._whole))
            lost = [a for a, d in self.derived.items() if a in whole or d.base in whole]
            for a in lost:
                self._whole += [a, self.derived.pop(a).base]
            changed = bool(lost)

    def base(self, axis: int) -> int:
        """Return the axis from which an axis is ultimately derived."""
        while axis in self.derived:
            axis = self.derived[axis].base
        return axis

    def based(self, axes: Iterable[int]) -> frozenset[int]:
        """Return axes, with derived ones replaced by their bases."""
        return frozenset(map(self.base, axes) if self.derived else axes)

    def _contract(self, op: Operation, tiling: Tiling) -> bool:
        """Unify the dimensions along which two operands are reduced together, in order."""
        rows = [
            self._reduced_dims(op, i, needs)
            for i, needs in enumerate(tiling.operands)
            if REDUCED in needs
        ]
        if len(rows) < 2:
            return True
        return all(self.axes.unify_one(a, b) for a, b in zip(*rows, strict=True))

    def _reduced_dims(self, op: Operation, which: int, needs: Sequence[DimNeed]) -> list[int]:
        mine = self.dims[self.key(op, which)]
        order = contracting(op)[which] if op.name == "hlo.dot" else range(len(mine))
        return [mine[d] for d in order if needs[d] is REDUCED]

    def _regroup(self, source: Sequence[int], result: Sequence[int]) -> None:
        """Unify the dimensions of a reshape between common borders; whole if factors differ."""
        before, after = list(source), list(result)
        while before or after:
            left, right = before[:1], after[:1]
            del before[:1], after[:1]
            m, n = self._product(left), self._product(right)
            while m != n:
                side, rest = (left, before) if m < n else (right, after)
                side.append(rest.pop(0))
                m, n = self._product(left), self._product(right)
            if not self.axes.unify(left, right):
                self._whole += [*left, *right]

    def _product(self, axes: Sequence[int]) -> int:
        return prod(self.axes.size(a) for a in axes)
