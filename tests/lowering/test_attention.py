"""Attention that is worked on by blocks of queries, on every phase."""

import ml_dtypes
import numpy as np
import pytest

from tests.differential.stages import failures
from tests.lowering.helpers import entry

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


@pytest.mark.parametrize("cast", ["none", "matmult"])
@pytest.mark.parametrize(
    ("queries", "keys", "depth", "width"), [(130, 1100, 32, 24), (640, 1152, 64, 64)]
)
def test_long_rows(queries: int, keys: int, depth: int, width: int, cast: str) -> None:
    """Queries and keys that tiles do and do not divide, and a scale."""
    text = entry(
        f"q = f32[{queries},{depth}] parameter(0)",
        f"k = f32[{keys},{depth}] parameter(1)",
        f"v = f32[{keys},{width}] parameter(2)",
        f"d = f32[{queries},{keys}] dot(q, k), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={1}",
        "n = f32[] constant(0.3)",
        f"ns = f32[{queries},{keys}] broadcast(n), dimensions={{}}",
        f"s = f32[{queries},{keys}] multiply(d, ns)",
        *_softmax(f"{queries},{keys}", str(queries), 1),
        f"r = f32[{queries},{width}] dot(p, v), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    rng = np.random.default_rng(5)
    shapes = ((queries, depth), (keys, depth), (keys, width))
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    assert not failures(_with_reducers(text), args, cast)


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
