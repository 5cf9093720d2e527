"""Import reshaping, transposing, slicing, concatenation and padding."""

from math import prod

from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import element_type
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import broadcast_shape, broadcast_to
from neuronir.frontends.graph.indexing import joined, strided_slice, take, triangle
from neuronir.frontends.graph.padding import pad
from neuronir.frontends.graph.reductions import axis_from, dims_from
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import element, shape, size


@operator("Reshape")
def _reshape(n: Node) -> SSAValue:
    wanted = n.known_ints(1, "the shape") if n.opset >= 5 else tuple(n.ints("shape") or ())
    own = shape(n[0])
    dims = list(wanted)
    if not n.flag("allowzero"):
        if any(d == 0 and i >= len(own) for i, d in enumerate(dims)):
            refuse(f"shape {list(wanted)} copies a dimension that {list(own)} has not")
        dims = [own[i] if d == 0 else d for i, d in enumerate(dims)]
    if dims.count(-1) > 1 or any(d < -1 for d in dims):
        refuse(f"shape {list(wanted)} is malformed")
    if -1 in dims:
        rest = prod(d for d in dims if d != -1)
        if rest == 0 or size(n[0]) % rest:
            refuse(f"shape {list(own)} cannot become {list(wanted)}")
        dims[dims.index(-1)] = size(n[0]) // rest
    if prod(dims) != size(n[0]):
        refuse(f"shape {list(own)} cannot become {list(wanted)}")
    return n.b.reshape(n[0], dims)


@operator("Flatten")
def _flatten(n: Node) -> SSAValue:
    dims = shape(n[0])
    axis = n.integer("axis", 1)
    if not -len(dims) <= axis <= len(dims):
        refuse(f"axis {axis} is not a dimension of a tensor of rank {len(dims)}")
    axis += len(dims) if axis < 0 else 0
    return n.b.reshape(n[0], (prod(dims[:axis]), prod(dims[axis:])))


@operator("Squeeze")
def _squeeze(n: Node) -> SSAValue:
    dims, axes = shape(n[0]), n.axes(1, since=13)
    gone = [i for i, d in enumerate(dims) if d == 1] if axes is None else dims_from(axes, len(dims))
    if any(dims[i] != 1 for i in gone):
        refuse(f"axes {list(gone)} of shape {list(dims)} are not all 1")
    return n.b.reshape(n[0], [d for i, d in enumerate(dims) if i not in gone])


@operator("Unsqueeze")
def _unsqueeze(n: Node) -> SSAValue:
    dims, axes = list(shape(n[0])), n.axes(1, since=13)
    if axes is None:
        refuse("axes are missing")
    for axis in dims_from(axes, len(dims) + len(axes)):
        dims.insert(axis, 1)
    return n.b.reshape(n[0], dims)


@operator("Transpose")
def _transpose(n: Node) -> SSAValue:
    rank = len(shape(n[0]))
    order = n.ints("perm") or list(reversed(range(rank)))
    return n.b.transpose(n[0], [axis_from(axis, rank) for axis in order])


@operator("Expand")
def _expand(n: Node) -> SSAValue:
    dims = broadcast_shape(shape(n[0]), n.known_ints(1, "the shape"))
    return broadcast_to(n.b, n[0], dims)


@operator("Tile")
def _tile(n: Node) -> SSAValue:
    dims = shape(n[0])
    if n.opset < 6:
        refuse("before opset 6 it means something else")
    times = n.known_ints(1, "repeats")
    if len(times) != len(dims):
        refuse(f"{len(times)} repeats are given for {len(dims)} dimensions")
    wide = [d for pair in zip(times, dims, strict=True) for d in pair]
    spread = n.b.broadcast(n[0], wide, [2 * i + 1 for i in range(len(dims))])
    return n.b.reshape(spread, [t * d for t, d in zip(times, dims, strict=True)])


@operator("Concat")
def _concat(n: Node) -> SSAValue:
    return joined(n.b, n.all(), n.integer("axis", 1 if n.opset < 4 else 0))


@operator("Split")
def _split(n: Node) -> list[SSAValue]:
    dims = shape(n[0])
    axis = axis_from(n.integer("axis", 0), len(dims))
    sizes = n.axes(1, since=13, name="split")
    if sizes is None:
        count = n.integer("num_outputs", len(n.outputs))
        if count != len(n.outputs):
            refuse(f"num_outputs = {count} for {len(n.outputs)} outputs")
        each = -(-dims[axis] // count)
        sizes = [max(0, min(each, dims[axis] - i * each)) for i in range(count)]
    if sum(sizes) != dims[axis] or any(s < 0 for s in sizes):
        refuse(f"sizes {sizes} do not add up to dimension {axis} of {list(dims)}")
    parts, start = [], 0
    for part in sizes:
        low, high = [0] * len(dims), list(dims)
        low[axis], high[axis] = start, start + part
        parts.append(n.b.slice(n[0], low, high))
        start += part
    return parts


@operator("Slice")
def _slice(n: Node) -> SSAValue:
    dims = shape(n[0])
    if n.opset < 10:
        starts, ends = n.ints("starts") or [], n.ints("ends") or []
        axes, steps = n.ints("axes"), None
    else:
        starts, ends = list(n.known_ints(1, "starts")), list(n.known_ints(2, "ends"))
        axes = None if n.get(3) is None else list(n.known_ints(3, "axes"))
        steps = None if n.get(4) is None else list(n.known_ints(4, "steps"))
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    low, high, stride = [0] * len(dims), list(dims), [1] * len(dims)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        d = axis_from(axis, len(dims))
        if step == 0:
            refuse("a step is zero")
        # ONNX's slice bounds are Python's, except for an end before the first element.
        low[d], high[d], stride[d] = slice(start, end, step).indices(dims[d])
    return strided_slice(n.b, n[0], low, high, stride)


@operator("Pad")
def _pad(n: Node) -> SSAValue:
    rank = len(shape(n[0]))
    fill: SSAValue | None
    if n.opset < 11:
        amounts = n.ints("pads") or n.ints("paddings") or []
        fill = n.b.convert(
            n.b.scalar(n.number("value", 0.0), element_type("float32")), element(n[0])
        )
    else:
        amounts = list(n.known_ints(1, "pads"))
        fill = n.get(2)
    axes = list(range(rank)) if n.get(3) is None else list(n.known_ints(3, "axes"))
    if len(amounts) != 2 * len(axes):
        refuse(f"{len(amounts)} pads are given for {len(axes)} axes")
    low, high = [0] * rank, [0] * rank
    for i, axis in enumerate(axes):
        d = axis_from(axis, rank)
        low[d], high[d] = amounts[i], amounts[i + len(axes)]
    return pad(n.b, n[0], low, high, n.text("mode", "constant"), fill)


@operator("DepthToSpace")
def _depth_to_space(n: Node) -> SSAValue:
    block = n.integer("blocksize", 1)
    batch, depth, *spatial = shape(n[0])
    k = len(spatial)
    inner = depth // block**k
    if n.text("mode", "DCR") == "DCR":
        split = n.b.reshape(n[0], (batch, *[block] * k, inner, *spatial))
        order = [0, k + 1]
        for i in range(k):
            order += [k + 2 + i, 1 + i]
    else:
        split = n.b.reshape(n[0], (batch, inner, *[block] * k, *spatial))
        order = [0, 1]
        for i in range(k):
            order += [k + 2 + i, 2 + i]
    moved = n.b.transpose(split, order)
    return n.b.reshape(moved, (batch, inner, *(block * s for s in spatial)))


@operator("SpaceToDepth")
def _space_to_depth(n: Node) -> SSAValue:
    block = n.integer("blocksize", 1)
    batch, depth, *spatial = shape(n[0])
    k = len(spatial)
    wide = [d for s in spatial for d in (s // block, block)]
    split = n.b.reshape(n[0], (batch, depth, *wide))
    blocks = [3 + 2 * i for i in range(k)]
    features = [*blocks, 1] if n.text("mode", "DCR") == "DCR" else [1, *blocks]
    order = [0, *features, *(2 + 2 * i for i in range(k))]
    moved = n.b.transpose(split, order)
    return n.b.reshape(moved, (batch, depth * block**k, *(s // block for s in spatial)))


@operator("Trilu")
def _trilu(n: Node) -> SSAValue:
    offset = int(n.scalar(1, 0))
    kept = triangle(n.b, shape(n[0]), offset, upper=n.flag("upper", True))
    return n.b.select(kept, n[0], n.b.fill_like(0, n[0]))


@operator("ReverseSequence")
def _reverse_sequence(n: Node) -> SSAValue:
    """Element t of a sequence of length l moves to l - 1 - t; elements beyond l are unchanged."""
    b, x = n.b, n[0]
    time, batch = n.integer("time_axis", 0), n.integer("batch_axis", 1)
    if {time, batch} != {0, 1}:
        refuse("time and batch must be the first two axes")
    dims = shape(x)
    whole = element_type("int32")
    if time == 0:
        x = b.transpose(x, [1, 0, *range(2, len(dims))])
    places = b.iota(shape(x)[:2], 1, whole)
    lengths = b.broadcast(b.convert(n[1], whole), shape(x)[:2], [0])
    turned = b.binary_number("subtract", b.binary("subtract", lengths, places), 1)
    index = b.select(b.compare(places, lengths, "LT"), turned, places)
    result = take(b, x, index, 1, batch=1)
    return b.transpose(result, [1, 0, *range(2, len(dims))]) if time == 0 else result
