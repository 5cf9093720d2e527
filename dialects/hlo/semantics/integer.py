"""Compute integer arithmetic with XLA's rules for division by zero, overflow and large shifts."""

import numpy as np

from neuronir.dialects.hlo.semantics.numeric import Array, signed_of, unsigned_of


def _safe_divisor(x: Array, y: Array) -> Array:
    """Replace divisors that numpy rejects (0, and -1 under INT_MIN) in `y` by 1."""
    unsafe = y == 0
    if y.dtype.kind == "i":
        unsafe = unsafe | ((y == -1) & (x == np.iinfo(x.dtype).min))
    return np.where(unsafe, np.ones((), y.dtype), y)


def divide(x: Array, y: Array) -> Array:
    """Divide and round towards zero; x / 0 = -1 (all ones), INT_MIN / -1 = INT_MIN."""
    divisor = _safe_divisor(x, y)
    quotient = x // divisor
    if x.dtype.kind == "i":
        inexact = quotient * divisor != x
        quotient = quotient + (inexact & ((x < 0) != (divisor < 0))).astype(x.dtype)
    all_ones = np.array(-1).astype(x.dtype)
    return np.where(y == 0, all_ones, quotient)


def remainder(x: Array, y: Array) -> Array:
    """Return the remainder with the sign of x; x rem 0 = x, INT_MIN rem -1 = 0."""
    divisor = _safe_divisor(x, y)
    return np.where(y == 0, x, np.fmod(x, divisor))


def power(x: Array, y: Array) -> Array:
    """Compute x ** y modulo 2**bits; a negative exponent gives 1, -1 or 0: the truncated
    quotient.
    """
    if y.dtype.kind == "u":
        return np.power(x, y)
    negative = y < 0
    result = np.power(x, np.where(negative, np.zeros((), y.dtype), y))
    # 1/x ** |y|, rounded towards zero, is nonzero only for x = 1 and x = -1.
    odd = (y & 1) != 0
    one = np.ones((), x.dtype)
    zero = np.zeros((), x.dtype)
    inverse = np.where(x == 1, one, np.where(x == -1, np.where(odd, -one, one), zero))
    return np.where(negative, inverse, result)


def _shift_amount(x: Array, amount: Array) -> tuple[Array, Array, Array]:
    """Return `x` unsigned, the amounts with out-of-range ones set to 0, and a mask of those in
    range.

    A negative amount counts as a large unsigned amount.
    """
    unsigned = unsigned_of(x.dtype)
    amount = amount.astype(unsigned)
    in_range = amount < x.dtype.itemsize * 8
    return x.astype(unsigned), np.where(in_range, amount, np.zeros((), unsigned)), in_range


def shift_left(x: Array, amount: Array) -> Array:
    """Shift bits left; amounts of the width or more give 0."""
    bits, amount, in_range = _shift_amount(x, amount)
    return np.where(in_range, bits << amount, np.zeros((), bits.dtype)).astype(x.dtype)


def shift_right_logical(x: Array, amount: Array) -> Array:
    """Shift bits right and fill with zeros; amounts of the width or more give 0."""
    bits, amount, in_range = _shift_amount(x, amount)
    return np.where(in_range, bits >> amount, np.zeros((), bits.dtype)).astype(x.dtype)


def shift_right_arithmetic(x: Array, amount: Array) -> Array:
    """Shift bits right and fill with the sign; amounts of the width or more give 0 or -1."""
    _, amount, in_range = _shift_amount(x, amount)
    signed = x.astype(signed_of(x.dtype))
    limit = np.array(x.dtype.itemsize * 8 - 1).astype(signed.dtype)
    shifted = signed >> np.where(in_range, amount.astype(signed.dtype), limit)
    return shifted.astype(x.dtype)


def popcount(x: Array) -> Array:
    """Count the set bits, in the type of x."""
    contiguous = np.ascontiguousarray(x).reshape(np.shape(x))
    octets = contiguous.reshape(-1).view(np.uint8).reshape(-1, x.dtype.itemsize)
    counts: Array = np.unpackbits(octets, axis=1).sum(axis=1)
    return counts.astype(x.dtype).reshape(np.shape(x))


def count_leading_zeros(x: Array) -> Array:
    """Count the zero bits above the highest set bit (the width for 0), in the type of x."""
    width = x.dtype.itemsize * 8
    bits = x.astype(unsigned_of(x.dtype))
    step = 1
    while step < width:
        # Copy the highest set bit to all lower bits.
        bits = bits | (bits >> np.array(step, bits.dtype))
        step *= 2
    return (np.array(width, bits.dtype) - popcount(bits)).astype(x.dtype)
