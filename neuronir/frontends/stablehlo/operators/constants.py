"""Constants and iota."""

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import i64_attr
from neuronir.dialects.hlo.constants import INLINE_LIMIT
from neuronir.frontends.stablehlo.context import Context
from neuronir.frontends.stablehlo.dense import from_hexadecimal
from neuronir.frontends.stablehlo.operators.registry import operator
from neuronir.frontends.stablehlo.records import Dense, Resource

_ALIGNMENT = 8
"""Hexadecimal digits before the bytes of a resource: their alignment, as 4 bytes."""


def _dense(c: Context) -> Dense:
    value = c.op.attributes.get("value")
    if isinstance(value, Resource):
        return _resource(c, value)
    if not isinstance(value, Dense):
        c.fail("attribute 'value' is not a constant", "NIR_HLO008")
    return value


def _resource(c: Context, value: Resource) -> Dense:
    """Read the bytes of a resource at the end of the file."""
    place = c.importer.record.resources.get(value.key)
    type_ = c.result_type()
    if value.key == "__elided__":
        c.fail(
            "the elements of this constant were elided, its values are lost",
            "NIR_HLO009",
            "print the module with large elements, as `lowered.as_text()` does",
        )
    if place is None:
        c.fail(f"resource '{value.key}' is not in the file", "NIR_HLO020")
    text = c.importer.reader.text[place[0] : place[1]]
    digits = text[2 + _ALIGNMENT :]
    return Dense(from_hexadecimal("0x" + digits, type_), type_)


@operator("constant", "mhlo.constant")
def _constant(c: Context) -> Sequence[SSAValue]:
    """Large constants of equal elements are broadcast scalars, as XLA imports them."""
    value = _dense(c)
    type_ = c.result_type()
    if value.type != type_:
        c.fail(f"the constant has type {value.type}, its result {type_}", "NIR_HLO011")
    array, shape = value.array, type_.get_shape()
    if array.shape == shape:
        return [c.b.constant(array)]
    if prod(shape) >= INLINE_LIMIT:
        return [c.b.broadcast(c.b.constant(array), shape, ())]
    return [c.b.constant(np.broadcast_to(array, shape).copy(), owned=True)]


@operator("iota")
def _iota(c: Context) -> Sequence[SSAValue]:
    c.need_operands(0)
    return c.emit("iota", {"iota_dimension": i64_attr(c.integer("iota_dimension"))})
