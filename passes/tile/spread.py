"""Spread a long dimension over partitions: blocks of it, with the neighbours that they read."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.nc.machine import PARTITIONS
from neuronir.dialects.support.cloning import clone_region
from neuronir.dialects.support.dtypes import byte_size
from neuronir.dialects.tile.ops import UnfoldOp
from neuronir.dialects.tile.rules import ELEMENTWISE, shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.buffers import spread
from neuronir.passes.tile.expand_windows import LARGEST_WINDOW, expands
from neuronir.passes.tile.whole import MARK

LEAST = 1 << 15
"""Minimum number of elements: smaller arrays take little time anyway."""
ENOUGH = 64
"""From this number of positions, the other dimensions fill enough partitions."""
BLOCK = 2048
"""Number of elements of a block: enough to move and to compute at full rate, and little enough to
overlap the blocks of one iteration with those of the next one."""
NEIGHBOURS = 4
"""A block has at least this multiple of the neighbours that it reads."""
LARGEST_STRIDE = 1024
"""Limit of the bytes from one element to the next one: beyond, each is loaded separately."""


@dataclass(frozen=True)
class Reads:
    """The positions of dimension `dim` that an op reads.

    Position r of the result needs `width` positions from `first + r * stride` on; some may be
    outside (padding).
    """

    dim: int
    first: int
    stride: int
    width: int = 1


def spread_long(op: Operation) -> None:
    """Split the long dimension of a strided slice, a reversal or a window into blocks:

        %r = hlo.slice %x[0:4096:2]    ->    %b = tile.unfold %x      // 128 blocks of 31 positions
                                             %c = hlo.slice %b[:, 0:31:2]
                                             %r = hlo.reshape %c

    Blocks lie on partitions. Results without a block, and those that read padding, are computed
    separately and concatenated.
    """
    reads = _reads(op)
    plan = reads and _blocks(op, reads)
    if not reads or not plan:
        return
    blocks, count = plan
    build = Emitter(op)
    d, x = reads.dim, op.operands[0]
    shape, out = shape_of(x), shape_of(op.results[0])
    begin, _ = _inside(reads, shape[d], out[d])
    step = count * reads.stride
    size = (count - 1) * abs(reads.stride) + reads.width
    first = reads.first + begin * reads.stride
    if reads.stride < 0:
        first -= size - reads.width
    source = _unconverted(x)
    view = UnfoldOp.make(source, d, first, step, blocks, size)
    build.insert(view)
    image = build.convert(view.result, element(x))
    middle = _of_blocks(build, op, image, d, [*out[:d], blocks, count, *out[d + 1 :]])
    if op.name == "hlo.slice" and any(
        use.operation.name not in ELEMENTWISE for use in op.results[0].uses
    ):
        middle = build.unary("copy", middle)  # a store needs contiguous elements
    parts = [build.reshape(middle, [*out[:d], blocks * count, *out[d + 1 :]])]
    if begin:
        parts.insert(0, _of_range(build, op, reads, 0, begin))
    if begin + blocks * count < out[d]:
        parts.append(_of_range(build, op, reads, begin + blocks * count, out[d]))
    whole = build.concatenate(parts, d)
    if len(parts) > 1:
        assert isinstance(whole.owner, Operation)
        whole.owner.attributes[MARK] = UnitAttr()
    op.results[0].replace_all_uses_with(whole)
    erase_dead(op)


def _reads(op: Operation) -> Reads | None:
    """Return what an op reads along the longest dimension in which it is not elementwise."""
    if op.name not in ("hlo.slice", "hlo.reverse", "hlo.reduce_window"):
        return None
    shape = shape_of(op.results[0])
    if op.name == "hlo.reverse":
        dims = list(ints(op, "dimensions"))
    elif op.name == "hlo.slice":
        dims = [d for d, n in enumerate(ints(op, "strides")) if n > 1 and shape[d] > 1]
    elif not expands(op) or max(ints(op, "window_dimensions")) > LARGEST_WINDOW:
        return None
    else:
        pairs = zip(ints(op, "window_dimensions"), ints(op, "window_strides"), strict=True)
        dims = [d for d, (n, s) in enumerate(pairs) if n > 1 or s > 1]
    if not dims:
        return None
    d = max(dims, key=lambda d: shape[d])
    if op.name == "hlo.reverse":
        return Reads(d, shape[d] - 1, -1)
    if op.name == "hlo.slice":
        return Reads(d, ints(op, "start_indices")[d], ints(op, "strides")[d])
    width, stride = ints(op, "window_dimensions")[d], ints(op, "window_strides")[d]
    return Reads(d, -ints(op, "padding")[2 * d], stride, width)


def _inside(reads: Reads, size: int, count: int) -> tuple[int, int]:
    """Return the range of results that read no padding."""
    if reads.stride < 0:
        return 0, count
    begin = -(-max(0, -reads.first) // reads.stride)
    return begin, max(begin, min(count, (size - reads.width - reads.first) // reads.stride + 1))


def _blocks(op: Operation, reads: Reads) -> tuple[int, int] | None:
    """Return the number of blocks and the results of a block; None if that would not pay.

    The blocks of all rows together fill the partitions once or several times, if possible without
    remaining results.
    """
    d, out, shape = reads.dim, shape_of(op.results[0]), shape_of(op.operands[0])
    rows, inner = prod(out[:d]), prod(shape[d + 1 :])
    stride = abs(reads.stride)
    others = tuple(n for e, n in enumerate(out) if e != d)
    begin, end = _inside(reads, shape[d], out[d])
    count = end - begin
    if rows > ENOUGH // 2 or spread(others, PARTITIONS) >= ENOUGH:
        return None
    if rows * count * inner * stride < LEAST:
        return None
    if stride * inner * byte_size(element(op.operands[0])) > LARGEST_STRIDE:
        return None
    each = PARTITIONS // rows
    times = max(1, count * stride * inner // (each * BLOCK))
    least = max(1, NEIGHBOURS * (reads.width - stride) // stride)
    if count // (each * times) < least:
        return None
    for k in range(times, 4 * times):
        if count % (each * k) == 0 and count // (each * k) >= least:
            return each * k, count // (each * k)
    return each * times, count // (each * times)


def _unconverted(x: SSAValue) -> SSAValue:
    """Return the operand of a conversion, which follows the loads of blocks."""
    op = x.owner
    return op.operands[0] if isinstance(op, Operation) and op.name == "hlo.convert" else x


def _of_blocks(
    build: Emitter, op: Operation, image: SSAValue, d: int, shape: Sequence[int]
) -> SSAValue:
    """Repeat an op on blocks, which are a new dimension d."""
    kind = op.name.removeprefix("hlo.")
    size = shape_of(image)[d + 1]
    given: dict[str, Attribute] = dict(op.properties)
    if kind == "reverse":
        given["dimensions"] = i64_array([e + (e >= d) for e in ints(op, "dimensions")])
    elif kind == "slice":
        for name, at_d, new in (
            ("start_indices", 0, 0),
            ("limit_indices", size, shape[d]),
            ("strides", ints(op, "strides")[d], 1),
        ):
            numbers = list(ints(op, name))
            numbers[d : d + 1] = [new, at_d]
            given[name] = i64_array(numbers)
    else:
        for name in ("window_dimensions", "window_strides", "base_dilations", "window_dilations"):
            numbers = list(ints(op, name))
            given[name] = i64_array([*numbers[:d], 1, *numbers[d:]])
        padding = list(ints(op, "padding"))
        padding[2 * d : 2 * d + 2] = [0, 0, 0, 0]
        given["padding"] = i64_array(padding)
    return _again(build, op, image, shape, given)


def _of_range(build: Emitter, op: Operation, reads: Reads, begin: int, end: int) -> SSAValue:
    """Repeat an op for a range of the results along the long dimension."""
    d, x = reads.dim, op.operands[0]
    n = shape_of(x)[d]
    ends = [reads.first + r * reads.stride for r in (begin, end - 1)]
    low, high = min(ends), max(ends) + reads.width
    starts, limits = [0] * len(shape_of(x)), list(shape_of(x))
    starts[d], limits[d] = max(0, low), min(n, high)
    part = build.slice(x, starts, limits)
    shape = list(shape_of(op.results[0]))
    shape[d] = end - begin
    given: dict[str, Attribute] = dict(op.properties)
    if op.name == "hlo.slice":
        for name, number in (("start_indices", 0), ("limit_indices", limits[d] - starts[d])):
            numbers = list(ints(op, name))
            numbers[d] = number
            given[name] = i64_array(numbers)
    elif op.name == "hlo.reduce_window":
        padding = list(ints(op, "padding"))
        padding[2 * d : 2 * d + 2] = [starts[d] - low, high - limits[d]]
        given["padding"] = i64_array(padding)
    return _again(build, op, part, shape, given)


def _again(
    build: Emitter,
    op: Operation,
    x: SSAValue,
    shape: Sequence[int],
    properties: dict[str, Attribute],
) -> SSAValue:
    regions = [clone_region(region) for region in op.regions]
    type_ = TensorType(element(op.results[0]), shape)
    kind = op.name.removeprefix("hlo.")
    return build.emit(kind, [x, *op.operands[1:]], type_, properties, regions)
