"""Elements of constants: decimal lists, and the bytes of large ones in hexadecimal."""

import re
from math import prod

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.dtypes import is_complex, is_float, is_pred, np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.frontends.hlo_text.literals import decode_literal

_BRACES = str.maketrans("[]", "{}")
_BITS = re.compile(r"0[xX]([0-9a-fA-F]++)")
_OPENING = re.compile(r"[\[\s]*+")
_NUMBER = re.compile(r"[^\s\[\](),]++")
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def from_bytes(data: bytes, type: TensorType[Attribute]) -> Array:
    """Return the elements of little-endian bytes; those of a single element if there are no more.

    Raises NIR_HLO008 if the type needs another number of bytes.
    """
    dtype = np_dtype(type.element_type)
    shape = type.get_shape()
    count = prod(shape)
    values: Array
    if is_pred(type.element_type):
        # One byte an element, or one for all; older MLIR stores eight elements a byte.
        if len(data) == count or data in (b"\x00", b"\x01", b"\xff"):
            values = np.frombuffer(data, np.uint8) != 0
        elif len(data) == -(-count // 8):
            packed = np.frombuffer(data, np.uint8)
            values = np.unpackbits(packed, count=count, bitorder="little").astype(np.bool_)
        else:
            raise _wrong_size(len(data), type)
        values.flags.writeable = False
    else:
        if len(data) not in (count * dtype.itemsize, dtype.itemsize):
            raise _wrong_size(len(data), type)
        values = np.frombuffer(data, dtype)
    found: Array = values.reshape(shape if values.size == count else ())
    return found


def _wrong_size(size: int, type: TensorType[Attribute]) -> NeuronError:
    return NeuronError("NIR_HLO008", f"constant has {size} bytes, which is not the size of {type}")


def from_hexadecimal(text: str, type: TensorType[Attribute]) -> Array:
    """Return the elements of `0x0000803F`, the bytes of all elements."""
    if text[:2] not in ("0x", "0X"):
        raise NeuronError("NIR_HLO008", "a constant in quotes holds bytes as `0x...`")
    try:
        data = bytes.fromhex(text[2:])
    except ValueError:
        raise NeuronError("NIR_HLO008", "malformed hexadecimal bytes of a constant") from None
    return from_bytes(data, type)


def from_list(text: str, type: TensorType[Attribute]) -> Array:
    """Return the elements of `[[1.0, 2.0], [0x7FC00000, 4.0]]`, or of a single number for all.

    A hexadecimal number is the bits of a float. Raises NIR_HLO008 if they do not fit the type.
    """
    plain = text.strip()
    element = type.element_type
    if not plain.startswith("["):
        if plain == "" and prod(type.get_shape()) == 0:
            return np.zeros(type.get_shape(), np_dtype(element))
        if plain.count("(") + plain.count(",") > 2 or ("," in plain and "(" not in plain):
            raise NeuronError("NIR_HLO008", f"malformed constant '{plain[:40]}'")
        type = tensor_type((), element)
    _check_nesting(plain, type)
    bits: dict[int, int] = {}
    if "x" in plain or "X" in plain:
        plain = _take_bits(plain, bits)
    array = decode_literal(plain.translate(_BRACES), type)
    return _with_bits(array, bits, element) if bits else array


def _check_nesting(text: str, type: TensorType[Attribute]) -> None:
    opening = _OPENING.match(text)
    depth = opening[0].count("[") if opening else 0
    if depth != len(type.get_shape()) and prod(type.get_shape()) != 0:
        raise NeuronError("NIR_HLO008", f"a list of {depth} levels does not fit {type}")


def _take_bits(text: str, bits: dict[int, int]) -> str:
    """Replace elements that are written as bits by zero, and record their positions and values."""
    numbers = [0]

    def replace(match: re.Match[str]) -> str:
        index, numbers[0] = numbers[0], numbers[0] + 1
        found = _BITS.fullmatch(match[0])
        if found is None:
            return match[0]
        bits[index] = int(found[1], 16)
        return "0"

    return _NUMBER.sub(replace, text)


def _with_bits(array: Array, bits: dict[int, int], element: Attribute) -> Array:
    """Return a copy in which these elements (parts, if complex) have these bits."""
    values = array.copy()
    flat = values.reshape(-1)
    if is_complex(element):
        flat = flat.view(np.float32 if values.dtype.itemsize == 8 else np.float64)
    elif not is_float(element):
        raise NeuronError("NIR_HLO008", "an integer of a constant is written as bits")
    words = flat.view(_UNSIGNED[flat.dtype.itemsize])
    for index, value in bits.items():
        if value >> (8 * words.dtype.itemsize):
            raise NeuronError("NIR_HLO008", f"0x{value:X} has more bits than the element type")
        words[index] = value
    values = flat.view(array.dtype).reshape(array.shape)
    values.flags.writeable = False
    return values
