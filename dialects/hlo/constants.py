"""Define constants: small ones inside the module, large ones beside it."""

from math import prod
from typing import ClassVar, Self

import numpy as np
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, HasFolder, Pure

from neuronir.dialects.hlo.attributes import HloResourceAttr, tensor_type
from neuronir.dialects.hlo.base import HloOp
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.hlo.kinds import NUMBER_TENSOR, TENSOR
from neuronir.dialects.hlo.resources import intern, lookup, lookup_lazy
from neuronir.dialects.support.dtypes import element_type, is_complex, is_float, is_tf32, np_dtype
from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.location import inherit
from neuronir.dialects.support.tf32 import pack_tf32, unpack_tf32

INLINE_LIMIT = 32
"""Constants of more elements than this are resources."""


class _FoldsToValue(HasFolder):
    """The interface that lets xDSL's folder see the value."""

    @classmethod
    def fold(cls, op: Operation) -> tuple[Attribute]:
        """Return the attribute that holds the value."""
        return (op.properties["value"],)


@irdl_op_definition
class ConstantOp(HloOp):
    """A tensor known at compile time."""

    name = "hlo.constant"

    value = prop_def()
    result = result_def(TENSOR)
    traits = traits_def(Pure(), ConstantLike(), _FoldsToValue())
    JUDGED_BY_TYPES: ClassVar[bool] = False
    """A record of verified ops would keep large values alive."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parse `dense<...> : type {attributes}` or `#hlo.resource<"key"> {attributes} : type`."""
        value = parser.parse_attribute()
        attributes = dict(parser.parse_optional_attr_dict())
        if isinstance(value, DenseIntOrFPElementsAttr):
            result_type: Attribute = value.type
        else:
            parser.parse_punctuation(":")
            result_type = parser.parse_type()
        return cls.create(
            result_types=[result_type], properties={"value": value}, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        """Print the form that `parse` reads."""
        value = self.value
        printer.print_string(" ")
        if isinstance(value, DenseIntOrFPElementsAttr):
            # xDSL prints NaN and infinities in a list as integers, which it would parse as integer
            # values, and zeros of both signs as one of them.
            one = _repeated(value)
            zeros = one is None and prod(value.get_shape()) > 1 and value.is_splat()
            if zeros or _has_nonfinite(value):
                printer.print_string(f'dense<"0x{value.data.data.hex().upper()}"> : ')
                printer.print_attribute(value.type)
            elif one is not None:
                one.print_without_type(printer)
                printer.print_string(" : ")
                printer.print_attribute(value.type)
            else:
                printer.print_attribute(value)
            printer.print_op_attributes(self.attributes)
        else:
            printer.print_attribute(value)
            printer.print_op_attributes(self.attributes)
            printer.print_string(" : ")
            printer.print_attribute(self.result.type)


@irdl_op_definition
class IotaOp(HloOp):
    """Fill a tensor with each element's own index along iota_dimension."""

    name = "hlo.iota"

    iota_dimension = prop_def(IntegerAttr[IntegerType])
    result = result_def(NUMBER_TENSOR)
    traits = traits_def(Pure())


def _repeated(value: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr | None:
    """Return the element that all elements are, as a scalar; None if they differ.

    xDSL would decode each element, one by one, to find that out.
    """
    count, data = prod(value.get_shape()), value.data.data
    if count < 2:
        return None
    first = data[: len(data) // count]
    if data != first * count:
        return None
    return DenseIntOrFPElementsAttr(TensorType(value.get_element_type(), ()), BytesAttr(first))


def _has_nonfinite(value: DenseIntOrFPElementsAttr) -> bool:
    element = value.get_element_type()
    if not (is_float(element) or is_complex(element)):
        return False
    array = dense_to_array(value)
    if array.dtype.isbuiltin != 1:  # types that float32 represents exactly
        array = array.astype(np.float32)
    return not bool(np.isfinite(array).all())


def dense_to_array(value: DenseIntOrFPElementsAttr) -> Array:
    """Return the elements of a dense attribute as a read-only array of its shape."""
    known: Array | None = value.__dict__.get("_array")
    if known is None:  # Cached: passes ask for the same values repeatedly.
        known = value.__dict__["_array"] = _elements(value)
    return known


def _elements(value: DenseIntOrFPElementsAttr) -> Array:
    element = value.get_element_type()
    dtype = np_dtype(element)
    data = value.data.data
    if isinstance(element, IntegerType) and element.width.data < 8:
        # xDSL stores each value as one signed byte, with true as -1.
        narrow = np.frombuffer(data, dtype=np.int8)
        array = narrow != 0 if element.width.data == 1 else narrow.astype(dtype)
        array.flags.writeable = False
        return array.reshape(value.get_shape())
    if is_tf32(element):
        return unpack_tf32(data).reshape(value.get_shape())
    return np.frombuffer(data, dtype=dtype).reshape(value.get_shape())


def array_to_dense(
    array: Array, type: TensorType[Attribute] | None = None
) -> DenseIntOrFPElementsAttr:
    """Return a dense attribute with the elements of an array."""
    if type is None:
        type = tensor_type(array.shape, element_type(array.dtype))
    element = type.element_type
    if isinstance(element, IntegerType) and element.width.data < 8:
        bytes_of = array.astype(np.int8)
        data = (-bytes_of if element.width.data == 1 else bytes_of).tobytes()
    else:
        data = pack_tf32(array) if is_tf32(element) else array.tobytes()
    return DenseIntOrFPElementsAttr(type, BytesAttr(data))  # type: ignore[arg-type]


def constant_value(
    array: Array | LazyArray, type: TensorType[Attribute] | None = None, *, owned: bool = False
) -> Attribute:
    """Return the value attribute for an array: dense up to `INLINE_LIMIT` elements, else a
    resource.

    Pass `owned` if the caller gives up the array: it is then not copied.
    """
    if array.size <= INLINE_LIMIT or (type is not None and is_tf32(type.element_type)):
        return array_to_dense(np.asarray(array), type)
    return intern(array, owned=owned)


def _value_attribute(value: Operation | Attribute) -> Attribute:
    # An exact class check first: isinstance is slow, and this function is hot.
    if type(value) is ConstantOp or isinstance(value, Operation):
        return value.properties["value"]
    return value


def constant_array(value: Operation | Attribute) -> Array:
    """Return the read-only array of a `hlo.constant` or of its value attribute."""
    attr = _value_attribute(value)
    if isinstance(attr, DenseIntOrFPElementsAttr):  # the common case, and cheap to check
        return dense_to_array(attr)
    assert isinstance(attr, HloResourceAttr)
    return lookup(attr)


def lazy_constant(value: Operation | Attribute) -> Array | LazyArray:
    """Return the read-only, possibly lazy array of a `hlo.constant` or of its value attribute."""
    attr = _value_attribute(value)
    return lookup_lazy(attr) if isinstance(attr, HloResourceAttr) else constant_array(attr)


def constant_op(
    array: Array | LazyArray,
    location_from: Operation | None = None,
    *,
    element: Attribute | None = None,
    owned: bool = False,
) -> ConstantOp:
    """Create a constant with an array's shape, dtype and elements; see `constant_value`.

    `element` is the element type, if not that of the dtype.
    """
    type = tensor_type(array.shape, element_type(array.dtype) if element is None else element)
    value = constant_value(array, type, owned=owned)
    op = ConstantOp.create(result_types=[type], properties={"value": value})
    if location_from is not None:
        inherit(op, location_from)
    return op


CONSTANT_OPS = (ConstantOp, IotaOp)
