"""Choose name hints, from which the printer makes the names of values."""

import re

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.support.location import source_name
from neuronir.dialects.support.loops import (
    LoopOp,
    body_of,
    carried_values,
    final_values,
    next_values,
)
from neuronir.dialects.support.walking import ops_of

_OTHER = re.compile(r"[^A-Za-z0-9_$.-]")
_ALIKE = (
    "hlo.convert",
    "hlo.copy",
    "tile.convert_layout",
    "tensor.extract_slice",
    "tensor.insert_slice",
)
"""Ops whose result, without a name of its own, is called like the first operand.

The compiler inserts them for a reader, whose location they have.
"""


def set_hint(value: SSAValue, text: str) -> None:
    """Name a value; characters that MLIR does not allow become `_`, an empty `text` no name."""
    text = _OTHER.sub("_", text)
    if text:
        value.name_hint = f"_{text}" if text[0].isdigit() else text


def base_name(value: SSAValue) -> str:
    """Return the name of a value: its hint, else the HLO instruction it comes from, or ""."""
    while True:
        if value.name_hint is not None:
            return value.name_hint
        op = value.owner
        if not isinstance(op, Operation):
            return ""
        if op.name not in _ALIKE:
            return source_name(op)
        value = op.operands[0]


def index_constant(number: int) -> arith.ConstantOp:
    """Create a constant index, named `c8` for 8."""
    op = arith.ConstantOp(IntegerAttr(number, IndexType()))
    name_index(op)
    return op


def name_index(op: arith.ConstantOp) -> None:
    """Name a constant index after its value, unless it has a name."""
    number = op.value
    if op.result.name_hint is None and isinstance(number, IntegerAttr):
        op.result.name_hint = f"c{number.value.data}".replace("-", "m")


def name_iteration(loop: LoopOp, name: str = "i") -> None:
    """Name the first argument of the body of a loop, the iteration number, unless it has a name."""
    number = body_of(loop).args[0]
    if number.name_hint is None:
        number.name_hint = name


def name_results(block: Block) -> None:
    """Name the results in a block that have no name, after the HLO instructions they come from.

    A slice of `%x` becomes `%x_tile`, and what a loop carries is named like what it yields.
    """
    for op in ops_of(block):
        if isinstance(op, arith.ConstantOp):
            name_index(op)
        elif isinstance(op, LoopOp):
            name_iteration(op, "i" if isinstance(op, scf.ForOp) else "go")
            name_results(body_of(op))
            for argument, result, value in zip(
                carried_values(op), final_values(op), next_values(op), strict=True
            ):
                for carried in (argument, result):
                    if carried.name_hint is None:
                        carried.name_hint = value.name_hint
        elif len(op.results) == 1 and op.results[0].name_hint is None:
            base = base_name(op.results[0])
            if op.name == "tensor.extract_slice" and base and not base.endswith("_tile"):
                base += "_tile"
            set_hint(op.results[0], base)
