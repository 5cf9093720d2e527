"""Attention that is worked on by blocks of queries, on every phase."""

from math import prod

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import i8

from neuronir.dialects.nc.structure import AllocOp
from neuronir.driver import CompileOptions, compile_text
from tests.differential.stages import failures
from tests.lowering.helpers import Array, entry

REDUCERS = """max {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

"""


def _softmax(shape: str, kept: str, last: int) -> list[str]:
    """Lines that make p of s."""
    across = ",".join(map(str, range(last)))
    return [
        "low = f32[] constant(-inf)",
        "zero = f32[] constant(0)",
        f"top = f32[{kept}] reduce(s, low), dimensions={{{last}}}, to_apply=max",
        f"tops = f32[{shape}] broadcast(top), dimensions={{{across}}}",
        f"shifted = f32[{shape}] subtract(s, tops)",
        f"raised = f32[{shape}] exponential(shifted)",
        f"sum = f32[{kept}] reduce(raised, zero), dimensions={{{last}}}, to_apply=add",
        f"sums = f32[{shape}] broadcast(sum), dimensions={{{across}}}",
        f"p = f32[{shape}] divide(raised, sums)",
    ]


def _with_reducers(text: str) -> str:
    return text.replace("ENTRY", f"{REDUCERS}ENTRY")


def _long_rows(
    queries: int, keys: int, depth: int, width: int, bound: str = ""
) -> tuple[str, list[Array]]:
    """Attention with a scale, and its arguments; those of q, k and v in `bound` are constants."""
    rng = np.random.default_rng(5)
    shapes = {"q": (queries, depth), "k": (keys, depth), "v": (keys, width)}
    lines: list[str] = []
    args: list[Array] = []
    for name, (rows, columns) in shapes.items():
        array = rng.standard_normal((rows, columns)).astype(np.float32)
        if name in bound:
            numbers = ", ".join("{" + ", ".join(map(repr, row)) + "}" for row in array.tolist())
            lines.append(f"{name} = f32[{rows},{columns}] constant({{{numbers}}})")
        else:
            lines.append(f"{name} = f32[{rows},{columns}] parameter({len(args)})")
            args.append(array)
    text = entry(
        *lines,
        f"d = f32[{queries},{keys}] dot(q, k), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        "n = f32[] constant(0.3)",
        f"ns = f32[{queries},{keys}] broadcast(n), dimensions={{}}",
        f"s = f32[{queries},{keys}] multiply(d, ns)",
        *_softmax(f"{queries},{keys}", str(queries), 1),
        f"r = f32[{queries},{width}] dot(p, v), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    return _with_reducers(text), args


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize(
    ("queries", "keys", "depth", "width"),
    [(130, 1100, 32, 24), (640, 1152, 64, 64), (750, 1100, 32, 24), (1044, 1100, 32, 32)],
)
@pytest.mark.thin(2)
def test_long_rows(queries: int, keys: int, depth: int, width: int, cast: str) -> None:
    """Queries and keys that tiles do and do not divide, and a scale."""
    text, args = _long_rows(queries, keys, depth, width)
    assert not failures(text, args, cast)


@pytest.mark.parametrize("bound", ["q", "k", "qk", "kv"])
def test_scores_of_bound_operands_stay_in_psum(bound: str) -> None:
    """As with learned queries: only the result is written, in tiles, and never the scores."""
    text, args = _long_rows(256, 1152, 32, 32, bound)
    assert not failures(text, args, "matmult")
    options = CompileOptions(compile_to="virtual")
    module = compile_text(text, "trn1", options).module
    types = [op.buffer.type for op in module.walk() if isinstance(op, AllocOp)]
    sizes = [prod(t.get_shape()) for t in types if t.element_type != i8]  # bytes are constants
    assert max(sizes) < 256 * 1152


def test_heads_from_a_projection() -> None:
    """Two heads whose queries are on the chip, the values on the left of the second product."""
    text = entry(
        "x = bf16[256,96] parameter(0)",
        "w = bf16[96,128] parameter(1)",
        "y = bf16[256,128] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "q = bf16[256,2,64] reshape(y)",
        "k = bf16[1280,2,64] parameter(2)",
        "v = bf16[2,48,1280] parameter(3)",
        "d = f32[2,256,1280] dot(q, k), lhs_batch_dims={1}, rhs_batch_dims={1}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={2}",
        "n = f32[] constant(0.125)",
        "ns = f32[2,256,1280] broadcast(n), dimensions={}",
        "s = f32[2,256,1280] multiply(d, ns)",
        *_softmax("2,256,1280", "2,256", 2),
        "narrow = bf16[2,256,1280] convert(p)",
        "r = f32[2,48,256] dot(v, narrow), lhs_batch_dims={0}, rhs_batch_dims={0}, "
        "lhs_contracting_dims={2}, rhs_contracting_dims={2}",
    )
    rng = np.random.default_rng(6)
    shapes = ((256, 96), (96, 128), (1280, 2, 64), (2, 48, 1280))
    args = [(0.3 * rng.standard_normal(s)).astype(ml_dtypes.bfloat16) for s in shapes]
    assert not failures(_with_reducers(text), args, "matmult")
