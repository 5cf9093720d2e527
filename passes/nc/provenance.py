"""Mark loops and their instructions, so that they can be identified after a pass rewrote them.

nc-verify-order sets the marks before a pass and removes them after it. A loop keeps its number. A
kernel records how many original iterations one of its own covers, and an instruction that works
ahead records by how many iterations.
"""

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue

from neuronir.dialects.nc.ops import InstructionOp
from neuronir.dialects.support.loops import LoopOp
from neuronir.dialects.support.walking import walk

_LOOP = "nc.verify.loop"
_STEP = "nc.verify.step"
_SHIFT = "nc.verify.shift"


def mark(root: Operation) -> None:
    """Number the loops in `root`; their instructions do not work ahead."""
    number = 0
    for op in walk(root):
        if isinstance(op, InstructionOp):
            op.attributes[_SHIFT] = _NONE
        elif isinstance(op, LoopOp):
            op.attributes[_LOOP] = IntegerAttr(number, i64)
            op.attributes.pop(_STEP, None)
            number += 1


def unmark(root: Operation) -> None:
    """Remove all marks in `root`."""
    for op in walk(root):
        if op.attributes:
            for name in (_LOOP, _STEP, _SHIFT):
                op.attributes.pop(name, None)


def loop_number(op: Operation) -> int:
    """Return the number of a loop, or -1 if it has none."""
    return _int(op, _LOOP, -1)


def step_of(op: Operation) -> int:
    """Return how many iterations of the marked loop one iteration of this loop covers."""
    return _int(op, _STEP, 1)


def shifts_of(op: Operation) -> dict[int, int]:
    """Return by how many iterations an instruction works ahead, by loop number."""
    found = op.attributes.get(_SHIFT)
    if not isinstance(found, DictionaryAttr):
        return {}
    return {int(k): v.value.data for k, v in found.data.items() if isinstance(v, IntegerAttr)}


def move_ahead(op: Operation, variable: SSAValue, iterations: int) -> None:
    """Record that a marked instruction works this many more iterations ahead of a loop.

    The loop is identified by its variable.
    """
    found = op.attributes.get(_SHIFT)
    if not iterations or not isinstance(found, DictionaryAttr) or isinstance(variable, OpResult):
        return
    loop = variable.owner.parent_op() if isinstance(variable.owner, Block) else None
    if loop is None:
        return
    name = str(loop_number(loop))
    known = shifts_of(op).get(loop_number(loop), 0)
    shifts = {**found.data, name: IntegerAttr(known + iterations, i64)}
    op.attributes[_SHIFT] = DictionaryAttr(shifts)


def make_kernel(loop: Operation, kernel: Operation, iterations: int) -> None:
    """Record that an iteration of `kernel` covers this many of a marked `loop`."""
    if _LOOP in loop.attributes:
        kernel.attributes[_LOOP] = loop.attributes[_LOOP]
        kernel.attributes[_STEP] = IntegerAttr(step_of(loop) * iterations, i64)


def _int(op: Operation, name: str, default: int) -> int:
    found = op.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else default


_NONE = DictionaryAttr({})
