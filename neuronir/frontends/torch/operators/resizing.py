"""Import resizing, and sampling at data-dependent positions."""

from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.resizing import Samples, interpolate, nearest, resize_all
from neuronir.frontends.graph.sampling import in_elements, sample
from neuronir.frontends.torch.node import Node, rank, shape
from neuronir.frontends.torch.registry import Function, operator

CUBIC = -0.75
"""torch's coefficient of cubic interpolation."""


def _scales(n: Node, spatial: int) -> list[float | None]:
    """Return the scale factors of the model; None if they follow from the sizes."""
    listed = n.arguments.get("scale_factors")
    if listed is not None:
        return [float(s) for s in listed]
    names = {1: ["scales"], 2: ["scales_h", "scales_w"], 3: ["scales_d", "scales_h", "scales_w"]}
    found = [n.arguments.get(name) for name in names[spatial]]
    return [None if s is None else float(s) for s in found]


def _resized(spatial: int, mode: str, transform: str) -> Function:
    def build(n: Node) -> SSAValue:
        x = n["input"] if "input" in n.arguments else n["self"]
        axes = list(range(2, 2 + spatial))
        corners = bool(n.value("align_corners", False))
        samples = []
        for axis, given in zip(axes, _scales(n, spatial), strict=True):
            old, new = shape(x)[axis], n.dims()[axis]
            scale = new / old if given is None or given <= 0 else given
            samples.append(Samples(new, scale, transform))
            if corners:
                samples[-1] = Samples(new, new / old, "align_corners")
        if mode == "nearest":
            rounding = "floor" if transform == "asymmetric" else "round_prefer_ceil"
            return resize_all(
                n.b, x, axes, samples, lambda v, a, s: nearest(n.b, v, a, s, rounding)
            )
        cubic = CUBIC if mode == "cubic" else None
        antialias = "_aa" in n.name
        value = n.b.convert(x, f32)
        made = resize_all(
            n.b,
            value,
            axes,
            samples,
            lambda v, a, s: interpolate(n.b, v, a, s, cubic=cubic, antialias=antialias),
        )
        return n.cast(made)

    return build


for _count in (1, 2, 3):
    operator(f"upsample_nearest{_count}d", kept=True)(_resized(_count, "nearest", "asymmetric"))
    operator(f"_upsample_nearest_exact{_count}d", kept=True)(
        _resized(_count, "nearest", "half_pixel")
    )
operator("upsample_linear1d", kept=True)(_resized(1, "linear", "half_pixel"))
operator("upsample_bilinear2d", kept=True)(_resized(2, "linear", "half_pixel"))
operator("upsample_trilinear3d", kept=True)(_resized(3, "linear", "half_pixel"))
operator("upsample_bicubic2d", kept=True)(_resized(2, "cubic", "half_pixel"))


@operator("grid_sampler_2d", "grid_sampler_3d", "grid_sampler", kept=True)
def _grid_sampler(n: Node) -> SSAValue:
    b, x, grid = n.b, n["input"], n["grid"]
    batch, channels, *spatial = shape(x)
    made = shape(grid)[1:-1]
    mode = ["linear", "nearest", "cubic"][n.value("interpolation_mode", 0)]
    padding = ["zeros", "border", "reflection"][n.value("padding_mode", 0)]
    corners = bool(n.value("align_corners", False))
    if mode == "cubic" and rank(x) != 4:
        refuse("cubic interpolation of volumes is not supported")
    flat = b.reshape(grid, (batch, prod(made), len(spatial)))
    places = []
    for i, size in enumerate(spatial):
        k = len(spatial) - 1 - i  # the grid starts with the innermost dimension
        part = b.slice(flat, [0, 0, k], [batch, prod(made), k + 1])
        places.append(in_elements(b, b.reshape(part, (batch, prod(made))), size, corners=corners))
    found = sample(b, x, places, mode, padding, corners=corners)
    return b.reshape(found, (batch, channels, *made))
