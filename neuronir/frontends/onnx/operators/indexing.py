"""Import gathers, scatters and one-hot."""

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import is_float, np_dtype
from neuronir.frontends.graph import indexing as idx
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.reductions import axis_from
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.build import Builder
from neuronir.passes.hlo.support.values import element, shape


@operator("Gather")
def _gather(n: Node) -> SSAValue:
    dims = shape(n[0])
    axis = axis_from(n.integer("axis", 0), len(dims))
    idx.need_indices(n[1])
    return idx.take(n.b, n[0], idx.from_start(n.b, n[1], dims[axis]), axis)


@operator("GatherElements")
def _gather_elements(n: Node) -> SSAValue:
    dims = shape(n[0])
    axis = axis_from(n.integer("axis", 0), len(dims))
    idx.need_indices(n[1])
    return idx.gather_elements(n.b, n[0], idx.from_start(n.b, n[1], dims[axis]), axis)


def _vectors(n: Node, indices: SSAValue, dims: tuple[int, ...]) -> SSAValue:
    """Return index vectors with each entry counted from the start of its dimension."""
    idx.need_indices(indices)
    places = shape(indices)
    if not places or places[-1] > len(dims):
        refuse(f"indices of shape {list(places)} do not fit a tensor of shape {list(dims)}")
    known = n.b.known(indices)
    if known is not None and bool((known.astype("i8") >= 0).all()):
        return indices
    sizes = n.b.broadcast(_sizes(n.b, indices, dims[: places[-1]]), places, [len(places) - 1])
    below = n.b.compare_number(indices, 0, "LT")
    return n.b.select(below, n.b.binary("add", indices, sizes), indices)


def _sizes(b: Builder, indices: SSAValue, dims: tuple[int, ...]) -> SSAValue:
    return b.constant(np.asarray(dims, np_dtype(element(indices))))


@operator("GatherND")
def _gather_nd(n: Node) -> SSAValue:
    batch = n.integer("batch_dims", 0)
    return idx.gather_nd(n.b, n[0], _vectors(n, n[1], shape(n[0])[batch:]), batch)


def _combine(n: Node) -> str | None:
    reduction = n.text("reduction", "none")
    if reduction == "none":
        return None
    if reduction not in idx.COMBINE:
        refuse(f"reduction '{reduction}' is not known")
    return idx.COMBINE[reduction]


@operator("Scatter", "ScatterElements")
def _scatter_elements(n: Node) -> SSAValue:
    dims = shape(n[0])
    axis = axis_from(n.integer("axis", 0), len(dims))
    idx.need_indices(n[1])
    indices = idx.from_start(n.b, n[1], dims[axis])
    return idx.scatter_elements(n.b, n[0], indices, n[2], axis, _combine(n))


@operator("ScatterND")
def _scatter_nd(n: Node) -> SSAValue:
    return idx.scatter_nd(n.b, n[0], _vectors(n, n[1], shape(n[0])), n[2], _combine(n))


@operator("OneHot")
def _one_hot(n: Node) -> SSAValue:
    b = n.b
    depth = int(n.scalar(1))
    places = shape(n[0])
    axis = n.integer("axis", -1)
    axis = axis_from(axis, len(places) + 1)
    indices = n[0]
    if is_float(element(indices)):
        indices = b.convert(indices, i64)
    indices = idx.from_start(b, indices, depth)
    low = [[0], [1]]
    off, on = (b.reshape(b.slice(n[2], s, [s[0] + 1]), ()) for s in low)
    return idx.one_hot(b, indices, depth, axis, on, off)


@operator("TensorScatter")
def _tensor_scatter(n: Node) -> SSAValue:
    """Write blocks into a cache at an index for each batch (circular: modulo the length)."""
    b, cache, update = n.b, n[0], n[1]
    dims, new = shape(cache), shape(update)
    axis = axis_from(n.integer("axis", -2), len(dims))
    mode = n.text("mode", "linear")
    if mode not in ("linear", "circular") or axis == 0:
        refuse(f"mode '{mode}' at axis {axis} is not supported")
    places = b.iota(new, axis, i64)
    if n.get(2) is not None:
        places = b.binary("add", places, b.broadcast(b.convert(n[2], i64), new, [0]))
    if mode == "circular":
        places = b.binary_number("remainder", places, dims[axis])
    return idx.scatter_elements(b, cache, places, update, axis)


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def _array_feature_extractor(n: Node) -> SSAValue:
    dims = shape(n[0])
    indices = n.b.reshape(n[1], (shape(n[1])[-1],))
    taken = idx.take(n.b, n[0], indices, len(dims) - 1)
    return n.b.reshape(taken, (1, *shape(taken))) if len(dims) == 1 else taken


@operator("Binarizer", domain="ai.onnx.ml")
def _binarizer(n: Node) -> SSAValue:
    above = n.b.compare_number(n[0], n.number("threshold", 0.0), "GT")
    return n.b.convert(above, element(n[0]))
