"""Read hlo values: shapes, index-list properties, constants and splats."""

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from neuronir.dialects.hlo.attributes import ints as array_ints
from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.hlo.constants import constant_array, lazy_constant
from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.contiguous import contiguous
from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.recipe import Places
from neuronir.dialects.support.shapes import extents


def is_tensor(value: SSAValue) -> bool:
    """Return whether the value is an array (not a tuple or token)."""
    return isinstance(value.type, TensorType)


def shape(value: SSAValue) -> tuple[int, ...]:
    """Return the dimensions of a tensor value."""
    type_ = value.type
    return extents(type_) if isinstance(type_, TensorType) else shape_of(type_)


def shape_of(type_: Attribute) -> tuple[int, ...]:
    """Return the dimensions of a tensor type."""
    if not isinstance(type_, TensorType):
        raise TypeError(f"a tensor type is needed, got {type_}")
    return extents(type_)


def element(value: SSAValue) -> Attribute:
    """Return the element type of a tensor value."""
    if not isinstance(value.type, TensorType):
        raise TypeError(f"a tensor value is needed, got {value.type}")
    found: Attribute = value.type.element_type
    return found


def size(value: SSAValue) -> int:
    """Return the number of elements of a tensor value."""
    return prod(shape(value))


def tensor(dims: tuple[int, ...], element_type: Attribute) -> TensorType[Attribute]:
    """Return a tensor type of these dimensions."""
    return tensor_type(dims, element_type)


def ints(op: Operation, name: str) -> tuple[int, ...]:
    """Return an index-list property (`dimensions`, `permutation`, ...); empty if absent."""
    prop = op.properties.get(name)
    if prop is None:
        return ()
    if not isinstance(prop, DenseArrayBase):
        raise TypeError(f"{op.name}: property {name} is not an index list")
    return array_ints(prop)


def integer(op: Operation, name: str, default: int | None = None) -> int:
    """Return an integer property; it is required unless a default is given."""
    prop = op.properties.get(name)
    if isinstance(prop, IntegerAttr):
        return int(prop.value.data)
    if default is None:
        raise TypeError(f"{op.name}: integer property {name} is missing")
    return default


def string(op: Operation, name: str) -> str:
    """Return a string property; empty if it is absent."""
    prop = op.properties.get(name)
    return prop.data if isinstance(prop, StringAttr) else ""


def is_single(value: SSAValue) -> bool:
    """Return whether a value is an fp32 array, in which DVE computes recurrences."""
    return isinstance(value.type, TensorType) and value.type.element_type == f32


def producer(value: SSAValue, opcode: str) -> Operation | None:
    """Return the op that made the value, if it is `hlo.<opcode>`."""
    # Results and types have no subclasses, and isinstance is slow for negative answers.
    if isinstance(value, OpResult) and value.op.name == f"hlo.{opcode}":
        return value.op
    return None


def constant(value: SSAValue) -> Array | None:
    """Return the array of a value made by hlo.constant, else None. Do not write to it."""
    op = producer(value, "constant")
    return None if op is None else constant_array(op)


def splat(value: SSAValue) -> Array | None:
    """Return the scalar (0-d array) that fills a value, if its shape ops tell, else None.

    Scalar constants are found through broadcast, reshape, transpose and slice. A constant must have
    a single element (canonicalize turns larger uniform ones into broadcasts).
    """
    while isinstance(value, OpResult):
        op = value.op
        if op.name not in _KEEPS_SPLAT:
            known = op.name == "hlo.constant" and size(value) == 1
            return constant_array(op).reshape(()) if known else None
        value = op.operands[0]
    return None


_KEEPS_SPLAT = frozenset(
    f"hlo.{name}" for name in ("broadcast", "reshape", "transpose", "slice", "reverse", "copy")
)


def is_splat_of(value: SSAValue, number: float) -> bool:
    """Return whether the value is filled with this constant (0 matches both zeros; complex
    never).
    """
    array = splat(value)
    return array is not None and is_number(array, number)


def is_number(array: Array, number: float) -> bool:
    """Return whether a 0-d array has this value (0 matches both zeros; complex never)."""
    return array.dtype.kind != "c" and bool(array == number)


def filled_with(value: Attribute) -> Array | None:
    """Return the value that fills a constant of several elements; None if it is not uniform.

    The result is cached for the attribute.
    """
    known: dict[str, Any] = value.__dict__
    if "_filled_with" not in known:
        known["_filled_with"] = one_number(lazy_constant(value))
    found: Array | None = known["_filled_with"]
    return found


@lru_cache(64)
def _few_places(size: int) -> Places:
    return Places(np.array([0, 1, size // 2, size - 1]))


def one_number(array: Array | LazyArray) -> Array | None:
    """Return the value that fills an array of several elements; None if it is not uniform."""
    if array.size < 2:
        return None
    places = _few_places(array.size)
    if isinstance(array, LazyArray) and array.recipe is not None:
        some = array.recipe.sample(places)
    else:
        some = np.asarray(array).flat[places.numbers]
    raw = some.tobytes()
    if raw != raw[: some.itemsize] * some.size:
        return None
    bits = contiguous(np.asarray(array)).reshape(-1).view(np.uint8).reshape(array.size, -1)
    return some[0] if bool((bits == bits[0]).all()) else None
