"""Reverse digits of a copy: a reversal on the free axis needs no instruction."""

from collections.abc import Sequence
from dataclasses import replace

from neuronir.passes.lowering.layouts.layout import Atom, Form, split_at


def mirror(form: Form, mirrored: Sequence[Atom]) -> Form | None:
    """Return a copy in which some digits count down from their last position.

    Returns None if one of them is on partitions, or in pieces.
    """
    cuts = {c for a in mirrored for c in (a.stride, a.end)}
    if any(touches(a, mirrored) for a, _ in form.partition):
        return None
    free: list[tuple[Atom, int]] = []
    offset = form.offset
    for whole, stride in form.free:
        parts = (whole,) if whole.ragged else split_at(whole, cuts)
        if parts is None or (whole.ragged and touches(whole, mirrored)):
            return None
        for a in parts:
            step = stride * (a.stride // whole.stride)
            if touches(a, mirrored):
                offset += (a.size - 1) * step
                step = -step
            free.append((a, step))
    return replace(form, free=tuple(free), offset=offset)


def touches(a: Atom, others: Sequence[Atom]) -> bool:
    """Return whether a digit overlaps one of several others."""
    return any(a.stride < o.end and o.stride < a.end for o in others)
