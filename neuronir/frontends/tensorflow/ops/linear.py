"""Import products of matrices."""

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.frontends.graph import linear as L
from neuronir.frontends.graph.block import refuse
from neuronir.frontends.tensorflow.node import Op
from neuronir.frontends.tensorflow.registry import op


@op("MatMul", "SparseMatMul")
def matmul(o: Op) -> SSAValue:
    """Multiply two matrices, each optionally transposed."""
    if len(o.dims(0)) != 2 or len(o.dims(1)) != 2:
        refuse("it takes two matrices")
    left, right = o[0], o[1]
    if o.type == "SparseMatMul":  # TensorFlow computes with bf16 operands as f32
        left, right = o.b.convert(left, f32), o.b.convert(right, f32)
    return L.matmul(
        o.b,
        left,
        right,
        transpose_lhs=o.bool("transpose_a", False),
        transpose_rhs=o.bool("transpose_b", False),
    )


@op("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(o: Op) -> SSAValue:
    """Multiply matrices in the last two dimensions and broadcast the others."""
    if len(o.dims(0)) < 2 or len(o.dims(1)) < 2:
        refuse("it takes operands of rank 2 at least")
    wanted = o.dtype("Tout") if o.has("Tout") else o.element()
    result = L.matmul(
        o.b,
        o[0],
        o[1],
        transpose_lhs=o.bool("adj_x", False),
        transpose_rhs=o.bool("adj_y", False),
    )
    return o.b.convert(result, wanted)


@op("Einsum")
def einsum(o: Op) -> SSAValue:
    """Build an Einstein summation."""
    return L.einsum(o.b, o.text("equation"), o.tensors())
