"""Import reductions, argmin and argmax, sorting and running sums."""

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import SSAValue

from neuronir.frontends.graph import reductions as red
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.indexing import take
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import Function, operator
from neuronir.passes.hlo.support.values import element, shape

Reduction = Callable[[BlockBuilder, SSAValue, Sequence[int]], SSAValue]
"""Reduces dimensions and keeps them with size 1."""


def _plain(opcode: str) -> Reduction:
    return lambda b, x, dims: red.reduce(b, x, opcode, dims, keep=True)


def _extreme(opcode: str, of_pred: str) -> Reduction:
    def build(b: BlockBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
        return red.reduce(b, x, of_pred if element(x) == i1 else opcode, dims, keep=True)

    return build


def _l1(b: BlockBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    return red.total(b, b.unary("abs", x), dims, keep=True)


def _l2(b: BlockBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    squares = red.sum_square(b, x, dims, keep=True)
    if squares.type != x.type and element(squares) != element(x):
        refuse("the type changes")
    return b.unary("sqrt", squares)


def _log_sum(b: BlockBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    return b.unary("log", red.total(b, x, dims, keep=True))


REDUCTIONS: dict[str, tuple[Reduction, int]] = {
    "ReduceSum": (_plain("add"), 13),
    "ReduceProd": (_plain("multiply"), 18),
    "ReduceMax": (_extreme("maximum", "or"), 18),
    "ReduceMin": (_extreme("minimum", "and"), 18),
    "ReduceMean": (lambda b, x, dims: red.mean(b, x, dims, keep=True), 18),
    "ReduceL1": (_l1, 18),
    "ReduceL2": (_l2, 18),
    "ReduceLogSum": (_log_sum, 18),
    "ReduceLogSumExp": (lambda b, x, dims: red.log_sum_exp(b, x, dims, keep=True), 18),
    "ReduceSumSquare": (lambda b, x, dims: red.sum_square(b, x, dims, keep=True), 18),
}
"""Maps an operator to its reduction and the opset from which axes are an input."""


def _reduction(reduce: Reduction, axes_since: int) -> Function:
    def build(n: Node) -> SSAValue:
        rank = len(shape(n[0]))
        axes = n.axes(1, since=axes_since)
        if not axes:
            if n.flag("noop_with_empty_axes"):
                dims: tuple[int, ...] = ()
            else:
                dims = tuple(range(rank))
        else:
            dims = red.dims_from(axes, rank)
        result = reduce(n.b, n[0], dims)
        if n.flag("keepdims", True):
            return result
        return n.b.reshape(result, [d for i, d in enumerate(shape(n[0])) if i not in dims])

    return build


for _name, (_reduce, _since) in REDUCTIONS.items():
    operator(_name)(_reduction(_reduce, _since))


def _index(largest: bool) -> Function:
    def build(n: Node) -> SSAValue:
        dim = red.axis_from(n.integer("axis", 0), len(shape(n[0])))
        found = red.extreme_index(
            n.b,
            n[0],
            dim,
            i32,
            largest=largest,
            last=n.flag("select_last_index"),
            keep=n.flag("keepdims", True),
        )
        return n.b.convert(found, i64)

    return build


operator("ArgMax")(_index(True))
operator("ArgMin")(_index(False))


@operator("Hardmax", since=13)
def _hardmax(n: Node) -> SSAValue:
    return _hardmax_of(n, n[0], red.axis_from(n.integer("axis", -1), len(shape(n[0]))))


@operator("Hardmax")
def _hardmax_flat(n: Node) -> SSAValue:
    dims = shape(n[0])
    axis = red.axis_from(n.integer("axis", 1), len(dims))
    flat = n.b.reshape(n[0], (int(np.prod(dims[:axis])), int(np.prod(dims[axis:]))))
    return n.b.reshape(_hardmax_of(n, flat, 1), dims)


def _hardmax_of(n: Node, value: SSAValue, axis: int) -> SSAValue:
    first = red.extreme_index(n.b, value, axis, i32, keep=True)
    places = n.b.iota(shape(value), axis, i32)
    kept = [d for d in range(len(shape(value))) if d != axis]
    flat = n.b.reshape(first, [shape(value)[d] for d in kept])
    on = n.b.compare(places, n.b.broadcast(flat, shape(value), kept), "EQ")
    return n.b.convert(on, element(value))


def _running(opcode: str) -> Function:
    def build(n: Node) -> SSAValue:
        dim = red.axis_from(int(n.scalar(1)), len(shape(n[0])))
        exclusive, reverse = n.flag("exclusive"), n.flag("reverse")
        return red.cumulative(n.b, n[0], opcode, dim, exclusive=exclusive, reverse=reverse)

    return build


operator("CumSum")(_running("add"))
operator("CumProd")(_running("multiply"))


@operator("TopK")
def _top_k(n: Node) -> list[SSAValue]:
    b, x = n.b, n[0]
    rank = len(shape(x))
    axis = red.axis_from(n.integer("axis", -1), rank)
    k = int(n.scalar(1)) if n.opset >= 10 else n.integer("k", 0)
    if not 0 <= k <= shape(x)[axis]:
        refuse(f"k = {k} exceeds dimension {axis} of {list(shape(x))}")
    order = [*(d for d in range(rank) if d != axis), axis]
    back = [order.index(d) for d in range(rank)]
    found = b.op("topk", [b.transpose(x, order)], k=k, largest=n.flag("largest", True))
    values = b.transpose(b.tuple_element(found, 0), back)
    return [values, b.convert(b.transpose(b.tuple_element(found, 1), back), i64)]


@operator("NonZero")
def _non_zero(n: Node) -> SSAValue:
    array = n.b.need_known(n[0], "its input")
    return n.b.constant(np.stack(np.nonzero(array)).astype(np.int64))


@operator("Compress")
def _compress(n: Node) -> SSAValue:
    kept = np.nonzero(n.b.need_known(n[1], "the condition").reshape(-1))[0].astype(np.int64)
    value = n[0]
    if not n.has("axis"):
        value = n.b.reshape(value, (int(np.prod(shape(value))),))
    axis = red.axis_from(n.integer("axis", 0), len(shape(value)))
    return take(n.b, value, n.b.constant(kept), axis)
