"""Rewrite convolutions for tiling: dilated images by phases, explicit padding, taps joined to few
features, and gradients and single taps as dots."""

from itertools import product
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.flops import pass_flops
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.hlo.unary import ConvertOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, integer, ints
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.lowering.convolution.numbers import Numbers, numbers_of_op
from neuronir.passes.tile.group import views_between
from neuronir.passes.tile.join_taps import join_taps, joined_dimension, padded_image
from neuronir.passes.tile.patches import dot_of_patches, has_patches
from neuronir.passes.tile.space_to_depth import joins, space_to_depth, window_of
from neuronir.passes.tile.split_phases import has_phases, split_phases

LEAST_FEATURES = 32
"""From this number of features, a group fills enough partitions."""
MANY_TAPS = 64
"""Taps of a kernel as large as the image: a gradient with respect to another kernel."""
MOST_PLACES = 64
"""Limit of result positions of such a convolution, each a dot."""


def expand_convolution(op: Operation) -> None:
    """Rewrite a convolution in a form with layouts and a tiling rule, if there is one."""
    if not isinstance(op, ConvolutionOp) or integer(op, "batch_group_count") != 1:
        return
    take_reversal(op)
    _fill_broadcasts(op)
    n = numbers_of_op(op)
    if has_phases(n):
        new, parts = split_phases(Emitter(op), op, n)
        op.result.replace_all_uses_with(new)
        erase_dead(op)
        for part in parts:
            expand_convolution(part)
        return
    taps = [shape_of(op.rhs)[d] for d in n.k_spatial]
    places = [shape_of(op.result)[d] for d in n.o_spatial]
    small = shape_of(op.rhs)[n.k_in] < LEAST_FEATURES
    build = Emitter(op)
    if prod(taps) > MANY_TAPS and prod(places) <= MOST_PLACES and n.groups == 1:
        new = _products(build, op, n)
    elif not n.spatial or (prod(taps) == 1 and n.groups == 1 and not any((*n.low, *n.high))):
        new = _product(build, op, n)
    elif has_patches(op, n):
        new = dot_of_patches(build, op, n)
    elif (along := joined_dimension(op, n)) is not None and joins(window_of(op, n), along):
        new = join_taps(build, op, n, along)
    elif small and (n.groups > 1 or window_of(op, n).best() is None):
        return
    else:
        new = _padded(build, op, n)
    op.result.replace_all_uses_with(new)
    erase_dead(op)
    for part in _convolutions(new):
        whole = space_to_depth(part)
        if whole is not part.result:
            part.result.replace_all_uses_with(whole)
            erase_dead(part)


def _fill_broadcasts(op: ConvolutionOp) -> None:
    """Copy operands that are broadcasts: windows are addresses of elements, which must exist."""
    for i, v in enumerate(op.operands):
        if any(view.name == "hlo.broadcast" for view in views_between(v)):
            op.operands[i] = Emitter(op).unary("copy", v)


def _convolutions(value: SSAValue) -> list[ConvolutionOp]:
    """Return the convolution that a value is a view of."""
    while isinstance(op := value.owner, Operation) and op.name == "hlo.transpose":
        value = op.operands[0]
    return [op] if isinstance(op, ConvolutionOp) else []


def take_reversal(op: ConvolutionOp) -> None:
    """Fold a reversal of the kernel along its spatial dimensions into `window_reversal`.

    A conversion between the reversal and the convolution is kept.
    """
    n, reverse = numbers_of_op(op), op.rhs.owner
    convert = reverse if isinstance(reverse, ConvertOp) else None
    if convert is not None:
        reverse = convert.operands[0].owner
    if not isinstance(reverse, Operation) or reverse.name != "hlo.reverse":
        return
    turned = ints(reverse, "dimensions")
    if not set(turned) <= set(n.k_spatial):
        return
    kernel = reverse.operands[0]
    if convert is not None:
        kernel = Emitter(op).emit("convert", [kernel], convert.results[0].type, {})
    op.operands[1] = kernel
    now = [r != (d in turned) for d, r in zip(n.k_spatial, n.reversal, strict=True)]
    op.properties["window_reversal"] = i64_array([int(r) for r in now])


def _padded(build: Emitter, op: ConvolutionOp, n: Numbers) -> SSAValue:
    """Build the convolution of the padded image."""
    ones = i64_array([1] * len(n.spatial))
    properties = {
        **op.properties,
        "padding": i64_array([0] * 2 * len(n.spatial)),
        "lhs_dilation": ones,
    }
    image = padded_image(build, op.lhs, n)
    padded = build.emit("convolution", [image, op.rhs], op.result.type, properties)
    pass_flops(op, build.created[-1])
    return padded


def _product(build: Emitter, op: ConvolutionOp, n: Numbers) -> SSAValue:
    """Rewrite a convolution with one tap as a dot."""
    image = padded_image(build, op.lhs, n)
    shape = shape_of(image)
    steps = [1] * len(shape)
    for i, d in enumerate(n.spatial):
        steps[d] = n.strides[i]
    image = build.slice(image, [0] * len(shape), list(shape), steps)
    kernel = op.rhs
    features = [shape_of(kernel)[n.k_in], shape_of(kernel)[n.k_out]]
    if n.k_in > n.k_out:
        features.reverse()
    kernel = build.reshape(kernel, features)
    contracted = 0 if n.k_in < n.k_out else 1
    kept = [d for d in range(len(shape)) if d != n.feature]
    place = {n.batch: n.o_batch, **dict(zip(n.spatial, n.o_spatial, strict=True))}
    order = [*(place[d] for d in kept), n.o_feature]
    return _dot(build, op, image, kernel, [n.feature], [contracted], order)


def _dot(
    build: Emitter,
    op: ConvolutionOp,
    image: SSAValue,
    kernel: SSAValue,
    left: list[int],
    right: list[int],
    order: list[int],
) -> SSAValue:
    """Build a dot whose dimension i becomes dimension `order[i]` of the result."""
    precision = op.properties.get("operand_precision")
    more = {} if precision is None else {"operand_precision": precision}
    rows = [m for d, m in enumerate(shape_of(image)) if d not in left]
    columns = [m for d, m in enumerate(shape_of(kernel)) if d not in right]
    result = build.emit(
        "dot",
        [image, kernel],
        TensorType(element(op.result), [*rows, *columns]),
        {
            "lhs_batch_dims": i64_array([]),
            "rhs_batch_dims": i64_array([]),
            "lhs_contracting_dims": i64_array(left),
            "rhs_contracting_dims": i64_array(right),
            **more,
        },
    )
    return build.transpose(result, [order.index(d) for d in range(len(order))])


def _products(build: Emitter, op: ConvolutionOp, n: Numbers) -> SSAValue:
    """Rewrite a convolution with few result positions as a dot for each of them."""
    image, kernel = padded_image(build, op.lhs, n), op.rhs
    reversed_ = [d for d, turned in zip(n.k_spatial, n.reversal, strict=True) if turned]
    kernel = build.reverse(kernel, reversed_)
    taps = [shape_of(kernel)[d] for d in n.k_spatial]
    out = shape_of(op.result)
    places = [range(out[d]) for d in n.o_spatial]
    found: list[SSAValue] = []
    for place in product(*places):
        starts, steps = [0] * len(shape_of(image)), [1] * len(shape_of(image))
        limits = list(shape_of(image))
        for i, d in enumerate(n.spatial):
            starts[d], steps[d] = place[i] * n.strides[i], n.rhs_dilation[i]
            limits[d] = starts[d] + (taps[i] - 1) * steps[d] + 1
        part = build.slice(image, starts, limits, steps)
        order = [n.o_batch, n.o_feature]
        ranks = sorted(order)
        one = _dot(
            build,
            op,
            part,
            kernel,
            [n.feature, *n.spatial],
            [n.k_in, *n.k_spatial],
            [ranks.index(d) for d in order],
        )
        sizes = [1 if d in n.o_spatial else m for d, m in enumerate(out)]
        found.append(build.reshape(one, sizes))
    for d, row in reversed(list(zip(n.o_spatial, places, strict=True))):
        width = len(row)
        found = [build.concatenate(found[i : i + width], d) for i in range(0, len(found), width)]
    (whole,) = found
    return whole
