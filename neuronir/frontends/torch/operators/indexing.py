"""Import reads and writes at data-dependent indices."""

import numpy as np
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.frontends.graph import indexing as at
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import broadcast_shape, broadcast_to
from neuronir.frontends.graph.reductions import axis_from, cumulative, total
from neuronir.frontends.torch.node import Node, element, rank, shape
from neuronir.frontends.torch.operators.elementwise import floor_divide
from neuronir.frontends.torch.operators.linear import norm
from neuronir.frontends.torch.registry import operator
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.values import tensor

_BY_MASK = "a mask that is data decides the shape of the result"


@operator("embedding")
def _embedding(n: Node) -> SSAValue:
    return at.take(n.b, n["weight"], n["indices"], 0)


@operator("embedding_renorm")
def _embedding_renorm(n: Node) -> SSAValue:
    """Scale the rows that `indices` names down to a largest norm."""
    b, weight, limit = n.b, n["self"], float(n.value("max_norm"))
    count = int(np.prod(shape(n["indices"])))
    sizes = norm(b, b.unary("abs", weight), float(n.value("norm_type", 2.0)), [1])
    none = b.fill(0, tensor((shape(weight)[0],), i1))
    places = b.convert(b.reshape(n["indices"], (count, 1)), i32)
    used = at.scatter_nd(b, none, places, b.fill(1, tensor((count,), i1)))
    factor = b.binary("divide", b.fill_like(limit, sizes), b.binary_number("add", sizes, 1e-7))
    large = b.binary("and", used, b.compare_number(sizes, limit, "GT"))
    scale = b.select(large, factor, b.fill_like(1, factor))
    return b.binary("multiply", weight, b.broadcast(scale, shape(weight), [0]))


@operator("index_select")
def _index_select(n: Node) -> SSAValue:
    x, index = n["self"], n["index"]
    if rank(x) == 0:
        return x
    index = n.b.reshape(index, (1,)) if rank(index) == 0 else index
    return at.take(n.b, x, index, axis_from(n.value("dim"), rank(x)))


@operator("gather")
def _gather(n: Node) -> SSAValue:
    x, index = n["self"], n["index"]
    if rank(x) == 0 or rank(index) == 0:
        return n.b.reshape(x, n.dims())
    return at.gather_elements(n.b, x, index, axis_from(n.value("dim"), rank(x)))


@operator("take")
def _take(n: Node) -> SSAValue:
    x = n.b.reshape(n["self"], (int(np.prod(shape(n["self"]))),))
    index = at.from_start(n.b, n["index"], shape(x)[0])
    return at.take(n.b, x, index, 0)


def _expanded(n: Node) -> list[SSAValue | None]:
    """Return the indices of each dimension; a known mask becomes the positions where it holds."""
    found: list[SSAValue | None] = []
    for given in n.arguments["indices"]:
        if given is None or element(given) != i1:
            found.append(given)
            continue
        known = n.b.known(given)
        if known is None:
            refuse(_BY_MASK, "use torch.where, or a static number of indices")
        places = np.nonzero(known)
        found += [n.b.constant(p.astype(np.int32)) for p in places]
    return found


def _prepared(n: Node) -> tuple[list[int], SSAValue, bool]:
    """Return (indexed dimensions, index vectors in the last dimension, whether adjacent).

    The last item states whether the indexed dimensions are adjacent.
    """
    b, dims = n.b, shape(n["self"])
    given = _expanded(n)
    indexed = [d for d, v in enumerate(given) if v is not None]
    values = [
        b.convert(at.from_start(b, v, dims[d]), i32) for d, v in enumerate(given) if v is not None
    ]
    places = broadcast_shape(*(shape(v) for v in values))
    spread = [b.reshape(broadcast_to(b, v, places), (*places, 1)) for v in values]
    together = indexed == list(range(indexed[0], indexed[-1] + 1))
    return indexed, b.concatenate(spread, len(places)), together


@operator("index", "_unsafe_index")
def _index(n: Node) -> SSAValue:
    b, x = n.b, n["self"]
    given = _expanded(n)
    indexed = [d for d, v in enumerate(given) if v is not None]
    if len(indexed) == 1:
        only = given[indexed[0]]
        assert only is not None
        index = at.from_start(b, only, shape(x)[indexed[0]])
        return at.take(b, x, index, indexed[0])
    indexed, vectors, together = _prepared(n)
    rest = [d for d in range(rank(x)) if d not in indexed]
    found = at.gather_nd(b, b.transpose(x, [*indexed, *rest]), vectors)
    if not together or not indexed[0]:
        return found
    # The dimensions of the indices replace the indexed ones.
    count, before = rank(vectors) - 1, indexed[0]
    order = [*range(count, count + before), *range(count), *range(count + before, rank(found))]
    return b.transpose(found, order)


@operator("index_put", "_unsafe_index_put")
def _index_put(n: Node) -> SSAValue:
    b, x = n.b, n["self"]
    values = b.convert(n["values"], element(x))
    given = n.arguments["indices"]
    accumulate = bool(n.value("accumulate", False))
    masks = [v for v in given if v is not None and element(v) == i1]
    if len(masks) == 1 and b.known(masks[0]) is None:
        return _masked_put(n, masks[0], values, accumulate)
    indexed, vectors, together = _prepared(n)
    rest = [d for d in range(rank(x)) if d not in indexed]
    order = [*indexed, *rest]
    count = rank(vectors) - 1
    slices = [shape(x)[d] for d in rest]
    if together and indexed[0]:
        before = indexed[0]
        wanted = (*slices[:before], *shape(vectors)[:-1], *slices[before:])
        values = broadcast_to(b, values, wanted)
        back = [*range(before, before + count), *range(before), *range(before + count, len(wanted))]
        values = b.transpose(values, back)
    else:
        values = broadcast_to(b, values, (*shape(vectors)[:-1], *slices))
    combine = None
    if accumulate:
        combine = "or" if element(x) == i1 else "add"
    written = at.scatter_nd(b, b.transpose(x, order), vectors, values, combine)
    return b.transpose(written, [order.index(d) for d in range(rank(x))])


def _masked_put(n: Node, mask: SSAValue, values: SSAValue, accumulate: bool) -> SSAValue:
    """Build x[..., mask, ...] = a value for all (or a row for all) as a select."""
    b, x = n.b, n["self"]
    given = list(n.arguments["indices"])
    first = next(d for d, v in enumerate(given) if v is mask)
    after = shape(x)[first + rank(mask) :]
    plain = all(v is None or v is mask for v in given)
    leading = shape(values)[: max(0, rank(values) - len(after))]
    if not plain or any(size != 1 for size in leading):
        refuse(_BY_MASK, "use torch.where")
    spread = b.broadcast(mask, shape(x), range(first, first + rank(mask)))
    values = b.reshape(values, shape(values)[len(leading) :])
    new = broadcast_to(b, values, shape(x))
    if accumulate:
        new = b.binary("add", x, new)
    return b.select(spread, new, x)


@operator("masked_scatter")
def _masked_scatter(n: Node) -> SSAValue:
    """Write the next elements of the source, in row-major order, where the mask holds."""
    b = n.b
    x, mask = n.full("self"), broadcast_to(b, n["mask"], n.dims())
    source = n["source"]
    size, count = int(np.prod(n.dims())), int(np.prod(shape(source)))
    if not size or not count:
        return x
    flat = b.reshape(b.convert(mask, i32), (size,))
    place = b.binary_number("subtract", cumulative(b, flat, "add", 0), 1)
    place = b.binary("maximum", place, b.fill_like(0, place))
    place = b.binary("minimum", place, b.fill_like(count - 1, place))
    found = at.take(b, b.reshape(source, (count,)), place, 0)
    return b.select(mask, b.reshape(found, n.dims()), x)


@operator("masked_fill")
def _masked_fill(n: Node) -> SSAValue:
    return n.b.select(broadcast_to(n.b, n["mask"], n.dims()), n.full("value"), n.full("self"))


_REDUCE = {
    "add": "add",
    "sum": "add",
    "multiply": "multiply",
    "prod": "multiply",
    "amax": "maximum",
    "amin": "minimum",
}


@operator("scatter", "scatter_add", "scatter_reduce")
def _scatter(n: Node) -> SSAValue:
    b, x, index = n.b, n["self"], n["index"]
    dims = shape(x)
    reduce = "add" if "scatter_add" in n.name else n.value("reduce")
    if "src" in n.arguments:
        src = b.convert(n["src"], element(x))
    else:
        src = b.fill(n.value("value"), _type_like(x, index))
    if rank(x) == 0:
        x = b.reshape(x, (1,))
    if rank(index) == 0:
        index = b.reshape(index, (1,))
    src = b.reshape(src, (1,)) if rank(src) == 0 else src
    if 0 in shape(index):
        return n["self"]
    src = b.slice(src, [0] * rank(src), shape(index))
    axis = axis_from(n.value("dim"), rank(x))
    own = n.value("include_self", True) is not False
    if reduce is not None and element(x) == i1:
        refuse("of bool it is not supported")
    if reduce == "mean":
        return b.reshape(_mean_there(n, x, index, src, axis, own), dims)
    combine = None if reduce is None else _REDUCE.get(str(reduce))
    if reduce is not None and combine is None:
        refuse(f"reduce = '{reduce}' is not known")
    if combine is not None and not own:
        x = _neutral_there(n, x, index, axis, combine)
    return b.reshape(at.scatter_elements(b, x, index, src, axis, combine), dims)


def _type_like(x: SSAValue, index: SSAValue) -> Attribute:
    return tensor(shape(index), element(x))


def _neutral_there(n: Node, x: SSAValue, index: SSAValue, axis: int, combine: str) -> SSAValue:
    """Return x with the identity element at the written positions."""
    neutral = neutral_element(combine, element(x))
    assert neutral is not None
    fill = n.b.fill(neutral, _type_like(x, index))
    return at.scatter_elements(n.b, x, index, fill, axis)


@operator("index_add", "index_copy", kept=True)
def _index_add(n: Node) -> SSAValue:
    b, index = n.b, n["index"]
    x = _raised(n, n["self"])
    source = _raised(n, b.convert(n["source"], element(x)))
    dim = axis_from(n.value("dim"), rank(x))
    index = b.reshape(index, (1,)) if rank(index) == 0 else index
    alpha = n.value("alpha", 1)
    if alpha != 1:
        source = b.binary("multiply", source, b.fill_like(alpha, source))
    order = [dim, *(d for d in range(rank(x)) if d != dim)]
    back = [order.index(d) for d in range(rank(x))]
    vectors = b.reshape(index, (*shape(index), 1))
    if rank(source) == rank(x):
        source = b.transpose(source, order)
    else:
        source = b.reshape(source, (shape(index)[0], *[shape(x)[d] for d in order[1:]]))
    combine = None
    if "index_add" in n.name:
        combine = "or" if element(x) == i1 else "add"
    found = at.scatter_nd(b, b.transpose(x, order), vectors, source, combine)
    return b.reshape(b.transpose(found, back), n.dims())


def _raised(n: Node, x: SSAValue) -> SSAValue:
    """Return a scalar as a vector of one element, and other tensors as they are."""
    return x if rank(x) else n.b.reshape(x, (1,))


@operator("put")
def _put(n: Node) -> SSAValue:
    """Write to positions of the tensor in row-major order."""
    b, x = n.b, n["self"]
    flat = b.reshape(x, (int(np.prod(shape(x))),))
    count = int(np.prod(shape(n["index"])))
    index = b.convert(at.from_start(b, b.reshape(n["index"], (count, 1)), shape(flat)[0]), i32)
    source = b.reshape(b.convert(n["source"], element(x)), (count,))
    combine = None
    if n.value("accumulate", False):
        combine = "or" if element(x) == i1 else "add"
    return b.reshape(at.scatter_nd(b, flat, index, source, combine), n.dims())


@operator("index_reduce")
def _index_reduce(n: Node) -> SSAValue:
    """Combine slices of `source` into those of `self` that `index` names."""
    b, index = n.b, n["index"]
    x = _raised(n, n["self"])
    dim = axis_from(n.value("dim"), rank(x))
    source = _raised(n, b.convert(n["source"], element(x)))
    index = b.reshape(index, (1,)) if rank(index) == 0 else index
    places = b.broadcast(index, shape(source), [dim])
    reduce, own = str(n.value("reduce")), bool(n.value("include_self", True))
    if reduce == "mean":
        return b.reshape(_mean_there(n, x, places, source, dim, own), n.dims())
    combine = _REDUCE[reduce]
    if not own:
        x = _neutral_there(n, x, places, dim, combine)
    return b.reshape(at.scatter_elements(b, x, places, source, dim, combine), n.dims())


def _mean_there(
    n: Node, x: SSAValue, places: SSAValue, source: SSAValue, dim: int, own: bool
) -> SSAValue:
    """Return x with means at the written positions; those include x if `own`."""
    b = n.b
    ones, zeros = b.fill_like(1, x), b.fill_like(0, x)
    counts = at.scatter_elements(b, zeros, places, b.fill_like(1, source), dim, "add")
    written = b.compare(counts, zeros, "GT")
    start = x if own else b.select(written, zeros, x)
    total = at.scatter_elements(b, start, places, source, dim, "add")
    count = b.binary("add", counts, ones) if own else b.select(written, counts, ones)
    if is_float(element(x)):
        return b.binary("divide", total, count)
    return floor_divide(b, total, count)


@operator("one_hot", kept=True)
def _one_hot(n: Node) -> SSAValue:
    classes = n.value("num_classes", -1)
    if classes < 0:
        refuse("the number of classes depends on data", "give num_classes")
    on, off = n.b.scalar(1, n.type()), n.b.scalar(0, n.type())
    return at.one_hot(n.b, n["self"], classes, rank(n["self"]), on, off)


@operator("nonzero")
def _nonzero(n: Node) -> SSAValue:
    known = n.b.known(n["self"])
    if known is None:
        refuse("its shape depends on data", "use torch.where with three arguments")
    return n.b.constant(np.stack(np.nonzero(known), 1).astype(np.int64))


@operator("bucketize", "searchsorted")
def _bucketize(n: Node) -> SSAValue:
    """Count the boundaries below each value."""
    b = n.b
    if "searchsorted" in n.name:
        bounds, x = n["sorted_sequence"], n.operand("self", n.promoted("self"))
        if n.arguments.get("sorter") is not None:
            refuse("a sorter is not supported")
    else:
        bounds, x = n["boundaries"], n.operand("self", n.promoted("self"))
    right = bool(n.value("right", False)) or n.value("side") == "right"
    type_ = n.promoted("self", "sorted_sequence" if "searchsorted" in n.name else "boundaries")
    bounds, x = b.convert(bounds, type_), b.convert(x, type_)
    count = shape(bounds)[-1]
    dims = (*shape(x), count)
    if rank(bounds) == 1:
        line = b.broadcast(bounds, dims, [len(dims) - 1])
    else:
        line = b.broadcast(bounds, dims, [*range(rank(bounds) - 1), len(dims) - 1])
    values = b.broadcast(x, dims, range(len(dims) - 1))
    below = b.compare(line, values, "LE" if right else "LT")
    return n.cast(total(b, b.convert(below, i32), [len(dims) - 1]))
