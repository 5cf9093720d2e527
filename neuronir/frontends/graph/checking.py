"""Verify the ops that each graph node builds, so that an error names the node."""

from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation
from xdsl.utils.exceptions import VerifyException

from neuronir.dialects.support.walking import walk
from neuronir.frontends.graph.block import refuse

LARGEST = 1 << 36
"""Largest number of elements of a tensor: more than the memory of any machine."""

MALFORMED = (ArithmeticError, LookupError, TypeError, ValueError)
"""Exceptions that numpy or Python raises for a malformed attribute or operand."""


def malformed(error: BaseException) -> str:
    """Describe one of the MALFORMED exceptions as a sentence about a node."""
    text = f"{type(error).__name__} {' '.join(str(error).split())}".strip()
    return f"it is malformed ({text})"


class Checker:
    """Verifies the ops that were added to blocks since the last call."""

    def __init__(self) -> None:
        self._checked: dict[Block, Operation] = {}

    def check(self, block: Block) -> None:
        """Verify the ops added to a block, including their regions; raises VerifyException."""
        last = self._checked.get(block)
        op = block.first_op if last is None else last.next_op
        while op is not None:
            for result in op.results:
                if isinstance(result.type, TensorType) and prod(result.type.get_shape()) > LARGEST:
                    refuse(f"its result {result.type} is too large")
            for inner in walk(op):
                try:
                    inner.verify_()
                except VerifyException as error:
                    raise VerifyException(f"{inner.name}: {error}") from error
            last, op = op, op.next_op
        if last is not None:
            self._checked[block] = last
