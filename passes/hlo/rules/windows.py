"""Fold padding into the window of convolution and reduce_window."""

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.hlo.attributes import i64_array
from neuronir.dialects.support.cloning import clone_region
from neuronir.passes.hlo.rules.arithmetic import neutral_element
from neuronir.passes.hlo.support.build import Emitter, reducer_opcode
from neuronir.passes.hlo.support.values import element, ints, is_splat_of, producer
from neuronir.passes.hlo.support.walk import Rule


def convolution(op: Operation, e: Emitter) -> SSAValue | None:
    """Fold convolution(pad(x, 0)), padded along spatial dimensions only."""
    inner = _padding(op.operands[0])
    if inner is None or not is_splat_of(inner.operands[1], 0.0):
        return None
    spatial = ints(op, "input_spatial_dims")
    if any(n != 1 for n in ints(op, "lhs_dilation")):
        return None
    low, high = ints(inner, "edge_padding_low"), ints(inner, "edge_padding_high")
    if any(low[d] or high[d] for d in range(len(low)) if d not in spatial):
        return None
    return _with_padding(op, inner, [(low[d], high[d]) for d in spatial], e)


def reduce_window(op: Operation, e: Emitter) -> SSAValue | None:
    """Fold reduce_window(pad(x, n)), where n is the identity element."""
    if len(op.operands) != 2:
        return None
    inner, opcode = _padding(op.operands[0]), reducer_opcode(op)
    if inner is None or opcode is None or any(n != 1 for n in ints(op, "base_dilations")):
        return None
    neutral = neutral_element(opcode, element(op.operands[0]))
    if neutral is None or not is_splat_of(inner.operands[1], neutral):
        return None
    low, high = ints(inner, "edge_padding_low"), ints(inner, "edge_padding_high")
    return _with_padding(op, inner, list(zip(low, high, strict=True)), e)


def _padding(value: SSAValue) -> Operation | None:
    """Match a pad that adds elements only at the edges."""
    inner = producer(value, "pad")
    if inner is None or any(ints(inner, "interior_padding")):
        return None
    edges = (*ints(inner, "edge_padding_low"), *ints(inner, "edge_padding_high"))
    return None if any(n < 0 for n in edges) else inner


def _with_padding(
    op: Operation, inner: Operation, more: Sequence[tuple[int, int]], e: Emitter
) -> SSAValue | None:
    """Rebuild `op` on the operand of `inner` with `more` padding (low, high by dimension)."""
    pads = ints(op, "padding")
    if any(n < 0 for n in pads):
        return None
    both = [a + b for a, b in zip(pads, (n for pair in more for n in pair), strict=True)]
    properties = dict(op.properties) | {"padding": i64_array(both)}
    regions = [clone_region(region) for region in op.regions]
    operands = [inner.operands[0], op.operands[1]]
    opcode = op.name.removeprefix("hlo.")
    return e.emit(opcode, operands, op.results[0].type, properties, regions)


RULES: dict[str, tuple[Rule, ...]] = {
    "hlo.convolution": (convolution,),
    "hlo.reduce_window": (reduce_window,),
}
