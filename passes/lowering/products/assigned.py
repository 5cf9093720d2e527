"""Read choices made before lowering, stored as attributes of ops.

`nc.stationary` of a dot, "lhs" or "rhs", names the operand whose free dimension is on the
partitions of the result. `nc.partition_dim` of a norm is the dimension of its operand and result
along partitions, the last one. Ops without the attribute are decided locally during lowering.
hlo-assign-layouts sets both. hlo-choose-blocks sets `nc.blocks` of a dot (block_attribute.py).
"""

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Block, Operation

from neuronir.dialects.hlo.control_flow import CompositeOp
from neuronir.dialects.hlo.linear import DotOp
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.dialects.tile.rules import shape_of
from neuronir.passes.lowering.products.norm_sides import features_of

STATIONARY = "nc.stationary"
PARTITION_DIM = "nc.partition_dim"
BLOCKS = "nc.blocks"
ASSIGNED = (STATIONARY, PARTITION_DIM, BLOCKS)
_SIDES = ("lhs", "rhs")


def assign_stationary(op: DotOp, side: int) -> None:
    """Record that operand number `side` is stationary."""
    op.attributes[STATIONARY] = StringAttr(_SIDES[side])


def stationary_of(op: DotOp) -> int | None:
    """Return the number of the stationary operand; None for a dot without the attribute.

    Raises NIR_LOW008 if the attribute is invalid.
    """
    attribute = op.attributes.get(STATIONARY)
    if attribute is None:
        return None
    if not isinstance(attribute, StringAttr) or attribute.data not in _SIDES:
        raise wrong(op, STATIONARY, 'the stationary operand of a dot is "lhs" or "rhs"')
    return _SIDES.index(attribute.data)


def assign_across(op: CompositeOp) -> None:
    """Record that the rows of a norm are along partitions."""
    last = len(shape_of(op.results[0])) - 1
    op.attributes[PARTITION_DIM] = IntegerAttr(last, i64)


def norms_across(block: Block, machine: Machine) -> frozenset[Operation]:
    """Return the norms of a block whose rows must be along partitions; raises NIR_LOW008 if
    impossible.
    """
    found = frozenset(op for op in block.ops if PARTITION_DIM in op.attributes)
    for op in found:
        dim = op.attributes[PARTITION_DIM]
        last = len(shape_of(op.results[0])) - 1
        fits = isinstance(op, CompositeOp) and features_of(op, machine) is not None
        if not fits or not isinstance(dim, IntegerAttr) or dim.value.data != last:
            raise wrong(
                op,
                PARTITION_DIM,
                "of normalisations only the rows of whole tiles lie along partitions",
            )
    return found


def wrong(op: Operation, name: str, rule: str) -> NeuronError:
    """Create NIR_LOW008: an attribute that the op cannot have."""
    where = f"{source_name(op) or op.name}: {name} = {op.attributes[name]}"
    return NeuronError(
        "NIR_LOW008", f"{where}: {rule}", help="leave it to the pass that chooses it"
    )
