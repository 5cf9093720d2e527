"""Propagate the tile of a value's dimension to its neighbours.

A streamed group works on one tile of its rows at a time. The rows are a dimension of each value in
it. An op preserves the dimension (elementwise ops, reductions of other dimensions, free and batch
dimensions of dots), needs an operand whole, or cannot be tiled.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from neuronir.dialects.hlo.attributes import i64_array, ints, tensor_type
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.data_movement import SliceOp
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.tile.interface import DimNeed, Window, tiling_of
from neuronir.dialects.tile.interface import Tiling as Declared
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.layouts.layout import row_major
from neuronir.passes.lowering.products.assigned import ASSIGNED

WHOLE = -1
"""Instead of a dimension: the value is needed whole for each tile."""
Tiling = dict[SSAValue, int]
"""The tiled dimension of each value, or WHOLE."""

ELEMENTWISE = frozenset(
    f"hlo.{name}"
    for name in (
        "abs exponential log sqrt rsqrt tanh logistic erf sine sign negate not copy add subtract "
        "multiply divide maximum minimum compare and or xor shift_left shift_right_logical "
        "shift_right_arithmetic convert select"
    ).split()
)

TILED = ELEMENTWISE | frozenset(
    f"hlo.{name}"
    for name in (
        "broadcast transpose reshape slice reduce dot composite convolution reduce_window pad"
    ).split()
)
"""Ops that groups, parts and strands tile."""


def spread(op: Operation, value: SSAValue, dim: int) -> Tiling | None:
    """Return the tiling of all operands and results of `op`, if `value` is tiled along `dim`.

    `value` is one of them. Returns None if the op cannot work on such tiles.
    """
    if op.name not in TILED or len(op.results) != 1:
        return None
    if not all([isinstance(v.type, TensorType) for v in (*op.operands, *op.results)]):
        return None
    if isinstance(op, CompositeOp):
        return _composite(op, value, dim)
    if isinstance(op, ConvolutionOp):
        return _convolution(op, value, dim)
    declared = tiling_of(op)
    if declared is None:
        return None
    if declared.regroups:
        return _reshaped(op, value, dim)
    return _as_declared(op, declared, value, dim)


def _as_declared(op: Operation, declared: Declared, value: SSAValue, dim: int) -> Tiling | None:
    """Return the tiling along a dimension that needs no neighbours and no other positions."""
    place: DimNeed = dim
    if value is not op.results[0]:
        place = declared.operands[list(op.operands).index(value)][dim]
    if not isinstance(place, int) or place in declared.whole:
        return None
    out: Tiling = {op.results[0]: place} if op.name in ELEMENTWISE else {}
    for v, needs in zip(op.operands, declared.operands, strict=True):
        if any(isinstance(n, Window) and n.dim == place for n in needs):
            return None
        d = needs.index(place) if place in needs else WHOLE
        if out.setdefault(v, d) != d:
            return None
    out[op.results[0]] = place
    return out


def _convolution(op: ConvolutionOp, value: SSAValue, dim: int) -> Tiling | None:
    """convolution: along the batch."""
    image, weights = op.operands
    batch, out = int(op.input_batch_dim.value.data), int(op.output_batch_dim.value.data)
    alone = int(cast(IntegerAttr, op.batch_group_count).value.data) == 1 and image is not weights
    place = batch if value is image else out if value is op.results[0] else None
    if not alone or dim != place:
        return None
    return {image: batch, weights: WHOLE, op.results[0]: out}


def _reshaped(op: Operation, value: SSAValue, dim: int) -> Tiling | None:
    """reshape: a dimension of the same size at the same stride of the numbering."""
    source, result = op.operands[0], op.results[0]
    other = result if value is source else source
    mine, theirs = shape_of(value), shape_of(other)
    stride = row_major(mine)[dim]
    for d, (n, s) in enumerate(zip(theirs, row_major(theirs), strict=True)):
        if n == mine[dim] and s == stride:
            return {value: dim, other: d}
    return None


def _composite(op: CompositeOp, value: SSAValue, dim: int) -> Tiling | None:
    inside = tiling_of_region(op, value, dim)
    if inside is None:
        return None
    block = op.regions[0].block
    assert block.last_op is not None
    out: Tiling = {}
    for operand, argument in zip(op.operands, block.args, strict=True):
        found = inside.get(argument, WHOLE)
        if out.setdefault(operand, found) != found:
            return None
    result = inside.get(block.last_op.operands[0], WHOLE)
    if result == WHOLE:
        return None
    out[op.results[0]] = result
    return out


def tiling_of_region(op: CompositeOp, value: SSAValue, dim: int) -> Tiling | None:
    """Return the tiling of the values in a composite's region."""
    block = op.regions[0].block
    last = block.last_op
    assert last is not None
    if value is op.results[0]:
        anchor = last.operands[0]
    else:
        anchor = block.args[list(op.operands).index(value)]
    return close([o for o in block.ops if o is not last], {anchor: dim})


def close(ops: Sequence[Operation], known: Mapping[SSAValue, int]) -> Tiling | None:
    """Propagate tilings through `ops` to a fixed point.

    Returns None if they contradict each other, or if an op with a tiled operand cannot be tiled.
    """
    out: Tiling = dict(known)
    pending = [v for v, d in out.items() if d != WHOLE]
    members = set(ops)
    while pending:
        value = pending.pop()
        neighbours = {use.operation for use in value.uses}
        if isinstance(value, OpResult):
            neighbours.add(value.op)
        for op in neighbours & members:
            found = spread(op, value, out[value])
            if found is None:
                return None
            for v, d in found.items():
                if v not in out:
                    out[v] = d
                    if d != WHOLE:
                        pending.append(v)
                elif out[v] != d:
                    return None
    for op in members:
        made = out.get(op.results[0]) if op.results else None
        if made == WHOLE and any(out.get(v, WHOLE) != WHOLE for v in op.operands):
            return None
    return out


def tiled_type(ssa: SSAValue, dim: int, rows: int) -> TensorType:
    """Return the type of a tile of `rows` along `dim`."""
    type_ = cast(TensorType, ssa.type)
    if dim == WHOLE:
        return type_
    shape = list(type_.get_shape())
    shape[dim] = rows
    return tensor_type(shape, type_.element_type)


def tiled_copy(
    op: Operation,
    tiling: Tiling,
    rows: int,
    mapping: dict[SSAValue, SSAValue],
    regions: dict[Operation, Tiling] | None = None,
) -> Operation:
    """Copy `op` with the types of a tile of `rows`.

    `mapping` maps values to those of the copies. `regions` caches the tilings of composites'
    regions. Assigned layouts are dropped, because they apply to the whole: a tile is decided
    separately.
    """
    inside: Tiling = {}
    if isinstance(op, CompositeOp):
        regions = {} if regions is None else regions
        if op not in regions:
            result = op.results[0]
            regions[op] = tiling_of_region(op, result, tiling[result]) or {}
        inside = regions[op]
    return _copy(op, tiling, inside, rows, mapping)


def _copy(
    op: Operation, tiling: Tiling, inside: Tiling, rows: int, mapping: dict[SSAValue, SSAValue]
) -> Operation:
    """Copy an op with the types of a tile; `inside` is the tiling of the ops in its regions."""
    properties = op.properties
    if isinstance(op, SliceOp) and (dim := tiling.get(op.results[0], WHOLE)) != WHOLE:
        limits = list(ints(op.limit_indices))
        limits[dim] = rows
        properties = {**properties, "limit_indices": i64_array(limits)}
    copy = type(op).create(
        operands=[mapping.get(v, v) for v in op.operands],
        result_types=[tiled_type(v, tiling.get(v, WHOLE), rows) for v in op.results],
        properties=properties,
        attributes={k: v for k, v in op.attributes.items() if k not in ASSIGNED},
        location=op.location,
        regions=[
            Region([_copy_block(b, inside, rows, mapping) for b in r.blocks]) for r in op.regions
        ],
    )
    _replace(op.results, copy.results, mapping)
    return copy


def _copy_block(
    block: Block, tiling: Tiling, rows: int, mapping: dict[SSAValue, SSAValue]
) -> Block:
    copy = Block(arg_types=[tiled_type(v, tiling.get(v, WHOLE), rows) for v in block.args])
    _replace(block.args, copy.args, mapping)
    copy.add_ops([_copy(op, tiling, tiling, rows, mapping) for op in block.ops])
    return copy


def _replace(
    old: Sequence[SSAValue], new: Sequence[SSAValue], mapping: dict[SSAValue, SSAValue]
) -> None:
    """Map old values to new ones, which get their names."""
    for before, after in zip(old, new, strict=True):
        mapping[before] = after
        if before.name_hint is not None:
            after.name_hint = before.name_hint
