"""hlo-auto-cast: run fp32 matrix multiplications (or all fp32 arithmetic) in a narrower type."""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, bf16, f8E4M3, f16, f32, tf32
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.constants import lazy_constant
from neuronir.dialects.support.dtypes import is_integer, is_tf32, np_dtype
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.rules.shape import ELEMENTWISE
from neuronir.passes.hlo.support.build import Emitter, binary_region, reducer_opcode
from neuronir.passes.hlo.support.values import (
    element,
    ints,
    is_tensor,
    producer,
    shape,
    size,
    tensor,
)
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record

MODES = ("none", "matmult", "all")
TYPES: dict[str, Attribute] = {"bf16": bf16, "fp16": f16, "tf32": tf32, "fp8_e4m3": f8E4M3}
RELAYOUTS: dict[str, Attribute | None] = {"exact": None, "bf16": bf16, "fp16": f16}

_MATMULTS = ("hlo.dot", "hlo.convolution")
_VIEWS = ("hlo.transpose", "hlo.reshape")
_SPREAD = ("hlo.broadcast", *_VIEWS)
_NOT_CAST = ("hlo.convert", "hlo.bitcast_convert", "hlo.reduce_precision", "hlo.is_finite")


class _Caster:
    """Casts within one block; a value is converted once, before the first op that needs it."""

    def __init__(self, target: Attribute) -> None:
        self.target = target
        self.narrowed: dict[SSAValue, SSAValue] = {}
        self.count = 0

    def narrow(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        """Round an f32 value to the cast type; return other values unchanged."""
        if not is_tensor(value) or element(value) != f32:
            return value
        if value not in self.narrowed:
            self.narrowed[value] = self.rounded(value, emitter)
        return self.narrowed[value]

    def transpose(self, op: Operation) -> None:
        """Transpose in the cast type; the operand and the result are f32."""
        value, result = op.operands[0], op.results[0]
        if element(value) != f32 or producer(value, "constant") is not None or _keeps_order(op):
            return
        emitter = Emitter(op)
        small = self.narrow(value, emitter)
        turned = emitter.like(op, [small], tensor(shape(result), self.target))
        self._widen(op, turned, emitter)

    def _widen(self, op: Operation, small: SSAValue, emitter: Emitter) -> None:
        """Replace an op with an f32 result by the same op in the cast type, followed by a
        convert.
        """
        value = emitter.convert(small, f32)
        self.narrowed[value] = small
        op.results[0].replace_all_uses_with(value)
        op.detach()
        op.erase()
        self.count += 1

    def rounded(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        window = _selecting_window(value)
        if window is not None and not is_tf32(self.target):
            return self.rounded_before(window, emitter, self.target)
        return self.converted(_finite(value, self.target, emitter), emitter, self.target)

    def converted(self, value: SSAValue, emitter: Emitter, target: Attribute) -> SSAValue:
        """Convert `value` before the transposes and reshapes that make it.

        Its producer can then store the result in the narrow type.
        """
        views: list[Operation] = []
        source = value
        while source.has_one_use() and isinstance(source, OpResult) and source.op.name in _VIEWS:
            views.append(source.op)
            source = source.op.operands[0]
        if not source.has_one_use() or all(op.name != "hlo.transpose" for op in views):
            return emitter.convert(value, target)
        small = emitter.convert(source, target)
        for view in reversed(views):
            small = emitter.like(view, [small], tensor(shape(view.results[0]), target))
        return small

    def rounded_before(self, window: Operation, emitter: Emitter, target: Attribute) -> SSAValue:
        """Convert the operand of a window that selects among rounded values.

        Rounding preserves the order of values, so it can come first, and the producer of the
        window's operand can store the narrow type.
        """
        opcode = reducer_opcode(window)
        assert opcode is not None
        here = Emitter(emitter.anchor, window)
        operands = [self.narrow(v, here) for v in window.operands]
        kind = tensor(shape(window.results[0]), target)
        region = binary_region(opcode, target)
        return here.emit("reduce_window", operands, kind, window.properties, [region])

    def matmult(self, op: Operation) -> None:
        if not _multiplies_f32(op):
            return
        emitter = Emitter(op)
        before = list(op.operands)
        op.operands = [self.narrow(v, emitter) for v in before]
        self.count += any(a is not b for a, b in zip(before, op.operands, strict=True))

    def elementwise(self, op: Operation) -> None:
        """Compute an op in the cast type, with f32 operands and an f32 result."""
        result = op.results[0]
        wide = [v for v in op.operands if is_tensor(v) and element(v) == f32]
        if not wide:
            return
        emitter = Emitter(op)
        operands = [self.narrow(v, emitter) for v in op.operands]
        if element(result) != f32:
            op.operands = operands
        else:
            small = emitter.like(op, operands, tensor(shape(result), self.target))
            self._widen(op, small, emitter)
            return
        self.count += 1


_LARGEST_TF32 = (2 - 2.0**-10) * 2.0**127
_LARGEST_CONSTANT = 1 << 20
"""Limit of elements of an inspected constant: masks are no larger."""


def _finite(value: SSAValue, target: Attribute, emitter: Emitter) -> SSAValue:
    """Clamp a constant to the range of `target`; return other values unchanged.

    Finite elements beyond the range become the largest value of `target`, so that a mask of -3.4e38
    stays finite.
    """
    views: list[Operation] = []
    source = value
    while isinstance(source, OpResult) and source.op.name in _SPREAD:
        views.append(source.op)
        source = source.op.operands[0]
    made = producer(source, "constant")
    array = None if made is None or size(source) > _LARGEST_CONSTANT else lazy_constant(made)
    # The largest value of TF32 has 13 bits of mantissa less than that of fp32.
    limit = _LARGEST_TF32 if is_tf32(target) else float(ml_dtypes.finfo(np_dtype(target)).max)
    # A lazy array is made of weights, and evaluating it only for this check is too expensive.
    if not isinstance(array, np.ndarray) or not (np.abs(array) > limit).any():
        return value
    beyond = np.isfinite(array) & (np.abs(array) > limit)
    if not beyond.any():
        return value
    kept = emitter.constant(np.where(beyond, np.copysign(np.float32(limit), array), array))
    for view in reversed(views):
        kept = emitter.like(view, [kept], view.results[0].type)
    return kept


def _keeps_order(op: Operation) -> bool:
    """Return whether a transpose only moves dimensions of size 1, so that no element moves."""
    dims = shape(op.operands[0])
    moved = [d for d in ints(op, "permutation") if dims[d] != 1]
    return moved == sorted(moved)


def _selecting_window(value: SSAValue) -> Operation | None:
    """Return the max or min pooling that makes `value`, if only dots and convolutions read it."""
    if not isinstance(value, OpResult) or value.op.name != "hlo.reduce_window":
        return None
    if len(value.op.operands) != 2 or reducer_opcode(value.op) not in ("maximum", "minimum"):
        return None
    if any(use.operation.name not in _MATMULTS for use in value.uses):
        return None
    return value.op


def index_math(block: Block, mode: str) -> set[Operation]:
    """Return the ops whose value becomes an integer, and comparisons of f32 values that were
    integers: rounding them would change an index.

    Products that round their operands, and what they are computed from, are not among them.
    """
    found: set[Operation] = set()
    pending: list[SSAValue] = []
    integers = _Integers()
    for op in block.ops:
        if op.name == "hlo.convert" and is_integer(element(op.results[0])):
            pending.append(op.operands[0])
        elif _compares_f32(op) and all(map(integers.has, op.operands)):
            found.add(op)
            pending.extend(op.operands)
    while pending:
        value = pending.pop()
        if not isinstance(value, OpResult) or value.op in found:
            continue
        if mode != "none" and _multiplies_f32(value.op):
            continue
        found.add(value.op)
        pending.extend(value.op.operands)
    return found


def _compares_f32(op: Operation) -> bool:
    return op.name == "hlo.compare" and element(op.operands[0]) == f32


def _multiplies_f32(op: Operation) -> bool:
    """Return whether an op is a product whose operands are cast in all modes but `none`."""
    return op.name in _MATMULTS and all(is_tensor(v) and element(v) == f32 for v in op.operands)


class _Integers:
    """Decides which f32 values were integers: converted ones, indices, and what data movement and
    exact arithmetic makes of them.
    """

    _EXACT = frozenset(
        f"hlo.{name}"
        for name in (
            "abs add broadcast clamp concatenate maximum minimum multiply negate reshape reverse "
            "select slice subtract transpose"
        ).split()
    )

    def __init__(self) -> None:
        self.known: dict[SSAValue, bool] = {}

    def has(self, value: SSAValue) -> bool:
        """Return whether an f32 value was an integer, or is a constant."""
        pending = [value]
        while pending:
            top = pending[-1]
            if top in self.known:
                pending.pop()
                continue
            reads = self._reads(top)
            unknown = [v for v in reads if v not in self.known]
            if unknown:
                pending.extend(unknown)
                continue
            op = top.op if isinstance(top, OpResult) else None
            leaf = op is not None and (op.name in self._EXACT or self._is_source(op))
            self.known[top] = leaf and all(self.known[v] for v in reads)
        return self.known[value]

    def _reads(self, value: SSAValue) -> list[SSAValue]:
        """Return the f32 operands of exact arithmetic."""
        if not isinstance(value, OpResult) or value.op.name not in self._EXACT:
            return []
        return [v for v in value.op.operands if is_tensor(v) and element(v) == f32]

    @staticmethod
    def _is_source(op: Operation) -> bool:
        if op.name == "hlo.convert":
            return is_integer(element(op.operands[0]))
        return op.name in ("hlo.iota", "hlo.constant")


def cast_block(
    block: Block, mode: str, target: Attribute, relayout: Attribute | None = None
) -> int:
    """Cast the ops of one block (not of nested regions) and return their number.

    Transposes in the type of cast operands are cast in the same walk, so that no value is converted
    twice. Transposes of another type are converted last, after the operands of dots.
    """
    caster = _Caster(target)
    exempt = index_math(block, mode) if mode == "all" else set()
    together = relayout is not None and relayout == target and mode != "none"
    indices = index_math(block, mode) if relayout is not None else set()
    for op in tuple(block.ops):
        if mode != "none" and op.name in _MATMULTS:
            caster.matmult(op)
        elif together and op.name == "hlo.transpose" and op not in indices:
            caster.transpose(op)
        elif op in exempt:
            continue
        elif mode == "all" and op.name in ELEMENTWISE and op.name not in _NOT_CAST:
            caster.elementwise(op)
    if relayout is None or together:
        return caster.count
    turner = _Caster(relayout)
    for op in tuple(block.ops):
        if op.name == "hlo.transpose" and op not in indices:
            turner.transpose(op)
    return caster.count + turner.count


@dataclass(frozen=True)
class HloAutoCastPass(ModulePass):
    """Cast fp32 arithmetic to a narrower type, like --auto-cast of the Neuron compilers.

    - `mode=matmult` rounds both operands of every fp32 dot and convolution to `type`. Products
      accumulate in fp32, and results stay fp32.
    - `mode=all` also computes fp32 elementwise ops in `type`, except for index arithmetic: what is
      between a product and a value that becomes an integer, or a comparison of values that were
      integers. Reductions accumulate in fp32. tf32 is a type of operands of dots and convolutions
      only, so `mode=all type=tf32` means `mode=matmult type=tf32`.
    - `mode=none` casts nothing.

    Types of inputs and outputs never change, and neither do the types of reducers and of the
    regions of composites. Finite constants outside the range of `type` are clamped to its largest
    value. Max and min pooling whose users are all dots runs on rounded values, which gives the same
    result. The pass is idempotent. The module attribute `hlo.auto_cast` records mode and type.

    `relayout` is the type in which fp32 values are transposed: a 16-bit type, which every tensor
    engine can transpose, or `exact`. The module attribute `hlo.relayout` records it. Transposes of
    operands that dots take in `type` have that type instead.
    """

    name = "hlo-auto-cast"
    mode: str = field(default="matmult", metadata={"help": "none, matmult or all"})
    type: str = field(default="bf16", metadata={"help": "bf16, fp16, tf32 or fp8_e4m3"})
    relayout: str = field(default="exact", metadata={"help": "bf16, fp16 or exact"})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mode = "matmult" if self.mode == "matmul" else self.mode
        if self.relayout not in RELAYOUTS:
            raise NeuronError(
                "NIR_PASS_OPTION",
                f"{self.name}: relayout '{self.relayout}' is not supported",
                help=f"types of transposes: {', '.join(RELAYOUTS)}",
            )
        if mode not in MODES or self.type not in TYPES:
            raise NeuronError(
                "NIR_PASS_OPTION",
                f"{self.name}: mode '{self.mode}' with type '{self.type}' is not supported",
                help=f"modes: {', '.join(MODES)}; types: {', '.join(TYPES)}",
            )
        op.attributes["hlo.auto_cast"] = StringAttr(
            "none" if mode == "none" else f"{mode}:{self.type}"
        )
        target, relayout = TYPES[self.type], RELAYOUTS[self.relayout]
        if relayout is not None:
            op.attributes["hlo.relayout"] = StringAttr(self.relayout)
        if mode == "none" and relayout is None:
            return
        if is_tf32(target) and mode == "all":
            mode = "matmult"
        cast = 0
        for block in blocks(op):
            parent = block.parent_op()
            if parent is None or parent.name in _PROGRAM_BLOCKS:
                cast += cast_block(block, mode, target, relayout)
        record(self.name, "cast", cast)


_PROGRAM_BLOCKS = ("func.func", "hlo.while", "hlo.conditional")
