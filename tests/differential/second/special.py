"""Sorts, top-k, random bits, batch norms, factorisations, complex numbers."""

import numpy as np

from tests.differential.second.draw import Draw, Value, braces
from tests.differential.second.program import Shape

_KEYS = ("f32", "f32", "s32", "bf16", "u32", "f16", "s8", "u8", "s16", "u16")


def sort(draw: Draw) -> Value:
    """Sort one to three operands by the first along any dimension."""
    x = draw.operand(_KEYS, 1, 3, exact=True, tame=True, size=6000)
    axis = draw.among(0, len(x.dims) - 1)
    others = [
        draw.like(Shape(draw.pick(("s32", "f32", "bf16", "u8", "pred")), x.dims), exact=True)
        for _ in range(draw.pick([0, 1, 1, 2]))
    ]
    operands = [x, *others]
    way, name = draw.pick(("LT", "GT")), draw.fresh("before")
    lines = []
    for i, value in enumerate(operands):
        lines.append(f"  a{i} = {value.dtype}[] parameter({2 * i})")
        lines.append(f"  b{i} = {value.dtype}[] parameter({2 * i + 1})")
    text = "\n".join(
        [
            f"{name} {{",
            *lines,
            f"  ROOT c = pred[] compare(a0, b0), direction={way}",
            "}",
        ]
    )
    attributes = f", dimensions={{{axis}}}, is_stable=true, to_apply={name}"
    if not others:
        return draw.add("sort", x.shape, [x], attributes, signed=False, computations=[text])
    shapes = [v.shape for v in operands]
    return draw.leaves("sort", shapes, operands, attributes, computations=[text])[1]


def topk(draw: Draw) -> Value:
    """The k largest elements of the last dimension, with their places."""
    x = draw.operand(("f32", "f32", "bf16", "s32"), 1, 2, exact=True, tame=True, size=12_000)
    n = x.dims[-1]
    k = draw.pick(sorted({min(k, n) for k in (1, 3, 8, 9, 17)}))
    shapes = [Shape(x.dtype, (*x.dims[:-1], k)), Shape("s32", (*x.dims[:-1], k))]
    return draw.leaves("topk", shapes, [x], f", k={k}, largest=true")[0]


def random_bits(draw: Draw) -> Value:
    """Random bits of a known generator."""
    algorithm = draw.pick(("rng_default", "rng_three_fry", "rng_philox"))
    words = 1 if algorithm == "rng_three_fry" else 1
    kind = draw.pick(("u32", "u32", "u8", "u16", "u64"))
    shape = Shape(kind, draw.dims(draw.rank(1, 3), 4000))
    length = 2 * words if algorithm == "rng_three_fry" else 2
    state = draw.parameter(Shape("u64", (length,)), "normal")
    attributes = f", algorithm={algorithm}"
    return draw.leaves("rng-bit-generator", [state.shape, shape], [state], attributes)[1]


def batch_norm(draw: Draw) -> Value:
    """Batch norm of inference, of training, or its gradient."""
    dims = draw.dims(draw.pick([4, 2, 3]), 8000)
    axis = draw.among(0, len(dims) - 1)
    x = draw.parameter(Shape("f32", dims), "normal")
    row = Shape("f32", (dims[axis],))
    scale = draw.parameter(row, "normal")
    kind = draw.pick(("inference", "training", "grad"))
    tail = f", epsilon=0.001, feature_index={axis}"
    if kind == "inference":
        rest = [draw.parameter(row, domain) for domain in ("normal", "normal", "positive")]
        return draw.add("batch-norm-inference", x.shape, [x, scale, *rest], tail, exact=False)
    if kind == "training":
        operands = [x, scale, draw.parameter(row, "normal")]
        shapes = [x.shape, row, row]
        return draw.leaves("batch-norm-training", shapes, operands, tail, exact=False)[0]
    operands = [x, scale, draw.parameter(row, "normal"), draw.parameter(row, "positive")]
    operands.append(draw.parameter(x.shape, "normal"))
    return draw.leaves("batch-norm-grad", [x.shape, row, row], operands, tail, exact=False)[0]


def factor(draw: Draw) -> Value:
    """A Cholesky factor, or the solution of a triangular system. The diagonal is large: what
    becomes of a matrix that is not positive definite is left to the implementation."""
    n = draw.pick([1, 2, 3, 8, 17, 33])
    batch = draw.dims(draw.pick([0, 0, 1]), 4)
    square = Shape("f32", (*batch, n, n))
    x = draw.parameter(square, "unit")
    rank = len(batch)
    eye = draw.constant(np.eye(n, dtype=np.float32) * (2.0 * n + 1.0), "f32")
    wide = draw.broadcast(eye, square, (rank, rank + 1)) if batch else eye
    if draw.pick([True, False]):
        order = (*range(rank), rank + 1, rank)
        turned = draw.add("transpose", square, [x], f", dimensions={braces(order)}", rule="move")
        both = draw.add("add", square, [x, turned], rule="add")
        whole = draw.add("add", square, [both, wide], rule="add")
        return draw.add("cholesky", square, [whole], ", lower=true", exact=False)
    whole = draw.add("add", square, [x, wide], rule="add")
    right = draw.parameter(Shape("f32", (*batch, n, draw.pick([1, 4, 33]))), "normal")
    way = draw.pick(("true", "false"))
    turn = draw.pick(("NO_TRANSPOSE", "TRANSPOSE"))
    attributes = f", left_side=true, lower={way}, unit_diagonal=false, transpose_a={turn}"
    return draw.add("triangular-solve", right.shape, [whole, right], attributes, exact=False)


def complex_numbers(draw: Draw) -> Value:
    """A complex product taken apart again."""
    x = draw.operand(("f32",), tame=True)
    y = draw.like(x.shape, tame=True)
    made = draw.add("complex", Shape("c64", x.dims), [x, y], exact=False)
    squared = draw.add("multiply", made.shape, [made, made], exact=False)
    part = draw.pick(("real", "imag"))
    return draw.add(part, x.shape, [squared], rule="squared", exact=False)


OPS = (sort, sort, topk, random_bits, batch_norm, factor, complex_numbers)
