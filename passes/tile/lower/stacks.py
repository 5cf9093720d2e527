"""Lower conversions that stack free digits on partitions, or lay stacked ones side by side."""

from dataclasses import replace

from neuronir.passes.lowering.layouts.layout import Atom, Form, split_at
from neuronir.passes.lowering.layouts.views import plan
from neuronir.passes.tile.layouts.maps import own
from neuronir.passes.tile.layouts.stacks import elements_of, stacked, starts_of
from neuronir.passes.tile.lower.memory import copy
from neuronir.passes.tile.lower.state import Lower


def copy_stacked(state: Lower, form: Form, target: Form, size: int) -> bool:
    """Copy a value of `size` elements, one start partition after the other.

    Returns False if a digit of a free axis spans several of the digits that are stacked.
    """
    mine, wanted = own(form.partition, size), own(target.partition, size)
    outer, low = stacked(state.machine, mine, wanted), mine
    if outer is None:
        outer, low = stacked(state.machine, wanted, mine), wanted
    assert outer is not None
    tall, flat = (target, form) if low is mine else (form, target)
    digits = [a for a, _ in outer]
    pairs = []
    for start, number in zip(starts_of(outer), elements_of(outer), strict=True):
        beside = _without(flat, digits, number)
        if beside is None:
            return False
        part = replace(tall, partition=low, start=tall.start + start)
        beside = replace(beside, partition=low)
        pairs.append((beside, part) if tall is target else (part, beside))
    if any(plan([t, s], [a for a, _ in t.free]) is None for s, t in pairs):
        return False
    for source, goal in pairs:
        copy(state, source, goal)
    return True


def _without(form: Form, digits: list[Atom], number: int) -> Form | None:
    """Return the part of a copy at the positions of `digits` that element `number` has."""
    cuts = {c for a in digits for c in (a.stride, a.end)}
    free: list[tuple[Atom, int]] = []
    offset = form.offset
    for whole, stride in form.free:
        parts = split_at(whole, cuts)
        if parts is None:
            return None
        for a in parts:
            step = stride * (a.stride // whole.stride)
            if any(d.stride <= a.stride and a.end <= d.end for d in digits):
                offset += a.digit(number) * step
            else:
                free.append((a, step))
    return replace(form, free=tuple(free), offset=offset)
