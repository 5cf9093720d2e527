"""What the lowering may do, as the options of lower-hlo-to-nc say."""

from dataclasses import dataclass

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.layouts.demand import DEPTH


@dataclass(frozen=True)
class Choices:
    """How many ops downstream users of a value are looked at for its layout."""

    lookahead: int = DEPTH

    @staticmethod
    def parse(lookahead: int) -> "Choices":
        """The choices of the pass's options; NIR_LOW007 where one is none."""
        if lookahead < 1:
            raise NeuronError(
                "NIR_LOW007",
                f"lower-hlo-to-nc: layouts look at 1 op downstream or more, not {lookahead}",
                help="such as {lookahead=1}: one op downstream",
            )
        return Choices(lookahead)
