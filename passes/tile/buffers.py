"""Compute the bytes of SBUF that a group takes with its loops.

A group is tried with hundreds of loop nests. What does not depend on the loops is found once for
the ops of a group: the bases of operands, the axes of values, and which results have a buffer.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from math import prod

from xdsl.ir import Operation, OpResult, SSAValue

from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.hlo.support.values import integer
from neuronir.passes.tile.axes import Key
from neuronir.passes.tile.group import Group, is_view, item_bytes, root_of, views_between
from neuronir.passes.tile.steps import Buffer, Step

RUN = 512
"""Elements of a row that is not divided over partitions if there are enough rows."""
Sizes = dict[Key, tuple[int, int]]
"""The bytes of a partition of a tile of each buffered value, and its loop depth."""


def steps_of(group: Group) -> Sequence[Step]:
    """Return the steps of a group, in program order."""
    if not group.steps:
        group.steps.extend(_step(op, group) for op in group.ops if not is_view(op))
    return group.steps


def _step(op: Operation, group: Group) -> Step:
    roots = tuple(
        root for i in range(len(op.operands)) if (root := _root(group, op, i)) is not None
    )
    counts: list[tuple[Buffer, Sequence[int]]] = []
    for value in op.operands:
        views = list(views_between(value))
        if views and views[-1].name == "hlo.iota":
            iota = views[-1]
            counted = group.related.of(iota.results[0])[integer(iota, "iota_dimension")]
            counts.append((_buffer(group, iota.results[0]), counted))
    return Step(
        op,
        roots,
        tuple(_buffer(group, root) for root in roots if isinstance(root, tuple)),
        tuple(_buffer(group, r) for r in op.results if not passes_on(op, group)),
        _buffer(group, op.results[0]),
        tuple(counts),
    )


def _buffer(group: Group, key: Key) -> Buffer:
    value = group.value(key)
    return Buffer(key, value, group.related.leaves(key), item_bytes(value), group.related)


def sizes_of(group: Group, partitions: int, resident: Collection[SSAValue]) -> Sizes:
    """Return the bytes of a partition of a tile of each buffered value, and its loop depth.

    Values that are `resident` in SBUF between groups take none.
    """
    found: Sizes = {}
    seen: set[tuple[SSAValue, tuple[int, ...]]] = set()
    tiles = _Tiles(group, partitions)
    for step in steps_of(group):
        for load in step.loaded:
            if load.value not in resident:
                mark = load.value, group.tile(load.key)
                if mark not in seen:
                    seen.add(mark)
                    found[load.key] = tiles.of(load)
        for iota, counts in step.counts:
            size, depth = tiles.of(step.result)
            most = prod(group.extent(a) for a in counts)  # each partition has their counts
            found[iota.key] = min(size // step.result.item, most) * iota.item, depth
        if group.loops and step.op in group.overlapping:
            continue
        for made in step.made:
            size, depth = tiles.of(made)
            if group.loops and group.depth_of(group.axes_of(step.op)) > depth:  # loops add it up
                size = size * made.carried // made.item
            found[made.key] = size, depth
    return found


class _Tiles:
    """The bytes of a partition of tiles, and their loop depths: those of values of the same axes
    are found once.
    """

    def __init__(self, group: Group, partitions: int) -> None:
        self.group = group
        self.partitions = partitions
        self.known: dict[tuple[tuple[int, ...], int], tuple[int, int]] = {}

    def of(self, buffer: Buffer) -> tuple[int, int]:
        """Return the bytes of a partition and the depth of the tile of a value."""
        key = buffer.shared
        found = self.known.get(key)
        if found is None:
            extents = tuple([self.group.extent(a) for a in buffer.leaves])
            size = -(-prod(extents) * buffer.item // spread(extents, self.partitions))
            depth = self.group.depth_of(buffer.based) if self.group.loops else 0
            found = self.known[key] = size, depth
        return found


def most_live(group: Group, sizes: Mapping[Key, int]) -> int:
    """Return the maximum bytes that are live at a time, without loops, in program order."""
    last: dict[Key, int] = {}
    first: dict[Key, int] = {}
    steps = steps_of(group)
    for n, step in enumerate(steps):
        for root in step.roots:
            if root in sizes:
                first.setdefault(root, n)
                last[root] = n
        for r in step.op.results:
            if r in sizes:
                first[r] = n
                last.setdefault(r, n)
    for v in group.outputs:
        if v in first:
            last[v] = len(steps)
    change: dict[int, int] = {}
    for key, begin in first.items():
        change[begin] = change.get(begin, 0) + sizes[key]
        change[last[key] + 1] = change.get(last[key] + 1, 0) - sizes[key]
    best = now = 0
    for n in sorted(change):
        now += change[n]
        best = max(best, now)
    return best


def _root(group: Group, op: Operation, which: int) -> Key | None:
    """Return the base of an operand: a value of the group, or an outer use."""
    while True:
        value = op.operands[which]
        if not isinstance(value, OpResult) or value.op not in group.inside:
            return None if not shape_of(value) else (op, which)
        owner = value.op
        if not is_view(owner):
            return value
        if not owner.operands:
            return None
        op, which = owner, 0


def passes_on(op: Operation, group: Group) -> bool:
    """Return whether the result of an op has no buffer: its reader evicts or computes it."""
    (result,) = op.results
    use = result.get_user_of_unique_use()
    if use is None or use not in group.inside or use.name not in ELEMENTWISE:
        return False
    if op.name == "hlo.dot":
        return True
    if use.name == "hlo.convert":
        return item_bytes(use.results[0]) < item_bytes(result)
    if op.name in ("hlo.add", "hlo.subtract", "hlo.multiply", "hlo.divide"):
        small = [prod(shape_of(root_of(v))) < prod(shape_of(result)) for v in op.operands]
        return any(small) and use.name != "hlo.select"
    return op.name == "hlo.convert"


@lru_cache(maxsize=65536)
def spread(extents: tuple[int, ...], limit: int) -> int:
    """Return the maximum partitions of a tile of these extents: one axis, or two together."""
    best = 1
    for i, n in enumerate(extents):
        whole = _divisor(n, limit)
        best = max(best, whole)
        if n <= limit // 2:
            for j, m in enumerate(extents):
                if j != i:
                    best = max(best, n * _divisor(m, limit // n))
    return best


@lru_cache(maxsize=65536)
def in_runs(extents: tuple[int, ...], limit: int) -> int:
    """Return the partitions of a tile of these extents that is loaded in long contiguous runs.

    Rows of RUN elements or more are divided only if the other axes fill half of the partitions at
    most.
    """
    if len(extents) < 2 or extents[-1] < RUN:
        return spread(extents, limit)
    others = extents[:-1]
    rows = spread(others, limit)
    return rows if rows > limit // 2 else spread(extents, limit)


@lru_cache(maxsize=65536)
def _divisor(n: int, limit: int) -> int:
    for d in range(min(n, limit), 0, -1):
        if n % d == 0:
            return d
    return 1
