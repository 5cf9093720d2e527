"""Convert TensorFlow element types and constants: DataType numbers, shapes, TensorProto."""

from math import prod
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.ir import Attribute

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import element_type
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.tensorflow.schema import DATA_TYPES

_NUMPY: dict[str, Any] = {
    "FLOAT": np.float32,
    "DOUBLE": np.float64,
    "INT32": np.int32,
    "UINT8": np.uint8,
    "INT16": np.int16,
    "INT8": np.int8,
    "COMPLEX64": np.complex64,
    "INT64": np.int64,
    "BOOL": np.bool_,
    "BFLOAT16": ml_dtypes.bfloat16,
    "UINT16": np.uint16,
    "COMPLEX128": np.complex128,
    "HALF": np.float16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "FLOAT8_E5M2": ml_dtypes.float8_e5m2,
    "FLOAT8_E4M3FN": ml_dtypes.float8_e4m3fn,
    "FLOAT8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "FLOAT8_E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "FLOAT8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}
_BY_NUMBER: dict[int, np.dtype[Any]] = {DATA_TYPES[n]: np.dtype(t) for n, t in _NUMPY.items()}
_NAMES: dict[int, str] = {number: name.lower() for name, number in DATA_TYPES.items()}

# The field of a TensorProto that lists the elements.
_FIELDS: dict[str, str] = {
    "f2": "half_val",
    "f4": "float_val",
    "f8": "double_val",
    "i1": "int_val",
    "i2": "int_val",
    "i4": "int_val",
    "u1": "int_val",
    "u2": "int_val",
    "u4": "uint32_val",
    "u8": "uint64_val",
    "i8": "int64_val",
    "b1": "bool_val",
    "c8": "scomplex_val",
    "c16": "dcomplex_val",
}
LARGEST_FILLED = 1 << 30
"""A constant in a compressed form may expand to at most this many bytes."""


def type_name(number: int) -> str:
    """Return the name of a DataType, such as `float` or `qint8`."""
    base = number - 100 if number > 100 else number
    return _NAMES.get(base, f"type {number}")


def dtype_of(number: int) -> np.dtype[Any]:
    """Return the numpy type of a DataType (a reference type counts as its base type)."""
    base = number - 100 if number > 100 else number
    found = _BY_NUMBER.get(base)
    if found is None:
        name = type_name(number)
        quantised = name.startswith(("qint", "quint"))
        refuse(
            f"the data type {name} is not supported",
            "convert the model to floating point: quantised integers are not computed with"
            if quantised
            else None,
        )
    return found


def hlo_type(number: int) -> Attribute:
    """Return the element type of a DataType."""
    return element_type(dtype_of(number))


def dims_of(shape: Any) -> tuple[int | None, ...] | None:
    """Return the dimensions of a TensorShapeProto, None if unknown; None for an unknown rank."""
    if shape.unknown_rank:
        return None
    return tuple(None if d.size < 0 else int(d.size) for d in shape.dim)


def static_dims(shape: Any) -> tuple[int, ...]:
    """Return the dimensions of a TensorShapeProto that must be fully known."""
    dims = dims_of(shape)
    if dims is None or any(n is None for n in dims):
        refuse("the shape of a constant must be known")
    return tuple(n for n in dims if n is not None)


def decode(proto: Any) -> tuple[Array, tuple[int, ...]]:
    """Return the elements and the shape of a TensorProto.

    A single element represents all of them and is returned as a scalar. Bytes in `tensor_content`
    are not copied.
    """
    dims, dtype = static_dims(proto.tensor_shape), dtype_of(proto.dtype)
    size = prod(dims)
    if content := proto.tensor_content:
        if len(content) != size * dtype.itemsize:
            refuse(
                f"a constant of shape {list(dims)} and type {dtype} takes {size * dtype.itemsize} "
                f"bytes, has {len(content)}"
            )
        return np.frombuffer(content, dtype).reshape(dims), dims
    values = _listed(proto, dtype)
    if values.size > size:
        refuse(f"a constant of shape {list(dims)} has {values.size} elements")
    if values.size == size:
        return values.reshape(dims), dims
    if values.size <= 1:  # no element means zero
        return (values.reshape(()) if values.size else np.zeros((), dtype)), dims
    if size * dtype.itemsize > LARGEST_FILLED:
        refuse(f"a constant of shape {list(dims)} has only {values.size} elements")
    whole = np.full(size, values[-1], dtype)  # the last element repeats
    whole[: values.size] = values
    return whole.reshape(dims), dims


def _listed(proto: Any, dtype: np.dtype[Any]) -> Array:
    """Return the elements that a TensorProto lists."""
    if dtype == np.dtype(ml_dtypes.bfloat16) or dtype == np.dtype(np.float16):
        return np.array(proto.half_val, np.int32).astype(np.uint16).view(dtype)
    if dtype.name.startswith("float8"):
        return np.frombuffer(proto.float8_val, dtype)
    field = getattr(proto, _FIELDS[f"{dtype.kind}{dtype.itemsize}"])
    if dtype.kind == "c":
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        if len(field) % 2:
            refuse("a complex constant has half an element")
        return np.array(field, part).view(dtype)
    if dtype.itemsize < 4 and dtype.kind in "iu":
        return np.array(field, np.int32).astype(dtype)
    return np.array(field, dtype)
