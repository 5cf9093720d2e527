"""Products of matrices, factors, solutions."""

import itertools

import numpy as np
import tensorflow as tf

from tests.frontends.tensorflow.cases.case import BF16, Cases

CASES = Cases("linear")
c, raw = CASES, tf.raw_ops

for _ta, _tb in itertools.product((False, True), repeat=2):
    c.add(
        f"MatMul_{_ta}_{_tb}",
        lambda x, y, a=_ta, b=_tb: raw.MatMul(a=x, b=y, transpose_a=a, transpose_b=b),
        c.f32(4, 3) if _ta else c.f32(3, 4),
        c.f32(5, 4) if _tb else c.f32(4, 5),
    )
    for _n in ("BatchMatMul", "BatchMatMulV2"):
        c.add(
            f"{_n}_{_ta}_{_tb}",
            lambda x, y, a=_ta, b=_tb, n=_n: getattr(raw, n)(x=x, y=y, adj_x=a, adj_y=b),
            c.f32(2, 4, 3) if _ta else c.f32(2, 3, 4),
            c.f32(2, 5, 4) if _tb else c.f32(2, 4, 5),
        )
c.add(
    "BatchMatMulV2_broadcast",
    lambda x, y: raw.BatchMatMulV2(x=x, y=y),
    c.f32(2, 1, 3, 4),
    c.f32(5, 4, 2),
)
c.add("BatchMatMulV2_weight", lambda x, y: raw.BatchMatMulV2(x=x, y=y), c.f32(2, 3, 4), c.f32(4, 5))
c.add(
    "BatchMatMulV3",
    lambda x, y: raw.BatchMatMulV3(x=x, y=y, Tout=tf.float32),
    c.f32(2, 3, 4),
    c.f32(2, 4, 5),
)
for _t in (np.float16, BF16):
    c.add(
        f"MatMul_{np.dtype(_t).name}",
        lambda x, y: raw.MatMul(a=x, b=y),
        c.of(_t, 3, 8),
        c.of(_t, 8, 5),
    )
c.add("MatMul_int", lambda x, y: raw.MatMul(a=x, b=y), c.ints(-5, 5, 3, 4), c.ints(-5, 5, 4, 2))
EQUATIONS = {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "bhqd,bhkd->bhqk": ((2, 2, 3, 4), (2, 2, 5, 4)),
    "abc,cd->abd": ((2, 3, 4), (4, 5)),
    "ij->ji": ((3, 4),),
    "ij->i": ((3, 4),),
    "ii->i": ((4, 4),),
    "i,j->ij": ((3,), (4,)),
    "...ij,...jk->...ik": ((2, 3, 4), (4, 5)),
    "bqhd,bkhd->bhqk": ((2, 3, 2, 4), (2, 5, 2, 4)),
    "abcd,aecd->acbe": ((2, 3, 2, 4), (2, 5, 2, 4)),
}
for _e, _shapes in EQUATIONS.items():
    c.add(
        f"Einsum_{_e.replace('...', 'E').replace('->', '_to_').replace(',', '_')}",
        lambda *x, e=_e: raw.Einsum(inputs=x, equation=e),
        *(c.f32(*s) for s in _shapes),
    )


def definite(n: int, *outer: int) -> np.ndarray:
    m = c.f32(*outer, n, n)
    return (m @ np.swapaxes(m, -1, -2) + n * np.eye(n, dtype=np.float32)).astype(np.float32)


c.add("Cholesky", lambda x: raw.Cholesky(input=x), definite(4))
c.add("Cholesky_batch", lambda x: raw.Cholesky(input=x), definite(3, 2))
for _lower, _adjoint in itertools.product((False, True), repeat=2):
    c.add(
        f"MatrixTriangularSolve_{_lower}_{_adjoint}",
        lambda a, b, lo=_lower, ad=_adjoint: raw.MatrixTriangularSolve(
            matrix=a, rhs=b, lower=lo, adjoint=ad
        ),
        definite(4),
        c.f32(4, 2),
    )
c.add(
    "MatrixTriangularSolve_batch",
    lambda a, b: raw.MatrixTriangularSolve(matrix=a, rhs=b),
    definite(3, 2),
    c.f32(2, 3, 4),
)
