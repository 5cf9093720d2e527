"""Multiply weights by a factor along one dimension, if that costs at most one rounding."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuronir.dialects.hlo.resources import is_large, largest, least
from neuronir.dialects.support.lazy import LazyArray

Weights = NDArray[np.float32]

_PIECE = 1 << 16  # elements processed together, so that they fit in a cache
_SAFE = 0.99  # the bound that rounding of products may change
_TINY = int(np.array(np.finfo(np.float32).tiny).view(np.uint32))
_INFINITE = int(np.array(np.inf, np.float32).view(np.uint32))
_SIZE = np.uint32(0x7FFFFFFF)  # the bits of a value without its sign


def scale_weights(
    weights: NDArray[Any] | LazyArray, factor: Weights, axis: int
) -> Weights | LazyArray | None:
    """Compute weights * factor, with `factor` by index along `axis`, row-major; lazy if large.

    Returns None if a product is infinite, NaN or subnormal, or becomes zero although neither factor
    is zero.
    """
    if is_large(weights.nbytes):
        if isinstance(weights, np.ndarray):
            weights = LazyArray.of(np.ascontiguousarray(weights))
        if _surely_usual(weights, factor):
            return weights.times(factor, axis)
        weights = np.asarray(weights)
    weights = np.ascontiguousarray(weights)
    scaled = np.empty_like(weights)
    along = [1] * weights.ndim
    along[axis] = factor.size
    factor = factor.reshape(along)
    rows = max(1, _PIECE // max(1, weights[:1].size))
    with np.errstate(all="ignore"):
        for start in range(0, len(weights), rows):
            piece = slice(start, start + rows)
            by = factor[piece] if axis == 0 else factor
            np.multiply(weights[piece], by, out=scaled[piece])
            if not _usual(scaled[piece], weights[piece], by):
                return None
    return scaled


def _surely_usual(weights: NDArray[Any] | LazyArray, factor: Weights) -> bool:
    """Return whether the largest and smallest magnitudes alone guarantee that."""
    limits = np.finfo(np.float32)
    fewest = least(weights) * least(factor)
    most = largest(weights) * largest(factor)
    return most < _SAFE * float(limits.max) and fewest > float(limits.tiny) / _SAFE


def _usual(products: Weights, weights: Weights, factor: Weights) -> bool:
    """Return whether products are finite, and none is subnormal or zero without a zero factor."""
    size = products.view(np.uint32) & _SIZE
    if int(size.max(initial=0)) >= _INFINITE:
        return False
    if int(size.min(initial=_INFINITE)) >= _TINY:
        return True
    return bool(((size >= _TINY) | (weights == 0.0) | (factor == 0.0)).all())
