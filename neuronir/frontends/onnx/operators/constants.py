"""Import constants, ranges, and operators that return a tensor's shape."""

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.dtypes import element_type
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape, size

LARGEST_RANGE = 1 << 24
"""Limit of the number of elements of a Range."""


@operator("Constant")
def _constant(n: Node) -> SSAValue:
    array = n.tensor("value")
    if array is None:
        if n.has("value_float"):
            array = np.asarray(n.number("value_float", 0), np.float32)
        elif n.has("value_int"):
            array = np.asarray(n.integer("value_int", 0), np.int64)
        elif n.has("value_floats"):
            array = np.asarray(n.floats("value_floats"), np.float32)
        elif n.has("value_ints"):
            array = np.asarray(n.ints("value_ints"), np.int64)
        else:
            refuse("it contains a string, a sparse tensor, or no value")
    return n.b.constant(array)


@operator("ConstantOfShape")
def _constant_of_shape(n: Node) -> SSAValue:
    value = n.tensor("value")
    if value is None:
        value = np.zeros(1, np.float32)
    if value.size != 1:
        refuse(f"'value' must have one element, has {value.size}")
    dims = n.known_ints(0, "the shape")
    return n.b.fill(value.reshape(()), tensor_type(dims, element_type(value.dtype)))


@operator("ConstantFill")
def _constant_fill(n: Node) -> SSAValue:
    if n.get(0) is None:
        dims = tuple(n.ints("shape") or ())
    elif n.flag("input_as_shape"):
        dims = n.known_ints(0, "the shape")
    else:
        dims = shape(n[0])
    dims += tuple(n.ints("extra_shape") or ())
    return n.b.fill(n.number("value", 0.0), tensor_type(dims, n.type_attribute("dtype", f32)))


@operator("EyeLike")
def _eye_like(n: Node) -> SSAValue:
    rows, columns = shape(n[0])
    type_ = n.type_attribute("dtype", element(n[0]))
    whole = element_type("int32")
    row = n.b.binary_number("add", n.b.iota((rows, columns), 0, whole), n.integer("k", 0))
    on = n.b.compare(row, n.b.iota((rows, columns), 1, whole), "EQ")
    return n.b.convert(on, type_)


@operator("Range")
def _range(n: Node) -> SSAValue:
    start, limit, delta = (
        n.b.need_known(n[i], what).reshape(()) for i, what in enumerate(("start", "limit", "delta"))
    )
    if not delta:
        refuse("delta is zero")
    count = max(0, int(np.ceil((limit.astype("f8") - start.astype("f8")) / delta.astype("f8"))))
    if count > LARGEST_RANGE:
        refuse(f"{count} elements are too many")
    first, step = start.item(), delta.item()
    values = first + np.arange(count) * step
    return n.b.constant(values.astype(start.dtype))


@operator("Shape")
def _shape(n: Node) -> SSAValue:
    dims = shape(n[0])
    start, end = n.integer("start", 0), n.integer("end", len(dims))
    return n.b.constant(np.asarray(dims[slice(start, end)], np.int64))


@operator("Size")
def _size(n: Node) -> SSAValue:
    return n.b.constant(np.asarray(size(n[0]), np.int64))


@operator("Identity")
def _identity(n: Node) -> SSAValue:
    return n[0]
