"""Which products of a block of ops may go block by block, and the search for how.

Those between arguments and results, and those of large values, which a group of tiles may begin at
or grow along: whether they do is found out when tiles are (groups.py).
"""

from math import prod

from xdsl.ir import Block, Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.passes.lowering.layouts.demand import shape_of
from neuronir.passes.lowering.products.block_attribute import assign_blocks
from neuronir.passes.lowering.products.blocking import Blocking, Problem, Tiles
from neuronir.passes.lowering.products.matrices import is_matrix_product, problem_of
from neuronir.passes.lowering.products.search import choose
from neuronir.passes.lowering.streaming.growing import BIG_SHARE
from neuronir.passes.lowering.streaming.size import nbytes


def choose_blocks(
    block: Block, machine: Machine, tiles: Tiles | None
) -> list[tuple[Problem, Blocking]]:
    """Note of the products of a block that may go block by block how they do, with so many `tiles`
    or the best; those products, with what was chosen. Arrays are taken to lie in row-major order.
    """
    found: list[tuple[Problem, Blocking]] = []
    for op in block.ops:
        if isinstance(op, DotOp) and is_candidate(op, block, machine):
            problem = problem_of(op)
            plan = choose(problem, machine, tiles)
            if plan is not None:
                assign_blocks(op, problem, plan, tiles is not None)
                found.append((problem, plan))
    return found


def is_candidate(op: DotOp, block: Block, machine: Machine) -> bool:
    """Whether a product may go block by block."""
    total = machine.sbuf_usable_partition_bytes * machine.partitions
    large = any(nbytes(v) * BIG_SHARE >= total for v in (*op.operands, *op.results))
    return (large or from_end_to_end(op, block, machine)) and is_matrix_product(op, machine)


def from_end_to_end(op: Operation, block: Block, machine: Machine) -> bool:
    """Whether arguments become a result by a dot, but for their type: nothing is on the chip yet,
    and nothing stays there. Dots of one tile of the contraction have nothing to gain."""
    if not isinstance(op, DotOp):
        return False
    if any(u.operation is not block.last_op for u in op.results[0].uses):
        return False
    contracted = ints(op.lhs_contracting_dims)
    if prod(shape_of(op.operands[0])[d] for d in contracted) <= machine.partitions:
        return False
    for value in op.operands:
        while isinstance(value.owner, Operation) and value.owner.name == "hlo.convert":
            value = value.owner.operands[0]
        if value not in block.args or not value.has_one_use():
            return False
    return True
