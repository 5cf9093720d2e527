"""Import resizing, cropping, and colour conversion of images."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.frontends.graph import activations as A
from neuronir.frontends.graph import resizing as S
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along, broadcast_to
from neuronir.frontends.graph.indexing import take
from neuronir.frontends.graph.linear import dot
from neuronir.frontends.graph.reductions import mean
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import shape

LARGEST_SIDE = 1 << 16
"""Images are resized to at most this many rows and columns."""

Places = npt.NDArray[np.float32]


def _sizes(o: Op, index: int = 1) -> tuple[int, int]:
    sizes = o.ints(index, "the new size")
    if len(o.dims()) != 4 or len(sizes) != 2 or min(sizes) < 1 or 0 in o.dims():
        refuse(f"size {list(sizes)} does not fit images of shape {list(o.dims())}")
    if max(sizes) > LARGEST_SIDE:
        refuse(f"size {list(sizes)} is too large")
    return sizes[0], sizes[1]


def _places(o: Op, old: int, new: int, *, shift: float) -> Places:
    """Return the position of each new element in the old dimension, in f32 as TensorFlow does.

    `shift` is subtracted if pixel centres are at halves.
    """
    corners = o.bool("align_corners", False) and new > 1
    scale = np.float32((old - 1) / (new - 1)) if corners else np.float32(old / new)
    i = np.arange(new, dtype=np.float32)
    if o.bool("half_pixel_centers", False):
        found: Places = (i + np.float32(0.5)) * scale - np.float32(shift)
        return found
    return i * scale


@op("ResizeNearestNeighbor")
def resize_nearest(o: Op) -> SSAValue:
    """Resize with the nearest old pixels."""
    value = o[0]
    for axis, new in zip((1, 2), _sizes(o), strict=True):
        old = shape(value)[axis]
        places = _places(o, old, new, shift=0)
        corners = o.bool("align_corners", False)
        chosen = np.floor(places + np.float32(0.5)) if corners else np.floor(places)
        value = S.pick(o.b, value, axis, np.clip(chosen, 0, old - 1).astype(np.int32))
    return value


@op("ResizeBilinear")
def resize_bilinear(o: Op) -> SSAValue:
    """Resize bilinearly; the result is f32."""
    value = o.b.convert(o[0], f32)
    for axis, new in zip((1, 2), _sizes(o), strict=True):
        old = shape(value)[axis]
        places = _places(o, old, new, shift=0.5)
        if old != new or not np.array_equal(places, np.arange(old)):
            _check_matrix(old, new)
            below = np.floor(places)
            ends = np.stack([np.clip(below, 0, old - 1), np.clip(below + 1, 0, old - 1)], 1)
            parts = np.stack([1 - (places - below), places - below], 1)
            value = S.weighted(o.b, value, axis, _matrix(ends, parts, old))
    return value


@op("ResizeBicubic")
def resize_bicubic(o: Op) -> SSAValue:
    """Resize bicubically; the result is f32.

    TensorFlow looks the weights up in a table of 1024 steps. If centres are at halves, the kernel
    is Keys' (a = -0.5) and pixels beyond the edge have no weight. Otherwise a = -0.75 and the edge
    repeats.
    """
    value = o.b.convert(o[0], f32)
    half = o.bool("half_pixel_centers", False)
    for axis, new in zip((1, 2), _sizes(o), strict=True):
        old = shape(value)[axis]
        _check_matrix(old, new)
        places = _places(o, old, new, shift=0.5)
        below = np.floor(places)
        steps = np.rint((places - below) * 1024).astype(np.float64) / 1024
        taps = below[:, None] + np.arange(-1, 3)
        distance = np.abs(steps[:, None] - np.arange(-1, 3))
        parts = S.keys_kernel(distance, -0.5 if half else -0.75)
        if half:
            parts = np.where((taps >= 0) & (taps < old), parts, 0)
            total = parts.sum(1, keepdims=True)
            parts = parts / total
        value = S.weighted(o.b, value, axis, _matrix(np.clip(taps, 0, old - 1), parts, old))
    return value


def _check_matrix(old: int, new: int) -> None:
    if old * new > S.LARGEST_MATRIX:
        refuse(f"a dimension of {old} is too large to be resized to {new}")


def _matrix(taps: npt.NDArray[np.floating], parts: npt.NDArray[np.floating], old: int) -> S.Numbers:
    """Return a weight matrix; row i holds the weights of the old elements in new element i."""
    matrix = np.zeros((taps.shape[0], old))
    rows = np.arange(taps.shape[0])
    for k in range(taps.shape[1]):
        np.add.at(matrix, (rows, taps[:, k].astype(np.int64)), parts[:, k])
    return matrix


@op("CropAndResize")
def crop_and_resize(o: Op) -> SSAValue:
    """Crop boxes from images and resize each to one size; boxes may depend on data.

    Along each axis the new pixels are a product with a weight matrix that the box determines.
    """
    b, dims = o.b, o.dims()
    if o.dims(1)[1:] != (4,) or o.dims(2) != o.dims(1)[:1]:
        refuse("it takes four coordinates and an image index for each box")
    sizes = _sizes(o, 3)
    method = o.text("method", "bilinear")
    if method not in ("bilinear", "nearest"):
        refuse(f"the method '{method}' is not known", "bilinear or nearest")
    count = o.dims(1)[0]
    images = take(b, b.convert(o[0], f32), o[2], 0)
    inside: list[SSAValue] = []
    for k, (new, old) in enumerate(zip(sizes, dims[1:3], strict=True)):
        first, last = (
            b.reshape(b.slice(o[1], [0, j], [count, j + 1]), (count,)) for j in (k, k + 2)
        )
        places = _box_places(b, first, last, new, old)
        wide = (count, new, old)
        apart = b.binary("subtract", along(b, places, wide, 0, 1), b.iota(wide, 2, f32))
        if method == "bilinear":
            hat = b.binary("subtract", b.fill_like(1, apart), b.unary("abs", apart))
            weights = A.relu(b, hat)
        else:
            nearest = along(b, b.unary("round_nearest_afz", places), wide, 0, 1)
            weights = b.convert(b.compare(nearest, b.iota(wide, 2, f32), "EQ"), f32)
        # images: box, height, width, features; the resized axis moves to the end and back.
        images = dot(b, images, weights, ([1 + k], [2]), ([0], [0]))
        images = b.transpose(images, (0, 3, 1, 2) if k == 0 else (0, 1, 3, 2))
        within = b.binary(
            "and",
            b.compare_number(places, 0, "GE"),
            b.compare_number(places, old - 1, "LE"),
        )
        inside.append(within)
    out = (count, *sizes, dims[3])
    kept = b.binary("and", along(b, inside[0], out, 0, 1), along(b, inside[1], out, 0, 2))
    return b.select(kept, images, b.fill(o.float("extrapolation_value", 0.0), images.type))


def _box_places(b: BlockBuilder, first: SSAValue, last: SSAValue, new: int, old: int) -> SSAValue:
    """Return the position of each new pixel of each box: (boxes, new)."""
    dims = (shape(first)[0], new)
    if new == 1:
        middle = b.binary_number("multiply", b.binary("add", first, last), 0.5 * (old - 1))
        return along(b, middle, dims, 0)
    step = b.binary_number("multiply", b.binary("subtract", last, first), (old - 1) / (new - 1))
    start = b.binary_number("multiply", first, old - 1)
    moved = b.binary("multiply", along(b, step, dims, 0), b.iota(dims, 1, f32))
    return b.binary("add", along(b, start, dims, 0), moved)


# --- colours


def _channels(o: Op, value: SSAValue) -> list[SSAValue]:
    dims = shape(value)
    if not dims or dims[-1] != 3:
        refuse(f"the last dimension of {list(dims)} must be three colours")
    rest = [0] * (len(dims) - 1)
    return [o.b.slice(value, [*rest, i], [*dims[:-1], i + 1]) for i in range(3)]


def _to_hsv(o: Op, value: SSAValue) -> list[SSAValue]:
    b = o.b
    red, green, blue = _channels(o, value)
    high = b.binary("maximum", red, b.binary("maximum", green, blue))
    low = b.binary("minimum", red, b.binary("minimum", green, blue))
    span = b.binary("subtract", high, low)
    zero = b.fill_like(0, high)
    saturation = b.select(b.compare(high, zero, "GT"), b.binary("divide", span, high), zero)
    norm = b.binary_number("divide", A.reciprocal(b, span), 6)

    def part(x: SSAValue, y: SSAValue, turn: float) -> SSAValue:
        return b.binary_number("add", b.binary("multiply", norm, b.binary("subtract", x, y)), turn)

    hue = b.select(b.compare(green, high, "EQ"), part(blue, red, 2 / 6), part(red, green, 4 / 6))
    hue = b.select(b.compare(red, high, "EQ"), part(green, blue, 0), hue)
    hue = b.select(b.compare(span, zero, "GT"), hue, zero)
    hue = b.select(b.compare(hue, zero, "LT"), b.binary_number("add", hue, 1), hue)
    return [hue, saturation, high]


def _to_rgb(o: Op, hue: SSAValue, saturation: SSAValue, value: SSAValue) -> SSAValue:
    b = o.b
    turn = b.binary_number("multiply", hue, 6)

    def bump(centre: int) -> SSAValue:
        return b.unary("abs", b.binary_number("subtract", turn, centre))

    parts = [A.clip(b, b.binary_number("subtract", bump(3), 1), 0, 1)]
    for centre in (2, 4):
        part = b.binary("subtract", b.fill_like(2, turn), bump(centre))
        parts.append(A.clip(b, part, 0, 1))
    grey = b.binary("subtract", b.fill_like(1, saturation), saturation)
    colours = [
        b.binary("multiply", b.binary("add", grey, b.binary("multiply", saturation, p)), value)
        for p in parts
    ]
    return b.concatenate(colours, len(shape(hue)) - 1)


@op("RGBToHSV")
def rgb_to_hsv(o: Op) -> SSAValue:
    """Convert to hue, saturation and value, each 0 to 1."""
    parts: Sequence[SSAValue] = _to_hsv(o, o[0])
    return o.b.concatenate(parts, len(o.dims()) - 1)


@op("HSVToRGB")
def hsv_to_rgb(o: Op) -> SSAValue:
    """Convert hue, saturation and value to red, green and blue."""
    return _to_rgb(o, *_channels(o, o[0]))


def _scalar(o: Op, index: int, like: SSAValue) -> SSAValue:
    return broadcast_to(o.b, o.b.convert(o.b.reshape(o[index], ()), f32), shape(like))


@op("AdjustSaturation")
def adjust_saturation(o: Op) -> SSAValue:
    """Scale the saturation."""
    b = o.b
    hue, saturation, value = _to_hsv(o, b.convert(o[0], f32))
    saturation = b.binary("multiply", saturation, _scalar(o, 1, saturation))
    return b.convert(_to_rgb(o, hue, A.clip(b, saturation, 0, 1), value), o.element())


@op("AdjustHue")
def adjust_hue(o: Op) -> SSAValue:
    """Rotate the hue; 1 is a full turn."""
    b = o.b
    hue, saturation, value = _to_hsv(o, b.convert(o[0], f32))
    hue = b.binary("add", hue, _scalar(o, 1, hue))
    hue = b.binary("subtract", hue, b.unary("floor", hue))
    return b.convert(_to_rgb(o, hue, saturation, value), o.element())


@op("AdjustContrastv2")
def adjust_contrast(o: Op) -> SSAValue:
    """Scale the distance from the mean of each image and colour."""
    b, rank = o.b, len(o.dims())
    if rank < 3:
        refuse(f"it takes images, has shape {list(o.dims())}")
    x = b.convert(o[0], f32)
    middle = broadcast_to(b, mean(b, x, [rank - 3, rank - 2], keep=True), o.dims())
    apart = b.binary("subtract", x, middle)
    scaled = b.binary("multiply", apart, _scalar(o, 1, apart))
    return b.convert(b.binary("add", scaled, middle), o.element())
