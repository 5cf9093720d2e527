"""Generate the Threefry-2x32 and Philox-4x32 streams of rng-bit-generator, as XLA's CPU backend
does.

The state is u64: [key, counter] for Threefry, [key, counter low (, counter high)] for Philox.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array

_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_THREEFRY_PARITY = np.uint32(0x1BD11BDA)
_PHILOX_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_PHILOX_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def _halves(x: Array) -> tuple[Array, Array]:
    """Split u64 words into their low and high 32 bits."""
    return (x & _LOW).astype(np.uint32), (x >> _32).astype(np.uint32)


def _join(low: Array, high: Array) -> Array:
    return low.astype(np.uint64) | (high.astype(np.uint64) << _32)


def threefry_2x32(x0: Array, x1: Array, key: Array) -> tuple[Array, Array]:
    """Apply the twenty rounds of Threefry to pairs of u32 under one u64 key."""
    key0, key1 = _halves(np.asarray(key, np.uint64))
    schedule = (key0, key1, key0 ^ key1 ^ _THREEFRY_PARITY)
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for group in range(5):
        for rotation in _THREEFRY_ROTATIONS[group % 2]:
            x0 = x0 + x1
            x1 = (x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))
            x1 = x0 ^ x1
        x0 = x0 + schedule[(group + 1) % 3]
        x1 = x1 + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return x0, x1


def philox_4x32(words: Sequence[Array], key: Array) -> list[Array]:
    """Apply the ten rounds of Philox to quadruples of u32 under one u64 key."""
    x = list(words)
    key0, key1 = _halves(np.asarray(key, np.uint64))
    for _ in range(10):
        low0, high0 = _halves(x[0].astype(np.uint64) * _PHILOX_MULTIPLIERS[0])
        low1, high1 = _halves(x[2].astype(np.uint64) * _PHILOX_MULTIPLIERS[1])
        x = [high1 ^ x[1] ^ key0, low1, high0 ^ x[3] ^ key1, low0]
        key0, key1 = key0 + _PHILOX_WEYL[0], key1 + _PHILOX_WEYL[1]
    return x


def threefry_bits(state: Array, shape: Sequence[int], dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Return the new state and `shape` random words of an unsigned or signed `dtype`."""
    key, counter = state[0], state[1]
    if dtype.itemsize == 8:
        inputs = counter + np.arange(math.prod(shape), dtype=np.uint64).reshape(shape)
        low, high = threefry_2x32(*_halves(inputs), key)
        advance, bits = inputs.size, _join(low, high)
    else:
        advance, bits = _threefry_words(key, counter, shape)
    new_state = np.array([key, counter + np.uint64(advance)], np.uint64)
    return new_state, bits.astype(unsigned(dtype)).view(dtype)


def _threefry_words(key: Array, counter: Array, shape: Sequence[int]) -> tuple[int, Array]:
    """Return the number of counters used, and u32 words of `shape` (two for each counter).

    The two words of a counter are adjacent along the first even dimension. If no dimension is even,
    they are adjacent along the largest one, whose last word is dropped.
    """
    dims = list(shape) or [1]
    even = [i for i, n in enumerate(dims) if n % 2 == 0]
    split = even[0] if even else dims.index(max(dims))
    half = list(dims)
    half[split] = -(-dims[split] // 2)
    if not shape:
        half = [1]
    inputs = counter + np.arange(math.prod(half), dtype=np.uint64).reshape(half)
    pair = threefry_2x32(*_halves(inputs), key)
    joined = np.stack(pair, axis=split + 1)
    doubled = list(half)
    doubled[split] *= 2
    words = joined.reshape(doubled)
    cut = [slice(None)] * len(dims)
    cut[split] = slice(0, dims[split])
    return inputs.size, words[tuple(cut)].reshape(tuple(shape))


def philox_bits(state: Array, shape: Sequence[int], dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Return the new state and `shape` random words of an unsigned or signed `dtype`."""
    count = math.prod(shape)
    per_block = 2 if dtype.itemsize == 8 else 4
    blocks = -(-count // per_block)
    key = state[0]
    low = state[1] + np.arange(blocks, dtype=np.uint64)
    # For a state of two words, the key itself is the high half of the counter.
    start_high = state[2] if state.size > 2 else key
    high = start_high + (low < state[1]).astype(np.uint64)
    words = philox_4x32([*_halves(low), *_halves(high)], key)
    if dtype.itemsize == 8:
        bits = np.stack([_join(words[0], words[1]), _join(words[2], words[3])], axis=1)
    else:
        bits = np.stack(words, axis=1)
    new_low = state[1] + np.uint64(blocks)
    new_state = np.array(state)
    new_state[1] = new_low
    if state.size > 2:
        new_state[2] = start_high + np.uint64(new_low < state[1])
    flat = bits.reshape(-1)[:count].reshape(tuple(shape))
    return new_state, flat.astype(unsigned(dtype)).view(dtype)


def unsigned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the unsigned type of the same width as `dtype`."""
    return np.dtype(f"u{dtype.itemsize}")


def rng_bit_generator(
    state: Array, algorithm: str, shape: Sequence[int], dtype: np.dtype[Any]
) -> tuple[Array, Array]:
    """Return the new state and random bits; `rng_default` is Philox, as on XLA's CPU backend."""
    with np.errstate(over="ignore"):
        if algorithm == "rng_three_fry":
            return threefry_bits(state, shape, dtype)
        return philox_bits(state, shape, dtype)


def rng_uniform(low: Array, high: Array, shape: Sequence[int]) -> Array:
    """Return uniform values in [low, high) from a fixed stream (HLO does not define the stream)."""
    generator = np.random.Generator(np.random.Philox(0))
    if np.asarray(low).dtype.kind in "iu":
        return generator.integers(int(low), int(high), tuple(shape)).astype(low.dtype)
    unit = generator.random(tuple(shape), dtype=np.float64)
    wide_low, wide_high = np.float64(low), np.float64(high)
    return np.asarray(wide_low + unit * (wide_high - wide_low)).astype(low.dtype)


def rng_normal(mean: Array, deviation: Array, shape: Sequence[int]) -> Array:
    """Return normal values with this mean and deviation from a fixed stream."""
    generator = np.random.Generator(np.random.Philox(0))
    unit = generator.standard_normal(tuple(shape))
    return np.asarray(np.float64(mean) + unit * np.float64(deviation)).astype(mean.dtype)
