"""Perturb roundings at random, to measure how much rounding changes a program's results.

A perturbation moves a rounded value to the neighbour on the other side of the exact value. Its
probability is chosen so that the change has the mean square of the rounding error itself. Two
perturbed runs therefore differ about as much as the program differs from exact arithmetic.
docs/numerics.md has the derivation.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.nc.enums import DType
from neuronir.dialects.nc.semantics.kernel import Tile

# If the exact value is f of a step from the nearest one, f uniform in [0, 1/2], a move of one step
# with probability f / 3 has mean square 1/12 of a squared step: that of the rounding itself.
_SHARE = np.float32(1.0 / 3.0)
# A constant was rounded before it was stored, so f is unknown: move up or down with 1/24 each.
_CONSTANT = np.float32(1.0 / 24.0)
_TF32_MANTISSA = 10
# The fp32 bits of the largest finite bf16: values at or beyond it are rounded as usual.
_LARGEST_BF16 = np.uint32(0x7F7F0000)
_F32_ROUNDOFF = np.float32(2.0**-24)


class Perturbation:
    """One random choice of roundings; the same seed gives the same choices in the same program.

    With `full`, results in fp32 are perturbed too. If operands are rounded to a narrow type, `full`
    changes too little to be worth its time.
    """

    def __init__(self, seed: int, *, full: bool) -> None:
        self._rng = np.random.default_rng(seed)
        self._full = full

    def rounded(self, values: Tile, nearest: Tile, dtype: DType) -> Tile:
        """Move some elements of `nearest` (fp32 `values` rounded to `dtype`) by one step.

        Values that `dtype` represents exactly, and those next to an infinity or NaN, are unchanged.
        """
        if dtype == DType.BF16:
            return self._rounded_bf16(values, nearest)
        back = nearest.astype(np.float32)
        error = values - back
        if not error.any():
            return nearest
        moved = _neighbour(nearest, error > 0, dtype)
        step = np.abs(moved.astype(np.float32) - back)
        share = np.abs(error) / step * _SHARE
        draws = self._rng.random(values.shape, dtype=np.float32)
        # NaN, from an infinity or an exact zero, compares as false.
        return np.where(np.isfinite(step) & (draws < share), moved, nearest)

    def _rounded_bf16(self, values: Tile, nearest: Tile) -> Tile:
        """Perturb `rounded` using the bits that bf16, the upper half of an fp32 value, omits."""
        bits = np.ascontiguousarray(values).view(np.uint32)
        draws = np.frombuffer(self._rng.bytes(2 * bits.size), np.uint16).reshape(bits.shape)
        codes = (bits >> np.uint32(16)).astype(np.uint16)
        codes += draws < _raise_bf16()[bits & np.uint32(0x1FFFF)]
        size = bits & np.uint32(0x7FFFFFFF)
        if size.max(initial=0) >= _LARGEST_BF16:
            codes = np.where(size >= _LARGEST_BF16, nearest.view(np.uint16), codes)
        return codes.view(nearest.dtype).reshape(nearest.shape)

    def product(self, sums: Tile) -> Tile:
        """Perturb fp32 sums of products by up to one roundoff of the largest of them."""
        if not self._full:
            return sums
        largest = np.max(np.abs(sums), initial=np.float32(0), where=np.isfinite(sums))
        return self._changed(sums, _F32_ROUNDOFF * largest)

    def result(self, values: Tile) -> Tile:
        """Move a third of the fp32 results by one step, because both executions round them."""
        if not self._full:
            return values
        with np.errstate(all="ignore"):
            return self._changed(values, np.float32(0.75) * np.spacing(values))

    def _changed(self, values: Tile, most: Tile) -> Tile:
        """Keep whole values: counts, indices, selections and masks are computed without error."""
        draws = self._rng.random(values.shape, dtype=np.float32) * np.float32(2) - np.float32(1)
        with np.errstate(all="ignore"):
            changed = values + draws * most
        return np.where(values == np.rint(values), values, changed)

    def constant(self, array: Tile, dtype: DType) -> Tile:
        """Perturb a constant of a narrow type that was rounded from fp32 when it was created.

        Integers and powers of two are not perturbed: identities, masks, selections and mean
        factors.
        """
        wide = array.astype(np.float32)
        kept = (wide == np.rint(wide)) | (np.abs(np.frexp(wide)[0]) == np.float32(0.5))
        draws = self._rng.random(array.shape, dtype=np.float32)
        up = draws < _CONSTANT
        moved = _neighbour(array, up, dtype)
        fixed = kept | (draws >= np.float32(2) * _CONSTANT) | ~np.isfinite(moved.astype(np.float32))
        return np.where(fixed, array, moved)


@cache
def _raise_bf16() -> NDArray[np.uint16]:
    """Return, for each of 2**16 draws, whether a value is rounded up.

    The value is given by the 16 bits that bf16 omits and the last bit that it keeps, which decides
    ties.
    """
    lost = np.arange(1 << 17) & 0xFFFF
    odd = np.arange(1 << 17) >> 16 == 1
    share = np.minimum(lost, (1 << 16) - lost) // 3
    up = (lost > 1 << 15) | ((lost == 1 << 15) & odd)
    return np.asarray(np.where(up, (1 << 16) - 1 - share, share), np.uint16)


def _neighbour(values: Tile, up: Tile, dtype: DType) -> Tile:
    """Return the next value of `dtype` above (if `up`) or below each of `values`."""
    if dtype == DType.TF32:
        step = np.ldexp(np.float32(1), np.frexp(values)[1] - 1 - _TF32_MANTISSA)
        return np.asarray(values + np.where(up, step, -step))
    ends = np.where(up, np.float32(np.inf), np.float32(-np.inf))
    if np.dtype(values.dtype) in (np.dtype(np.float16), np.dtype(np.float32)):
        return np.asarray(np.nextafter(values, ends.astype(values.dtype)))
    return _next_code(values, up)


def _next_code(values: Tile, up: Tile) -> Tile:
    """Return the neighbours in a type of one or two bytes, using its sign-magnitude codes."""
    width = 8 * values.dtype.itemsize
    codes = np.ascontiguousarray(values).view(f"u{width // 8}").astype(np.int32)
    sign = 1 << (width - 1)
    magnitude = codes & (sign - 1)
    away = np.where((codes & sign) != 0, ~up, up)
    from_zero = np.where(up, 1, sign | 1)
    found = np.where(magnitude == 0, from_zero, codes + np.where(away, 1, -1))
    return found.astype(f"u{width // 8}").view(values.dtype).reshape(values.shape)


_CURRENT: ContextVar[Perturbation | None] = ContextVar("neuronir_rounding", default=None)


def perturbation() -> Perturbation | None:
    """Return the perturbation of this run, if any."""
    return _CURRENT.get()


@contextmanager
def perturbing(chosen: Perturbation | None) -> Iterator[None]:
    """Perturb roundings according to `chosen` while the context is active."""
    token = _CURRENT.set(chosen)
    try:
        yield
    finally:
        _CURRENT.reset(token)
