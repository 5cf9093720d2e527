"""hlo-scale-results: multiply the results of dots by the scales of their quantized weights."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.support.dtypes import byte_size, is_float
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.values import element, ints, producer, shape, size
from neuronir.passes.hlo.support.walk import blocks, erase_dead
from neuronir.passes.statistics import record

ZEROED = ("subtract", "add")
"""Ops that apply a zero point."""


def _quantized(value: SSAValue) -> bool:
    """Return whether a value is converted from a type of 8 bits, with or without a zero point."""
    for name in ZEROED:
        made = producer(value, name)
        if made is not None:
            return any(map(_quantized, made.operands)) and all(
                _quantized(v) or producer(v, "broadcast") for v in made.operands
            )
    made = producer(value, "convert")
    if made is None:
        return False
    (source,) = made.operands
    return byte_size(element(source)) == 1 or _quantized(source)


def _places(dot: Operation, which: int) -> dict[int, int]:
    """Return the dimension of a dot's result for each dimension of an operand that it has."""
    side = ("lhs", "rhs")[which]
    batch, summed = (ints(dot, f"{side}_{kind}_dims") for kind in ("batch", "contracting"))
    rank = len(shape(dot.operands[which]))
    free = [d for d in range(rank) if d not in batch and d not in summed]
    first = len(batch) if which == 0 else len(shape(dot.results[0])) - len(free)
    places = {d: place for place, d in enumerate(batch)}
    return places | {d: first + i for i, d in enumerate(free)}


def _scaled(dot: Operation, which: int) -> tuple[SSAValue, SSAValue, list[int]] | None:
    """Match the operand of a dot: the quantized values, their scales, and the dimensions of the
    result along which these vary.
    """
    value = dot.operands[which]
    product = producer(value, "multiply")
    if product is None or not value.has_one_use() or size(dot.results[0]) > size(value):
        return None
    places = _places(dot, which)
    for i in (0, 1):
        spread = producer(product.operands[1 - i], "broadcast")
        if spread is None or not _quantized(product.operands[i]):
            continue
        dims = ints(spread, "dimensions")
        to = [places[d] for d in dims if d in places]
        same = all(
            shape(value)[d] == n for d, n in zip(dims, shape(spread.operands[0]), strict=True)
        )
        if same and len(to) == len(dims) and to == sorted(to):
            return product.operands[i], spread.operands[0], to
    return None


def scale_result(dot: Operation) -> bool:
    """Rewrite dot(x, q * broadcast(s)) to dot(x, q) * broadcast(s), if s does not vary along what
    is summed, and the result has no more elements than the weights.
    """
    kind = element(dot.results[0])
    for which in (1, 0):
        found = _scaled(dot, which)
        if found is None or not is_float(kind):
            continue
        values, scales, dims = found
        if byte_size(kind) < byte_size(element(values)):
            continue
        emitter = Emitter(dot)
        operands = list(dot.operands)
        operands[which] = values
        product = emitter.like(dot, operands, dot.results[0].type)
        emitter.created[-1].attributes.update(dot.attributes)
        factor = emitter.broadcast(emitter.convert(scales, kind), shape(product), dims)
        dot.results[0].replace_all_uses_with(emitter.binary("multiply", product, factor))
        erase_dead(dot)
        return True
    return False


def _scale_block(block: Block) -> int:
    return sum(scale_result(op) for op in tuple(block.ops) if op.name == "hlo.dot")


@dataclass(frozen=True)
class HloScaleResultsPass(ModulePass):
    """Multiply the results of dots by the scales of their quantized weights.

    dot(x, convert(q) * s), where q has 8 bits and s does not vary along what is summed, becomes
    dot(x, convert(q)) * s: 8-bit integers and their differences from a zero point are exact in
    bf16, so hlo-auto-cast rounds nothing of the weights, and fewer elements are multiplied. Applied
    if the result has no more elements than the weights. The result is rounded in another order, and
    an infinite scale of a zero gives an infinity instead of NaN.
    """

    name = "hlo-scale-results"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record(self.name, "dots", sum(_scale_block(block) for block in blocks(op)))
