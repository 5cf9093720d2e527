"""Map between xdsl element types, HLO names and numpy dtypes with one table."""

from functools import cache

import ml_dtypes
import numpy as np
from xdsl.dialects import builtin
from xdsl.dialects.builtin import ComplexType, IntegerType, Signedness
from xdsl.ir import Attribute

from neuronir.dialects.support.errors import NeuronError


def _unsigned(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


# (HLO name, xdsl element type, numpy dtype). HLO's signed integers are MLIR's signless ones.
_TABLE: tuple[tuple[str, Attribute, np.dtype[np.generic]], ...] = (
    ("pred", IntegerType(1), np.dtype(np.bool_)),
    ("s2", IntegerType(2), np.dtype(ml_dtypes.int2)),
    ("s4", IntegerType(4), np.dtype(ml_dtypes.int4)),
    ("s8", IntegerType(8), np.dtype(np.int8)),
    ("s16", IntegerType(16), np.dtype(np.int16)),
    ("s32", IntegerType(32), np.dtype(np.int32)),
    ("s64", IntegerType(64), np.dtype(np.int64)),
    ("u2", _unsigned(2), np.dtype(ml_dtypes.uint2)),
    ("u4", _unsigned(4), np.dtype(ml_dtypes.uint4)),
    ("u8", _unsigned(8), np.dtype(np.uint8)),
    ("u16", _unsigned(16), np.dtype(np.uint16)),
    ("u32", _unsigned(32), np.dtype(np.uint32)),
    ("u64", _unsigned(64), np.dtype(np.uint64)),
    ("f16", builtin.f16, np.dtype(np.float16)),
    ("bf16", builtin.bf16, np.dtype(ml_dtypes.bfloat16)),
    ("f32", builtin.f32, np.dtype(np.float32)),
    ("f64", builtin.f64, np.dtype(np.float64)),
    ("f8e3m4", builtin.f8E3M4, np.dtype(ml_dtypes.float8_e3m4)),
    ("f8e4m3", builtin.f8E4M3, np.dtype(ml_dtypes.float8_e4m3)),
    ("f8e4m3fn", builtin.f8E4M3FN, np.dtype(ml_dtypes.float8_e4m3fn)),
    ("f8e4m3fnuz", builtin.f8E4M3FNUZ, np.dtype(ml_dtypes.float8_e4m3fnuz)),
    ("f8e4m3b11fnuz", builtin.f8E4M3B11FNUZ, np.dtype(ml_dtypes.float8_e4m3b11fnuz)),
    ("f8e5m2", builtin.f8E5M2, np.dtype(ml_dtypes.float8_e5m2)),
    ("f8e5m2fnuz", builtin.f8E5M2FNUZ, np.dtype(ml_dtypes.float8_e5m2fnuz)),
    ("f8e8m0fnu", builtin.f8E8M0FNU, np.dtype(ml_dtypes.float8_e8m0fnu)),
    ("c64", ComplexType(builtin.f32), np.dtype(np.complex64)),
    ("c128", ComplexType(builtin.f64), np.dtype(np.complex128)),
)

_TF32 = ("tf32", builtin.tf32, np.dtype(np.float32))
"""Rounded operands of products: no type of HLO, and numpy holds them as float32."""

_NP_OF: dict[Attribute, np.dtype[np.generic]] = {ty: dt for _, ty, dt in (*_TABLE, _TF32)}
_TYPE_OF_NP: dict[np.dtype[np.generic], Attribute] = {dt: ty for _, ty, dt in _TABLE}
_NAME_OF: dict[Attribute, str] = {ty: name for name, ty, _ in (*_TABLE, _TF32)}
_TYPE_OF_NAME: dict[str, Attribute] = {name: ty for name, ty, _ in _TABLE}

HLO_NAMES: tuple[str, ...] = tuple(_TYPE_OF_NAME)
"""Return every element type name that HLO text may use."""


def _unsupported(what: str) -> NeuronError:
    return NeuronError(
        "NCC_ESPP004",
        f"data type {what} is not supported",
        help="supported element types: " + ", ".join(HLO_NAMES),
    )


def np_dtype(element: Attribute) -> np.dtype[np.generic]:
    """Return the numpy dtype (ml_dtypes for bf16, fp8, int4) of an element type."""
    dtype = _NP_OF.get(element)
    if dtype is None:
        raise _unsupported(str(element))
    return dtype


def element_type(dtype: np.dtype[np.generic] | type[np.generic] | str) -> Attribute:
    """Return the element type of a numpy dtype."""
    element = _TYPE_OF_NP.get(np.dtype(dtype))
    if element is None:
        raise _unsupported(str(np.dtype(dtype)))
    return element


def hlo_name(element: Attribute) -> str:
    """Return the HLO name of an element type: `f32`, `pred`, `s8`."""
    name = _NAME_OF.get(element)
    if name is None:
        raise _unsupported(str(element))
    return name


def from_hlo_name(name: str) -> Attribute:
    """Return the element type with the HLO name `name`."""
    element = _TYPE_OF_NAME.get(name)
    if element is None:
        raise _unsupported(f"'{name}'")
    return element


def is_hlo_name(name: str) -> bool:
    """Return whether `name` is the HLO name of a supported element type."""
    return name in _TYPE_OF_NAME


@cache
def byte_size(element: Attribute) -> int:
    """Return the bytes of one element in memory; types under 8 bits take one byte."""
    return np_dtype(element).itemsize


def is_float(element: Attribute) -> bool:
    """Return whether the element type is a real floating-point type."""
    return isinstance(element, builtin.AnyFloat)


def is_tf32(element: Attribute) -> bool:
    """Return whether the element type is TF32, whose arrays numpy holds as float32."""
    return element == builtin.tf32


def is_integer(element: Attribute) -> bool:
    """Return whether the element type is an integer type wider than a predicate."""
    return isinstance(element, IntegerType) and element.width.data > 1


def is_pred(element: Attribute) -> bool:
    """Return whether the element type is the predicate type."""
    return isinstance(element, IntegerType) and element.width.data == 1


def is_complex(element: Attribute) -> bool:
    """Return whether the element type is complex."""
    return isinstance(element, ComplexType)


def is_unsigned(element: Attribute) -> bool:
    """Return whether the element type is an unsigned integer type."""
    return isinstance(element, IntegerType) and element.signedness.data is Signedness.UNSIGNED
