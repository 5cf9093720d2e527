"""Import products of matrices, and attention."""

from math import sqrt

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import is_float
from neuronir.frontends.graph import linear
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import along, broadcast_shape, broadcast_to
from neuronir.frontends.graph.indexing import take, triangle
from neuronir.frontends.graph.normalization import softmax
from neuronir.frontends.graph.reductions import dims_from, log_sum_exp, reduce, total, wide
from neuronir.frontends.torch.node import Node, element, rank, shape
from neuronir.frontends.torch.operators.elementwise import binary
from neuronir.frontends.torch.registry import operator


@operator("mm", "bmm", "dot", "vdot", "mv")
def _product(n: Node) -> SSAValue:
    names = [a for a in ("mat2", "vec", "tensor", "other") if a in n.arguments]
    return linear.matmul(n.b, n["self"], n[names[0]])


@operator("matmul", kept=True)
def _matmul(n: Node) -> SSAValue:
    return linear.matmul(n.b, n["self"], n["other"])


@operator("linear", kept=True)
def _linear(n: Node) -> SSAValue:
    x, weight = n["input"], n["weight"]
    product = linear.dot(n.b, x, weight, ([rank(x) - 1], [rank(weight) - 1]))
    bias = n.get("bias")
    if bias is None:
        return product
    return n.b.binary("add", product, broadcast_to(n.b, bias, shape(product)))


@operator("addmm", "baddbmm", "addmv", "addbmm", "addr")
def _added_product(n: Node) -> SSAValue:
    """Compute beta * self + alpha * product."""
    b = n.b
    if "addr" in n.name:
        one, two = n["vec1"], n["vec2"]
        product = b.binary("multiply", along(b, one, n.dims(), 0), along(b, two, n.dims(), 1))
    else:
        names = [("mat1", "mat2"), ("batch1", "batch2"), ("mat", "vec")]
        first, second = next(pair for pair in names if pair[0] in n.arguments)
        if n.name == "aten.addbmm.default":
            product = linear.dot(b, n[first], n[second], ([0, 2], [0, 1]))
        else:
            product = linear.matmul(b, n[first], n[second])
    alpha, beta = n.value("alpha", 1), n.value("beta", 1)
    if alpha != 1:
        product = b.binary_number("multiply", product, alpha)
    if beta == 0:
        return product
    base = n.full("self")
    if beta != 1:
        base = b.binary_number("multiply", base, beta)
    return binary(b, "add", product, base)


@operator("einsum", kept=True)
def _einsum(n: Node) -> SSAValue:
    values = [n.b.convert(v, n.type()) for v in n.all("tensors")]  # sums of int32 are int64
    return linear.einsum(n.b, n.value("equation"), values)


@operator("_trilinear")
def _trilinear(n: Node) -> SSAValue:
    """Compute the sum over `sumdim` of the product of three operands with inserted dimensions."""
    names = ("i1", "i2", "i3")
    inserted = [n.ints(f"expand{i}") for i in (1, 2, 3)]
    whole = rank(n["i1"]) + len(inserted[0])
    letters = "abcdefghijklmnopqrstuvwxyz"[:whole]
    terms = [
        "".join(c for d, c in enumerate(letters) if d not in {k % whole for k in gone})
        for gone in inserted
    ]
    summed = {d % whole for d in n.ints("sumdim")}
    result = "".join(c for d, c in enumerate(letters) if d not in summed)
    return linear.einsum(n.b, f"{','.join(terms)}->{result}", [n[name] for name in names])


@operator("scaled_dot_product_attention", kept=True)
def _attention(n: Node) -> SSAValue:
    """Compute softmax(q k^T * scale + mask) v; fully masked rows give zeros."""
    scores, v = _scores(n)
    return _weighted(n, scores, v)


@operator("_scaled_dot_product_flash_attention_for_cpu", kept=True)
def _flash_attention(n: Node) -> list[SSAValue]:
    """Compute attention and, for its gradient, log(sum(exp)) of each row of scores; both are zeros
    for fully masked rows.

    The scores are not rounded to the type of the operands: the logarithm would show that.
    """
    scores, v = _scores(n, rounded=False)
    sums = log_sum_exp(n.b, scores, [rank(scores) - 1])
    if n.get("attn_mask") is not None:
        none = n.b.compare_number(sums, float("-inf"), "EQ")
        sums = n.b.select(none, n.b.fill_like(0, sums), sums)
    return [_weighted(n, scores, v), sums]


def _scores(n: Node, *, rounded: bool = True) -> tuple[SSAValue, SSAValue]:
    """Return q k^T * scale + mask in fp32 (fp64 for operands in fp64), and the values."""
    b, q, k, v = n.b, n["query"], n["key"], n["value"]
    if not rounded:
        q, k = wide(b, q), wide(b, k)
    if n.value("dropout_p", 0.0):
        refuse("dropout is not supported", "call model.eval() first")
    if n.value("enable_gqa", False):
        k, v = _repeated(b, k, shape(q)[-3]), _repeated(b, v, shape(q)[-3])
    scale = n.value("scale")
    scale = 1 / sqrt(shape(q)[-1]) if scale is None else scale
    scores = wide(b, linear.matmul(b, q, k, transpose_rhs=True))
    scores = b.binary_number("multiply", scores, scale)
    return _masked(n, scores), v


def _masked(n: Node, scores: SSAValue) -> SSAValue:
    """Add the mask to the scores, or replace the scores that it excludes; then exclude later
    positions if the attention is causal.
    """
    b, dims, given = n.b, shape(scores), n.get("attn_mask")
    low = b.fill_like(float("-inf"), scores)
    if given is not None:
        spread = broadcast_to(b, given, dims)
        if element(given) == i1:
            scores = b.select(spread, scores, low)
        else:
            scores = b.binary("add", scores, b.convert(spread, element(scores)))
    if n.value("is_causal", False):
        scores = b.select(triangle(b, dims, 0, upper=False), scores, low)
    return scores


def _weighted(n: Node, scores: SSAValue, v: SSAValue) -> SSAValue:
    """Return softmax(scores) v; fully masked rows give zeros."""
    b, own = n.b, element(n["query"])
    weights = softmax(b, scores, [rank(scores) - 1])
    if n.get("attn_mask") is not None:
        # For a fully masked row softmax returns NaN.
        peak = reduce(b, scores, "maximum", [rank(scores) - 1], keep=True)
        none = broadcast_to(b, b.compare_number(peak, float("-inf"), "EQ"), shape(scores))
        weights = b.select(none, b.fill_like(0, weights), weights)
    return linear.matmul(b, b.convert(weights, own), v)


def _repeated(b: BlockBuilder, x: SSAValue, heads: int) -> SSAValue:
    """Repeat each head to match the number of query heads."""
    dims = shape(x)
    own = dims[-3]
    spread = (*dims[:-3], own, heads // own, *dims[-2:])
    wide_x = b.broadcast(x, spread, [d for d in range(len(spread)) if d != len(dims) - 2])
    return b.reshape(wide_x, (*dims[:-3], heads, *dims[-2:]))


@operator("_cdist_forward", "cdist", kept=True)
def _cdist(n: Node) -> SSAValue:
    """Return the distances of all rows of two matrices."""
    b, p = n.b, float(n.value("p", 2.0))
    one, two = wide(b, n["x1"]), wide(b, n["x2"])
    batch = broadcast_shape(shape(one)[:-2], shape(two)[:-2])
    rows, columns, size = shape(one)[-2], shape(two)[-2], shape(one)[-1]
    dims = (*batch, rows, columns, size)
    k = len(batch)
    one = broadcast_to(b, one, (*batch, rows, size))
    two = broadcast_to(b, two, (*batch, columns, size))
    left = along(b, one, dims, *range(k), k, k + 2)
    right = along(b, two, dims, *range(k), k + 1, k + 2)
    away = b.unary("abs", b.binary("subtract", left, right))
    return n.cast(norm(b, away, p, [k + 2]))


@operator("_pdist_forward")
def _pdist(n: Node) -> SSAValue:
    """Return the distances of the pairs of rows of a matrix."""
    b, x = n.b, wide(n.b, n["self"])
    pairs = np.triu_indices(shape(x)[0], 1)
    left, right = (take(b, x, b.constant(i.astype(np.int32)), 0) for i in pairs)
    away = b.unary("abs", b.binary("subtract", left, right))
    return n.cast(norm(b, away, float(n.value("p", 2.0)), [1]))


@operator("linalg_vector_norm", kept=True)
def _vector_norm(n: Node) -> SSAValue:
    """Compute (sum |x|^ord)^(1/ord) over dimensions."""
    b, order = n.b, float(n.value("ord", 2))
    x = b.unary("abs", wide(b, b.convert(n["self"], n.type())))
    given = n.value("dim")
    listed = [given] if isinstance(given, int) else list(given or [])
    dims = list(dims_from(listed, rank(x))) if listed and rank(x) else list(range(rank(x)))
    if order == float("-inf"):
        found = reduce(b, x, "minimum", dims)
    else:
        found = norm(b, x, order, dims)
    return b.reshape(n.cast(found), n.dims())


def norm(b: BlockBuilder, away: SSAValue, p: float, dims: list[int]) -> SSAValue:
    """Compute (sum x^p)^(1/p) of nonnegative values."""
    if not is_float(element(away)):
        refuse(f"of {element(away)} it is not supported")
    if p == float("inf"):
        return reduce(b, away, "maximum", dims)
    if p == 0:
        return total(b, b.convert(b.compare_number(away, 0, "NE"), element(away)), dims)
    if p == 1:
        return total(b, away, dims)
    if p == 2:
        return b.unary("sqrt", total(b, b.binary("multiply", away, away), dims))
    return b.binary_number("power", total(b, b.binary_number("power", away, p), dims), 1 / p)
