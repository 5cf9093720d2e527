"""Generate the Threefry-2x32 and Philox-4x32 streams of rng-bit-generator, as XLA's CPU backend
does.

The state is u64: [key, counter] for Threefry, [key, counter low (, counter high)] for Philox.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array, unsigned_of

THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
THREEFRY_PARITY = 0x1BD11BDA
PHILOX_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
PHILOX_WEYL = (0x9E3779B9, 0xBB67AE85)
"""The constants of the generators (Salmon et al., SC 2011)."""
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
    schedule = (key0, key1, key0 ^ key1 ^ np.uint32(THREEFRY_PARITY))
    x0, x1 = x0 + schedule[0], x1 + schedule[1]
    for group in range(5):
        for rotation in THREEFRY_ROTATIONS[group % 2]:
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
        low0, high0 = _halves(x[0].astype(np.uint64) * np.uint64(PHILOX_MULTIPLIERS[0]))
        low1, high1 = _halves(x[2].astype(np.uint64) * np.uint64(PHILOX_MULTIPLIERS[1]))
        x = [high1 ^ x[1] ^ key0, low1, high0 ^ x[3] ^ key1, low0]
        key0, key1 = key0 + np.uint32(PHILOX_WEYL[0]), key1 + np.uint32(PHILOX_WEYL[1])
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
    return new_state, bits.astype(unsigned_of(dtype)).view(dtype)


def threefry_split(shape: Sequence[int]) -> tuple[int, list[int]]:
    """Return the dimension along which the two words of a counter are adjacent, and the shape of
    the counters.

    It is the first even dimension. If no dimension is even, it is the largest one, whose last word
    is dropped. A scalar is a vector of one element.
    """
    dims = list(shape) or [1]
    even = [i for i, n in enumerate(dims) if n % 2 == 0]
    split = even[0] if even else dims.index(max(dims))
    dims[split] = -(-dims[split] // 2)
    return split, dims


def _threefry_words(key: Array, counter: Array, shape: Sequence[int]) -> tuple[int, Array]:
    """Return the number of counters used, and u32 words of `shape` (two for each counter)."""
    split, half = threefry_split(shape)
    inputs = counter + np.arange(math.prod(half), dtype=np.uint64).reshape(half)
    pair = threefry_2x32(*_halves(inputs), key)
    joined = np.stack(pair, axis=split + 1)
    doubled = list(half)
    doubled[split] *= 2
    cut = tuple(slice(0, n) for n in shape or [1])
    return inputs.size, joined.reshape(doubled)[cut].reshape(tuple(shape))


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
    return new_state, flat.astype(unsigned_of(dtype)).view(dtype)


def rng_bit_generator(
    state: Array, algorithm: str, shape: Sequence[int], dtype: np.dtype[Any]
) -> tuple[Array, Array]:
    """Return the new state and random bits; `rng_default` is Philox, as on XLA's CPU backend."""
    with np.errstate(over="ignore"):
        if algorithm == "rng_three_fry":
            return threefry_bits(state, shape, dtype)
        return philox_bits(state, shape, dtype)


def unit_interval(bits: Array) -> Array:
    """Return u32 bits as f32 in [0, 1): the upper 23 bits are the mantissa of 1 to 2, less 1."""
    mantissa = (bits >> np.uint32(9)) | np.uint32(0x3F800000)
    return np.asarray(mantissa.view(np.float32) - np.float32(1))


def _drawn(key: tuple[int, int], shape: Sequence[int]) -> Array:
    state = np.array([key[0] | key[1] << 32, 0], np.uint64)
    with np.errstate(over="ignore"):
        return philox_bits(state, shape, np.dtype(np.uint32))[1]


def rng_uniform(low: Array, high: Array, key: tuple[int, int], shape: Sequence[int]) -> Array:
    """Return uniform values in [low, high) from the Philox stream of a key.

    Floats are low plus a multiple of 2^-23 of the span, rounded to their type. Integers are low
    plus the upper half of the product of a u32 and the span (Lemire 2019).
    """
    bits = _drawn(key, shape)
    dtype = np.asarray(low).dtype
    if dtype.kind in "iu":
        span = np.uint64((int(high) - int(low)) & 0xFFFFFFFF)
        drawn = (bits.astype(np.uint64) * span) >> _32
        with np.errstate(over="ignore"):
            return np.asarray(drawn.astype(dtype) + low)
    unit = unit_interval(bits)
    first, last = np.asarray(low, np.float32), np.asarray(high, np.float32)
    return np.asarray(unit * (last - first) + first).astype(dtype)


def rng_normal(mean: Array, deviation: Array, key: tuple[int, int], shape: Sequence[int]) -> Array:
    """Return normal values from the Philox stream of a key, by the Box-Muller transform."""
    first, second = unit_interval(_drawn(key, (2, *shape)))
    radius = np.sqrt(np.log(np.float32(1) - first) * np.float32(-2))
    unit = radius * np.cos(second * np.float32(2 * math.pi))
    spread = np.asarray(deviation, np.float32)
    return np.asarray(unit * spread + np.asarray(mean, np.float32)).astype(np.asarray(mean).dtype)
