"""Sum large fp32 weights in float64, in bands that fit in a cache when widened."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.hlo.resources import Magnitudes

_BAND = 1 << 17  # elements


def weighted_sum(
    vector: NDArray[np.float64], rows: NDArray[np.float32], seen: Magnitudes
) -> NDArray[np.float64]:
    """Compute vector [k] @ rows [k, n] in float64, in the storage order of rows; `seen` sees
    them.
    """
    if rows.flags.c_contiguous:
        total = np.zeros(rows.shape[1])
        for band, wide in _widened(rows, seen):
            total += vector[band] @ wide
        return total
    total = np.empty(rows.shape[1])
    for band, wide in _widened(np.ascontiguousarray(rows.T), seen):
        total[band] = wide @ vector
    return total


def row_sums(rows: NDArray[np.float32], seen: Magnitudes) -> NDArray[np.float64]:
    """Sum each row of `rows` [n, k] (row-major) in float64; `seen` sees them."""
    sums, ones = np.empty(len(rows)), np.ones(rows.shape[1])
    for band, wide in _widened(rows, seen):
        sums[band] = wide @ ones
    return sums


def _widened(
    rows: NDArray[np.float32], seen: Magnitudes
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield bands of rows (row-major) in float64, each overwriting the previous one."""
    height = max(1, _BAND // max(1, rows.shape[1]))
    room = np.empty((min(height, len(rows)), rows.shape[1]))
    for start in range(0, len(rows), height):
        band = rows[start : start + height]
        seen.see(band)  # brings it into the cache
        wide = room[: len(band)]
        np.copyto(wide, band)
        yield slice(start, start + height), wide
