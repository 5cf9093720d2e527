"""Rewrite convolutions whose windows neither overlap nor leave gaps as dots."""

from math import prod

from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.hlo.linear import ConvolutionOp
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, tensor
from neuronir.passes.lowering.convolution.numbers import Numbers

LEAST_DEPTH = 128
"""From this depth, a product fills the rows of PE; of fewer, taps are joined to features."""


def has_patches(op: ConvolutionOp, n: Numbers) -> bool:
    """Return whether the image is cut into deep patches: windows of several taps are as far apart
    as they are large, without padding, dilation or groups.
    """
    taps = tuple(shape_of(op.rhs)[d] for d in n.k_spatial)
    dense = all(gap == 1 for gap in (*n.lhs_dilation, *n.rhs_dilation, n.groups))
    deep = prod(taps) * shape_of(op.rhs)[n.k_in] >= LEAST_DEPTH
    return deep and prod(taps) > 1 and n.strides == taps and dense and not any((*n.low, *n.high))


def dot_of_patches(build: Emitter, op: ConvolutionOp, n: Numbers) -> SSAValue:
    """Multiply a matrix with a row for each patch:

    %r = hlo.convolution %x, %w      %p = hlo.transpose (hlo.reshape %x : 3x14x16x14x16)
      x: 3x224x224, stride 16   ->   %r = hlo.dot %w, (hlo.reshape %p : 196x768)
      w: 768x3x16x16
    """
    kernel = build.reverse(
        op.rhs, [d for d, turned in zip(n.k_spatial, n.reversal, strict=True) if turned]
    )
    out, taps = shape_of(op.result), n.strides
    limits, split = list(shape_of(op.lhs)), list[int]()
    first: dict[int, int] = {}  # dimension of the image to that of the split image
    for d in range(len(limits)):
        first[d] = len(split)
        if d in n.spatial:
            i = n.spatial.index(d)
            limits[d] = out[n.o_spatial[i]] * taps[i]
            split += [out[n.o_spatial[i]], taps[i]]
        else:
            split.append(limits[d])
    image = build.slice(op.lhs, [0] * len(limits), limits)
    inner = {n.k_in: first[n.feature]}
    inner |= {k: first[d] + 1 for k, d in zip(n.k_spatial, n.spatial, strict=True)}
    columns = [inner[k] for k in sorted(inner)]
    places = {n.o_batch: first[n.batch]}
    places |= {o: first[d] for o, d in zip(n.o_spatial, n.spatial, strict=True)}
    rows = [places[o] for o in sorted(places)]
    patches = build.transpose(build.reshape(image, split), [*rows, *columns])
    count, depth = prod(split[d] for d in rows), prod(split[d] for d in columns)
    patches = build.reshape(patches, [count, depth])
    features = shape_of(kernel)[n.k_out]
    kernel = build.transpose(kernel, [*sorted(inner), n.k_out])
    kernel = build.reshape(kernel, [depth, features])
    before = [d for d in range(len(out)) if d < n.o_feature]
    whole = not before or prod(out[d] for d in before) == 1
    operands, sides = ([kernel, patches], (0, 1)) if whole else ([patches, kernel], (1, 0))
    precision = op.properties.get("operand_precision")
    more = {} if precision is None else {"operand_precision": precision}
    sizes = (features, count) if whole else (count, features)
    result = build.emit(
        "dot",
        operands,
        tensor(sizes, element(op.result)),
        {
            "lhs_batch_dims": i64_array([]),
            "rhs_batch_dims": i64_array([]),
            "lhs_contracting_dims": i64_array([sides[0]]),
            "rhs_contracting_dims": i64_array([sides[1]]),
            **more,
        },
    )
    spread = [out[o] for o in sorted(places)]
    wide = [features, *spread] if whole else [*spread, features]
    dims = [n.o_feature, *sorted(places)] if whole else [*sorted(places), n.o_feature]
    return build.transpose(build.reshape(result, wide), [dims.index(d) for d in range(len(out))])
