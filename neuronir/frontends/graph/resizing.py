"""Resize along dimensions: nearest, linear and cubic, for every rule of sample positions."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import is_float, np_dtype
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.indexing import take
from neuronir.frontends.graph.linear import dot
from neuronir.passes.hlo.support.values import element, shape

Numbers = npt.NDArray[np.float64]
LARGEST_MATRIX = 1 << 24
"""The weights of one dimension have at most this many values."""
LARGEST_REACH = 1 << 16
"""A filter reads at most this many old elements on either side."""


@dataclass(frozen=True)
class Samples:
    """How one dimension is resized.

    `size` is the new size. `scale` is new over old as given by the model, which need not be the
    quotient of the sizes. `transform` names the rule for the position of sample i in the old
    dimension. `region` is the part of the old dimension that tf_crop_and_resize reads (0 to 1).
    """

    size: int
    scale: float
    transform: str = "half_pixel"
    region: tuple[float, float] = (0.0, 1.0)

    def places(self, old: int) -> Numbers:
        """Return the position of each new sample in the old dimension."""
        i, new, scale = np.arange(self.size, dtype=np.float64), self.size, self.scale
        length = old * scale
        if self.transform == "half_pixel":
            return (i + 0.5) / scale - 0.5
        if self.transform == "half_pixel_symmetric":
            adjustment = new / length
            return old / 2 * (1 - adjustment) + (i + 0.5) / scale - 0.5
        if self.transform == "pytorch_half_pixel":
            return (i + 0.5) / scale - 0.5 if new > 1 else np.zeros_like(i)
        if self.transform == "align_corners":
            return i * (old - 1) / (length - 1) if length > 1 else np.zeros_like(i)
        if self.transform == "asymmetric":
            return i / scale
        if self.transform == "tf_half_pixel_for_nn":
            return (i + 0.5) / scale
        if self.transform == "tf_crop_and_resize":
            start, end = self.region
            if new > 1:
                return start * (old - 1) + i * (end - start) * (old - 1) / (new - 1)
            return np.full_like(i, 0.5 * (start + end) * (old - 1))
        refuse(f"the coordinate transformation '{self.transform}' is not known")


ROUND: dict[str, Callable[[Numbers], Numbers]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
"""Rounding rules for `nearest`, by ONNX's names."""


def nearest(
    b: BlockBuilder,
    value: SSAValue,
    axis: int,
    samples: Samples,
    rounding: str = "round_prefer_floor",
) -> SSAValue:
    """Take the old element nearest to the position of each new element."""
    if rounding not in ROUND:
        refuse(f"the rounding '{rounding}' is not known", ", ".join(ROUND))
    old = shape(value)[axis]
    chosen = np.clip(ROUND[rounding](samples.places(old)), 0, old - 1).astype(np.int32)
    return pick(b, value, axis, chosen)


def pick(b: BlockBuilder, value: SSAValue, axis: int, chosen: npt.NDArray[np.int32]) -> SSAValue:
    """Take the elements at known positions by repeating, by a strided slice, or by a gather."""
    dims = shape(value)
    old, new = dims[axis], chosen.size
    factor = new // old
    if factor and np.array_equal(chosen, np.repeat(np.arange(old), factor)):
        wide = (*dims[: axis + 1], factor, *dims[axis + 1 :])
        spread = b.broadcast(value, wide, [d for d in range(len(wide)) if d != axis + 1])
        return b.reshape(spread, (*dims[:axis], new, *dims[axis + 1 :]))
    step = int(chosen[1] - chosen[0]) if new > 1 else 1
    if step > 0 and np.array_equal(chosen, chosen[0] + step * np.arange(new)):
        low, high, steps = [0] * len(dims), list(dims), [1] * len(dims)
        low[axis], high[axis], steps[axis] = int(chosen[0]), int(chosen[-1]) + 1, step
        return b.slice(value, low, high, steps)
    return take(b, value, b.constant(chosen), axis)


def interpolate(
    b: BlockBuilder,
    value: SSAValue,
    axis: int,
    samples: Samples,
    *,
    cubic: float | None = None,
    antialias: bool = False,
    exclude_outside: bool = False,
    outside: float | None = None,
) -> SSAValue:
    """Interpolate linearly, or cubically with the coefficient `cubic` (-0.75, -0.5).

    `antialias` widens the filter when shrinking. `exclude_outside` gives samples beyond the edge no
    weight (else the edge repeats). `outside` is the value of new elements whose position is outside
    the old dimension. The result is a product with a weight matrix.
    """
    if not is_float(element(value)):
        refuse(f"interpolation of {element(value)} is not supported", "cast to float32 first")
    old = shape(value)[axis]
    if samples.size * old > LARGEST_MATRIX:
        refuse(f"a dimension of {old} is too large to be resized to {samples.size}")
    places = samples.places(old)
    matrix = _weights(places, old, samples.scale, cubic, antialias, exclude_outside)
    beyond = (places < 0) | (places > old - 1) if outside is not None else None
    if beyond is not None:
        matrix[beyond] = 0
    result = weighted(b, value, axis, matrix)
    if beyond is None or not bool(beyond.any()) or outside is None:
        return result
    fill = b.constant(np.where(beyond, outside, 0).astype(np_dtype(element(value))))
    return b.binary("add", result, b.broadcast(fill, shape(result), [axis]))


def weighted(b: BlockBuilder, value: SSAValue, axis: int, matrix: Numbers) -> SSAValue:
    """Multiply an axis by a weight matrix, whose row i has the weights of new element i."""
    if matrix.size > LARGEST_MATRIX:
        refuse(f"a dimension of {matrix.shape[1]} is too large to be resized to {matrix.shape[0]}")
    weights = b.constant(matrix.astype(np_dtype(element(value))))
    result = dot(b, value, weights, ([axis], [1]))
    order = list(range(len(shape(value)) - 1))
    order.insert(axis, len(order))
    return b.transpose(result, order)


def _weights(
    places: Numbers,
    old: int,
    scale: float,
    cubic: float | None,
    antialias: bool,
    exclude_outside: bool,
) -> Numbers:
    """Return the weight matrix; row i holds the weights of the old elements in new element i."""
    stretch = max(1.0, 1.0 / scale) if antialias else 1.0
    radius = (1.0 if cubic is None else 2.0) * stretch
    if radius > LARGEST_REACH:
        refuse(f"a filter that reaches {radius:g} elements is not supported")
    reach = math.ceil(radius)
    matrix = np.zeros((places.size, old))
    for row, place in enumerate(places):
        first = math.floor(place) - reach + 1
        taps = np.arange(first, first + 2 * reach)
        distance = np.abs(taps - place) / stretch
        weight = _hat(distance) if cubic is None else keys_kernel(distance, cubic)
        if exclude_outside or antialias:
            weight = np.where((taps >= 0) & (taps < old), weight, 0) if exclude_outside else weight
            weight = weight / weight.sum()
        np.add.at(matrix[row], np.clip(taps, 0, old - 1), weight)
    return matrix


def _hat(distance: Numbers) -> Numbers:
    return np.maximum(0, 1 - distance)


def keys_kernel(x: Numbers, a: float) -> Numbers:
    """Evaluate Keys' convolution kernel."""
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def resize_all(
    b: BlockBuilder,
    value: SSAValue,
    axes: Sequence[int],
    samples: Sequence[Samples],
    resize: Callable[[SSAValue, int, Samples], SSAValue],
) -> SSAValue:
    """Resize several axes one after another, skipping those that do not change."""
    for axis, sample in zip(axes, samples, strict=True):
        same = sample.size == shape(value)[axis] and sample.scale == 1
        if not same or sample.transform == "tf_crop_and_resize":
            value = resize(value, axis, sample)
    return value
