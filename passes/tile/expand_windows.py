"""Rewrite window reductions (pooling) as elementwise ops on slices, one dimension at a time."""

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.dialects.tile.rules import combiner, shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.expand_running import expand_running
from neuronir.passes.tile.numbers import number_of

LARGEST_WINDOW = 64
"""Limit of the taps of a window along one dimension."""
REDUCERS = ("hlo.add", "hlo.maximum", "hlo.minimum")
_NEUTRAL = {"maximum": float("-inf"), "minimum": float("inf")}


def expand_window(op: Operation) -> None:
    """Rewrite a reduce_window of floats as elementwise ops, which are tiled, fused and laid out
    with their neighbours:

        %r = reduce_window %x, add          %p = hlo.pad %x
             window 3, stride 2       ->    %r = %p[0::2] + %p[1::2] + %p[2::2]

    A window over several dimensions is reduced along one dimension after another. Narrow floats are
    added up in f32. Longer windows are not changed, except those of running reductions
    (expand_running.py).
    """
    if not expands(op):
        return
    opcode = combiner(op).removeprefix("hlo.")
    if max(ints(op, "window_dimensions")) > LARGEST_WINDOW:
        if opcode != "add" or byte_size(element(op.operands[0])) >= byte_size(f32):
            expand_running(op, opcode)
        return
    windows, strides = ints(op, "window_dimensions"), ints(op, "window_strides")
    padding = ints(op, "padding")
    build = Emitter(op)
    x, start = op.operands
    kind = element(x)
    if opcode == "add" and byte_size(kind) < byte_size(f32):
        number = number_of(start)
        assert number is not None
        x, start = build.convert(x, f32), build.scalar(number, f32)
    if any(padding):
        x = build.pad(x, start, padding[::2], padding[1::2])
    wide = [d for d, n in enumerate(windows) if n > 1 or strides[d] > 1]
    for d in sorted(wide, key=lambda d: (-strides[d], d)):
        x = _along(build, opcode, x, d, windows[d], strides[d])
    if opcode != "add" and number_of(start) != _NEUTRAL[opcode]:  # a part of each window
        x = build.binary(opcode, x, build.broadcast(start, shape_of(x), []))
    op.results[0].replace_all_uses_with(build.convert(x, kind))
    erase_dead(op)


def expands(op: Operation) -> bool:
    """Return whether an op is a window reduction of floats with a known initial value."""
    if op.name != "hlo.reduce_window" or len(op.operands) != 2 or combiner(op) not in REDUCERS:
        return False
    number = number_of(op.operands[1])
    if not is_float(element(op.operands[0])) or number is None:
        return False
    if combiner(op) == "hlo.add" and number != 0.0:
        return False
    if any(n != 1 for name in ("base_dilations", "window_dilations") for n in ints(op, name)):
        return False
    return all(n >= 0 for n in ints(op, "padding"))


def _along(build: Emitter, opcode: str, x: SSAValue, d: int, window: int, stride: int) -> SSAValue:
    """Reduce windows along one dimension.

    Overlapping windows are composed of smaller ones of 2, 4, 8, ... taps.
    """
    count = (shape_of(x)[d] - window) // stride + 1
    parts: list[SSAValue] = []
    first, size = 0, 1
    halvings = window.bit_length() - 1
    if window - 1 <= halvings * stride + window.bit_count() - 1:  # no more work than by doubling
        parts = [_every(build, x, d, i, count, stride) for i in range(window)]
        window = 0
    while size <= window:
        if window & size:
            parts.append(_every(build, x, d, first, count, stride))
            first += size
        size *= 2
        if size <= window:
            m = shape_of(x)[d] - size // 2
            x = build.binary(
                opcode, _every(build, x, d, 0, m, 1), _every(build, x, d, size // 2, m, 1)
            )
    out = parts[0]
    for part in parts[1:]:
        out = build.binary(opcode, out, part)
    return out


def _every(build: Emitter, x: SSAValue, d: int, first: int, count: int, stride: int) -> SSAValue:
    """Return `count` positions along a dimension, from `first` on."""
    shape = shape_of(x)
    starts, limits, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[d], limits[d], steps[d] = first, first + (count - 1) * stride + 1, stride
    return build.slice(x, starts, limits, steps)
