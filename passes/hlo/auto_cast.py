"""hlo-auto-cast: run fp32 matrix multiplications (or all fp32 arithmetic) in a 16-bit type."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import (
    IntegerAttr,
    ModuleOp,
    StringAttr,
    bf16,
    f16,
    f32,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.support.dtypes import is_integer
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.rules.shape import ELEMENTWISE
from neuronir.passes.hlo.support.build import Emitter, binary_region, reducer_opcode
from neuronir.passes.hlo.support.values import element, integer, is_tensor, shape, tensor
from neuronir.passes.hlo.support.walk import blocks
from neuronir.passes.statistics import record

MODES = ("none", "matmult", "all")
TYPES: dict[str, Attribute | None] = {"bf16": bf16, "fp16": f16, "tf32": None}
TF32_EXPONENT_BITS, TF32_MANTISSA_BITS = 8, 10

_MATMULTS = ("hlo.dot", "hlo.convolution")
_VIEWS = ("hlo.transpose", "hlo.reshape")
_NOT_CAST = ("hlo.convert", "hlo.bitcast_convert", "hlo.reduce_precision", "hlo.is_finite")


class _Caster:
    """Casts within one block; a value is converted once, before the first op that needs it."""

    def __init__(self, target: Attribute | None) -> None:
        self.target = target
        self.narrowed: dict[SSAValue, SSAValue] = {}
        self.count = 0

    def narrow(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        """An f32 value rounded to the cast type; values of other types are left."""
        if not is_tensor(value) or element(value) != f32 or self.is_rounded(value):
            return value
        if value not in self.narrowed:
            self.narrowed[value] = self.rounded(value, emitter)
        return self.narrowed[value]

    def rounded(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        if self.target is not None:
            window = _selecting_window(value)
            if window is not None:
                return self.rounded_before(window, emitter, self.target)
            return self.converted(value, emitter, self.target)
        properties = {
            "exponent_bits": IntegerAttr(TF32_EXPONENT_BITS, i32),
            "mantissa_bits": IntegerAttr(TF32_MANTISSA_BITS, i32),
        }
        return emitter.emit("reduce_precision", [value], value.type, properties)

    def converted(self, value: SSAValue, emitter: Emitter, target: Attribute) -> SSAValue:
        """A conversion, before the transposes and reshapes that make `value`: what computes the
        numbers can store them in the small type then."""
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
        """A window that selects among rounded numbers: rounding keeps the order of numbers, so it
        may come first, and what feeds the window is stored in the small type."""
        opcode = reducer_opcode(window)
        assert opcode is not None
        here = Emitter(emitter.anchor, window)
        operands = [self.narrow(v, here) for v in window.operands]
        kind = tensor(shape(window.results[0]), target)
        region = binary_region(opcode, target)
        return here.emit("reduce_window", operands, kind, window.properties, [region])

    def is_rounded(self, value: SSAValue) -> bool:
        """Whether a value has tf32 precision already (other types show in the element type)."""
        if self.target is not None or not isinstance(value, OpResult):
            return False
        op = value.op
        return (
            op.name == "hlo.reduce_precision"
            and integer(op, "exponent_bits") <= TF32_EXPONENT_BITS
            and integer(op, "mantissa_bits") <= TF32_MANTISSA_BITS
        )

    def matmult(self, op: Operation) -> None:
        if any(not is_tensor(v) or element(v) != f32 for v in op.operands):
            return
        emitter = Emitter(op)
        before = list(op.operands)
        op.operands = [self.narrow(v, emitter) for v in before]
        self.count += any(a is not b for a, b in zip(before, op.operands, strict=True))

    def elementwise(self, op: Operation) -> None:
        """f32 operands in, f32 result out, computed in the cast type between."""
        result = op.results[0]
        wide = [v for v in op.operands if is_tensor(v) and element(v) == f32]
        if not wide or self.target is None:
            return
        emitter = Emitter(op)
        operands = [self.narrow(v, emitter) for v in op.operands]
        if element(result) != f32:
            op.operands = operands
        else:
            small = emitter.like(op, operands, tensor(shape(result), self.target))
            value = emitter.convert(small, f32)
            self.narrowed[value] = small
            result.replace_all_uses_with(value)
            op.detach()
            op.erase()
        self.count += 1


def _selecting_window(value: SSAValue) -> Operation | None:
    """The max or min pooling that makes `value`, where matrix multiplications alone read it."""
    if not isinstance(value, OpResult) or value.op.name != "hlo.reduce_window":
        return None
    if len(value.op.operands) != 2 or reducer_opcode(value.op) not in ("maximum", "minimum"):
        return None
    if any(use.operation.name not in _MATMULTS for use in value.uses):
        return None
    return value.op


def index_math(block: Block) -> set[Operation]:
    """The ops whose value becomes an integer: rounding them would move an index."""
    found: set[Operation] = set()
    pending = [
        op.operands[0]
        for op in block.ops
        if op.name == "hlo.convert" and is_integer(element(op.results[0]))
    ]
    while pending:
        value = pending.pop()
        if isinstance(value, OpResult) and value.op not in found:
            found.add(value.op)
            pending.extend(value.op.operands)
    return found


def cast_block(block: Block, mode: str, target: Attribute | None) -> int:
    """Cast the ops of one block (not of the regions inside); returns how many."""
    caster = _Caster(target)
    exempt = index_math(block) if mode == "all" else set()
    for op in tuple(block.ops):
        if op in exempt:
            continue
        if op.name in _MATMULTS:
            caster.matmult(op)
        elif mode == "all" and op.name in ELEMENTWISE and op.name not in _NOT_CAST:
            caster.elementwise(op)
    return caster.count


@dataclass(frozen=True)
class HloAutoCastPass(ModulePass):
    """Lower the precision of fp32 arithmetic, as the Neuron compilers' --auto-cast does.

    `mode=matmult` rounds both operands of every fp32 dot and convolution to `type` (bf16, fp16 or
    tf32); products are accumulated in fp32 and the result stays fp32. `mode=all` also computes fp32
    elementwise ops in that type, except what becomes an integer (index arithmetic); reductions
    accumulate in fp32. Max and min pooling whose result only products read selects among rounded
    numbers, which is the same. Types of inputs and outputs never change. With `mode=none` nothing
    is cast. Reducers, and the regions of composites, keep their types. Applying it twice changes
    nothing more. The module attribute `hlo.auto_cast` records mode and type.
    """

    name = "hlo-auto-cast"
    mode: str = "matmult"
    type: str = "bf16"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mode = "matmult" if self.mode == "matmul" else self.mode
        if mode not in MODES or self.type not in TYPES:
            raise NeuronError(
                "NIR_PASS_OPTION",
                f"{self.name}: mode '{self.mode}' with type '{self.type}' is not supported",
                help=f"modes: {', '.join(MODES)}; types: {', '.join(TYPES)}",
            )
        op.attributes["hlo.auto_cast"] = StringAttr(
            "none" if mode == "none" else f"{mode}:{self.type}"
        )
        if mode == "none":
            return
        if mode == "all" and TYPES[self.type] is None:
            raise NeuronError(
                "NIR_PASS_OPTION",
                f"{self.name}: mode=all needs a storage type, and tf32 is a matmult type only",
                help="use type=bf16 or type=fp16",
            )
        cast = 0
        for block in blocks(op):
            parent = block.parent_op()
            if parent is None or parent.name in _PROGRAM_BLOCKS:
                cast += cast_block(block, mode, TYPES[self.type])
        record(self.name, "cast", cast)


_PROGRAM_BLOCKS = ("func.func", "hlo.while", "hlo.conditional")
