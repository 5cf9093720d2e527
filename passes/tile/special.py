"""Find values that may contain infinities or NaN, which products would spread.

Operands of dots are assumed to be finite unless the program introduces or tests for such values, as
on the direct path (passes/lowering/conversion/special.py).
"""

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.hlo.constants import ConstantOp, lazy_constant
from neuronir.dialects.support.dtypes import is_float
from neuronir.dialects.support.lazy import as_array
from neuronir.dialects.support.loops import LoopOp, body_of, carried_values, initial_values
from neuronir.passes.lowering.conversion.special import (
    FINITE_RESULTS,
    makes_special,
    reaches_products,
    spread,
)

_MOVES = frozenset(
    ("tile.convert_layout", "hlo.reshape", "hlo.transpose", "hlo.bitcast", "tile.unfold")
)
_REDUCTIONS = frozenset(("hlo.reduce", "hlo.reduce_window"))


def special_values(block: Block, arguments: bool = True) -> frozenset[SSAValue]:
    """Return the values of a function that may contain infinities or NaN.

    Without `arguments`, the arguments are assumed to be finite.
    """
    ops = list(_nested(block))
    multiplied = reaches_products(ops)
    found: set[SSAValue] = set()
    for argument in block.args:
        if arguments and argument not in multiplied and _float(argument):
            found.add(argument)
    for op in ops:
        if isinstance(op, ConstantOp):
            (result,) = op.results
            if _float(result) and spread(as_array(lazy_constant(op)), result in multiplied):
                found.add(result)
        elif isinstance(op, LoopOp):
            pairs = zip(initial_values(op), carried_values(op), strict=True)
            found.update(argument for init, argument in pairs if init in found)
        elif isinstance(op, scf.YieldOp):
            loop = op.parent_op()
            if isinstance(loop, LoopOp):
                found.update(
                    r for v, r in zip(op.operands, loop.results, strict=True) if v in found
                )
        elif _passes_on(op, found, multiplied):
            found.update(op.results)
    return frozenset(found | _masked(ops))


def _masked(ops: list[Operation]) -> set[SSAValue]:
    """Return values whose padding may hold infinities or NaN, which a mask replaces."""
    found: set[SSAValue] = set()
    for op in reversed(ops):
        if op.name == "tile.mask" or (op.name in _MOVES and op.results[0] in found):
            found.update(v for v in op.operands if _float(v))
    return found


def _passes_on(op: Operation, found: set[SSAValue], multiplied: set[SSAValue]) -> bool:
    if op.name == "hlo.compare":
        return False
    wanted = any(r in multiplied for r in op.results)
    if op.name in FINITE_RESULTS and wanted:
        return False
    read = list(op.operands)
    if op.name in _REDUCTIONS:
        read = read[: len(read) // 2]
    return (makes_special(op) and not wanted) or any(v in found for v in read)


def _float(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and is_float(value.type.element_type)


def _nested(block: Block) -> list[Operation]:
    """Yield all ops; the ops of loops follow the loop itself."""
    out: list[Operation] = []
    for op in block.ops:
        out.append(op)
        if isinstance(op, LoopOp):
            out += _nested(body_of(op))
    return out
