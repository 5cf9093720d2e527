"""Turn groups: pass a value on with the dimension that dots contract on partitions.

A value that one group computes and another one multiplies goes through HBM. Its rows would have to
be transposed by PE before the dot. A group that is tiled along the contraction instead computes its
tiles with that dimension on partitions, with the other operand stationary and all other operands
(such as activations) whole. Nothing is then transposed. Both ways are estimated (times.py), because
turning may cost more stationary loads or more bytes.
"""

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.demand import shape_of
from neuronir.passes.lowering.streaming.dims import WHOLE
from neuronir.passes.lowering.streaming.fitting import Fitting
from neuronir.passes.lowering.streaming.group import Group, in_order
from neuronir.passes.lowering.streaming.growing import BIG_SHARE, Graph
from neuronir.passes.lowering.streaming.size import loaded, nbytes
from neuronir.passes.lowering.streaming.times import GroupTimes, contracted
from neuronir.passes.statistics import record


class Turning:
    """Finds groups of a block that should be turned.

    `direct` are operands of dots that are in HBM with their contraction on partitions anyway.
    """

    def __init__(self, block: Block, machine: Machine, direct: frozenset[SSAValue]) -> None:
        self.block = block
        self.machine = machine
        self.direct = direct
        self.turned = frozenset[SSAValue]()

    def turn(self, groups: Sequence[Group]) -> list[Group]:
        """Return the groups, some of them replaced."""
        out = list(groups)
        for group in groups:
            if group in out and not group.turned:
                for value in group.outputs():
                    out = self._turned(value, out) or out
        return out

    def _turned(self, value: SSAValue, groups: list[Group]) -> list[Group] | None:
        """Return the groups with one that computes `value` turned; None if impossible or not
        faster.
        """
        dim = contracted(value)
        users = [g for g in groups if value in g.inputs()]
        if dim is None or any(use.operation not in _members(users) for use in value.uses):
            return None
        if any(not g.blocked and g.tiling.get(value, dim) in (dim, WHOLE) for g in users):
            return None
        turned = self.turned | {value}
        before = GroupTimes(self.machine, self.direct | self.turned)
        then = GroupTimes(self.machine, self.direct | turned)
        made = _fastest(self._makers(value, dim, _members(users)), then)
        if made is None:
            return None
        members = set(made.ops)
        replaced = [g for g in groups if not members.isdisjoint(g.ops)]
        left = _members(replaced) - members  # loads that convert: their readers perform them
        if any(g.nested for g in replaced) or not all(loaded(op.results[0]) for op in left):
            return None
        if left and not self.machine.dma_casts:
            return None
        fitting = Fitting(self.machine, self.direct, turned)
        after = [g for g in (_fastest(_tiles(u, fitting), then) for u in users) if g is not None]
        kept = [g for g in groups if g not in replaced and g not in users]
        if len(after) < len(users) or not in_order(self._ops(), [*kept, made, *after]):
            return None
        now_ns = sum(before.ns(g) for g in (*replaced, *users))
        then_ns = sum(then.ns(g) for g in (made, *after))
        if then_ns >= now_ns:
            return None
        record("lower-hlo-to-nc", "groups turned: ns spared by estimate", round(now_ns - then_ns))
        self.turned = turned
        return [*kept, made, *after]

    def _makers(self, value: SSAValue, dim: int, taken: set[Operation]) -> list[Group]:
        """Return groups tiled along `dim` that compute only `value`.

        Their tiles are between a PSUM bank and all partitions.
        """
        units = []
        unit = self.machine.matmul_max_moving
        while unit >= self.machine.partitions:
            units.append(unit)
            unit //= 2
        found = [self._of_tile(value, dim, taken, unit) for unit in units]
        return [g for g in found if g is not None]

    def _of_tile(self, value: SSAValue, dim: int, taken: set[Operation], unit: int) -> Group | None:
        """Return one of these, with a tile of at least `unit`."""
        maker = value.owner
        graph = Graph(self.block, self.machine)
        if not isinstance(maker, Operation) or maker not in graph.index:
            return None
        graph.taken = taken
        first = graph.spread(maker, value, dim)
        if first is None:
            return None
        members, tiling = graph.grow(maker, first)
        fitting = Fitting(self.machine, self.direct, self.turned)
        group = fitting.fit(graph, maker, members, tiling, shape_of(value)[dim], unit)
        if group is None or group.outputs() != [value]:
            return None
        if not any(isinstance(op, DotOp) for op in group.ops):
            return None
        if not all(_by_products(v, group, self.machine) for v in group.inputs()):
            return None
        return replace(group, turned=True)

    def _ops(self) -> list[Operation]:
        return [op for op in self.block.ops if op is not self.block.last_op]


def _members(groups: Sequence[Group]) -> set[Operation]:
    return {op for g in groups for op in g.ops}


def _fastest(groups: Sequence[Group], times: GroupTimes) -> Group | None:
    """Return the fastest group, the first of several."""
    return min(groups, key=times.ns, default=None)


def _tiles(group: Group, fitting: Fitting) -> list[Group]:
    """Return the group with the tile that fits now, and with shorter ones.

    A blocked dot and a group that is itself turned are unchanged.
    """
    if group.blocked or group.turned:
        return [group]
    rows = fitting.rows(group.ops, group.tiling, group.extent)
    if rows is None or group.nested:
        return []
    found = [replace(group, rows=rows)]
    while rows % (2 * fitting.machine.partitions) == 0:
        rows //= 2
        found.append(replace(group, rows=rows))
    return found


def _by_products(value: SSAValue, group: Group, machine: Machine) -> bool:
    """Return whether only dots use the tiles of an input, except for its type, or it is small.

    Tiles of other inputs would be loaded from HBM in short pieces.
    """
    if group.tiling.get(value, WHOLE) == WHOLE:
        return True
    if nbytes(value) * BIG_SHARE < machine.sbuf_usable_partition_bytes * machine.partitions:
        return True
    users = [use.operation for use in value.uses if use.operation in group.ops]
    return all(
        isinstance(op, DotOp)
        or (op.name == "hlo.convert" and _by_products(op.results[0], group, machine))
        for op in users
    )
