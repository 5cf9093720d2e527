"""Represent the options of lower-hlo-to-nc."""

from dataclasses import dataclass

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.demand import DEPTH


@dataclass(frozen=True)
class Choices:
    """How many ops downstream the users of a value are examined to choose its layout."""

    lookahead: int = DEPTH

    @staticmethod
    def parse(lookahead: int) -> "Choices":
        """Parse the options of the pass; raises NIR_LOW007 for an invalid one."""
        if lookahead < 1:
            raise NeuronError(
                "NIR_LOW007",
                f"lower-hlo-to-nc: layouts look at 1 op downstream or more, not {lookahead}",
                help="such as {lookahead=1}: one op downstream",
            )
        return Choices(lookahead)
