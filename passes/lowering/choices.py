"""What the lowering may do, as the options of lower-hlo-to-nc say."""

from dataclasses import dataclass

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.products.blocking import Blocks


@dataclass(frozen=True)
class Choices:
    """How products are cut into blocks; whether layouts are those that the whole graph wants, else
    those of the next op alone, and the side of each product its own; and whether evictions are
    balanced over ACT and DVE, else all of ACT that ACT can do."""

    blocks: Blocks = Blocks()
    whole_graph: bool = True
    balance: bool = True

    @staticmethod
    def parse(blocks: str, layouts: str, balance: bool) -> "Choices":
        """The choices of the pass's options; NIR_LOW007 where one is none."""
        if layouts not in ("global", "local"):
            raise NeuronError(
                "NIR_LOW007",
                f"lower-hlo-to-nc: layouts are 'global' or 'local', not '{layouts}'",
                help="such as {layouts=local}: what the next op wants",
            )
        return Choices(Blocks.parse(blocks), layouts == "global", balance)
