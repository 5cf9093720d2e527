"""Represent groups of ops that are computed tile by tile, and their order."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from xdsl.ir import Operation, SSAValue

from neuronir.passes.lowering.streaming.dims import Tiling
from neuronir.passes.lowering.streaming.size import VIEWS, nbytes


@dataclass(eq=False)
class Group:
    """Ops in program order, the tiling of their values, and the sizes of the dimension and a tile.

    `blocked` is a dot of two matrices that is computed block by block (products/blocked.py) and is
    not tiled.
    """

    ops: list[Operation]
    tiling: Tiling
    extent: int
    rows: int
    blocked: bool = False

    def inputs(self) -> list[SSAValue]:
        """Return outer values, in order of use."""
        members = set(self.ops)
        operands = (v for op in self.ops for v in op.operands)
        return list(dict.fromkeys(v for v in operands if v.owner not in members))

    def outputs(self) -> list[SSAValue]:
        """Return results that are used outside."""
        members = set(self.ops)
        return [
            r
            for op in self.ops
            for r in op.results
            if any(use.operation not in members for use in r.uses)
        ]


def inner_bytes(group: Group) -> int:
    """Return the bytes of traffic saved: results that only the group reads."""
    members = set(group.ops)
    return sum(
        nbytes(r)
        for op in group.ops
        for r in op.results
        if op.name not in VIEWS and all(u.operation in members for u in r.uses)
    )


def groups_inside(
    groups: Sequence[Group], layers: Sequence[Sequence[Operation]]
) -> list[Group] | None:
    """Return the groups with ops of layers; None if a group mixes layers or includes other ops.

    Views belong to their readers.
    """
    layer = {op: i for i, ops in enumerate(layers) for op in ops}
    found: list[Group] = []
    for group in groups:
        where = {layer[op] for op in group.ops if op in layer}
        if not where:
            continue
        if len(where) > 1 or any(op not in layer and op.name not in VIEWS for op in group.ops):
            return None
        found.append(group)
    return found


def in_order(ops: Sequence[Operation], groups: Sequence[Group]) -> list[Operation | Group]:
    """Order ops and groups after their operands, close to program order.

    Returns an empty list if groups depend on each other.
    """
    if not groups:
        return list(ops)
    unit: dict[Operation, Operation | Group] = {op: op for op in ops}
    for group in groups:
        unit.update(dict.fromkeys(group.ops, group))
    place = {op: i for i, op in enumerate(ops)}
    waiting: dict[Operation | Group, int] = {}
    users: dict[Operation | Group, list[Operation | Group]] = {}
    for u in dict.fromkeys(unit.values()):
        operands = u.inputs() if isinstance(u, Group) else u.operands
        owners = (v.owner for v in operands)
        needed = {unit[o] for o in owners if isinstance(o, Operation) and o in unit}
        waiting[u] = len(needed)
        for n in needed:
            users.setdefault(n, []).append(u)

    def key(u: Operation | Group) -> int:
        return place[u.ops[-1] if isinstance(u, Group) else u]

    ready = [(key(u), u) for u, n in waiting.items() if n == 0]
    heapify(ready)
    out: list[Operation | Group] = []
    while ready:
        u = heappop(ready)[1]
        out.append(u)
        for user in users.get(u, ()):
            waiting[user] -= 1
            if waiting[user] == 0:
                heappush(ready, (key(user), user))
    return out if len(out) == len(waiting) else []
