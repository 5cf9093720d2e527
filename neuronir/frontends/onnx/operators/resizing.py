"""Import Resize and Upsample."""

import math

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.reductions import axis_from
from neuronir.frontends.graph.resizing import Samples, interpolate, nearest, resize_all
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape


@operator("Upsample")
def _upsample(n: Node) -> SSAValue:
    scales = n.floats("scales") if n.opset < 9 else _numbers(n, 1)
    return _resized(n, scales, None, "asymmetric", "floor")


@operator("Resize")
def _resize_10(n: Node) -> SSAValue:
    return _resized(n, _numbers(n, 1), None, "asymmetric", "floor")


@operator("Resize", since=11)
def _resize(n: Node) -> SSAValue:
    transform = n.text("coordinate_transformation_mode", "half_pixel")
    rounding = n.text("nearest_mode", "round_prefer_floor")
    sizes = _numbers(n, 3)
    return _resized(n, None if sizes else _numbers(n, 2), sizes, transform, rounding)


def _numbers(n: Node, index: int) -> list[float] | None:
    """Return the values of an operand that must be known; None if it is absent or empty."""
    value = n.get(index)
    if value is None or 0 in shape(value):
        return None
    return [float(v) for v in n.b.need_known(value, f"input {index}").reshape(-1)]


def _resized(
    n: Node,
    scales: list[float] | None,
    sizes: list[float] | None,
    transform: str,
    rounding: str,
) -> SSAValue:
    dims = shape(n[0])
    axes = [axis_from(a, len(dims)) for a in n.ints("axes") or range(len(dims))]
    given = scales or sizes
    if given is None or len(given) != len(axes) or min(given) <= 0:
        refuse("it needs positive scales or sizes, one for each axis")
    samples = _samples(n, [dims[a] for a in axes], scales, sizes, transform)
    outside = n.number("extrapolation_value", 0.0) if transform == "tf_crop_and_resize" else None
    mode = n.text("mode", "nearest")
    value = n[0]
    if mode == "nearest":
        return resize_all(
            n.b,
            value,
            axes,
            samples,
            lambda v, axis, s: _outside(n, nearest(n.b, v, axis, s, rounding), axis, s, v, outside),
        )
    if mode not in ("linear", "cubic"):
        refuse(f"mode '{mode}' is not known")
    cubic = n.number("cubic_coeff_a", -0.75) if mode == "cubic" else None
    own = element(value)
    value = value if is_float(own) else n.b.convert(value, f32)
    value = resize_all(
        n.b,
        value,
        axes,
        samples,
        lambda v, axis, s: interpolate(
            n.b,
            v,
            axis,
            s,
            cubic=cubic,
            antialias=n.flag("antialias"),
            exclude_outside=n.flag("exclude_outside"),
            outside=outside,
        ),
    )
    return n.b.convert(value, own)


def _samples(
    n: Node,
    old: list[int],
    scales: list[float] | None,
    sizes: list[float] | None,
    transform: str,
) -> list[Samples]:
    region = [0.0] * len(old) + [1.0] * len(old)
    if transform == "tf_crop_and_resize":
        region = _numbers(n, 1) or region
    if scales is None:
        assert sizes is not None
        scales = [new / count for new, count in zip(sizes, old, strict=True)]
        policy = n.text("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            one = min(scales) if policy == "not_larger" else max(scales)
            scales = [one] * len(old)
            sizes = [math.floor(one * count + 0.5) for count in old]
    else:
        sizes = []
        for i, (scale, count) in enumerate(zip(scales, old, strict=True)):
            part = region[i + len(old)] - region[i] if transform == "tf_crop_and_resize" else 1.0
            sizes.append(math.floor(count * part * scale + 1e-9))
    return [
        Samples(int(size), scale, transform, (region[i], region[i + len(old)]))
        for i, (size, scale) in enumerate(zip(sizes, scales, strict=True))
    ]


def _outside(
    n: Node,
    value: SSAValue,
    axis: int,
    samples: Samples,
    before: SSAValue,
    outside: float | None,
) -> SSAValue:
    """Replace new elements whose position is outside the old dimension by a constant."""
    old = shape(before)[axis]
    places = samples.places(old)
    beyond = (places < 0) | (places > old - 1)
    if outside is None or not bool(beyond.any()):
        return value
    mask = n.b.broadcast(n.b.constant(np.asarray(beyond)), shape(value), [axis])
    return n.b.select(mask, n.b.fill_like(outside, value), value)
