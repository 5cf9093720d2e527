"""Parse shapes, such as `f32[2,3]{1,0:T(8,128)S(1)}`, tuples and tokens, to types and layouts."""

import re
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, TypeAttribute

from neuronir.dialects.hlo.attributes import (
    TokenType,
    i64_array,
    string_attr,
    tensor_type,
    tuple_type,
)
from neuronir.dialects.support.dtypes import from_hlo_name, is_hlo_name
from neuronir.dialects.support.errors import NeuronError

_ARRAY = re.compile(r"\s*([a-z]\w*)\[([^\]\n]*)\]\s*(?:\{([^}\n]*)\})?\s*")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)

TOKEN = TokenType()
MOST_ELEMENTS = 1 << 58
"""Limit of elements of an array, so that 64 bits can hold its size in bytes."""


@dataclass(frozen=True)
class Shape:
    """A type and, unless it has the default layout, the attribute `hlo.layout`.

    A dense array is the minor_to_major of a tensor. A string is the text of a tuple's shape, or of
    a tensor's layout with tiles or a memory space.
    """

    type: TypeAttribute
    layout: Attribute | None


def _default_layout(rank: int) -> str:
    return ",".join(str(i) for i in reversed(range(rank)))


def _array(name: str, dims_text: str, layout: str | None, text: str) -> Shape:
    if name == "token":
        return Shape(TOKEN, None)
    if name == "opaque":
        raise NeuronError("NCC_ESPP004", f"opaque shapes are not supported: {text.strip()}")
    if not is_hlo_name(name):
        from_hlo_name(name)  # raises the error with the list of supported types
    if "?" in dims_text or "<" in dims_text:
        raise NeuronError(
            "NCC_EMOD025",
            f"dynamic shape {text.strip()} is not supported",
            help="every dimension must be a number: compile with static shapes",
        )
    try:
        dims = tuple(int(d) for d in dims_text.split(",")) if dims_text.strip() else ()
    except ValueError:
        raise NeuronError("NIR_HLO002", f"malformed shape {text.strip()}") from None
    if any(d < 0 for d in dims):
        raise NeuronError("NIR_HLO002", f"negative dimension in shape {text.strip()}")
    if prod(d or 1 for d in dims) > MOST_ELEMENTS:
        raise NeuronError("NIR_HLO002", f"shape {text.strip()} is too large")
    kept: Attribute | None = None
    if layout is not None and layout.replace(" ", "") != _default_layout(len(dims)):
        order, colon, _ = layout.partition(":")
        try:
            minor_to_major = [int(d) for d in order.split(",")] if order.strip() else []
        except ValueError:
            raise NeuronError("NIR_HLO002", f"malformed layout in {text.strip()}") from None
        if sorted(minor_to_major) != list(range(len(dims))):
            raise NeuronError(
                "NIR_HLO002", f"layout {{{layout}}} does not order the dimensions of {text.strip()}"
            )
        kept = string_attr("{" + layout + "}") if colon else i64_array(minor_to_major)
    return Shape(tensor_type(dims, from_hlo_name(name)), kept)


def split_top(text: str) -> list[str]:
    """Split at commas outside of parentheses, brackets and braces; empty text has no parts."""
    parts: list[str] = []
    depth = begin = 0
    for position, char in enumerate(text):
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[begin:position])
            begin = position + 1
    rest = text[begin:]
    return [*parts, rest] if parts or rest.strip() else []


@lru_cache(maxsize=1 << 14)
def parse_shape(text: str) -> Shape:
    """Parse the shape; raises a NeuronError without a location if it is invalid."""
    if match := _ARRAY.fullmatch(text):
        return _array(match[1], match[2], match[3], text)
    plain = _COMMENT.sub("", text).strip() if "/*" in text else text.strip()
    if not (plain.startswith("(") and plain.endswith(")")):
        raise NeuronError("NIR_HLO002", f"malformed shape {text.strip()}")
    leaves = [parse_shape(part.strip()) for part in split_top(plain[1:-1])]
    kept = string_attr(plain) if any(leaf.layout is not None for leaf in leaves) else None
    return Shape(tuple_type(leaf.type for leaf in leaves), kept)


def tensor_of(shape: Shape) -> TensorType[Attribute] | None:
    """Return the tensor type of a shape, or None if it is a tuple or a token."""
    return shape.type if isinstance(shape.type, TensorType) else None
