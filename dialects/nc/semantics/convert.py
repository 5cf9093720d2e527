"""Convert between the data types of tiles.

Floating-point results are rounded to nearest, ties to even, and overflow to infinity. A conversion
from floating point to an integer truncates, saturates at the limits of the type, and converts NaN
to 0 (assumed: not public; XLA converts the same way). Integers of up to 32 bits keep their low bits
in a conversion to narrower integers. Before fp32 arithmetic they are rounded to fp32. 64-bit
integers are copied bit-exactly if nothing is computed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.semantics.kernel import Tile, same_shape
from neuronir.dialects.nc.semantics.rounding import perturbation
from neuronir.dialects.support.tf32 import round_tf32

F32 = NDArray[Any]
"""A tile of float32."""
_FULL = (DType.F32, DType.F32R)


def to_f32(tile: Tile, dtype: DType) -> F32:
    """Return the values in fp32: exact for floating types and small integers (tf32 is rounded to
    it).
    """
    if dtype in _FULL:
        return tile
    if dtype == DType.TF32:
        return round_tf32(tile)
    if dtype == DType.BOOL:
        return np.asarray((tile != 0).astype(np.float32))
    return np.asarray(tile.astype(np.float32))


def store(dst: Tile, dtype: DType, values: Tile) -> None:
    """Convert results of a computation (fp32, int32 or uint32) and write them to `dst`."""
    dst[...] = converted(same_shape(values, dst), dtype)


def converted(values: Tile, dtype: DType) -> Tile:
    """Convert `values` (fp32, or an integer type) to the numpy type of `dtype`."""
    random = perturbation()
    if dtype in _FULL:
        result = values.astype(np.float32, copy=False)
        return result if random is None else random.result(result)
    if dtype == DType.BOOL:
        return np.asarray((values != 0).astype(np.uint8))
    target = dtype.numpy
    if dtype.is_float:
        with np.errstate(over="ignore", invalid="ignore"):
            if values.dtype != np.float32:
                values = values.astype(np.float32)
            tf32 = dtype == DType.TF32
            nearest = round_tf32(values) if tf32 else np.asarray(values.astype(target))
            return nearest if random is None else random.rounded(values, nearest, dtype)
    if values.dtype.kind in "iu":
        return np.asarray(values.astype(target))
    return _float_to_int(values, target)


def _float_to_int(values: Tile, target: np.dtype[Any]) -> Tile:
    info = np.iinfo(target)
    wide = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    low, high = float(info.min), float(info.max)
    out = np.trunc(np.clip(wide, low, high))
    if target.itemsize < 8:
        return out.astype(target)
    # float(2**63 - 1) is 2**63, which is out of range: insert the limits as integers.
    inside = (out > low) & (out < high)
    result = np.where(inside, out, 0.0).astype(target)
    result[out >= high] = info.max
    result[out <= low] = info.min
    return result


_RAW: dict[int, type[np.unsignedinteger]] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def raw(tile: Tile) -> Tile:
    """Return the bits of each element as an unsigned integer (a view)."""
    return tile.view(_RAW[tile.dtype.itemsize])


Copy = Callable[[Tile, Tile], None]


def copier(src: DType, dst: DType) -> Copy:
    """Return `copy(dst tile, src tile)`: bit-exact if the types are equal, else a conversion."""
    same = src == dst or (src in _FULL and dst in _FULL)
    integers = not src.is_float and not dst.is_float

    def exact(out: Tile, values: Tile) -> None:
        raw(out)[...] = raw(values).reshape(out.shape)

    def integer(out: Tile, values: Tile) -> None:
        if dst == DType.BOOL:
            out[...] = (values != 0).reshape(out.shape)
        else:
            out[...] = values.reshape(out.shape).astype(dst.numpy)

    def through_f32(out: Tile, values: Tile) -> None:
        out[...] = converted(to_f32(values, src), dst).reshape(out.shape)

    return exact if same else integer if integers else through_f32
