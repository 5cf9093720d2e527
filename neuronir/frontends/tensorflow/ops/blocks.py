"""Move blocks between space, batch and features with reshapes and transposes."""

from collections.abc import Sequence

from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import refuse
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op
from neuronir.passes.hlo.support.values import shape


def _pairs(o: Op, index: int, count: int, what: str) -> list[tuple[int, int]]:
    array = o.array(index, what)
    if array.shape != (count, 2) or bool((array.astype("int64") < 0).any()):
        refuse(f"{what} must be {count} pairs of non-negative integers")
    return [(int(a), int(c)) for a, c in array]


def _block_sizes(o: Op) -> tuple[int, ...]:
    sizes = o.ints(1, "the block shape")
    if any(n < 1 for n in sizes) or len(sizes) + 1 > len(o.dims()):
        refuse(f"block shape {list(sizes)} does not fit shape {list(o.dims())}")
    return sizes


def _to_batch(o: Op, sizes: Sequence[int], padding: Sequence[tuple[int, int]]) -> SSAValue:
    b, dims = o.b, o.dims()
    m = len(sizes)
    rest = [0] * (len(dims) - m - 1)
    low, high = [0, *(a for a, _ in padding), *rest], [0, *(c for _, c in padding), *rest]
    value = b.pad(o[0], b.scalar(0, o.element()), low, high)
    batch, *spatial = shape(value)[: m + 1]
    tail = dims[m + 1 :]
    if any(n % s for n, s in zip(spatial, sizes, strict=True)):
        refuse(f"padded sizes {spatial} do not divide by the block shape {list(sizes)}")
    split = [n for s, k in zip(spatial, sizes, strict=True) for n in (s // k, k)]
    value = b.reshape(value, (batch, *split, *tail))
    inner = [2 * i + 2 for i in range(m)]
    outer = [2 * i + 1 for i in range(m)]
    value = b.transpose(value, [*inner, 0, *outer, *range(2 * m + 1, 2 * m + 1 + len(tail))])
    whole = batch
    for k in sizes:
        whole *= k
    small = [s // k for s, k in zip(spatial, sizes, strict=True)]
    return b.reshape(value, (whole, *small, *tail))


def _to_space(o: Op, sizes: Sequence[int], crops: Sequence[tuple[int, int]]) -> SSAValue:
    b, dims = o.b, o.dims()
    m = len(sizes)
    spatial, tail = dims[1 : m + 1], dims[m + 1 :]
    batch = dims[0]
    for k in sizes:
        if batch % k:
            refuse(f"batch {dims[0]} does not divide by the block shape {list(sizes)}")
        batch //= k
    value = b.reshape(o[0], (*sizes, batch, *spatial, *tail))
    order = [m, *(d for i in range(m) for d in (m + 1 + i, i))]
    value = b.transpose(value, [*order, *range(2 * m + 1, 2 * m + 1 + len(tail))])
    wide = [n * k for n, k in zip(spatial, sizes, strict=True)]
    value = b.reshape(value, (batch, *wide, *tail))
    low = [0, *(a for a, _ in crops), *([0] * len(tail))]
    high = [batch, *(n - c for n, (_, c) in zip(wide, crops, strict=True)), *tail]
    if any(lo > hi for lo, hi in zip(low, high, strict=True)):
        refuse(f"crops {list(crops)} are more than there is of {wide}")
    return b.slice(value, low, high)


@op("SpaceToBatchND")
def space_to_batch_nd(o: Op) -> SSAValue:
    """Move blocks of the padded spatial dimensions to the batch."""
    sizes = _block_sizes(o)
    return _to_batch(o, sizes, _pairs(o, 2, len(sizes), "the padding"))


@op("BatchToSpaceND")
def batch_to_space_nd(o: Op) -> SSAValue:
    """Move blocks of the batch to spatial dimensions, which are then cropped."""
    sizes = _block_sizes(o)
    return _to_space(o, sizes, _pairs(o, 2, len(sizes), "the crops"))


@op("SpaceToBatch")
def space_to_batch(o: Op) -> SSAValue:
    """Move square blocks of height and width to the batch."""
    return _to_batch(o, [_block(o)] * 2, _pairs(o, 1, 2, "the padding"))


@op("BatchToSpace")
def batch_to_space(o: Op) -> SSAValue:
    """Move square blocks of the batch to height and width."""
    return _to_space(o, [_block(o)] * 2, _pairs(o, 1, 2, "the crops"))


def _block(o: Op) -> int:
    size = o.int("block_size")
    if size < 1 or len(o.dims()) != 4:
        refuse(f"block size {size} does not fit shape {list(o.dims())}")
    return size


def _features_last(o: Op) -> tuple[SSAValue, bool]:
    """Return the operand as NHWC, and whether it was NCHW."""
    text = o.text("data_format", "NHWC")
    if text not in ("NHWC", "NCHW"):
        refuse(f"the data format '{text}' is not supported", "NHWC or NCHW")
    first = text == "NCHW"
    return (o.b.transpose(o[0], (0, 2, 3, 1)) if first else o[0]), first


@op("SpaceToDepth")
def space_to_depth(o: Op) -> SSAValue:
    """Move square blocks to the features."""
    b, k = o.b, _block(o)
    value, first = _features_last(o)
    n, h, w, c = shape(value)
    if h % k or w % k:
        refuse(f"height {h} and width {w} do not divide by {k}")
    value = b.reshape(value, (n, h // k, k, w // k, k, c))
    value = b.transpose(value, (0, 1, 3, 2, 4, 5))
    value = b.reshape(value, (n, h // k, w // k, k * k * c))
    return b.transpose(value, (0, 3, 1, 2)) if first else value


@op("DepthToSpace")
def depth_to_space(o: Op) -> SSAValue:
    """Move features to square blocks."""
    b, k = o.b, _block(o)
    value, first = _features_last(o)
    n, h, w, c = shape(value)
    if c % (k * k):
        refuse(f"{c} features do not divide by {k * k}")
    value = b.reshape(value, (n, h, w, k, k, c // (k * k)))
    value = b.transpose(value, (0, 1, 3, 2, 4, 5))
    value = b.reshape(value, (n, h * k, w * k, c // (k * k)))
    return b.transpose(value, (0, 3, 1, 2)) if first else value
