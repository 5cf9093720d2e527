"""Sort rows in parts that are spread over partitions.

A row of 65,536 elements is 128 parts of 512. Every part is sorted, in ascending and descending
order by turns; then neighbours are merged, until one part is left (Batcher's bitonic network). A
merge of parts compares elements of different parts first. They are on one partition after a
transposition:

    %p = sort_rows %parts                               128 x 512, each row
    %t = transpose %p                                   512 x 128
    %m = sort_rows %t {bitonic}                         512 x 64 x 2: pairs of parts
    %q = sort_rows (transpose %m) {bitonic}             128 x 512

Descending parts are inverted, and sorted like the others.
"""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from neuronir.dialects.nc.machine import PARTITIONS
from neuronir.passes.hlo.decompositions.row_networks import (
    LONGEST_PAIR,
    LONGEST_ROW,
    sort_pairs,
    sort_rows,
)
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import shape

LONGEST = LONGEST_ROW * 64
"""Limit of elements of a row of words: at most 4,096 of them are on a partition."""
LONGEST_OF_PAIRS = 2**16
"""Limit of elements of a row of pairs: the second value has 8 bits of the key and a position."""
SHORTEST = 16
"""Limit of elements of a part."""
_WORD_PASSES, _WORD_START = 2, 150
"""Passes over half of the elements in a step of a network of words, and its fixed cost, in
cycles."""
_PAIR_PASSES, _EACH_PASSES, _PAIR_START = 11, 3, 500
"""The same of pairs, and the passes for each carried operand."""
_TURN_PASSES, _TURN_START = 3, 2000
"""The same of a transposition."""

_WHOLE, _IN_PARTS, _TOGETHER = 1 << 20, 1 << 19, 56_000
"""Up to _WHOLE elements, all rows are sorted at once, or _IN_PARTS elements of rows in parts. Loops
sort about _TOGETHER elements in an iteration, because the values of two iterations are in SBUF.
"""

Arrays = list[SSAValue]


def _cycles(rows: int, n: int, parts: int, arrays: int, passes: int, start: int) -> float:
    """Return the time of a network of rows in `parts` parts, in cycles of DVE."""
    length = (1 << (n - 1).bit_length()) // parts
    inner, outer = length.bit_length() - 1, parts.bit_length() - 1
    along = -(-rows * parts // PARTITIONS) * length
    across = -(-rows * length // PARTITIONS) * parts
    total = (inner * (inner + 1) / 2 + outer * inner) * (passes * along / 2 + start)
    total += outer * (outer + 1) / 2 * (passes * across / 2 + start)
    return total + 2 * outer * arrays * (_TURN_PASSES * max(along, across) + _TURN_START)


def _best(
    rows: int, n: int, longest: int, arrays: int, passes: int, start: int
) -> tuple[float, int]:
    """Return the least cycles of a network, and the number of parts with which it takes them."""
    size = 1 << (n - 1).bit_length()
    least = max(1, size // longest)
    counts = [
        c
        for c in (1 << k for k in range(PARTITIONS.bit_length()))
        if c == least or (c > least and size // c >= SHORTEST)
    ]

    def cycles(parts: int) -> float:
        fits = rows * size <= (_WHOLE if parts == 1 else _IN_PARTS)
        at_once = rows if fits else min(rows, max(1, _TOGETHER // size))
        return rows / at_once * _cycles(at_once, n, parts, arrays, passes, start)

    return min((cycles(c), c) for c in counts)


def _best_of_words(rows: int, n: int) -> tuple[float, int]:
    return _best(rows, n, LONGEST_ROW, 1, _WORD_PASSES, _WORD_START)


def _best_of_pairs(rows: int, n: int, carried: int) -> tuple[float, int]:
    passes = _PAIR_PASSES + _EACH_PASSES * carried
    return _best(rows, n, LONGEST_PAIR, 2 + carried, passes, _PAIR_START)


def width_of_words(rows: int, n: int) -> int:
    """Return the elements to which rows of `n` words are padded, to be sorted in parts."""
    return _width(n, _best_of_words(rows, n)[1])


def width_of_pairs(rows: int, n: int, carried: int) -> int:
    """Return the same of rows of pairs."""
    return _width(n, _best_of_pairs(rows, n, carried)[1])


def _width(n: int, parts: int) -> int:
    return n if parts == 1 else 1 << (n - 1).bit_length()


def cycles_of_pairs(rows: int, n: int, carried: int) -> float:
    """Return the time of a sort of pairs with carried operands, in cycles of DVE."""
    return _best_of_pairs(rows, n, carried)[0]


def sorted_words(words: SSAValue, e: Emitter) -> SSAValue:
    """Return s32 values with each row, as long as `width_of_words` says, sorted."""
    *front, n = shape(words)
    _, parts = _best_of_words(prod(front), n)
    if parts == 1:
        return sort_rows(words, e)

    def inverted(arrays: Arrays, bits: np.ndarray) -> Arrays:
        (x,) = arrays
        mask = e.constant(-bits.astype(np.int32))
        return [e.binary("xor", x, e.broadcast(mask, shape(x), [1]))]

    def network(arrays: Arrays, bitonic: bool) -> Arrays:
        return [sort_rows(arrays[0], e, bitonic=bitonic)]

    (done,) = _spread([words], parts, inverted, network, e)
    return done


def sorted_pairs(high: SSAValue, low: SSAValue, carried: Sequence[SSAValue], e: Emitter) -> Arrays:
    """Return the second values of pairs with each row sorted, and further s32 operands permuted in
    the same way.

    The values are f32 integers, as in `sort_pairs`. Rows are as long as `width_of_pairs` says.
    """
    *front, n = shape(high)
    _, parts = _best_of_pairs(prod(front), n, len(carried))
    if parts == 1:
        return sort_pairs(high, low, carried, e)

    def inverted(arrays: Arrays, bits: np.ndarray) -> Arrays:
        sign = e.constant((1 - 2 * bits).astype(np.float32))
        wide = e.broadcast(sign, shape(arrays[0]), [1])
        return [*(e.binary("multiply", v, wide) for v in arrays[:2]), *arrays[2:]]

    def network(arrays: Arrays, bitonic: bool) -> Arrays:
        x, y, *others = arrays
        second, first, *rest = sort_pairs(x, y, others, e, keys=True, bitonic=bitonic)
        return [e.convert(first, f32), e.convert(second, f32), *rest]

    _, *done = _spread([high, low, *carried], parts, inverted, network, e)
    return done


def _spread(
    arrays: Sequence[SSAValue],
    parts: int,
    inverted: Callable[[Arrays, np.ndarray], Arrays],
    network: Callable[[Arrays, bool], Arrays],
    e: Emitter,
) -> Arrays:
    """Sort rows [..., n] of several arrays together, in parts; n is a power of two.

    `inverted` inverts the order of the parts whose bit is one, `network` sorts rows, or merges
    bitonic ones.
    """
    *front, n = shape(arrays[0])
    rows, length, number = prod(front), n // parts, np.arange(parts)
    here = [e.reshape(a, [rows, parts, length]) for a in arrays]
    here = network(inverted(here, number & 1), False)
    block = 1
    while block < parts:
        # blocks that descended and now ascend, or the other way round
        here = inverted(here, (number // block ^ number // (2 * block)) & 1)
        block *= 2
        apart = [rows, length, parts // block, block]
        here = [e.reshape(e.transpose(a, [0, 2, 1]), apart) for a in here]
        here = [e.reshape(a, [rows, length, parts]) for a in network(here, True)]
        here = network([e.transpose(a, [0, 2, 1]) for a in here], True)
    return [e.reshape(a, [*front, n]) for a in here]
