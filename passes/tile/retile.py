"""Rebuild an op at the size of a tile."""

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, TensorType, TupleType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.support.cloning import clone_region
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.values import ints
from neuronir.passes.tile.row_composites import ORDERS


def resized(type_: Attribute, shape: Sequence[int]) -> TensorType[Attribute]:
    """Return a tensor type of another shape."""
    assert isinstance(type_, TensorType)
    return TensorType(type_.element_type, list(shape))


def retile(
    op: Operation,
    operands: Sequence[SSAValue],
    shape: Sequence[int],
    edges: Mapping[int, int] | None = None,
    kind: Attribute | None = None,
) -> Operation:
    """Copy an op to tiles; its result has that shape.

    `edges` gives, for windowed dimensions of the operand, the start of the needed part relative to
    the operand's tile. `kind` replaces the element type of the result.
    """
    properties = dict(op.properties)
    edges = edges or {}
    if op.name == "hlo.slice":
        properties.update(_slice(op, shape, edges))
    elif op.name == "hlo.pad":
        properties.update(_pad(op, shape_of(operands[0]), shape, edges))
    regions = [_region(r, op, operands, shape) for r in op.regions]
    made = resized(op.results[0].type, shape)
    new = type(op).create(
        operands=operands,
        result_types=[made if kind is None else TensorType(kind, list(shape))],
        properties=properties,
        attributes=op.attributes,
        regions=regions,
    )
    new.location = op.location
    new.results[0].name_hint = op.results[0].name_hint
    return new


def _slice(op: Operation, shape: Sequence[int], edges: Mapping[int, int]) -> dict[str, Attribute]:
    old, steps = shape_of(op.results[0]), ints(op, "strides")
    starts, limits = list(ints(op, "start_indices")), list(ints(op, "limit_indices"))
    for d, (n, m) in enumerate(zip(old, shape, strict=True)):
        if d in edges:
            starts[d] = edges[d]
            limits[d] = edges[d] + (m - 1) * steps[d] + 1
        elif n != m:  # not split, so all of the operand's tile
            starts[d], limits[d] = 0, m
    return {"start_indices": i64_array(starts), "limit_indices": i64_array(limits)}


def _pad(
    op: Operation, source: Sequence[int], shape: Sequence[int], edges: Mapping[int, int]
) -> dict[str, Attribute]:
    low, high = list(ints(op, "edge_padding_low")), list(ints(op, "edge_padding_high"))
    for d, begin in edges.items():
        low[d] = -begin
        high[d] = shape[d] - source[d] - low[d]
    return {"edge_padding_low": i64_array(low), "edge_padding_high": i64_array(high)}


def _region(
    region: Region, op: Operation, operands: Sequence[SSAValue], shape: Sequence[int]
) -> Region:
    """Return the region of a composite on tiles; a region on single elements is unchanged."""
    block = region.block
    if all(shape_of(a) == () for a in block.args):
        return clone_region(region)
    if isinstance(op, CompositeOp) and op.kind.data in ORDERS:
        return _orders(block, shape_of(op.operands[0]), operands)
    new = Block(arg_types=[v.type for v in operands])
    sizes = {shape_of(v): tuple(shape_of(w)) for v, w in zip(op.operands, operands, strict=True)}
    sizes[shape_of(op.results[0])] = tuple(shape)
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, new.args, strict=True))
    for inner in block.ops:
        new.add_op(_inside(inner, mapping, sizes))
    return Region(new)


def _orders(block: Block, old: Sequence[int], operands: Sequence[SSAValue]) -> Region:
    """Return the region of a row-ordering composite for another number of rows."""
    before, rows = tuple(old[:-1]), shape_of(operands[0])[:-1]

    def other(type_: Attribute) -> Attribute:
        if isinstance(type_, TupleType):
            return TupleType(ArrayAttr([cast(TypeAttribute, other(t)) for t in type_.types]))
        shape = shape_of(type_)
        return resized(type_, (*rows, *shape[len(before) :]))

    new = Block(arg_types=[v.type for v in operands])
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, new.args, strict=True))
    for inner in block.ops:
        copy = type(inner).create(
            operands=[mapping[v] for v in inner.operands],
            result_types=[other(r.type) for r in inner.results],
            properties=inner.properties,
            regions=[clone_region(region) for region in inner.regions],
        )
        mapping.update(zip(inner.results, copy.results, strict=True))
        new.add_op(copy)
    return Region(new)


def _inside(
    op: Operation,
    mapping: dict[SSAValue, SSAValue],
    sizes: Mapping[tuple[int, ...], tuple[int, ...]],
) -> Operation:
    operands = [mapping.get(v, v) for v in op.operands]
    if not op.results:
        return type(op).create(operands=operands)
    shape = shape_of(op.results[0])
    new = retile(op, operands, sizes.get(shape, shape))
    mapping[op.results[0]] = new.results[0]
    return new


def slice_properties(offsets: Sequence[int], sizes: Sequence[int]) -> dict[str, DenseArrayBase]:
    """Return the properties of a slice without strides; an offset of DYNAMIC_INDEX is an
    operand.
    """
    return {
        "static_offsets": DenseArrayBase.from_list(i64, list(offsets)),
        "static_sizes": DenseArrayBase.from_list(i64, list(sizes)),
        "static_strides": DenseArrayBase.from_list(i64, [1] * len(sizes)),
    }
