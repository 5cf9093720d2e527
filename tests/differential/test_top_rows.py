"""The best of rows, with zeros of both signs, infinities and NaN, at every phase."""

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.differential.stages import failures, stages

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, 6e-45], np.float32)
"""The last is the smallest number that is not taken for a zero."""


def _program(rows: int, n: int, k: int) -> str:
    pair = f"(f32[{rows},{k}], s32[{rows},{k}])"
    return f"""HloModule m

ENTRY e {{
  x = f32[{rows},{n}] parameter(0)
  t = {pair} topk(x), k={k}, largest=true
  v = f32[{rows},{k}] get-tuple-element(t), index=0
  i = s32[{rows},{k}] get-tuple-element(t), index=1
  ROOT r = {pair} tuple(v, i)
}}
"""


def _rows(rows: int, n: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, n)).astype(np.float32)
    special = SPECIAL.copy()
    special.view(np.int32)[5] |= -(2**31)
    for r in range(rows):
        some = rng.choice(special, size=rng.integers(1, len(special)), replace=False)
        many = rng.random(n) < (1, 0.9, 0.01, 0.3, 0)[r % 5]
        x[r] = np.where(many, rng.choice(some, size=n), x[r] if r % 2 else -np.abs(x[r]))
    return x


def _places(x: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    """The places of the best in total order, all NaN of one sign alike, equal ones in order."""
    bits = x.view(np.int32).astype(np.int64)
    key = np.where(bits < 0, -(bits & 0x7FFFFFFF) - 1, bits)
    end = np.where(bits < 0, -(2**40), 2**40)
    return np.argsort(-np.where(np.isnan(x), end, key), axis=-1, kind="stable")[:, :k]


@pytest.mark.parametrize("phases", [("tiled", "binary"), ("binary",)])
@pytest.mark.parametrize(
    ("rows", "n", "k"),
    [(3, 9001, 8), (8, 8000, 12), (5, 4099, 33)],
    ids=["pieces and a rest", "pieces", "three times eight of a piece"],
)
def test_the_best_of_rows(rows: int, n: int, k: int, phases: tuple[str, ...]) -> None:
    x = _rows(rows, n, n)
    places = _places(x, k)
    want = np.take_along_axis(x, places, -1)
    for stage in stages(_program(rows, n, k), [x], phases=phases):
        values, found = stage.outputs
        assert np.array_equal(found, places), stage.phase
        number = ~np.isnan(want)
        assert np.array_equal(values.view(np.int32)[number], want.view(np.int32)[number])
        assert np.array_equal(np.isnan(values), ~number)
        assert np.array_equal(np.signbit(values), np.signbit(want))


@pytest.mark.parametrize(("shape", "k"), [((33, 128), 3), ((64, 256), 2), ((40, 131), 3)])
def test_few_of_a_narrow_float_in_few_rows(shape: tuple[int, int], k: int) -> None:
    """The best of all pieces of a row are at least as many as a search finds at once."""
    rows, n = shape
    text = (
        f"HloModule m\nENTRY e {{\n  p = bf16[{rows},{n}] parameter(0)\n"
        f"  ROOT t = (bf16[{rows},{k}], s32[{rows},{k}]) topk(p), k={k}, largest=true\n}}\n"
    )
    x = np.random.default_rng(0).normal(size=shape).astype(ml_dtypes.bfloat16)
    found = np.argsort(-x.astype(np.float32), axis=-1, kind="stable")[:, :k]
    want = {"out0": np.take_along_axis(x, found, -1), "out1": found.astype(np.int32)}
    assert not failures(text, [x], "none", want, ("binary",))
