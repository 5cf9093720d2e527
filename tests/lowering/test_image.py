"""The image of all constants: made as a whole, piece by piece, and at single places."""

import ml_dtypes
import numpy as np

from neuronir.dialects.hlo.resources import intern, lookup, lookup_lazy
from neuronir.dialects.nc.enums import DType
from neuronir.dialects.support.lazy import LazyArray
from neuronir.dialects.support.recipe import Places
from neuronir.passes.lowering.constants.image import Chunk, Image, Piece

RNG = np.random.default_rng(0)
WEIGHTS = RNG.normal(size=(256, 600)).astype(np.float32)
BIAS = RNG.normal(size=(256,)).astype(np.float32)
FACTOR = RNG.normal(size=(600,)).astype(np.float32)


def lazy() -> LazyArray:
    found = LazyArray.of(WEIGHTS).times(FACTOR, 1).astype(ml_dtypes.bfloat16)
    assert isinstance(found, LazyArray)
    return found


def image(weights: LazyArray | np.ndarray) -> Image:
    """Chunks with gaps between pieces, behind them and below them."""
    first = Chunk(
        128,
        2 * 4 + 8 + 2400 + 6,
        [Piece(0, 128, BIAS, DType.F32), Piece(16, 128, weights, DType.BF16)],
    )
    second = Chunk(100, 4096, [Piece(4, 60, weights[:60, :200], DType.BF16)])
    third = Chunk(128, 5120, [Piece(0, 120, weights.T, DType.F32)])
    return Image([first, second, third])


def test_made_in_all_ways() -> None:
    """As from plain arrays: whole, by pieces, at single places."""
    weights = (WEIGHTS * FACTOR).astype(ml_dtypes.bfloat16)
    made = image(lazy()).made()
    first = made[: 128 * 2422].reshape(128, 2422)
    assert (first[:, :8].copy().view(np.float32).reshape(-1) == BIAS).all()
    assert not first[:, 8:16].any() and not first[:, 2416:].any()
    assert (first[:, 16:2416] == weights.reshape(128, -1).view(np.uint8)).all()
    assert np.array_equal(made, image(weights).made())
    pieces = [piece.copy() for piece in image(lazy()).pieces()]
    assert np.array_equal(np.concatenate(pieces), made)
    places = RNG.integers(0, made.size, 5000)
    assert np.array_equal(image(lazy()).sample(Places(places)), made[places])


def test_same_resource() -> None:
    """It has the key of the bytes that it stands for, and is not made for it."""
    kept = LazyArray(image(lazy()))
    key = intern(kept)
    assert lookup_lazy(key) is kept
    assert intern(LazyArray(image(lazy()))) == key == intern(kept.maker.made().copy())
    changed = image((WEIGHTS * FACTOR * 2).astype(ml_dtypes.bfloat16))
    assert intern(LazyArray(changed)) != key
    assert np.array_equal(lookup(key), image(lazy()).made())
