"""Choose the dots of a block that may be blocked, and search how.

Candidates are dots between arguments and results, and dots of large values, at which a group of
tiles may start or grow. Whether they are blocked is decided with the tiles (groups.py).
"""

from math import prod

from xdsl.ir import Block, Operation

from neuronir.dialects.hlo.attributes import ints
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.products.block_attribute import assign_blocks
from neuronir.passes.lowering.products.blocking import Blocking, Problem, Tiles
from neuronir.passes.lowering.products.matrices import is_matrix_product, problem_of
from neuronir.passes.lowering.products.search import choose
from neuronir.passes.lowering.streaming.growing import BIG_SHARE
from neuronir.passes.lowering.streaming.size import nbytes


def choose_blocks(
    block: Block, machine: Machine, tiles: Tiles | None
) -> list[tuple[Problem, Blocking]]:
    """Record how the candidate dots of a block are blocked, with given `tiles` or the best ones.

    Returns these dots with the choices. Arrays are assumed to be row-major.
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
    """Return whether a dot may be blocked."""
    total = machine.sbuf_usable_partition_bytes * machine.partitions
    large = any(nbytes(v) * BIG_SHARE >= total for v in (*op.operands, *op.results))
    return (large or from_end_to_end(op, block, machine)) and is_matrix_product(op, machine)


def from_end_to_end(op: Operation, block: Block, machine: Machine) -> bool:
    """Return whether a dot maps arguments to a result, except for types.

    Nothing is on the chip before, and nothing stays there. Dots with one tile of the contraction
    have nothing to gain.
    """
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
