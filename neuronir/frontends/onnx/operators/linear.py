"""Import products of matrices."""

from itertools import combinations

import numpy as np
from xdsl.ir import SSAValue

from neuronir.frontends.graph.block import refuse
from neuronir.frontends.graph.broadcasting import broadcast_to
from neuronir.frontends.graph.linear import dot, einsum, matmul
from neuronir.frontends.onnx.node import Node
from neuronir.frontends.onnx.registry import operator
from neuronir.passes.hlo.support.values import shape


@operator("MatMul")
def _matmul(n: Node) -> SSAValue:
    return matmul(n.b, n[0], n[1])


@operator("Gemm")
def _gemm(n: Node) -> SSAValue:
    a, w = n[0], n[1]
    if len(shape(a)) != 2 or len(shape(w)) != 2:
        refuse(f"it needs matrices, has shapes {list(shape(a))} and {list(shape(w))}")
    left, right = int(not n.flag("transA")), int(n.flag("transB"))
    product = dot(n.b, a, w, ([left], [right]))
    product = scaled(n, product, n.number("alpha", 1.0))
    if n.get(2) is None:
        return product
    offset = scaled(n, n[2], n.number("beta", 1.0))
    return n.b.binary("add", product, broadcast_to(n.b, offset, shape(product)))


def scaled(n: Node, value: SSAValue, factor: float) -> SSAValue:
    """Multiply the value by a constant."""
    return value if factor == 1.0 else n.b.binary_number("multiply", value, factor)


@operator("Einsum")
def _einsum(n: Node) -> SSAValue:
    return einsum(n.b, n.text("equation", ""), n.all())


@operator("FC")
def _fully_connected(n: Node) -> SSAValue:
    """Caffe2's: multiply the input, flattened at an axis, by the transposed weights and add a
    bias.
    """
    dims, weights = shape(n[0]), n[1]
    axis, weight_axis = n.integer("axis", 1), n.integer("axis_w", 1)
    outer = dims[:axis]
    flat = n.b.reshape(n[0], (int(np.prod(outer)), int(np.prod(dims[axis:]))))
    made = shape(weights)[:weight_axis]
    inner = int(np.prod(shape(weights)[weight_axis:]))
    rows = n.b.reshape(weights, (int(np.prod(made)), inner))
    product = dot(n.b, flat, rows, ([1], [1]))
    product = n.b.binary("add", product, n.b.broadcast(n[2], shape(product), [1]))
    return n.b.reshape(product, (*outer, *made))


@operator("Det")
def _det(n: Node) -> SSAValue:
    """Laplace's expansion, row by row, over sets of columns."""
    b, x = n.b, n[0]
    *outer, rows, columns = shape(x)
    if rows != columns or not 1 <= rows <= 8:
        refuse(f"determinants of up to 8 x 8 are supported, this is {rows} x {columns}")

    def entry(i: int, j: int) -> SSAValue:
        low, high = [0] * len(outer), list(outer)
        return b.reshape(b.slice(x, [*low, i, j], [*high, i + 1, j + 1]), outer)

    minors_of: dict[tuple[int, ...], SSAValue] = {(): b.fill(1, entry(0, 0).type)}
    for size in range(1, rows + 1):
        following: dict[tuple[int, ...], SSAValue] = {}
        for chosen in combinations(range(columns), size):
            total: SSAValue | None = None
            for place, j in enumerate(chosen):
                rest = chosen[:place] + chosen[place + 1 :]
                term = b.binary("multiply", entry(size - 1, j), minors_of[rest])
                if total is None:
                    total = term if (size - 1 + place) % 2 == 0 else b.unary("negate", term)
                else:
                    opcode = "add" if (size - 1 + place) % 2 == 0 else "subtract"
                    total = b.binary(opcode, total, term)
            assert total is not None
            following[chosen] = total
        minors_of = following
    return minors_of[tuple(range(columns))]
