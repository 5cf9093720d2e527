"""Rewrite scatters of one element per row as comparisons with positions, which can be tiled."""

from collections.abc import Iterator
from math import prod

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, StringAttr, TensorType, f32, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.constants import IotaOp, constant_op
from neuronir.dialects.hlo.data_movement import BroadcastOp, ReshapeOp
from neuronir.dialects.hlo.elementwise import CompareOp, MultiplyOp, SelectOp
from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.tile.rules import combiner, shape_of
from neuronir.passes.hlo.support.build import OP_CLASSES, Emitter
from neuronir.passes.hlo.support.values import ints, is_splat_of
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.float_indices import LARGEST
from neuronir.passes.tile.numbers import number_of


def scatter_as_one_hot(op: Operation) -> None:
    """Rewrite x[.., i] += u for each row as x + u * (positions == i); positions are below 2^24."""
    row = _row(op)
    if row is None:
        return
    _sum_scattered(op, row)
    if op.parent is None:
        return  # only sums of its rows were read
    operand, indices, updates = op.operands
    shape = shape_of(operand)
    type_ = operand.type
    assert isinstance(type_, TensorType)
    batch = list(ints(op, "input_batching_dims"))
    sizes = [shape[d] for d in batch]
    new: list[Operation] = []

    def add(one: Operation) -> SSAValue:
        one.location = op.location
        new.append(one)
        return one.results[0]

    def wide(value: SSAValue, element: Attribute) -> SSAValue:
        flat = add(ReshapeOp.create(operands=[value], result_types=[TensorType(element, sizes)]))
        return add(
            BroadcastOp.create(
                operands=[flat],
                result_types=[TensorType(element, shape)],
                properties={"dimensions": i64_array(batch)},
            )
        )

    single = add(
        ConvertOp.create(operands=[indices], result_types=[TensorType(f32, shape_of(indices))])
    )
    places = add(
        IotaOp.create(
            result_types=[TensorType(f32, shape)],
            properties={"iota_dimension": IntegerAttr(row, i64)},
        )
    )
    hits = add(
        CompareOp.create(
            operands=[places, wide(single, f32)],
            result_types=[TensorType(i1, shape)],
            properties={"direction": StringAttr("EQ")},
        )
    )
    if number_of(updates) is not None:  # finite: no NaN arises next to it
        ones = add(ConvertOp.create(operands=[hits], result_types=[type_]))
        moved = add(MultiplyOp.create(operands=[ones, wide(updates, f32)], result_types=[type_]))
    else:
        zero = add(constant_op(np.zeros((), np.float32)))
        none = add(
            BroadcastOp.create(
                operands=[zero], result_types=[type_], properties={"dimensions": i64_array([])}
            )
        )
        moved = add(
            SelectOp.create(operands=[hits, wide(updates, f32), none], result_types=[type_])
        )
    if not is_splat_of(operand, 0):
        moved = add(OP_CLASSES["hlo.add"].create(operands=[operand, moved], result_types=[type_]))
    for one in new:
        op.parent.insert_op_before(one, op)
    op.results[0].replace_all_uses_with(moved)
    erase_dead(op)


def _sum_scattered(op: Operation, row: int) -> None:
    """Replace sums of rows, of which a scatter adds one value to each row of zeros, by the values.

    The gradient of a cross-entropy sums such rows, after it negated them.
    """
    operand, indices, updates = op.operands
    shape = shape_of(operand)
    sizes = [n for d, n in enumerate(shape) if d != row]
    if not is_splat_of(operand, 0):
        return
    for total, negations in list(_sums(op, row)):
        build = Emitter(total)
        index = build.convert(build.reshape(indices, sizes), f32)
        inside = build.binary(
            "and",
            build.compare_number(index, 0, "GE"),
            build.compare_number(index, shape[row], "LT"),
        )
        value = build.reshape(updates, sizes)
        value = build.select(inside, value, build.fill_like(0.0, value))
        for _ in range(negations):
            value = build.unary("negate", value)
        total.results[0].replace_all_uses_with(value)
        erase_dead(total)


def _sums(op: Operation, row: int, negations: int = 0) -> Iterator[tuple[Operation, int]]:
    """Yield the sums along a dimension of a value, with the number of negations in between."""
    for use in op.results[0].uses:
        reader = use.operation
        if reader.name == "hlo.negate":
            yield from _sums(reader, row, negations + 1)
        elif reader.name == "hlo.reduce" and len(reader.operands) == 2 and use.index == 0:
            if ints(reader, "dimensions") == (row,) and combiner(reader) == "hlo.add":
                if is_splat_of(reader.operands[1], 0):
                    yield reader, negations


def _row(op: Operation) -> int | None:
    """Return the dimension along which a scatter adds one value to each row, or None."""
    if op.name != "hlo.scatter" or len(op.operands) != 3 or combiner(op) != "hlo.add":
        return None
    operand, indices, updates = op.operands
    shape = shape_of(operand)
    batch, inserted = ints(op, "input_batching_dims"), ints(op, "inserted_window_dims")
    if ints(op, "update_window_dims") or len(inserted) != 1 or len(batch) != len(shape) - 1:
        return None
    if tuple(ints(op, "scatter_dims_to_operand_dims")) != tuple(inserted):
        return None
    rows = prod(shape[d] for d in batch)
    if prod(shape_of(indices)) != rows or prod(shape_of(updates)) != rows:
        return None
    type_ = operand.type
    assert isinstance(type_, TensorType)
    if type_.element_type != f32 or shape[inserted[0]] >= LARGEST:
        return None
    if list(ints(op, "scatter_indices_batching_dims")) != list(range(len(batch))):
        return None
    return inserted[0]
