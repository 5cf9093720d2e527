"""The functions that importers build with, where a nearly right one would go wrong."""

from typing import Any

import numpy as np
import pytest

from neuronir.frontends.graph import convolution as C
from neuronir.frontends.graph import indexing as I
from neuronir.frontends.graph import linear as L
from neuronir.frontends.graph import padding as P
from neuronir.frontends.graph import pooling as W
from neuronir.frontends.graph import resizing as S
from tests.frontends.test_graph import same

LINE = np.arange(6, dtype=np.float32)[None] + 1


@pytest.mark.parametrize(
    "rounding, places",
    [
        ("round_prefer_floor", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        ("round_prefer_ceil", [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5]),
        ("floor", [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]),
        ("ceil", [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5]),
    ],
)
def test_nearest_of_two_at_halves(rounding: str, places: list[int]) -> None:
    """With `asymmetric` each second sample of twice as many lies half way between two."""
    twice = S.Samples(12, 2.0, "asymmetric")
    same(lambda b, x: S.nearest(b, x, 1, twice, rounding), LINE[:, places], LINE)


@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil"])
def test_nearest_away_from_halves(rounding: str) -> None:
    """0, 0.6, 1.2, 1.8 ... have one nearest element each."""
    samples = S.Samples(10, 5 / 3, "asymmetric")
    places = [0, 1, 1, 2, 2, 3, 4, 4, 5, 5]
    same(lambda b, x: S.nearest(b, x, 1, samples, rounding), LINE[:, places], LINE)


@pytest.mark.parametrize("step", [-1, -2, -3, 2, 3])
@pytest.mark.parametrize("start, limit", [(5, -1), (4, 0), (5, 2), (0, 6), (1, 5), (3, 3)])
def test_slices_in_steps(start: int, limit: int, step: int) -> None:
    """Also where a step does not end at the limit."""
    expected = [k for k in range(start, limit, step)]
    same(
        lambda b, x: I.strided_slice(b, x, [0, start], [1, limit], [1, step]),
        LINE[:, expected],
        LINE,
    )


@pytest.mark.parametrize("known", [True, False])
def test_indices_from_either_end(known: bool) -> None:
    at = np.array([0, 5, -1, -6, 1, -5], np.int32)

    def build(b: Any, x: Any, *given: Any) -> Any:
        indices = b.constant(at) if known else given[0]
        return I.take(b, x, I.from_start(b, indices, 6), 1)

    same(build, LINE[:, at], LINE, *([] if known else [at]))


@pytest.mark.parametrize("equation", ["ba", "cab", "ij,jk", "kj,ji", "ba,cb", "bi,ai", "zy,yx"])
def test_implicit_results_are_in_alphabetical_order(equation: str) -> None:
    """As numpy's einsum has it."""
    sizes = dict(zip("abcijkxyz", range(2, 11), strict=True))
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal([sizes[c] for c in term]).astype(np.float32)
        for term in equation.split(",")
    ]
    expected = np.einsum(equation, *arrays)
    same(lambda b, *values: L.einsum(b, equation, values), expected, *arrays)


@pytest.mark.parametrize("size, window, stride", [(7, 2, 1), (7, 4, 2), (8, 3, 2), (5, 2, 3)])
def test_same_padding_is_uneven_at_one_end(size: int, window: int, stride: int) -> None:
    low, high = P.same_padding(size, window, stride)
    assert (size + low + high - window) // stride + 1 == -(-size // stride)
    assert high - low in (0, 1)
    assert P.same_padding(size, window, stride, lower=True) == (high, low)


def test_same_padding_is_uneven_somewhere() -> None:
    assert P.same_padding(7, 2) == (0, 1)
    assert P.same_padding(7, 2, lower=True) == (1, 0)


@pytest.mark.parametrize("padding", [(0, 2), (2, 0), (1, 2), (2, 1)])
@pytest.mark.parametrize("counts", [True, False])
def test_averages_over_uneven_padding(padding: tuple[int, int], counts: bool) -> None:
    x = np.arange(1, 11, dtype=np.float32)[None, None]
    padded = np.pad(x[0, 0], padding, constant_values=np.nan)
    parts = np.stack([padded[i : i + 3] for i in range(0, padded.size - 2, 2)])
    expected = np.nansum(parts, 1) / 3 if counts else np.nanmean(parts, 1)
    layout = C.features_first(1)[0]
    counted = [padding] if counts else None
    same(
        lambda b, x: W.average_pool(
            b, x, layout, window=[3], strides=[2], padding=[padding], counted=counted
        ),
        expected[None, None].astype(np.float32),
        x,
    )
