"""Sort rows of s32 values, with a power of two elements, along the free axis, all rows at once.

This is Batcher's bitonic network in the form in which every comparison puts the smaller value
first: the first step of a merge compares a block with its reverse. POOL compares 32-bit integers
exactly, half a row per instruction.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from neuronir.dialects.nc.enums import AluOp, DType, Engine
from neuronir.dialects.nc.ops import View
from neuronir.passes.lowering.emitter import Emitter

PADDING = 2**31 - 1
"""The padding of rows, which sorts to the end."""


def row_size(n: int) -> int:
    """Return the power of two for a row of `n` elements."""
    return 1 << (n - 1).bit_length()


def comparisons(size: int, bitonic: bool = False) -> Iterator[tuple[int, bool]]:
    """Return (distance, whether the other half is reversed) of each step, for a row of `size`.

    A `bitonic` row is only merged: no half of it is reversed.
    """
    block = size if bitonic else 2
    while block <= size:
        distance = block // 2
        yield distance, not bitonic
        while distance > 1:
            distance //= 2
            yield distance, False
        block *= 2


def sides(distance: int, turned: bool, elements: int) -> tuple[list[tuple[int, int]], ...]:
    """Return (stride, size) dims of the lower and upper elements of the pairs of one step.

    The lower elements start at 0, the upper ones at `upper_start`.
    """
    blocks = elements // (2 * distance)
    outer = [(2 * distance, blocks)] if blocks > 1 else []
    lower = [*outer, (1, distance)] if distance > 1 else outer
    upper = [*outer, (-1 if turned else 1, distance)] if distance > 1 else outer
    return lower or [(1, 1)], upper or [(1, 1)]


def upper_start(distance: int, turned: bool) -> int:
    """Return where the upper elements start."""
    return 2 * distance - 1 if turned else distance


@dataclass(frozen=True)
class Words:
    """Consecutive rows of values on some partitions."""

    view: View  # all of them, in one dimension

    def part(self, start: int, dims: list[tuple[int, int]]) -> View:
        """Return some of them."""
        v = self.view
        return View(
            v.buffer, v.start, v.partitions, tuple(dims), v.offset + start, v.indices, 0, v.dtype
        )


def new_words(emitter: Emitter, partitions: int, elements: int, dtype: DType = DType.I32) -> Words:
    """Allocate a buffer for rows."""
    buffer = emitter.sbuf(partitions, elements, dtype)
    return Words(View(buffer, 0, partitions, ((1, elements),)))


def sort_words(
    emitter: Emitter,
    source: Words,
    target: Words,
    size: int,
    elements: int,
    bitonic: bool = False,
) -> None:
    """Sort rows of `size` values, a power of two from 2 on, of `elements` in total.

    `source` and `target` are different buffers; `source` is unchanged.
    """
    steps = list(comparisons(size, bitonic))
    partitions = target.view.partitions
    spare = new_words(emitter, partitions, elements) if len(steps) > 1 else target
    here = source
    for i, (distance, turned) in enumerate(steps):
        there = target if (len(steps) - i) % 2 else spare
        lower, upper = sides(distance, turned, elements)
        first = upper_start(distance, turned)
        pair = here.part(0, lower), here.part(first, upper)
        for op, at, dims in ((AluOp.MIN, 0, lower), (AluOp.MAX, first, upper)):
            emitter.tensor_tensor(op, there.part(at, dims), *pair, engine=Engine.POOL)
        here = there


SCALE = float(2**24)
"""The factor that makes a difference of the first values of pairs exceed any of the second ones."""


Masks = tuple[View, View]
"""In PSUM: the differences of the first values of pairs, and whether the pairs are exchanged."""


def new_masks(emitter: Emitter, partitions: int, elements: int) -> Masks:
    """Allocate the masks of rows of `elements` in total."""
    half = ((1, elements // 2),)
    apart = View(emitter.psum(partitions, elements // 2), 0, partitions, half)
    return apart, View(emitter.psum(partitions, elements // 2, DType.I32), 0, partitions, half)


def sort_pair_words(
    emitter: Emitter,
    source: tuple[Words, Words],
    target: Words,
    size: int,
    elements: int,
    carried: Sequence[Words] = (),
    keys: Words | None = None,
    bitonic: bool = False,
    masks: Masks | None = None,
) -> None:
    """Sort rows of `size` pairs of integers in fp32 by the first value, then by the second.

    The first values are multiples of SCALE. `target` receives the second values, and `keys` the
    first ones. `carried` are s32 words that are permuted in the same way, in place. `masks` are
    those of other rows, which are used again.
    """
    partitions = target.view.partitions

    def room() -> Words:
        return new_words(emitter, partitions, elements, DType.F32)

    apart, change = masks or new_masks(emitter, partitions, elements)
    other = room().part(0, [(1, elements // 2)])
    spare = (room(), room()), (keys or room(), target)
    before = [new_words(emitter, partitions, elements // 2).view for _ in carried[:1]]
    steps = list(comparisons(size, bitonic))
    here = source
    for i, (distance, turned) in enumerate(steps):
        there = spare[(len(steps) - i) % 2]
        lower, upper = sides(distance, turned, elements)
        first = upper_start(distance, turned)
        shape = [n for _, n in lower]
        dense = tuple((prod(shape[k + 1 :]), n) for k, n in enumerate(shape))
        a1, b1 = (w.part(0, lower) for w in here)
        a2, b2 = (w.part(first, upper) for w in here)
        mine = [replace(v, free=dense) for v in (apart, other, change)]
        emitter.tensor_tensor(AluOp.SUBTRACT, mine[0], a1, a2)
        emitter.tensor_tensor(AluOp.SUBTRACT, mine[1], b2, b1)
        emitter.tensor_tensor(AluOp.IS_GT, mine[2], mine[0], mine[1])
        only_second = keys is None and i + 1 == len(steps)
        columns = [(1, b1, b2)] if only_second else [(0, a1, a2), (1, b1, b2)]
        for which, one, other_one in columns:
            for at, dims, stays, comes in (
                (0, lower, one, other_one),
                (first, upper, other_one, one),
            ):
                out = there[which].part(at, dims)
                emitter.copy(out, stays, Engine.ACT)
                emitter.emit("copy_predicated", [out], [mine[2], comes], {}, Engine.DVE)
        for words in carried:
            (kept,) = (replace(v, free=dense) for v in before)
            one, other_one = words.part(0, lower), words.part(first, upper)
            emitter.copy(kept, one, Engine.DVE)
            for out, comes in ((one, other_one), (other_one, kept)):
                emitter.emit("copy_predicated", [out], [mine[2], comes], {}, Engine.DVE)
        here = there
