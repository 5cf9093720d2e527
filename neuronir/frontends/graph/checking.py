"""Checking what a graph's nodes build, node by node, so that an error names the node."""

from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from neuronir.dialects.support.walking import walk
from neuronir.frontends.graph.block import refuse

LARGEST = 1 << 36
"""Elements of a tensor: more than any machine's memory holds."""

MALFORMED = (ArithmeticError, LookupError, TypeError, ValueError)
"""What a malformed attribute or operand makes numpy or Python raise."""


def malformed(error: BaseException) -> str:
    """One of MALFORMED as a sentence about a node."""
    text = f"{type(error).__name__} {' '.join(str(error).split())}".strip()
    return f"it is malformed ({text})"


class Checker:
    """Verifies the ops that were added to blocks since it last saw them."""

    def __init__(self) -> None:
        self._checked: dict[Block, Operation] = {}

    def check(self, block: Block) -> None:
        """Verify the ops that were added to a block, those in their regions too; VerifyException
        says what is wrong."""
        last = self._checked.get(block)
        op = block.first_op if last is None else last.next_op
        while op is not None:
            for result in op.results:
                if isinstance(result.type, TensorType) and prod(result.type.get_shape()) > LARGEST:
                    refuse(f"its result {result.type} is too large")
            for inner in walk(op):
                inner.verify_()
            last, op = op, op.next_op
        if last is not None:
            self._checked[block] = last
