"""The values of parameters, by domain: ordinary numbers, whole ones, extremes, special values."""

import ml_dtypes
import numpy as np

from tests.differential.second.program import Array, Shape

_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-3, 7.75)


def draw_array(rng: np.random.Generator, shape: Shape, domain: str) -> Array:
    """An array of `shape`. Domains: normal, small (whole numbers), wide (many magnitudes),
    special (zeros, infinities, extremes), positive, unit (inside -1 to 1), subnormal, and
    `index:LOW:HIGH`, mostly inside, with some far outside."""
    dims, dtype = shape.dims, shape.numpy
    if domain.startswith("index:"):
        low, high = map(int, domain.split(":")[1:])
        return _indices(rng, shape, low, high)
    if shape.dtype == "pred":
        return np.asarray(rng.integers(0, 2, dims).astype(np.bool_))
    if dtype.kind in "iu":
        return _integers(rng, shape, domain)
    if dtype.kind == "c":
        return np.asarray((rng.normal(size=dims) + 1j * rng.normal(size=dims)).astype(dtype))
    numbers = rng.normal(size=dims)
    if domain == "positive":
        numbers = np.abs(numbers) + 0.25
    elif domain == "unit":
        numbers = np.tanh(numbers)
    elif domain == "small":
        numbers = rng.integers(-4, 5, dims).astype(np.float64)
    elif domain == "wide":
        numbers = numbers * np.exp2(rng.integers(-6, 5, dims))
    elif domain == "subnormal":
        return np.asarray((numbers * 1e-39).astype(dtype))
    elif domain == "special":
        info = ml_dtypes.finfo(dtype)
        extremes = [float(info.max), float(info.min), float(info.smallest_normal)]
        chosen = rng.choice(np.array([*_SPECIAL, *extremes]), dims)
        numbers = np.where(rng.random(dims) < 0.3, chosen, numbers)
    with np.errstate(all="ignore"):
        return np.asarray(np.asarray(numbers).astype(dtype))


def _integers(rng: np.random.Generator, shape: Shape, domain: str) -> Array:
    info = np.iinfo(shape.numpy)
    low, high = int(info.min), int(info.max)
    if domain in ("small", "unit", "normal"):
        low, high = max(low, -9), 9
    if domain == "positive":
        low, high = 1, 9
    found = rng.integers(low, high, shape.dims, dtype=shape.numpy, endpoint=True)
    if domain == "special":
        ends = np.array([info.min, info.max, 0, 1, info.max - 1], shape.numpy)
        found = np.where(rng.random(shape.dims) < 0.5, rng.choice(ends, shape.dims), found)
    return np.asarray(found).astype(shape.numpy)


def _indices(rng: np.random.Generator, shape: Shape, low: int, high: int) -> Array:
    info = np.iinfo(shape.numpy)
    inside = rng.integers(max(low, info.min), min(high, info.max), shape.dims, endpoint=True)
    most = min(int(info.max), 2**62)
    ends = np.array([max(low - 1, info.min), min(high + 1, most), info.min, most])
    outside = rng.choice(ends.astype(np.int64), shape.dims)
    return np.asarray(np.where(rng.random(shape.dims) < 0.15, outside, inside)).astype(shape.numpy)
