"""Name the buffers of a lowered program after the values that they hold."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.nc.records import space_of
from neuronir.dialects.nc.structure import AddressOfOp
from neuronir.dialects.support.loops import LoopOp
from neuronir.dialects.support.names import base_name, name_index, name_iteration, set_hint
from neuronir.dialects.support.walking import walk

if TYPE_CHECKING:
    from neuronir.passes.lowering.emitter import Emitter

SUFFIXES = {Space.SBUF: "_tile", Space.PSUM: "_psum", Space.HBM: ""}
"""What follows the name of a value in the name of its buffer."""
_COPIES = ("nc.dma", "nc.transpose", "nc.tensor_copy")
_FILLS = ("nc.memset", "nc.iota")


def name_lowered(emitter: "Emitter", held: Iterable[tuple[SSAValue, SSAValue]]) -> None:
    """Name the buffers, index constants and iteration numbers of an emitted program.

    `held` are values of the program that was lowered, each with a buffer that holds it. Another
    buffer is called like the one that it is a copy of, or else like the result of the op for which
    it was allocated.
    """
    for value, buffer in held:
        if buffer.name_hint is None:
            name_buffer(buffer, base_name(value))
    for op in emitter.head:
        if isinstance(op, AddressOfOp):
            name_buffer(op.buffer, op.variable.root_reference.data)
    for op in emitter.ops:
        for inner in walk(op):
            if isinstance(inner, InstructionOp):
                if inner.operands and inner.operands[0].name_hint is None:
                    _name_result(inner, emitter.origins)
            elif isinstance(inner, arith.ConstantOp):
                name_index(inner)
            elif isinstance(inner, LoopOp):
                name_iteration(inner)
    for buffer, op in emitter.origins.items():
        name_for(buffer, op)


def name_buffer(buffer: SSAValue, base: str) -> None:
    """Name the buffer of a value called `base`, unless it has a name.

    The name is `%x_tile` in SBUF, `%x_psum` in PSUM, and `%x` in HBM.
    """
    if buffer.name_hint is None and base:
        plain = base.removesuffix("_tile").removesuffix("_psum")
        set_hint(buffer, plain + SUFFIXES[space_of(buffer)])


def name_for(buffer: SSAValue, op: Operation | None) -> None:
    """Name a buffer that holds the result of an op, unless it has a name."""
    if op is not None and op.results:
        name_buffer(buffer, base_name(op.results[0]))


def _name_result(op: InstructionOp, origins: Mapping[SSAValue, Operation]) -> None:
    """Name the buffer that an instruction writes first."""
    buffer = op.operands[0]
    if op.name in _FILLS:  # of the rest of a buffer
        return
    if op.name in _COPIES or (op.name == "nc.activation" and _copies(op)):
        source = next((view.buffer for view in op.src_views() if view is not None), None)
        if source is not None and source.name_hint is not None:
            name_buffer(buffer, source.name_hint)
            return
    name_for(buffer, origins.get(buffer))


def _copies(op: InstructionOp) -> bool:
    func = op.params.data.get("func")
    return isinstance(func, StringAttr) and func.data == "copy"
