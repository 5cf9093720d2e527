"""Shapes and literals of a proto: as the text of HLO, and as arrays."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.frontends.hlo_proto.schema import TYPES


def shape_text(shape: Any) -> str:
    """Return a ShapeProto as HLO text: `f32[2,3]{1,0}`, `(f32[], s32[4]{0})`."""
    name = TYPES.get(shape.element_type)
    if name is None:
        raise NeuronError("NCC_ESPP004", f"element type {shape.element_type} is not supported")
    if name == "tuple":
        return f"({shapes_text(shape.tuple_shapes)})"
    if name in ("token", "opaque", "buffer"):
        return f"{'opaque' if name == 'buffer' else name}[]"
    dynamic = [*shape.is_dynamic_dimension, *[False] * len(shape.dimensions)]
    dims = (f"<={d}" if dynamic[i] else str(d) for i, d in enumerate(shape.dimensions))
    text = f"{name}[{','.join(dims)}]"
    if shape.HasField("layout") and shape.dimensions:
        text += "{" + ",".join(map(str, shape.layout.minor_to_major)) + _tiling(shape.layout) + "}"
    return text


def shapes_text(shapes: Iterable[Any]) -> str:
    """Return several shapes as HLO text, which numbers every fifth one in a comment."""
    texts = (
        f"/*index={i}*/{shape_text(shape)}" if i and i % 5 == 0 else shape_text(shape)
        for i, shape in enumerate(shapes)
    )
    return ", ".join(texts)


def _tiling(layout: Any) -> str:
    """Return the tiles and the memory space of a layout: `:T(8,128)S(1)`."""
    tiles = "".join(f"({','.join(map(str, tile.dimensions))})" for tile in layout.tiles)
    space = f"S({layout.memory_space})" if layout.memory_space else ""
    text = (f"T{tiles}" if tiles else "") + space
    return f":{text}" if text else ""


def literal_array(literal: Any, type: TensorType[Attribute]) -> Array:
    """Return the read-only array of a LiteralProto that is not a tuple."""
    name = TYPES.get(literal.shape.element_type, "")
    field = f"{name}s"
    if field not in literal.DESCRIPTOR.fields_by_name:
        raise NeuronError("NCC_ESPP004", f"constants of type {name or 'unknown'} are not supported")
    values = getattr(literal, field)
    dtype = np_dtype(type.element_type)
    if isinstance(values, bytes):
        if len(values) % dtype.itemsize:
            raise NeuronError("NIR_HLO008", f"constant literal of {len(values)} bytes is truncated")
        flat = np.frombuffer(values, dtype=dtype)
    elif name in ("c64", "c128"):
        part = np.float32 if name == "c64" else np.float64
        parts = np.array(values, dtype=part)
        flat = parts[: parts.size // 2 * 2].view(dtype)
    else:
        flat = np.array(values, dtype=dtype)
    dims = type.get_shape()
    if tuple(literal.shape.dimensions) != dims or flat.size != int(np.prod(dims, dtype=np.int64)):
        raise NeuronError(
            "NIR_HLO008", f"constant literal has {flat.size} values, which do not fit {type}"
        )
    order = list(literal.shape.layout.minor_to_major)[::-1]
    if sorted(order) == list(range(len(dims))):  # values are stored in the order of the layout
        stored = flat.reshape([dims[d] for d in order])
        array = np.ascontiguousarray(stored.transpose(np.argsort(order))).reshape(dims)
    else:
        array = flat.reshape(dims)
    array.flags.writeable = False
    return array
