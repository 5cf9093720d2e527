"""Estimate the time of a group's loop by its busiest resource: PE, the PSUM port or DMA.

Dots count with the tiles of an iteration, operands that need transposes with their transposes, and
transfers with the rows of the tiles in HBM. Pointwise work is excluded, because it does not depend
on the tiling.
"""

from dataclasses import replace
from math import ceil, prod
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp
from neuronir.dialects.hlo.flops import useful_flops
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.data_types import dtype_of
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.demand import shape_of
from neuronir.passes.lowering.products.assignment import (
    Loads,
    Product,
    loads,
    product_of,
    transposed,
)
from neuronir.passes.lowering.products.block_attribute import plan_of
from neuronir.passes.lowering.products.sides import dims_of
from neuronir.passes.lowering.streaming.dims import WHOLE
from neuronir.passes.lowering.streaming.group import Group
from neuronir.passes.lowering.streaming.size import nbytes, tile_bytes


class GroupTimes:
    """Times of groups in ns; iterations overlap if SBUF has room for it.

    `direct` are operands of dots that are in HBM with their contraction on partitions.
    """

    def __init__(self, machine: Machine, direct: frozenset[SSAValue]) -> None:
        self.machine = machine
        self.direct = direct

    def ns(self, group: Group) -> float:
        """Return the time of the whole loop, or of a blocked dot."""
        if group.blocked:
            (op,) = group.ops
            assert isinstance(op, DotOp)
            left, right = (self._across(op, i) for i in (0, 1))
            return plan_of(op, (left, right), self.machine).ns
        total = Loads()
        seen: set[SSAValue] = set()
        for op in group.ops:
            if not isinstance(op, DotOp):
                total = total.plus(Loads(useful_flops(op) / self.machine.peak_flops_bf16 * 1e9))
                continue
            total = total.plus(self._product(op, group))
            for i, value in enumerate(op.operands):
                source = _loaded(value, group)
                if source.owner not in group.ops and source not in seen and self._across(op, i):
                    seen.add(source)
                    total = total.plus(self._transposes(op, i))
        engines = max(total.pe, total.port)
        dma = sum(self._moved(v, group) for v in (*group.inputs(), *group.outputs()))
        if self._overlaps(group):
            return max(engines, dma)
        tiles = [v for v in group.inputs() if group.tiling.get(v, WHOLE) != WHOLE]
        return max(engines + sum(self._moved(v, group) for v in tiles), dma)

    def _overlaps(self, group: Group) -> bool:
        """Return whether the dot operands of the next iteration fit beside the current one.

        Transposed operands make room for themselves.
        """
        share = group.rows / group.extent
        whole, tile = tile_bytes(group.ops, group.tiling, share, self.machine, self.direct)
        coming = {  # in the type in which they arrive: DMA converts
            _loaded(v, group): v
            for op in group.ops
            if isinstance(op, DotOp)
            for i, v in enumerate(op.operands)
            if group.tiling.get(v, WHOLE) != WHOLE and not self._across(op, i)
        }
        inputs = set(group.inputs())
        for source, value in coming.items():
            if source in inputs:
                tile += int(nbytes(value) * share) // self.machine.partitions
        return whole + tile <= self.machine.sbuf_usable_partition_bytes

    def _product(self, op: DotOp, group: Group) -> Loads:
        """Return the time of all iterations of a dot; if turned, its tiled operand is
        stationary.
        """
        tiled = _tiled_side(op, group)
        found = []
        for side in (0, 1):
            whole = product_of(op, side)
            if whole is None or (group.turned and side != tiled):
                continue
            one = _tile(whole, side == tiled, group) if tiled is not None else whole
            rounds = ceil(group.extent / group.rows) if tiled is not None else 1
            found.append(Loads().plus(loads(one, True, self.machine), rounds))
        if not found:
            return Loads(useful_flops(op) / self.machine.peak_flops_bf16 * 1e9)
        return min(found, key=lambda each: (each.pe, each.port))

    def _across(self, op: DotOp, which: int) -> bool:
        """Return whether the contraction of an operand is along its rows in HBM."""
        value = op.operands[which]
        if value in self.direct or isinstance(value.owner, ConstantOp):
            return False
        dims = dims_of(op)
        contracted = dims.contracting[which]
        return bool(contracted) and max(contracted) > max(dims.free[which], default=-1)

    def _transposes(self, op: DotOp, which: int) -> Loads:
        """Return the time of the transposes of an operand, once."""
        shape, dims = shape_of(op.operands[which]), dims_of(op)
        free, depth = (prod(shape[d] for d in ds[which]) for ds in (dims.free, dims.contracting))
        batch = prod(shape[d] for d in dims.batch[which])
        return Loads().plus(
            transposed(depth, free, _dtype(op.operands[which]), self.machine), batch
        )

    def _moved(self, value: SSAValue, group: Group) -> float:
        """Return the time of an input or output, once: all DMA engines for its rows."""
        m, shape = self.machine, shape_of(value)
        dim = group.tiling.get(value, WHOLE)
        order = list(range(len(shape)))
        if value in self.direct or (group.turned and value in group.outputs()):
            order.sort(key=lambda d: d != contracted(value))
        row = _dtype(value).size
        for d in reversed(order):
            row *= group.rows if d == dim else shape[d]
            if d == dim:
                break
        rows = nbytes(value) / row
        pieces = ceil(row / m.dma_max_descriptor_bytes)
        each = max(m.dma_descriptor_ns, row / pieces / m.dma_engine_gbps)
        return rows * pieces * each / m.dma_engines


def contracted(value: SSAValue) -> int | None:
    """Return the dimension of a value that all of its users, matrix dots, contract."""
    found: set[int] = set()
    for use in value.uses:
        op = use.operation
        if not isinstance(op, DotOp):
            return None
        dims = dims_of(op)
        if len(dims.contracting[use.index]) != 1 or dims.batch[0]:
            return None
        found.update(dims.contracting[use.index])
    return found.pop() if len(found) == 1 else None


def _tiled_side(op: DotOp, group: Group) -> int | None:
    """Return the tiled operand of a dot.

    It is the first if both are tiled (a batch), and None if the group does not tile it.
    """
    return next((i for i, v in enumerate(op.operands) if group.tiling.get(v, WHOLE) != WHOLE), None)


def _tile(whole: Product, rows: bool, group: Group) -> Product:
    """Return the time of an iteration of a dot whose rows, or columns, are tiled."""
    size = whole.rows if rows else whole.columns
    part = ceil(size * group.rows / group.extent)
    return replace(whole, rows=part) if rows else replace(whole, columns=part)


def _loaded(value: SSAValue, group: Group) -> SSAValue:
    """Return the value that a group loads for `value`: DMA converts."""
    while isinstance(value.owner, Operation) and value.owner.name == "hlo.convert":
        if value.owner not in group.ops:
            break
        value = value.owner.operands[0]
    return value


def _dtype(value: SSAValue) -> DType:
    return dtype_of(cast(TensorType, value.type).element_type)
