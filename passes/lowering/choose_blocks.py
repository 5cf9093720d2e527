"""hlo-choose-blocks: how large products of two matrices go block by block."""

from dataclasses import dataclass

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
class HloChooseBlocks(ModulePass):
    """Search for the blocks in which large products of two matrices are worked on.

    Of all sizes of blocks (rows, contraction and columns, which also say how often a stationary is
    used again and which loops are outside), numbers of buffers, and ways to begin, that fit into
    SBUF, the one with the least estimate is noted, in closed form and once for all products alike:
    of products from arguments to a result, and of those with an operand or a result of a sixteenth
    of SBUF or more. The attribute is `nc.blocks = {tiles, transposed, staged, evicted, begin,
    shared, ramp}`: tiles of rows, of the contraction and of columns of a block; the operands whose
    contraction lies along their rows, which PE transposes; tiles of rows that are staged for that,
    and tiles of results until they are stored; tiles of rows together, of columns, and of rows
    after these that the first products begin with while a panel is loaded; how many transposes of a
    tile of rows are DVE's; and whether the first block is code of its own. Whether such a product
    does go block by block, lower-hlo-to-nc decides when it knows what fits into SBUF; where an
    operand then lies otherwise than in row-major order, it searches again. `tiles`: such as "8x8x4"
    (of rows, of the contraction, of columns), in place of the best; where they do not fit, the
    product is left. The target is the option, or else the module attribute `nc.machine`; without
    either the module is left as it is.
    """

    name = "hlo-choose-blocks"
    target: str = ""
    tiles: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Choose the blocks of the entry function's products; NIR_LOW007 for `tiles` that are
        none."""
        tiles = tiles_of(self.tiles)
        for block, machine in entry_on(op, self.target):
            _choose(block, machine, tiles)


def _choose(block: Block, machine: Machine, tiles: Tiles | None) -> None:
    for op in block.ops:
        op.attributes.pop(BLOCKS, None)
    for problem, plan in choose_blocks(block, machine, tiles):
        name = f"products {problem.m}x{problem.k}x{problem.n}"
        record(HloChooseBlocks.name, f"{name}: estimated ns", round(plan.ns))
        if gains():
            first = round(first_fit(problem, machine, tiles))
            record(HloChooseBlocks.name, f"{name}: estimated ns of the first cut", first)
        record(HloChooseBlocks.name, f"{name}: least ns", round(plan.least_ns))
