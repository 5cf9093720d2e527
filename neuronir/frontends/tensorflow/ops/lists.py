"""Import lists of tensors: TensorFlow 2's TensorList and TensorFlow 1's TensorArray.

Both are stacks of static length. Elements that were not written are zero.
"""

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from neuronir.frontends.graph import indexing as I
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.control_flow import stacked, unstacked
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.frontends.tensorflow.values import (
    ArrayHandle,
    PartialDims,
    TensorList,
    Value,
)
from neuronir.passes.hlo.support.values import element, shape


def _list(o: Op, index: int) -> TensorList:
    value = o.raw(index)
    if not isinstance(value, TensorList):
        refuse(f"input {index} is not a list of tensors")
    return value


def _element_dims(o: Op, index: int) -> PartialDims:
    """Return the element shape in an operand: -1 is unknown, and a scalar means all unknown."""
    array = o.b.known(o[index])
    if array is None or array.ndim == 0:
        return None
    return tuple(None if int(n) < 0 else int(n) for n in array.reshape(-1))


def _index(o: Op, index: int) -> SSAValue:
    return o.b.reshape(o.b.convert(o[index], i32), ())


def _set(o: Op, old: TensorList, index: SSAValue, item: SSAValue) -> TensorList:
    if element(item) != old.element_type:
        refuse(f"an element of type {element(item)} does not fit a list of {old.element_type}")
    found = old.narrowed(shape(item))
    return TensorList(
        found.element_type, found.dims, found.count, stacked(o.b, found.filled(o.b), index, item)
    )


def _from(stack: SSAValue) -> TensorList:
    dims = shape(stack)
    if not dims:
        refuse("a scalar is not a list")
    return TensorList(element(stack), dims[1:], dims[0], stack)


# --- TensorList


@op("TensorListReserve")
def reserve(o: Op) -> TensorList:
    """Create a list of static length without written elements."""
    count = o.integer(1, "the number of elements")
    if count < 0:
        refuse(f"a list cannot have {count} elements")
    return TensorList(o.dtype("element_dtype"), _element_dims(o, 0), count)


@op("EmptyTensorList")
def empty(o: Op) -> TensorList:
    """Create an empty list."""
    return TensorList(o.dtype("element_dtype"), _element_dims(o, 0), 0)


@op("TensorListFromTensor")
def from_tensor(o: Op) -> TensorList:
    """Split a tensor along its first dimension."""
    return _from(o[0])


@op("TensorListStack")
def stack(o: Op) -> SSAValue:
    """Stack the elements along a new first dimension."""
    found = _list(o, 0).narrowed(_element_dims(o, 1))
    wanted = o.int("num_elements", -1)
    if wanted not in (-1, found.count):
        refuse(f"the list has {found.count} elements, not {wanted}")
    return found.filled(o.b)


@op("TensorListGetItem")
def get_item(o: Op) -> SSAValue:
    """Return one element."""
    return unstacked(o.b, _list(o, 0).narrowed(_element_dims(o, 2)).filled(o.b), _index(o, 1))


@op("TensorListSetItem")
def set_item(o: Op) -> TensorList:
    """Replace one element of the list."""
    return _set(o, _list(o, 0), _index(o, 1), o[2])


@op("TensorListLength")
def length(o: Op) -> SSAValue:
    """Return the number of elements."""
    return o.b.constant(np.array(_list(o, 0).count, np.int32))


@op("TensorListElementShape")
def element_shape(o: Op) -> SSAValue:
    """Return the shape of the elements."""
    dims = _list(o, 0).known_dims()
    if dims is None:
        refuse("the shape of the list's elements is not known")
    return o.index_constant(dims, "shape_type")


@op("TensorListPushBack")
def push_back(o: Op) -> TensorList:
    """Append an element, which is possible only outside of loops (carried lists cannot grow)."""
    b, old, item = o.b, _list(o, 0), o[1]
    part = b.reshape(item, (1, *shape(item)))
    if old.count == 0:
        old.narrowed(shape(item))
        return _from(part)
    return _from(b.concatenate([old.narrowed(shape(item)).filled(b), part], 0))


@op("TensorListPopBack", outputs="output_handle tensor")
def pop_back(o: Op) -> Sequence[Value]:
    """Return the list without its last element, and that element."""
    b, old = o.b, _list(o, 0).narrowed(_element_dims(o, 1))
    if old.count == 0:
        refuse("the list is empty")
    whole = old.filled(b)
    dims = shape(whole)
    rest = [0] * (len(dims) - 1)
    last = b.slice(whole, [dims[0] - 1, *rest], dims)
    return [
        _from(b.slice(whole, [0, *rest], [dims[0] - 1, *dims[1:]])),
        b.reshape(last, dims[1:]),
    ]


@op("TensorListGather")
def gather(o: Op) -> SSAValue:
    """Return several elements."""
    whole = _list(o, 0).narrowed(_element_dims(o, 2)).filled(o.b)
    return I.take(o.b, whole, o[1], 0)


@op("TensorListScatterV2", "TensorListScatter")
def scatter(o: Op) -> TensorList:
    """Create a list from a tensor, moving element i to the position in the indices."""
    indices = o.ints(1, "the indices")
    count = o.integer(3, "the number of elements") if len(o) > 3 else -1
    count = max(indices, default=-1) + 1 if count == -1 else count
    found = TensorList(o.element(), o.dims()[1:], count)
    return _scattered(o, found, o[1], o[0])


def _scattered(o: Op, old: TensorList, indices: SSAValue, values: SSAValue) -> TensorList:
    found = old.narrowed(shape(values)[1:])
    places = o.b.reshape(indices, (*shape(indices), 1))
    made = I.scatter_nd(o.b, found.filled(o.b), places, values)
    return TensorList(found.element_type, found.dims, found.count, made)


@op("TensorListConcatV2", "TensorListConcat", outputs="tensor lengths")
def concat(o: Op) -> Sequence[Value]:
    """Concatenate the elements along their first dimension."""
    value = _list(o, 0)
    return _joined(o, value.filled(o.b))


def _joined(o: Op, whole: SSAValue) -> Sequence[Value]:
    count, *rest = shape(whole)
    if not rest:
        refuse("scalars cannot be joined")
    lengths = o.b.constant(np.full(count, rest[0], np.int64))
    return [o.b.reshape(whole, (count * rest[0], *rest[1:])), lengths]


# --- TensorArray: the elements travel with the flow


@op("TensorArrayV3", outputs="handle flow")
def array(o: Op) -> Sequence[Value]:
    """Create a handle, and a flow that is a list without written elements."""
    type_, count = o.dtype("dtype"), o.integer(0, "the size")
    if count < 0:
        refuse(f"an array cannot have {count} elements")
    return [ArrayHandle(type_), TensorList(type_, o.shape("element_shape"), count)]


@op("TensorArrayWriteV3")
def array_write(o: Op) -> TensorList:
    """Replace one element of the flow."""
    return _set(o, _list(o, 3), _index(o, 1), o[2])


@op("TensorArrayReadV3")
def array_read(o: Op) -> SSAValue:
    """Return one element."""
    return unstacked(o.b, _list(o, 2).filled(o.b), _index(o, 1))


@op("TensorArrayScatterV3")
def array_scatter(o: Op) -> TensorList:
    """Write the parts of a tensor to the positions in the indices."""
    indices = o.b.known(o[1])
    old = _list(o, 3)
    if indices is not None and np.array_equal(indices, np.arange(old.count)):
        return _from(o[2])
    return _scattered(o, old, o[1], o[2])


@op("TensorArrayGatherV3")
def array_gather(o: Op) -> SSAValue:
    """Return several elements."""
    return I.take(o.b, _list(o, 2).narrowed(o.shape("element_shape")).filled(o.b), o[1], 0)


@op("TensorArraySizeV3")
def array_size(o: Op) -> SSAValue:
    """Return the number of elements."""
    return o.b.constant(np.array(_list(o, 1).count, np.int32))


@op("TensorArrayConcatV3", outputs="value lengths")
def array_concat(o: Op) -> Sequence[Value]:
    """Concatenate the elements along their first dimension."""
    return _joined(o, _list(o, 1).filled(o.b))


@op("TensorArraySplitV3")
def array_split(o: Op) -> TensorList:
    """Split a tensor into elements of equal length."""
    lengths = o.ints(2, "the lengths")
    dims = o.dims(1)
    if len(set(lengths)) > 1 or not dims or sum(lengths) != dims[0]:
        refuse(f"lengths {list(lengths)} do not cut shape {list(dims)} into equal parts")
    return _from(o.b.reshape(o[1], (len(lengths), dims[0] // max(len(lengths), 1), *dims[1:])))


@op("TensorArrayCloseV3")
def array_close(o: Op) -> Sequence[Value]:
    """Do nothing."""
    return []
