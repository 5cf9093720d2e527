"""Import shapes, slices and concatenation: operators that move elements without computing."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import broadcast_to
from neuronir.frontends.graph.indexing import take, triangle
from neuronir.frontends.graph.padding import pad
from neuronir.frontends.graph.reductions import axis_from
from neuronir.frontends.torch.node import Node, element, rank, shape
from neuronir.frontends.torch.registry import Function, operator


@operator(
    "view",
    "_unsafe_view",
    "reshape",
    "squeeze",
    "unsqueeze",
    "flatten",
    "_reshape_alias",
    "view_copy",
    "squeeze_copy",
    "unsqueeze_copy",
)
def _reshape(n: Node) -> SSAValue:
    if n.name == "aten.view.dtype":
        return n.b.bitcast(n["self"], n.type())
    return n.b.reshape(n["self"], n.dims())


@operator("permute", "permute_copy")
def _permute(n: Node) -> SSAValue:
    count = rank(n["self"])
    return n.b.transpose(n["self"], [axis_from(d, count) for d in n.ints("dims")])


@operator("transpose", "transpose_copy")
def _transpose(n: Node) -> SSAValue:
    count = rank(n["self"])
    order = list(range(count))
    if count:
        i, j = (axis_from(n.value(name), count) for name in ("dim0", "dim1"))
        order[i], order[j] = order[j], order[i]
    return n.b.transpose(n["self"], order)


@operator("t")
def _t(n: Node) -> SSAValue:
    return n.b.transpose(n["self"], list(reversed(range(rank(n["self"])))))


@operator("expand", "expand_copy")
def _expand(n: Node) -> SSAValue:
    return broadcast_to(n.b, n["self"], n.dims())


@operator("repeat")
def _repeat(n: Node) -> SSAValue:
    b, x = n.b, n["self"]
    counts = n.ints("repeats")
    dims = [1] * (len(counts) - rank(x)) + list(shape(x))
    spread: list[int] = []
    for count, size in zip(counts, dims, strict=True):
        spread += [count, size]
    wide = b.broadcast(b.reshape(x, dims), spread, range(1, len(spread), 2))
    return b.reshape(wide, n.dims())


@operator("cat", "concatenate", "concat")
def _cat(n: Node) -> SSAValue:
    values = [n.b.convert(v, n.type()) for v in n.all("tensors")]
    # torch ignores tensors of shape (0,), whatever the ranks of the others.
    kept = [v for v in values if shape(v) != (0,) or len(n.dims()) == 1]
    if not kept:
        return values[0]
    return n.b.concatenate(kept, axis_from(n.value("dim", 0), len(n.dims())))


@operator("stack")
def _stack(n: Node) -> SSAValue:
    dim = axis_from(n.value("dim", 0), len(n.dims()))
    values = [n.b.convert(v, n.type()) for v in n.all("tensors")]
    dims = list(n.dims())
    dims[dim] = 1
    return n.b.concatenate([n.b.reshape(v, dims) for v in values], dim)


def _bounds(n: Node, dim: int) -> tuple[int, int, int]:
    """Return start, limit and step of a slice."""
    size = shape(n["self"])[dim]
    start, end, step = n.value("start", 0), n.value("end", size), n.value("step", 1)
    start = max(0, start + size) if start < 0 else min(start, size)
    end = max(0, end + size) if end < 0 else min(end, size)
    return start, max(start, end), step


@operator("slice", "slice_copy")
def _slice(n: Node) -> SSAValue:
    x = n["self"]
    dim = axis_from(n.value("dim", 0), rank(x))
    starts, limits, steps = [0] * rank(x), list(shape(x)), [1] * rank(x)
    starts[dim], limits[dim], steps[dim] = _bounds(n, dim)
    return n.b.slice(x, starts, limits, steps)


@operator("narrow", "narrow_copy")
def _narrow(n: Node) -> SSAValue:
    x, start = n["self"], n.value("start")
    dim = axis_from(n.value("dim"), rank(x))
    starts, limits = [0] * rank(x), list(shape(x))
    starts[dim] = start + shape(x)[dim] if start < 0 else start
    limits[dim] = starts[dim] + n.value("length")
    return n.b.slice(x, starts, limits)


@operator("select", "select_copy")
def _select(n: Node) -> SSAValue:
    x, index = n["self"], n.value("index")
    dim = axis_from(n.value("dim"), rank(x))
    starts, limits = [0] * rank(x), list(shape(x))
    starts[dim] = index + shape(x)[dim] if index < 0 else index
    limits[dim] = starts[dim] + 1
    return n.b.reshape(n.b.slice(x, starts, limits), n.dims())


def _replaced(n: Node, dim: int, start: int, limit: int, step: int) -> SSAValue:
    """Replace the elements start, start + step, ... of a dimension of `self` by `src`."""
    b, x = n.b, n["self"]
    dims = shape(x)
    count = max(0, -(-(limit - start) // step))
    if not count:
        return x
    wanted = (*dims[:dim], count, *dims[dim + 1 :])
    src = broadcast_to(b, b.convert(n["src"], element(x)), wanted)
    low, high, gaps = [0] * len(dims), [0] * len(dims), [0] * len(dims)
    last = start + (count - 1) * step
    if step == 1:
        parts = []
        for first, end in ((0, start), (start + count, dims[dim])):
            starts, limits = [0] * len(dims), list(dims)
            starts[dim], limits[dim] = first, end
            parts.append(b.slice(x, starts, limits))
        joined = [parts[0], src, parts[1]]
        return b.concatenate([v for v in joined if shape(v)[dim]], dim)
    low[dim], high[dim], gaps[dim] = start, dims[dim] - last - 1, step - 1
    spread = b.pad(src, b.scalar(0, element(x)), low, high, gaps)
    mask = np.zeros(dims[dim], np.bool_)
    mask[start:limit:step] = True
    return b.select(b.broadcast(b.constant(mask), dims, [dim]), spread, x)


@operator("slice_scatter")
def _slice_scatter(n: Node) -> SSAValue:
    dim = axis_from(n.value("dim", 0), rank(n["self"]))
    return _replaced(n, dim, *_bounds(n, dim))


@operator("select_scatter")
def _select_scatter(n: Node) -> SSAValue:
    x, index = n["self"], n.value("index")
    dim = axis_from(n.value("dim"), rank(x))
    index = index + shape(x)[dim] if index < 0 else index
    src = n["src"]
    raised = n.b.reshape(src, (*shape(src)[:dim], 1, *shape(src)[dim:]))
    inner = Node(n.name, n.b, {**n.arguments, "src": raised}, n.fakes, n.results, n.wanted)
    return _replaced(inner, dim, index, index + 1, 1)


def _pieces(n: Node, sizes: list[int], dim: int) -> list[SSAValue]:
    x = n["self"]
    found, start = [], 0
    for size in sizes:
        starts, limits = [0] * rank(x), list(shape(x))
        starts[dim], limits[dim] = start, start + size
        found.append(n.b.slice(x, starts, limits))
        start += size
    return found


@operator("split_with_sizes", "split_with_sizes_copy")
def _split_with_sizes(n: Node) -> list[SSAValue]:
    return _pieces(n, n.ints("split_sizes"), axis_from(n.value("dim", 0), rank(n["self"])))


@operator("split", "split_copy", "chunk", "tensor_split")
def _split(n: Node) -> list[SSAValue]:
    dim = axis_from(n.value("dim", 0), rank(n["self"]))
    return _pieces(n, [n.dims(i)[dim] for i in range(len(n.results))], dim)


@operator("unbind", "unbind_copy")
def _unbind(n: Node) -> list[SSAValue]:
    dim = axis_from(n.value("dim", 0), rank(n["self"]))
    ones = _pieces(n, [1] * shape(n["self"])[dim], dim)
    return [n.b.reshape(v, n.dims(i)) for i, v in enumerate(ones)]


@operator("flip")
def _flip(n: Node) -> SSAValue:
    x = n["self"]
    return n.b.reverse(x, sorted(axis_from(d, rank(x)) for d in n.ints("dims")) if rank(x) else [])


def _paired(n: Node, name: str) -> tuple[list[int], list[int]]:
    """Return low and high amounts of each dimension; the list starts with the last dimension."""
    x, given = n["self"], n.ints(name)
    low, high = [0] * rank(x), [0] * rank(x)
    for i in range(len(given) // 2):
        low[-1 - i], high[-1 - i] = given[2 * i], given[2 * i + 1]
    return low, high


@operator("constant_pad_nd")
def _constant_pad(n: Node) -> SSAValue:
    low, high = _paired(n, "pad")
    return pad(n.b, n["self"], low, high, fill=n.operand("value", n.type()))


def _padded(mode: str) -> Function:
    return lambda n: pad(n.b, n["self"], *_paired(n, "padding"), mode)


for _name, _mode in {"reflection": "reflect", "replication": "edge"}.items():
    for _count in (1, 2, 3):
        operator(f"{_name}_pad{_count}d", kept=True)(_padded(_mode))


def _triangle(upper: bool) -> Function:
    def build(n: Node) -> SSAValue:
        x = n["self"]
        on = triangle(n.b, shape(x), n.value("diagonal", 0), upper=upper)
        return n.b.select(on, x, n.b.fill_like(0, x))

    return build


operator("triu", kept=True)(_triangle(True))
operator("tril", kept=True)(_triangle(False))


@operator("diagonal", "diagonal_copy")
def _diagonal(n: Node) -> SSAValue:
    b, x = n.b, n["self"]
    count, offset = rank(x), n.value("offset", 0)
    one, two = (axis_from(n.value(f"dim{i}", i - 1), count) for i in (1, 2))
    rest = [d for d in range(count) if d not in (one, two)]
    rows, columns = shape(x)[one], shape(x)[two]
    length = n.dims()[-1]
    kept = [shape(x)[d] for d in rest]
    flat = b.reshape(b.transpose(x, [*rest, one, two]), (*kept, rows * columns))
    first = offset if offset >= 0 else -offset * columns
    low, high, steps = [0] * len(kept), list(kept), [1] * len(kept)
    end = first + (length - 1) * (columns + 1) + 1 if length else first
    return b.slice(flat, [*low, first], [*high, end], [*steps, columns + 1])


@operator("unfold")
def _unfold(n: Node) -> SSAValue:
    """Return windows of a dimension, which becomes their number; their elements come last."""
    b, x = n.b, n["self"]
    if rank(x) == 0:
        return b.reshape(x, n.dims())
    dim = axis_from(n.value("dimension"), rank(x))
    size, step = n.value("size"), n.value("step")
    count = n.dims()[dim]
    places = np.arange(count)[:, None] * step + np.arange(size)[None, :]
    found = take(b, x, b.constant(places.astype(np.int32)), dim)
    order = [d for d in range(rank(x) + 1) if d != dim + 1]
    return b.transpose(found, [*order, dim + 1])


@operator("resize")
def _resize(n: Node) -> SSAValue:
    """Take the first elements in row-major order."""
    x, size = n["self"], prod(n.dims())
    if size > prod(shape(x)):
        refuse("the elements beyond those of the tensor are not defined")
    flat = n.b.reshape(x, (prod(shape(x)),))
    return n.b.reshape(n.b.slice(flat, [0], [size]), n.dims())


@operator("as_strided", "as_strided_copy")
def _as_strided(n: Node) -> SSAValue:
    """Gather known positions of a row-major tensor."""
    x = n["self"]
    places = _strided(n, n.dims())
    return take(n.b, n.b.reshape(x, (prod(shape(x)),)), n.b.constant(places), 0)


def _strided(n: Node, dims: Sequence[int]) -> NDArray[np.int32]:
    """Return the positions of a strided view of `self` with this shape, in row-major order."""
    if not n.fakes["self"].is_contiguous():
        refuse("of a tensor that is not contiguous it is not supported")
    places = np.full(dims, n.value("storage_offset", 0), np.int32)
    for d, stride in enumerate(n.ints("stride")):
        steps = np.arange(dims[d], dtype=np.int32) * stride
        places = places + steps.reshape([-1 if k == d else 1 for k in range(len(dims))])
    if places.size and int(places.max()) >= prod(shape(n["self"])):
        refuse("it reads beyond the tensor")
    return places.astype(np.int32)


@operator("as_strided_scatter")
def _as_strided_scatter(n: Node) -> SSAValue:
    """Select, for each element, an element of `src` or of `self`: the positions are known."""
    b, x = n.b, n["self"]
    src = b.convert(n["src"], element(x))
    size = prod(shape(x))
    places = _strided(n, n.ints("size"))
    sources = np.zeros(size, np.int32)
    written = np.zeros(size, np.bool_)
    sources[places.reshape(-1)] = np.arange(places.size, dtype=np.int32)
    written[places.reshape(-1)] = True
    moved = take(b, b.reshape(src, (places.size,)), b.constant(sources), 0)
    found = b.select(b.constant(written), moved, b.reshape(x, (size,)))
    return b.reshape(found, n.dims())


@operator("diagonal_scatter")
def _diagonal_scatter(n: Node) -> SSAValue:
    """Spread `src` over the rows, and select it on the diagonal."""
    b, x = n.b, n["self"]
    dims = shape(x)
    first, second = (axis_from(n.value(name, d), rank(x)) for name, d in (("dim1", 0), ("dim2", 1)))
    offset = n.value("offset", 0)
    src = b.convert(n["src"], element(x))
    count, low = shape(src)[-1], max(0, -offset)
    if not count:
        return x
    last = rank(src) - 1
    before, after = [0] * rank(src), [0] * rank(src)
    before[last], after[last] = low, dims[first] - low - count
    rows = b.pad(src, b.scalar(0, element(x)), before, after, [0] * rank(src))
    rest = [d for d in range(rank(x)) if d not in (first, second)]
    kept = sorted([*rest, first])  # the diagonal is the last dimension of src
    order = [len(rest) if d == first else rest.index(d) for d in kept]
    spread = b.broadcast(b.transpose(rows, order), dims, kept)
    mask = np.eye(dims[first], dims[second], offset, np.bool_)
    mask = mask if first < second else mask.T
    return b.select(b.broadcast(b.constant(mask), dims, sorted([first, second])), spread, x)


@operator("sym_size", "size", "numel", "sym_numel")
def _size(n: Node) -> SSAValue:
    refuse("a requested shape must be constant")


@operator("triu_indices", "tril_indices")
def _triangle_indices(n: Node) -> SSAValue:
    made = np.triu_indices if "triu" in n.name else np.tril_indices
    places = made(n.value("row"), n.value("offset", 0), n.value("col"))
    return n.cast(n.b.constant(np.stack(places).astype(np.int64)))
