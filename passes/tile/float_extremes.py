"""Reduce indices to their extremes in fp32, which is exact below 2^24 and crosses partitions."""

from math import prod

from xdsl.ir import Block, Operation

from neuronir.dialects.support.dtypes import is_integer
from neuronir.dialects.tile.rules import combiner, shape_of
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints
from neuronir.passes.hlo.support.walk import erase_dead
from neuronir.passes.tile.float_indices import LARGEST, in_floats, range_of
from neuronir.passes.tile.numbers import number_of

FEW = 64
"""Limit of results: elements of their rows, instead of rows, must lie on partitions."""
_BEYOND = 2.0 * LARGEST
"""A number that stands for no index."""


def reduce_in_floats(block: Block) -> None:
    """Reduce chosen indices of few rows in fp32, such as those of an argmax.

        %i = hlo.select %p, %iota, %largest          %f = hlo.select %p, %float_iota, 2^25
        %r = hlo.reduce %i, %largest, minimum   ->   %m = hlo.reduce %f, 2^25, minimum
                                                     %r = m < 2^24 ? i32(m) : largest

    Partitions can only be combined by transposes and dots, which do not take 32-bit integers.
    """
    for op in list(block.ops):
        _rewrite(op)


def _rewrite(op: Operation) -> None:
    if op.name != "hlo.reduce" or len(op.operands) != 2 or prod(shape_of(op.results[0])) > FEW:
        return
    sign = {"hlo.minimum": 1.0, "hlo.maximum": -1.0}.get(combiner(op))
    chosen = op.operands[0].owner
    if sign is None or not is_integer(element(op.results[0])):
        return
    if not isinstance(chosen, Operation) or chosen.name != "hlo.select":
        return
    pred, *sides = chosen.operands
    numbers = [number_of(v) for v in (*sides, op.operands[1])]
    known = [i for i, v in enumerate(sides) if numbers[i] is None and range_of(v) is not None]
    rest = [n for i, n in enumerate(numbers) if i not in known]
    if len(known) != 1 or any(n is None or n * sign < _BEYOND for n in rest):
        return
    build = Emitter(op)
    floats = in_floats(sides[known[0]], {}, op)
    nothing = build.fill_like(sign * _BEYOND, floats)
    values = [floats, nothing] if known == [0] else [nothing, floats]
    found = build.reduce(
        build.select(pred, *values),
        sign * _BEYOND,
        ints(op, "dimensions"),
        combiner(op).removeprefix("hlo."),
    )
    kind = element(op.results[0])
    outermost = min if sign > 0 else max
    number = build.convert(found, kind)
    none = build.fill_like(outermost(n for n in rest if n is not None), number)
    is_index = build.compare_number(found, sign * LARGEST, "LT" if sign > 0 else "GT")
    result = build.select(is_index, number, none)
    op.results[0].replace_all_uses_with(result)
    erase_dead(op)
