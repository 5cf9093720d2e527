"""Import reductions, argmin and argmax, running sums, and sorting."""

from math import prod

from xdsl.dialects.builtin import BoolAttr, i1, i32
from xdsl.ir import SSAValue

from neuronir.dialects.hlo.attributes import i64_attr
from neuronir.dialects.support.dtypes import is_float
from neuronir.frontends.graph import reductions as red
from neuronir.frontends.graph.broadcasting import as_pred, broadcast_to
from neuronir.frontends.torch.node import Node, element, rank, shape
from neuronir.frontends.torch.operators.elementwise import cast
from neuronir.frontends.torch.registry import Function, operator
from neuronir.passes.hlo.support.build import OP_CLASSES
from neuronir.passes.hlo.support.values import tensor


def dims_of(n: Node, value: SSAValue) -> tuple[int, ...]:
    """Return the dimensions to reduce: those of `dim`, or all if there are none."""
    count = rank(value)
    given = n.value("dim")
    if given is None or given == []:
        return tuple(range(count))
    listed = [given] if isinstance(given, int) else list(given)
    return () if count == 0 else red.dims_from(listed, count)


def _finished(n: Node, value: SSAValue) -> SSAValue:
    """Restore the shape and type of the result, including reduced dimensions that it keeps."""
    return n.b.reshape(n.cast(value), n.dims())


@operator("sum", "nansum")
def _sum(n: Node) -> SSAValue:
    x = n.b.convert(n["self"], n.type())
    if "nansum" in n.name and is_float(n.type()):
        x = n.b.select(n.b.compare(x, x, "NE"), n.b.fill_like(0, x), x)
    return _finished(n, red.total(n.b, red.wide(n.b, x), dims_of(n, x)))


@operator("mean")
def _mean(n: Node) -> SSAValue:
    x = red.wide(n.b, n.b.convert(n["self"], n.type()))
    return _finished(n, red.mean(n.b, x, dims_of(n, x)))


@operator("prod")
def _prod(n: Node) -> SSAValue:
    x = red.wide(n.b, n.b.convert(n["self"], n.type()))
    return _finished(n, red.reduce(n.b, x, "multiply", dims_of(n, x)))


def _extreme(opcode: str, of_predicates: str) -> Function:
    def build(n: Node) -> SSAValue:
        x = n["self"]
        used = of_predicates if element(x) == i1 else opcode
        return _finished(n, red.reduce(n.b, x, used, dims_of(n, x)))

    return build


operator("amax")(_extreme("maximum", "or"))
operator("amin")(_extreme("minimum", "and"))


def _logic(opcode: str) -> Function:
    def build(n: Node) -> SSAValue:
        x = as_pred(n.b, n["self"])
        return _finished(n, red.reduce(n.b, x, opcode, dims_of(n, x)))

    return build


operator("any")(_logic("or"))
operator("all")(_logic("and"))


def _variance(n: Node) -> tuple[SSAValue, SSAValue]:
    """Return (variance, mean) with reduced dimensions of size 1, in f32 or wider."""
    x = red.wide(n.b, n["self"])
    dims = dims_of(n, x)
    count = red.count_of(x, dims)
    correction = n.value("correction", 1)
    if "unbiased" in n.arguments:
        correction = int(n.value("unbiased", True))
    average = red.mean(n.b, x, dims, keep=True)
    centred = n.b.binary("subtract", x, broadcast_to(n.b, average, shape(x)))
    squares = red.total(n.b, n.b.binary("multiply", centred, centred), dims, keep=True)
    return n.b.binary_number("divide", squares, max(0.0, count - correction)), average


@operator("var")
def _var(n: Node) -> SSAValue:
    return _finished(n, _variance(n)[0])


@operator("std")
def _std(n: Node) -> SSAValue:
    return _finished(n, n.b.unary("sqrt", _variance(n)[0]))


@operator("var_mean", "std_mean")
def _var_mean(n: Node) -> list[SSAValue]:
    spread, average = _variance(n)
    spread = n.b.unary("sqrt", spread) if "std" in n.name else spread
    both = (spread, average)
    return [n.b.reshape(n.b.convert(v, n.type()), n.dims()) for v in both]


@operator("logsumexp")
def _logsumexp(n: Node) -> SSAValue:
    x = red.wide(n.b, n.b.convert(n["self"], n.type()))
    return _finished(n, red.log_sum_exp(n.b, x, dims_of(n, x)))


# --- places


def _place(largest: bool) -> Function:
    def build(n: Node) -> SSAValue:
        x, dim = n["self"], n.value("dim")
        if rank(x) == 0 or dim is None:
            x, dim = n.b.reshape(x, (prod(shape(x)),)), 0
        found = red.extreme_index(n.b, x, red.axis_from(dim, rank(x)), i32, largest=largest)
        return _finished(n, found)

    return build


operator("argmax")(_place(True))
operator("argmin")(_place(False))


def _with_place(largest: bool) -> Function:
    def build(n: Node) -> list[SSAValue] | SSAValue:
        x = n["self"]
        opcode, predicates = ("maximum", "or") if largest else ("minimum", "and")
        used = predicates if element(x) == i1 else opcode
        if "dim" not in n.arguments:
            return _finished(n, red.reduce(n.b, x, used, dims_of(n, x)))
        if rank(x) == 0:
            return [x, n.b.scalar(0, n.type(1))]
        dim = red.axis_from(n.value("dim"), rank(x))
        best = red.reduce(n.b, x, used, [dim])
        source = n.b.convert(x, i32) if element(x) == i1 else x
        place = red.extreme_index(n.b, source, dim, i32, largest=largest)
        return [
            n.b.reshape(best, n.dims(0)),
            n.b.reshape(n.b.convert(place, n.type(1)), n.dims(1)),
        ]

    return build


operator("max.dim", "max.default")(_with_place(True))
operator("min.dim", "min.default")(_with_place(False))


# --- running sums


def _running(opcode: str) -> Function:
    def build(n: Node) -> SSAValue:
        x = n.b.convert(n["self"], n.type())
        if rank(x) == 0:
            return x
        dim = red.axis_from(n.value("dim"), rank(x))
        return n.cast(red.cumulative(n.b, red.wide(n.b, x), opcode, dim))

    return build


operator("cumsum")(_running("add"))
operator("cumprod")(_running("multiply"))


def _running_extreme(opcode: str) -> Function:
    def build(n: Node) -> list[SSAValue]:
        b, x = n.b, n["self"]
        if rank(x) == 0:
            return [x, b.scalar(0, n.type(1))]
        if element(x) == i1:
            x = b.convert(x, i32)
        dim = red.axis_from(n.value("dim"), rank(x))
        best = red.cumulative(b, x, opcode, dim)
        places = b.iota(shape(x), dim, i32)
        here = b.select(b.compare(x, best, "EQ"), places, b.fill_like(0, places))
        places = red.cumulative(b, here, "maximum", dim)
        return [cast(b, best, n.type()), b.convert(places, n.type(1))]

    return build


operator("cummax")(_running_extreme("maximum"))
operator("cummin")(_running_extreme("minimum"))


# --- sorting


def sorted_by(n: Node, x: SSAValue, dim: int, *, descending: bool) -> tuple[SSAValue, SSAValue]:
    """Return (sorted values, their old positions in s32); the sort is stable."""
    b = n.b
    if element(x) == i1:
        values, places = sorted_by(n, b.convert(x, i32), dim, descending=descending)
        return cast(b, values, i1), places
    places = b.iota(shape(x), dim, i32)
    inner = b.region([tensor((), element(x))] * 2 + [tensor((), i32)] * 2)
    one, two = inner.block.args[0], inner.block.args[1]
    before = inner.compare(one, two, "GT" if descending else "LT")
    if is_float(element(x)):
        # NaN is above all values.
        nan_one, nan_two = (inner.compare(v, v, "NE") for v in (one, two))
        first, second = (nan_one, nan_two) if descending else (nan_two, nan_one)
        only = inner.binary("and", first, inner.unary("not", second))
        before = inner.binary("or", before, only)
    both = b.tuple([x, places])
    op = OP_CLASSES["hlo.sort"].create(
        operands=[x, places],
        result_types=[both.type],
        properties={"dimension": i64_attr(dim), "is_stable": BoolAttr.from_bool(True)},
        regions=[inner.finish(before)],
    )
    result = b.insert(op).results[0]
    return b.tuple_element(result, 0), b.tuple_element(result, 1)


@operator("sort")
def _sort(n: Node) -> list[SSAValue]:
    x = n["self"]
    if rank(x) == 0:
        return [x, n.b.scalar(0, n.type(1))]
    dim = red.axis_from(n.value("dim", -1), rank(x))
    values, places = sorted_by(n, x, dim, descending=bool(n.value("descending", False)))
    return [values, n.b.convert(places, n.type(1))]


@operator("topk")
def _topk(n: Node) -> list[SSAValue]:
    b, x = n.b, n["self"]
    if rank(x) == 0:
        return [x, b.scalar(0, n.type(1))]
    axis = red.axis_from(n.value("dim", -1), rank(x))
    order = [*(d for d in range(rank(x)) if d != axis), axis]
    back = [order.index(d) for d in range(rank(x))]
    found = b.op(
        "topk", [b.transpose(x, order)], k=n.value("k"), largest=bool(n.value("largest", True))
    )
    values = b.transpose(b.tuple_element(found, 0), back)
    return [values, b.convert(b.transpose(b.tuple_element(found, 1), back), n.type(1))]


def _nth(n: Node, x: SSAValue, dim: int, place: int) -> list[SSAValue]:
    """Return the element at a position of the order along a dimension, and its old position."""
    found = []
    for i, value in enumerate(sorted_by(n, x, dim, descending=False)):
        starts, limits = [0] * rank(x), list(shape(x))
        starts[dim], limits[dim] = place, place + 1
        part = n.b.slice(value, starts, limits)
        found.append(n.b.reshape(n.b.convert(part, n.type(i)), n.dims(i)))
    return found


@operator("kthvalue")
def _kthvalue(n: Node) -> list[SSAValue]:
    x = n["self"]
    if rank(x) == 0:
        return [x, n.b.scalar(0, n.type(1))]
    return _nth(n, x, red.axis_from(n.value("dim", -1), rank(x)), n.value("k") - 1)


@operator("median")
def _median(n: Node) -> list[SSAValue] | SSAValue:
    """Return the lower of the middle elements; NaN if there is one."""
    b, x = n.b, n["self"]
    if "dim" not in n.arguments:
        x = b.reshape(x, (prod(shape(x)),))
        values, _ = sorted_by(n, x, 0, descending=False)
        middle = (shape(x)[0] - 1) // 2
        found = b.reshape(b.slice(values, [middle], [middle + 1]), ())
        if not is_float(element(x)):
            return found
        last = b.reshape(b.slice(values, [shape(x)[0] - 1], [shape(x)[0]]), ())
        return b.select(b.compare(last, last, "NE"), last, found)
    if rank(x) == 0:
        return [x, b.scalar(0, n.type(1))]
    dim = red.axis_from(n.value("dim"), rank(x))
    value, place = _nth(n, x, dim, (shape(x)[dim] - 1) // 2)
    if not is_float(element(x)):
        return [value, place]
    # The position of an extreme is that of the first NaN, if there is one.
    nan = red.reduce(b, b.compare(x, x, "NE"), "or", [dim])
    nan = b.reshape(nan, n.dims())
    first = b.reshape(b.convert(red.extreme_index(b, x, dim, i32), n.type(1)), n.dims())
    return [b.select(nan, b.fill_like(float("nan"), value), value), b.select(nan, first, place)]
