"""TF32: the exponents of fp32 and 10 bits of mantissa, held as float32."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[Any]
_DROPPED = 13
_BYTES = 3
"""Bytes of an element of a dense attribute, in which xDSL stores the 19 bits."""


def round_tf32(values: F32) -> F32:
    """Round an array of float32 to TF32, ties to even; NaN and infinities are unchanged."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    rounded = (bits + (np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1)))) & np.uint32(
        0xFFFFE000
    )
    special = (bits & np.uint32(0x7F800000)) == np.uint32(0x7F800000)
    return np.where(special, bits, rounded).view(np.float32).reshape(values.shape)


def pack_tf32(values: F32) -> bytes:
    """Return the elements of a dense attribute of TF32 values, in row-major order."""
    words = round_tf32(values).reshape(-1).view("<u4") >> np.uint32(_DROPPED)
    return words.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :_BYTES].tobytes()


def unpack_tf32(data: bytes) -> F32:
    """Return the elements of a dense attribute as a flat, read-only array of float32."""
    words = np.zeros((len(data) // _BYTES, 4), np.uint8)
    words[:, :_BYTES] = np.frombuffer(data, np.uint8).reshape(-1, _BYTES)
    values = (words.view("<u4").reshape(-1) << np.uint32(_DROPPED)).view(np.float32)
    values.flags.writeable = False
    return values
