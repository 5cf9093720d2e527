"""Bound the values of an integer tensor from the ops that make it."""

import ml_dtypes
from xdsl.ir import OpResult, SSAValue

from neuronir.dialects.support.dtypes import is_integer, is_pred, np_dtype
from neuronir.passes.hlo.support.values import constant, element

_MOVES = frozenset(
    f"hlo.{name}"
    for name in (
        "broadcast reshape transpose slice reverse copy dynamic_slice gather reduce_precision"
    ).split()
)
_DEPTH = 24


def type_range(value: SSAValue) -> tuple[int, int]:
    """Return (least, greatest) value of the type of an integer or boolean tensor."""
    if is_pred(element(value)):
        return 0, 1
    info = ml_dtypes.iinfo(np_dtype(element(value)))
    return int(info.min), int(info.max)


def integer_range(value: SSAValue, depth: int = _DEPTH) -> tuple[int, int]:
    """Return (least, greatest) value that an integer or boolean tensor may hold."""
    whole = type_range(value)
    array = constant(value)
    if array is not None and array.size:
        return int(array.min()), int(array.max())
    if depth == 0 or not isinstance(value, OpResult):
        return whole
    op = value.op
    name = op.name
    if name in _MOVES:
        return integer_range(op.operands[0], depth - 1)
    if name == "hlo.convert" and (
        is_integer(element(op.operands[0])) or is_pred(element(op.operands[0]))
    ):
        found = integer_range(op.operands[0], depth - 1)
    elif name == "hlo.negate":
        low, high = integer_range(op.operands[0], depth - 1)
        found = (-high, -low)
    elif name in ("hlo.add", "hlo.subtract", "hlo.maximum", "hlo.minimum", "hlo.multiply"):
        (a, b), (c, d) = (integer_range(v, depth - 1) for v in op.operands)
        ends = {
            "hlo.add": (a + c, b + d),
            "hlo.subtract": (a - d, b - c),
            "hlo.maximum": (max(a, c), max(b, d)),
            "hlo.minimum": (min(a, c), min(b, d)),
            "hlo.multiply": (min(a * c, a * d, b * c, b * d), max(a * c, a * d, b * c, b * d)),
        }
        found = ends[name]
    elif name in ("hlo.concatenate", "hlo.pad"):
        parts = [integer_range(v, depth - 1) for v in op.operands]
        found = (min(p[0] for p in parts), max(p[1] for p in parts))
    elif name == "hlo.select":
        (a, b), (c, d) = (integer_range(v, depth - 1) for v in op.operands[1:])
        found = (min(a, c), max(b, d))
    else:
        return whole
    return found if whole[0] <= found[0] and found[1] <= whole[1] else whole
