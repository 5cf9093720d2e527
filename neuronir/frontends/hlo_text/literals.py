"""Parse literals of constants, from scalars to megabytes, to numpy arrays."""

import re
import warnings
from math import prod

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import is_complex, is_float, is_pred, is_unsigned, np_dtype
from neuronir.dialects.support.errors import NeuronError

_BLANKS = bytes.maketrans(b"{},", b"   ")
_BLANKS_COMPLEX = bytes.maketrans(b"{},()", b"     ")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_NAN = re.compile(rb"(-?)nan(?:\(0x([0-9a-fA-F]+)\))?")
_OLD_PREFIX = re.compile(r"\s*[a-z]\w*\[[\d,]*\](?:\{[\d,]*\})?\s*")
# For at most this many values Python's conversion is faster than a call to numpy.
_FEW = 16

# Mantissa bits and the unsigned type of equal width, for floats with NaN payloads.
FLOAT_FORMATS: dict[np.dtype[np.generic], tuple[int, type[np.generic]]] = {
    np.dtype(ml_dtypes.float8_e3m4): (4, np.uint8),
    np.dtype(ml_dtypes.float8_e4m3): (3, np.uint8),
    np.dtype(ml_dtypes.float8_e5m2): (2, np.uint8),
    np.dtype(np.float16): (10, np.uint16),
    np.dtype(ml_dtypes.bfloat16): (7, np.uint16),
    np.dtype(np.float32): (23, np.uint32),
    np.dtype(np.float64): (52, np.uint64),
}


def _bad(what: str) -> NeuronError:
    return NeuronError("NIR_HLO008", what)


def _numbers(data: bytes, dtype: type[np.generic]) -> Array:
    """Parse decimal numbers separated by blanks."""
    words = data.split(None, _FEW)
    if len(words) < _FEW:
        convert = float if dtype is np.float64 else int
        try:
            return np.array([convert(w) for w in words], dtype=dtype)
        except (ValueError, OverflowError):
            raise _bad(f"malformed number in constant literal: {_first_bad(words)}") from None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(data, dtype=dtype, sep=" ")
        except (DeprecationWarning, ValueError):
            raise _bad(
                f"malformed number in constant literal: {_first_bad(data.split())}"
            ) from None


def _first_bad(words: list[bytes]) -> str:
    for word in words:
        try:
            float(word)
        except ValueError:
            return word.decode("utf-8", "replace")[:40]
    return "a number is out of the range of its type"


def _nan_bits(match: re.Match[bytes], dtype: np.dtype[np.generic]) -> int:
    """Return the bits of a NaN with a sign or a payload."""
    mantissa, unsigned = FLOAT_FORMATS[dtype]
    width = np.dtype(unsigned).itemsize * 8
    exponent = ((1 << (width - 1 - mantissa)) - 1) << mantissa
    payload = int(match[2], 16) if match[2] else 1 << (mantissa - 1)
    sign = 1 << (width - 1) if match[1] else 0
    return sign | exponent | (payload & ((1 << mantissa) - 1))


def _floats(data: bytes, dtype: np.dtype[np.generic]) -> Array:
    """Parse real values of a dtype, keeping NaN payloads and signs."""
    special: list[tuple[int, re.Match[bytes]]] = []
    if (b"nan(" in data or b"-nan" in data) and dtype in FLOAT_FORMATS:
        words = data.split()
        for position, word in enumerate(words):
            if match := _NAN.fullmatch(word):
                special.append((position, match))
                words[position] = b"nan"
        data = b" ".join(words)
    with np.errstate(over="ignore"):
        array = _numbers(data, np.float64).astype(dtype)
    if special:
        bits = array.view(FLOAT_FORMATS[dtype][1])
        for position, match in special:
            bits[position] = _nan_bits(match, dtype)
    return array


def _integers(data: bytes, element: Attribute, dtype: np.dtype[np.generic]) -> Array:
    wide = _numbers(data, np.uint64 if is_unsigned(element) else np.int64)
    if dtype.itemsize < 8 and wide.size:
        info = ml_dtypes.iinfo(dtype)
        low, high = int(wide.min()), int(wide.max())
        if low < int(info.min) or high > int(info.max):
            value = low if low < int(info.min) else high
            raise _bad(f"{value} is out of the range of {element} in constant literal")
    return wide.astype(dtype)


def decode_literal(text: str, type: TensorType[Attribute]) -> Array:
    """Return the read-only array of the literal of a constant with a tensor type."""
    if "..." in text:
        raise NeuronError(
            "NIR_HLO009",
            "the text of this constant was elided as `{...}`, its values are lost",
            help="print the HLO with large constants (print_large_constants=True)",
        )
    if "/*" in text:
        text = _COMMENT.sub(" ", text)
    if "[" in text:
        text = _OLD_PREFIX.sub("", text, count=1)
    element = type.element_type
    dtype = np_dtype(element)
    shape = type.get_shape()
    try:
        raw = text.encode("ascii")
    except UnicodeEncodeError:
        raise _bad("a constant literal holds ASCII only") from None
    if raw.count(b"{") != raw.count(b"}"):
        raise _bad("unbalanced braces in constant literal")
    if is_complex(element):
        part = np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
        array: Array = _floats(raw.translate(_BLANKS_COMPLEX), part)
        if array.size % 2:
            raise _bad("a complex literal is a list of pairs (real, imaginary)")
        array = array.view(dtype)
    else:
        data = raw.translate(_BLANKS)
        if is_pred(element):
            if b"e" in data:
                data = data.replace(b"true", b"1").replace(b"false", b"0")
            array = _numbers(data, np.int64) != 0
        elif is_float(element):
            array = _floats(data, dtype)
        else:
            array = _integers(data, element, dtype)
    count = prod(shape)
    if array.size != count:
        raise _bad(f"constant literal has {array.size} values, {type} needs {count}")
    array = array.reshape(shape)
    array.flags.writeable = False
    return array
