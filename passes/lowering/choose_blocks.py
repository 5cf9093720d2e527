"""hlo-choose-blocks: choose the block sizes of large dots."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.entry import entry_on
from neuronir.passes.lowering.products.assigned import BLOCKS
from neuronir.passes.lowering.products.blocking import Tiles, tiles_of
from neuronir.passes.lowering.products.search import first_fit
from neuronir.passes.lowering.streaming.blockwise import choose_blocks
from neuronir.passes.statistics import gains, record


@dataclass(frozen=True)
class HloChooseBlocksPass(ModulePass):
    """Search for the block sizes of large matrix products.

    The search covers block sizes (rows, contraction, columns), which determine loop order and
    reuse of stationary operands, the numbers of buffers, and the prologue. Among the candidates
    that fit in SBUF, it takes the one with the lowest closed-form cost. It considers dots of
    arguments whose result is an output, and dots with an operand or a result of at least 1/16 of
    SBUF. lower-hlo-to-nc decides whether a dot is blocked, and repeats the search if an operand is
    not in row-major order.

    The result is the attribute `nc.blocks = {tiles, transposed, staged, evicted, begin, shared,
    ramp}`:

    - `tiles`: tiles of rows, of the contraction and of columns in a block
    - `transposed`: operands that PE transposes, because their contraction is along their rows
    - `staged`, `evicted`: tiles of rows staged for these transposes, and tiles of results before a
      store
    - `begin`: tiles of rows, of columns, and of later rows that the first matmuls use during the
      load of a panel
    - `shared`: transposes in a tile of rows that DVE executes
    - `ramp`: whether the first block has its own code

    Without a target, the module is not changed.
    """

    name = "hlo-choose-blocks"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    tiles: str = field(
        default="",
        metadata={
            "help": (
                "block size to use instead of a search, such as '8x8x4' (rows, "
                "contraction, columns); dots that it does not fit are skipped"
            )
        },
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the blocks of the entry function's dots; raises NIR_LOW007 for invalid `tiles`."""
        tiles = tiles_of(self.tiles)
        for block, machine in entry_on(op, self.target):
            _choose(block, machine, tiles)


def _choose(block: Block, machine: Machine, tiles: Tiles | None) -> None:
    for op in block.ops:
        op.attributes.pop(BLOCKS, None)
    for problem, plan in choose_blocks(block, machine, tiles):
        name = f"products {problem.m}x{problem.k}x{problem.n}"
        record(HloChooseBlocksPass.name, f"{name}: estimated ns", round(plan.ns))
        if gains():
            first = round(first_fit(problem, machine, tiles))
            record(HloChooseBlocksPass.name, f"{name}: estimated ns of the first cut", first)
        record(HloChooseBlocksPass.name, f"{name}: least ns", round(plan.least_ns))
