"""hlo-exact-integers: rewrite integer arithmetic for machines that compute in fp32."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.support.dtypes import byte_size
from neuronir.passes.hlo.integers.reductions import extreme_of, in_steps, sum_of
from neuronir.passes.hlo.integers.words import Words
from neuronir.passes.hlo.ranges.analysis import Analysis, limits
from neuronir.passes.hlo.ranges.fp32 import ELEMENTWISE, inexact, integer_ranges, is_exact
from neuronir.passes.hlo.ranges.interval import Interval
from neuronir.passes.hlo.simplify import simplify_block
from neuronir.passes.hlo.support.build import Emitter, binary_region, reducer_opcode
from neuronir.passes.hlo.support.values import element, shape, splat, string, tensor
from neuronir.passes.hlo.support.walk import (
    COMPOSITE,
    PROGRAM_BLOCKS,
    blocks_of,
    erase_dead,
    functions,
    replace,
)
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class HloExactIntegersPass(ModulePass):
    """Rewrite integer ops that fp32 does not compute exactly.

    Use this pass for machines whose vector engines compute in fp32 only. An interval analysis
    finds the ops whose operands and results stay within 2^24; these are not changed. The other
    32-bit ops are decomposed with bitwise ops, which are exact, into parts of 11 or 16 bits: add,
    subtract, multiply, negate, abs, compare, maximum, minimum, and reduce and reduce_window by add,
    multiply, maximum and minimum. Narrower integers, which would saturate instead of wrapping, are
    computed in s32 and truncated. hlo-verify-supported refuses the remaining ops (other
    reductions, 64-bit integers, scatters). Runs after hlo-decompose, which divides.
    """

    name = "hlo-exact-integers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = 0
        for function in functions(op):
            ranges = integer_ranges(function.body.block)
            for block in tuple(blocks_of(function.body.block, True)):
                parent = block.parent_op()
                if parent is not None and parent.name in PROGRAM_BLOCKS:
                    count += _rewrite(block, ranges)
        record(self.name, "integer operations", count)


def _rewrite(block: Block, analysis: Analysis) -> int:
    count = 0
    for op in tuple(block.ops):
        ranges = inexact(op, analysis)
        if ranges is None:
            continue
        e = Emitter(op)
        value = _exact(op, ranges, e)
        if value is not None:
            analysis.values[value] = analysis.of(op.results[0])
            replace(op, value)
            count += 1
        for made in reversed(e.created):
            erase_dead(made)
    parent = block.parent_op()
    if count and parent is not None and parent.name == COMPOSITE:
        simplify_block(block)  # later passes do not visit composites
    return count


def _exact(op: Operation, ranges: Sequence[Interval], e: Emitter) -> SSAValue | None:
    """Return the value of an op in exact steps, or None if there are none."""
    type_ = element(op.operands[0])
    if byte_size(type_) > 4:
        return None
    if byte_size(type_) < 4:
        return _widened(op, ranges, type_, e)
    opcode = op.name.removeprefix("hlo.")
    if opcode == "compare":
        return Words(e).compare(op.operands[0], op.operands[1], string(op, "direction"))
    if opcode in ELEMENTWISE:
        return _elementwise(opcode, op.operands, ranges, e)
    if opcode in ("reduce", "reduce_window") and len(op.operands) == 2:
        reducer = reducer_opcode(op)
        if reducer == "add":
            return sum_of(op, ranges, e)
        if reducer in ("maximum", "minimum") and opcode == "reduce":
            return extreme_of(op, reducer, e)
        if reducer in ("maximum", "minimum", "multiply"):
            any_ = [limits(type_)] * 2
            return in_steps(op, lambda x, y: _elementwise(reducer, (x, y), any_, e), e)
    return None


def _widened(
    op: Operation, ranges: Sequence[Interval], type_: Attribute, e: Emitter
) -> SSAValue | None:
    """Compute the op on s32, in several steps if necessary, and truncate."""
    opcode = op.name.removeprefix("hlo.")
    reducer = reducer_opcode(op) if opcode in ("reduce", "reduce_window") else None
    if opcode not in ELEMENTWISE and reducer not in ("add", "multiply"):
        return None
    known = [splat(v) for v in op.operands]
    operands = [
        e.convert(v, i32) if n is None or shape(v) else e.scalar(n, i32)
        for v, n in zip(op.operands, known, strict=True)
    ]
    regions = [] if reducer is None else [binary_region(reducer, i32)]
    wide = e.emit(opcode, operands, tensor(shape(op.results[0]), i32), op.properties, regions)
    made = e.created[-1]
    if not is_exact(made, ranges):
        exact = _exact(made, ranges, e)
        if exact is None:
            return None
        wide = exact
    return e.convert(wide, type_)


def _elementwise(
    opcode: str, operands: Sequence[SSAValue], ranges: Sequence[Interval], e: Emitter
) -> SSAValue:
    words = Words(e)
    x, y = operands[0], operands[-1]
    if opcode == "add":
        return words.add(x, y)
    if opcode == "subtract":
        return words.subtract(x, y)
    if opcode == "multiply":
        return words.multiply(x, y, ranges)
    if opcode == "negate":
        return words.negate(x)
    if opcode == "abs":
        return e.select(e.compare_number(x, 0, "LT"), words.negate(x), x)
    direction = "GE" if opcode == "maximum" else "LE"
    return e.select(compared(x, y, ranges, direction, e), x, y)


def compared(
    x: SSAValue, y: SSAValue, ranges: Sequence[Interval], direction: str, e: Emitter
) -> SSAValue:
    """Compare 32-bit integers, in one step if one side is small."""
    native = e.compare(x, y, direction)
    made = e.created[-1]
    return native if is_exact(made, ranges) else Words(e).compare(x, y, direction)
