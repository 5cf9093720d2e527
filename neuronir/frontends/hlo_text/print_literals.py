"""Print arrays as HLO literals."""

import numpy as np

from neuronir.dialects.hlo.contents import Array
from neuronir.dialects.support.dtypes import element_type, is_complex, is_float, is_pred
from neuronir.frontends.hlo_text.literals import FLOAT_FORMATS


def _special(bits: int, dtype: np.dtype[np.generic]) -> str:
    """Print a NaN: its sign, and its payload if it is not the default quiet NaN."""
    mantissa, unsigned = FLOAT_FORMATS[dtype]
    width = np.dtype(unsigned).itemsize * 8
    sign = "-" if bits >> (width - 1) else ""
    payload = bits & ((1 << mantissa) - 1)
    return f"{sign}nan" if payload == 1 << (mantissa - 1) else f"{sign}nan(0x{payload:x})"


def _reals(array: Array) -> list[str]:
    """Print each element of a flat real array with enough digits to restore it exactly."""
    dtype = array.dtype
    exact = dtype == np.float64
    with np.errstate(invalid="ignore"):  # a signalling NaN
        wide = array.astype(np.float64).tolist()
        nans = np.isnan(array if exact else array.astype(np.float32))
    words = [repr(v) for v in wide] if exact else [f"{v:.9g}" for v in wide]
    if nans.any():
        format_known = dtype in FLOAT_FORMATS
        bits = array.view(FLOAT_FORMATS[dtype][1]) if format_known else None
        for position in np.flatnonzero(nans).tolist():
            words[position] = "nan" if bits is None else _special(int(bits[position]), dtype)
    return words


def _words(array: Array) -> list[str]:
    """Print each element of a flat array."""
    element = element_type(array.dtype)
    if is_complex(element):
        part = np.float32 if array.dtype.itemsize == 8 else np.float64
        words = _reals(array.view(part))
        return [f"({re}, {im})" for re, im in zip(words[::2], words[1::2], strict=True)]
    if is_float(element):
        return _reals(array)
    if is_pred(element):
        return ["1" if v else "0" for v in array.tolist()]
    return [str(v) for v in array.astype(np.uint64 if array.dtype.kind == "u" else np.int64)]


def print_literal(array: Array) -> str:
    """Print the text between the parentheses of `constant(...)`."""
    if array.ndim == 0:
        if array.dtype == np.bool_:
            return "true" if array.item() else "false"
        return _words(array.reshape(1))[0]
    if array.size == 0:
        return _empty(array.shape)
    parts = _words(np.ascontiguousarray(array).reshape(-1))
    for size in reversed(array.shape):
        parts = [
            "{" + ",".join(parts[begin : begin + size]) + "}"
            for begin in range(0, len(parts), size)
        ]
    return parts[0]


def _empty(shape: tuple[int, ...]) -> str:
    """Print the braces of a literal without elements: one pair per dimension before that of
    size 0.
    """
    if len(shape) == 1 or shape[0] == 0:
        return "{}"
    return "{" + ",".join([_empty(shape[1:])] * shape[0]) + "}"
