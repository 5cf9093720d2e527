"""Map element types of memrefs to data types of a NeuronCore."""

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E3M4Type,
    Float8E4M3Type,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    FloatTF32Type,
    IntegerType,
    MemRefType,
    Signedness,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.nc.attributes import SpaceAttr
from neuronir.dialects.nc.enums import DType

_DTYPES: dict[Attribute, DType] = {
    Float32Type(): DType.F32,
    BFloat16Type(): DType.BF16,
    Float16Type(): DType.F16,
    Float8E3M4Type(): DType.F8E3M4,
    Float8E4M3Type(): DType.F8E4M3,
    Float8E5M2Type(): DType.F8E5M2,
    FloatTF32Type(): DType.TF32,
    IntegerType(1): DType.BOOL,
}
for _width in (8, 16, 32, 64):
    _DTYPES[IntegerType(_width)] = DType[f"I{_width}"]
    _DTYPES[IntegerType(_width, Signedness.UNSIGNED)] = DType[f"U{_width}"]
_TYPES: dict[DType, Attribute] = {dtype: type_ for type_, dtype in _DTYPES.items()}


def dtype_of(type_: Attribute) -> DType:
    """Return the nc data type of an element type; raises KeyError if there is none."""
    return _DTYPES[type_]


def element_type_of(dtype: DType) -> Attribute:
    """Return the element type of an nc data type."""
    return _TYPES[dtype]


def verify_buffer_type(type_: MemRefType, *spaces: str) -> None:
    """Raise VerifyException if the type of a buffer is not allowed in one of the memories."""
    space = type_.memory_space
    if not isinstance(space, SpaceAttr) or space.space.data not in spaces:
        allowed = " or ".join(f'#nc.space<"{s}">' for s in spaces)
        raise VerifyException(f"the memory space of {type_} must be {allowed}")
    if type_.element_type not in _DTYPES:
        known = ", ".join(str(t) for t in _DTYPES)
        raise VerifyException(
            f"{type_.element_type} is not a data type of a NeuronCore; supported: {known}"
        )
    shape = type_.get_shape()
    if any(extent < 0 for extent in shape):
        raise VerifyException(f"the shape of {type_} is not static")
    if not shape and space.space.data != "hbm":
        raise VerifyException(f"{type_} has no partition dimension")
