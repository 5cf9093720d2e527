"""hlo-widen-products: keep the results of 16-bit dots in f32 until they are stored."""

from dataclasses import dataclass

import ml_dtypes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.support.dtypes import is_float, np_dtype
from neuronir.passes.hlo.rules.shape import ELEMENTWISE
from neuronir.passes.hlo.support.build import Emitter
from neuronir.passes.hlo.support.retype import retyped
from neuronir.passes.hlo.support.values import (
    element,
    is_tensor,
    producer,
    shape,
    size,
    splat,
    tensor,
)
from neuronir.passes.hlo.support.walk import COMPOSITE, blocks, erase_dead
from neuronir.passes.statistics import record

_PRODUCTS = ("hlo.dot", "hlo.convolution")
_PROGRAM = ("func.func", "hlo.while", "hlo.conditional")
_NARROW = (bf16, f16)
_ROUNDING = ("hlo.convert", "hlo.bitcast_convert", "hlo.reduce_precision")
_STEPS = tuple(
    f"hlo.{name}"
    for name in (
        "ceil compare floor is_finite remainder round_nearest_afz round_nearest_even sign"
    ).split()
)
"""Ops that amplify rounding differences; they read the rounded value."""
_SINGLE = frozenset(ELEMENTWISE) - frozenset((*_ROUNDING, *_STEPS))
_SMALL = 8
"""An operand broadcast by at least this factor is cheap to convert."""


def _is_narrow(value: SSAValue) -> bool:
    return is_tensor(value) and element(value) in _NARROW


def _rounds(op: Operation) -> bool:
    """Return whether an op adds, or subtracts, a number so large that the sum is rounded to an
    integer: that is its purpose, as in the decompositions of `_STEPS`.
    """
    if op.name not in ("hlo.add", "hlo.subtract"):
        return False
    bits = int(ml_dtypes.finfo(np_dtype(element(op.results[0]))).nmant)
    numbers = (splat(v) for v in op.operands)
    return any(number is not None and bool(abs(number) >= 2.0**bits) for number in numbers)


def _is_step(op: Operation) -> bool:
    """Return whether an op has a step at which a rounding may change the result."""
    if op.name == "hlo.convert":
        return not is_float(element(op.results[0]))
    return op.name in _STEPS


class _Widener:
    """The values of one block that also exist in f32."""

    def __init__(self) -> None:
        self.wide: dict[SSAValue, SSAValue] = {}
        self.products: list[tuple[Operation, Attribute]] = []
        """Products that give f32 now, with the types that they gave."""
        self.count = 0

    def run(self, block: Block) -> None:
        """Widen the users of each dot, in program order."""
        for op in list(block.ops):
            if op.name == "hlo.convert" and op.operands[0] in self.wide:
                if element(op.results[0]) == f32 and not any(
                    _is_step(use.operation) for use in op.results[0].uses
                ):
                    op.results[0].replace_all_uses_with(self.wide[op.operands[0]])
                    erase_dead(op)
                    self.count += 1
            elif len(op.results) != 1 or not _is_narrow(op.results[0]):
                continue
            elif op.name in _PRODUCTS:
                self._product(op)
            else:
                self._follow(op)
        for op, type_ in self.products:
            _take_back(op, type_)

    def _product(self, op: Operation) -> None:
        user = op.results[0].get_user_of_unique_use()
        if user is None or user.name in _PRODUCTS:
            return
        emitter = Emitter(op)
        value = emitter.like(op, op.operands, tensor(shape(op.results[0]), f32))
        self.products.append((emitter.created[-1], op.results[0].type))
        self._replace(op, value, emitter)

    def _follow(self, op: Operation) -> None:
        """Widen an op that reads a value in f32, if its other operands are cheap to convert."""
        if not any(v in self.wide for v in op.operands) or _rounds(op):
            return
        if not (op.name in _SINGLE or op.name in ("hlo.reduce", "hlo.reshape", COMPOSITE)):
            if op.name != "hlo.broadcast" or size(op.operands[0]) * _SMALL > size(op.results[0]):
                return
        if not all(v in self.wide or self._is_cheap(v) for v in op.operands):
            return
        emitter = Emitter(op)
        operands = [self._widened(v, emitter) for v in op.operands]
        regions = [retyped(region, _NARROW, f32) for region in op.regions]
        result = tensor(shape(op.results[0]), f32)
        name = op.name.removeprefix("hlo.")
        value = emitter.emit(name, operands, result, op.properties, regions)
        self._replace(op, value, emitter)

    def _replace(self, op: Operation, value: SSAValue, emitter: Emitter) -> None:
        narrow = emitter.convert(value, element(op.results[0]))
        self.wide[narrow] = value
        op.results[0].replace_all_uses_with(narrow)
        erase_dead(op)
        self.count += 1

    def _is_cheap(self, value: SSAValue) -> bool:
        """Return whether an operand is not narrow, is a scalar, or is broadcast by a large
        factor.
        """
        if not _is_narrow(value) or splat(value) is not None:
            return True
        spread = producer(value, "broadcast")
        return spread is not None and size(spread.operands[0]) * _SMALL <= size(value)

    def _widened(self, value: SSAValue, emitter: Emitter) -> SSAValue:
        """Return an operand in f32."""
        if value in self.wide or not _is_narrow(value):
            return self.wide.get(value, value)
        spread = producer(value, "broadcast")
        if spread is None:
            return emitter.convert(value, f32)
        source = spread.operands[0]
        small = self.wide[source] if source in self.wide else emitter.convert(source, f32)
        return emitter.like(spread, [small], tensor(shape(value), f32))


def _take_back(product: Operation, type_: Attribute) -> None:
    """Narrow a dot whose f32 result has no users back to its original type."""
    user = product.results[0].get_user_of_unique_use()
    if user is None or user.name != "hlo.convert" or user.results[0].type != type_:
        return
    value = Emitter(product).like(product, product.operands, type_)
    user.results[0].replace_all_uses_with(value)
    erase_dead(user)


@dataclass(frozen=True)
class HloWidenProductsPass(ModulePass):
    """Keep results of bf16 and f16 dots in f32 through the elementwise ops that consume them.

    PSUM accumulates in f32, and all engines compute in f32, so rounding an intermediate value costs
    an instruction or a pass over memory and makes the result less accurate. A dot with one
    elementwise user returns f32, and so do the elementwise ops, reductions and composites after it,
    if their other operands are widened too, or are scalars or broadcasts by at least 8. Other users
    get a convert. Comparisons, roundings to integers and conversions to integers read the rounded
    value. XLA permits the same (xla_allow_excess_precision, on by default).
    """

    name = "hlo-widen-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        count = 0
        for block in blocks(op):
            parent = block.parent_op()
            if parent is None or parent.name not in _PROGRAM:
                continue
            if any(inner.name in _PRODUCTS for inner in block.ops):
                widener = _Widener()
                widener.run(block)
                count += widener.count
        record(self.name, "ops", count)
