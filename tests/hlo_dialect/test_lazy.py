"""Lazy arrays: the numbers that an eager computation gives, from memory that nobody has touched."""

import resource
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from neuronir.dialects.hlo.resources import (
    Magnitudes,
    all_finite,
    intern,
    largest,
    least,
    lookup,
    lookup_lazy,
)
from neuronir.dialects.support.lazy import LazyArray, LazyWriter
from neuronir.dialects.support.recipe import Places
from neuronir.passes.hlo.support.scale import scale_weights

BF16 = np.dtype(ml_dtypes.bfloat16)


def scaled(rows: int = 700, columns: int = 900) -> tuple[LazyArray, np.ndarray]:
    """Weights times two vectors, rounded, lazily and at once."""
    rng = np.random.default_rng(0)
    weights, row, column = (
        rng.normal(size=n).astype(np.float32) for n in ((rows, columns), rows, columns)
    )
    lazy = LazyArray.of(weights).times(row, 0).times(column, 1).astype(BF16)
    return lazy, (weights * row[:, None] * column).astype(BF16)


def same(lazy: object, expected: np.ndarray) -> bool:
    """Whether two arrays have the same bits, type and shape."""
    found = np.asarray(lazy)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    return found.tobytes() == expected.tobytes()


def test_numbers() -> None:
    """Each factor is rounded, then the whole."""
    lazy, expected = scaled()
    assert same(lazy, expected)
    assert (lazy.shape, lazy.size, lazy.nbytes) == (expected.shape, 630000, 1260000)


@pytest.mark.parametrize("rows", [0, 3])
def test_factors_along_more_dimensions(rows: int) -> None:
    """Of a filter along its last but one; also of none at all."""
    base = np.arange(rows * 5 * 7, dtype=np.float32).reshape(rows, 5, 7)
    by = np.linspace(1, 2, 5, dtype=np.float32)
    assert same(LazyArray.of(base).times(by, 1), base * by[:, None])


def test_views_are_lazy() -> None:
    """Views of views, reversed and strided ones too; what needs another order is lazy as well."""
    lazy, expected = scaled()
    for view in (
        lambda a: a.T,
        lambda a: a.reshape(70, 10, -1).transpose(2, 0, 1)[5:800:3, ::-1],
        lambda a: a.T.reshape(-1),
        lambda a: a.T.reshape(90, 7000)[3:9].T,
        lambda a: a[17],
    ):
        found = view(lazy)
        assert isinstance(found, LazyArray)
        assert same(found, np.ascontiguousarray(view(expected)))
    strides = (2, 1800, 0)
    found = lazy.reshape(-1).strided((900, 700, 2), strides)
    as_strided = np.lib.stride_tricks.as_strided
    assert same(found, np.ascontiguousarray(as_strided(expected, (900, 700, 2), strides)))


def test_numpy_takes_it_for_an_array() -> None:
    """Operators, functions, methods and single numbers."""
    lazy, expected = scaled(60, 90)
    wide = expected.astype(np.float32)
    assert np.array_equal(lazy.astype(np.float32), wide)
    assert np.array_equal(lazy + lazy, expected + expected)
    assert np.array_equal(np.concatenate([lazy, lazy]), np.concatenate([expected, expected]))
    assert lazy.tobytes() == expected.tobytes()
    assert lazy[3, 4] == expected[3, 4] and len(lazy) == 60
    with pytest.raises(ValueError, match="reshape"):
        lazy.reshape(7, 7)


def test_writer_uses_one_room() -> None:
    """Arrays one after the other; several views of one are made once."""
    writer = LazyWriter()
    for rows in (40, 70, 20):
        lazy, expected = scaled(rows)
        assert np.array_equal(writer.numbers(lazy.T), expected.T)
        assert np.array_equal(writer.numbers(lazy[3:7]), expected[3:7])
    assert writer.numbers(expected) is expected


VIEWS: list[Callable[[Any], Any]] = [
    lambda a: a,
    lambda a: a[100:400, 300:],
    lambda a: a[:, 450:].reshape(7, 100, -1).transpose(1, 0, 2),
    lambda a: a[:, 450:].reshape(-1).reshape(100, 7, 450),
    lambda a: a.reshape(2, 350, 900).transpose(0, 2, 1),
    lambda a: a.reshape(20, -1)[::3],  # along two dimensions at once
    lambda a: a[::-1],
    lambda a: a[3:600:7, 1:900:2].T,
]


@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_written_views(number: int) -> None:
    """Parts of an array in any order are computed where they are written, as are single numbers of
    what they become in another shape."""
    lazy, expected = scaled()
    found, numbers = VIEWS[number](lazy), VIEWS[number](expected)
    for dtype in (BF16, np.dtype(np.float32)):
        out = np.zeros((2, *numbers.shape), dtype)[1]
        LazyWriter().write(found, out)
        assert same(out, np.ascontiguousarray(numbers).astype(dtype))
    other = found.reshape(-1).reshape(*numbers.shape[::-1])
    assert same(other, np.ascontiguousarray(numbers).reshape(numbers.shape[::-1]))
    places = np.array([0, 17, numbers.size - 1])
    assert same(other.at(places), numbers.reshape(-1)[places])


def test_a_part_needs_only_its_own_numbers() -> None:
    """A part in another order has a recipe of its own, which equal parts share."""
    lazy, _ = scaled()
    part, again = (scaled_part.reshape(-1) for scaled_part in (lazy[:, 450:], lazy[:, 450:]))
    assert part.maker.base.size == 700 * 450
    assert part.maker.same(again.maker)
    assert not part.maker.same(lazy[:, :450].reshape(-1).maker)


def test_same_key() -> None:
    """As a content, a lazy array is the one that it stands for, whichever comes first."""
    lazy, expected = scaled()
    key = intern(lazy)
    assert isinstance(lookup_lazy(key), LazyArray)
    assert intern(scaled()[0]) == key == intern(expected)
    assert same(lookup(key), expected)
    assert isinstance(lookup_lazy(key), np.ndarray)
    assert intern(lazy) == key
    other, numbers = scaled(701)
    assert intern(numbers) == intern(other) != key


def test_same_sample() -> None:
    """Arrays that differ where no sample is taken have different keys."""
    base = np.zeros((1024, 1024), np.float32)
    other = base.copy()
    other[5, 500] = 1.0
    assert intern(LazyArray.of(base, BF16)) != intern(LazyArray.of(other, BF16))


def test_small_ones_are_made() -> None:
    """Small arrays, and parts of large ones, are held as arrays."""
    lazy, expected = scaled()
    assert isinstance(lookup_lazy(intern(scaled(3, 5)[0])), np.ndarray)
    assert same(lookup_lazy(intern(lazy[:650])), expected[:650])


def test_magnitudes() -> None:
    """The largest and the least magnitude, zeros left out; of a product those of its factors."""
    numbers = np.array([[0.0, -3.0], [2.0, 0.25]], np.float32)
    assert (largest(numbers), least(numbers)) == (3.0, 0.25)
    product = LazyArray.of(numbers).times(np.array([4.0, 0.0], np.float32), 1)
    assert (largest(product), least(product)) == (12.0, 1.0)
    assert np.isnan(largest(np.array([1.0, np.nan], np.float32)))
    assert largest(np.array([1.0, -np.inf], np.float32)) == np.inf
    assert least(np.zeros(3, np.float32)) == np.inf
    assert least(np.array([0.0, -2.0, 0.0], np.float32)) == 2.0
    assert least(np.zeros((0, 3), np.float32)) == np.inf


@pytest.mark.parametrize("number, finite", [(1.0, True), (3.3e38, True), (3.4e38, False)])
def test_finite_after_rounding(number: float, finite: bool) -> None:
    """The largest fp32 numbers become infinite as bf16."""
    base = np.full((1024, 1024), number, np.float32)
    assert all_finite(LazyArray.of(base, BF16)) == finite


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("number", [1.0, 1e-37, np.nan, np.inf])
def test_large_weights(axis: int, number: float) -> None:
    """Large weights are scaled lazily, with the same conditions as small ones."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(600, 500)).astype(np.float32)
    weights[-1, -1] = number
    factor = np.full(weights.shape[axis], 2.0, np.float32)
    factor[0] = 0.01
    found = scale_weights(weights, factor, axis)
    if np.isfinite(number):
        assert isinstance(found, LazyArray) == (number == 1.0)  # else the bounds do not decide
        assert same(found, weights * (factor[:, None] if axis == 0 else factor))
    else:
        assert found is None


def test_no_memory() -> None:
    """A large lazy array takes none, nor do its views."""
    base = np.broadcast_to(np.float32(1), (1 << 14, 1 << 14))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    lazy = LazyArray.of(base, BF16).reshape(-1).strided((1 << 13, 1 << 13), (2, 1 << 15))
    assert lazy.reshape(-1).T.size == 1 << 26
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 1000


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_less_means(axis: int) -> None:
    """Of an array that is scaled, along any dimension: the numbers, a sample of them, a bound."""
    base = np.random.default_rng(1).normal(size=(60, 50, 40)).astype(np.float32)
    by = np.linspace(1, 2, 50, dtype=np.float32)
    expected = base * by[:, None]
    means = expected.mean(axis=axis, keepdims=True)
    lazy, expected = LazyArray.of(base).times(by, 1).less(means), expected - means
    assert same(lazy.astype(BF16), expected.astype(BF16))
    places = np.array([0, 1, 41, 2003, 77777, base.size - 1])
    assert lazy.recipe is not None
    assert (lazy.recipe.sample(Places(places)) == expected.reshape(-1)[places]).all()
    assert np.abs(expected).max() <= largest(lazy) < 4 * np.abs(expected).max()
    assert least(lazy) == 0


def test_single_numbers_of_views() -> None:
    """Of views, and of what numpy could not view, at places in their own order."""
    lazy, expected = scaled(60, 90)
    views: list[Callable[[Any], Any]] = [
        lambda a: a,
        lambda a: a[3:40:2, ::-1],
        lambda a: a.T,
        lambda a: a.T.reshape(30, 180),
    ]
    for view in views:
        found, numbers = view(lazy), view(expected).reshape(-1)
        places = np.array([77, 5, numbers.size - 1, 0])
        assert isinstance(found, LazyArray)
        assert same(found.at(places), numbers[places])


def test_pieces() -> None:
    """Piece by piece the numbers are the same; each is there while the next one is made."""
    for lazy, expected in (scaled(900, 700), (LazyArray.of(np.ones((70, 3))), np.ones((70, 3)))):
        assert lazy.whole is not None
        pieces = list(lazy.whole.pieces())
        assert same(np.concatenate(pieces), expected)


def test_magnitudes_that_were_seen_in_pieces_are_kept_for_an_array() -> None:
    array = lookup(intern(np.linspace(-7, 5, 4096, dtype=np.float32).reshape(-1, 4)))
    seen = Magnitudes()
    for row in array:
        seen.see(row)
    assert seen.found(array) == np.abs(array).min()
    assert (least(array), largest(array)) == (np.abs(array).min(), 7.0)


@pytest.mark.parametrize(
    "numbers", [[1.5, 0.25, 8.0], [-1.5, -0.25, -8.0], [-0.5, 3.0, 0.0], [-0.0, 0.0], [-0.0, -2.0]]
)
def test_magnitudes_of_either_sign(numbers: list[float]) -> None:
    """Whichever signs a piece has, and whether the least is looked for or not."""
    for least_too in (True, False):
        array = lookup(intern(np.resize(np.array(numbers, np.float32), 5 + least_too)))
        sizes = np.abs(array)
        smallest = np.min(sizes, where=sizes > 0, initial=np.inf)
        seen = Magnitudes(least=least_too)
        seen.see(array)
        assert seen.found(array) == (smallest if least_too else np.inf)
        assert (least(array), largest(array)) == (smallest, sizes.max())
