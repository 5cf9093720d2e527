"""Split consecutive elements of one copy into runs with one access each in another copy."""

from collections.abc import Iterator
from dataclasses import dataclass

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.layout import Form, split_at

MAX_DIMS = 3
"""Free dims of a run: those of one operand besides a destination and another source."""


@dataclass(frozen=True)
class Run:
    """`count` elements from `start` on: (stride, size) dims from `offset` on in the other copy."""

    start: int
    count: int
    offset: int
    dims: tuple[tuple[int, int], ...]


def runs(form: Form, out: Form, number: int, count: int) -> Iterator[Run]:
    """Return the positions in `form` of `count` consecutive elements of `out` from `number` on.

    `form` has the partition layout of `out`. A run ends where the digits of its outermost factor
    wrap, so a copy that repeats along a factor needs one run for each incomplete repetition.
    """
    radices = _radices(form, out)
    first = out.locate(number)[1] - out.offset
    base = form.locate(number)[1]
    scale = 1
    for size, stride in radices:
        base -= first // scale % size * stride
        scale *= size
    at, end = first, first + count
    while at < end:
        dims: list[tuple[int, int]] = []
        whole, offset, scale = 1, base, 1
        for size, stride in radices:
            offset += at // scale % size * stride
            scale *= size
        for size, stride in radices:
            digit = at // whole % size
            if digit == 0 and whole * size <= end - at and len(dims) < MAX_DIMS - 1:
                dims.insert(0, (stride, size))
                whole *= size
                continue
            n = min(size - digit, (end - at) // whole)
            if n > 1:
                dims.insert(0, (stride, n))
            whole *= n
            break
        yield Run(at - first, whole, offset, tuple(dims) or ((1, 1),))
        at += whole


def _radices(form: Form, out: Form) -> list[tuple[int, int]]:
    """Return (size, stride in `form`) of the free factors of `out`, innermost first.

    Factors that are contiguous in `form` are joined.
    """
    cuts = {c for a in form.atoms() for c in (a.stride, a.end)}
    found: list[tuple[int, int]] = []
    for whole, _ in sorted(out.free, key=lambda item: item[1]):
        for a in reversed((whole,) if whole.ragged else split_at(whole, cuts) or (whole,)):
            step = form.stride(a)
            if step is None:
                raise NeuronError("NIR_LOW003", "a product and its residual have different layouts")
            if a.size == 1:
                continue
            if found and found[-1][0] * found[-1][1] == step:
                found[-1] = (found[-1][0] * a.size, found[-1][1])
            else:
                found.append((a.size, step))
    return found
