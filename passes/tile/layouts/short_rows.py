"""Decide from which length a row with its own scalar is worth an instruction.

ACT adds a scalar of each row, and sums the row, as part of a function: one instruction for each
row. DVE combines two tiles and sums many rows in one instruction each, but passes over the elements
as often as it has operands.
"""

from math import ceil

from xdsl.ir import Operation, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.passes.hlo.support.activations import ACTIVATIONS

LEAST_ROW = 96
"""Minimum elements of a row for an instruction that only adds or multiplies by its scalar."""


def least_row(op: Operation, machine: Machine) -> int:
    """Return the least elements of a row for which an op with a scalar per row is worth an
    instruction for each row.

    Of a product, DVE takes one pass from PSUM, so that only long rows are, unless ACT computes a
    function of them anyway.
    """
    if _has_function(op) or not any(_is_product(v) for v in op.operands):
        return _of_functions(machine)
    return LEAST_ROW


def least_sum(value: SSAValue, machine: Machine) -> int:
    """Return the least elements of a row for which the producer of a value should sum its rows."""
    function = value.owner
    if isinstance(function, Operation) and function.name in ACTIVATIONS:
        made = function.operands[0].owner
        if isinstance(made, Operation) and made.name == "hlo.add" and _has_function(made):
            if any(_is_spread(v) for v in made.operands):
                return _of_functions(machine)
    return LEAST_ROW


def _has_function(op: Operation) -> bool:
    """Return whether the only reader of an op's result is a function of ACT."""
    user = op.results[0].get_user_of_unique_use()
    return user is not None and user.parent is op.parent and user.name in ACTIVATIONS


def _is_product(value: SSAValue) -> bool:
    """Return whether a value is a product, which an op reads from PSUM at the full rate of DVE."""
    return isinstance(value.owner, Operation) and value.owner.name == "hlo.dot"


def _is_spread(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == "hlo.broadcast"


def _of_functions(machine: Machine) -> int:
    """Return the elements for which ACT takes as much longer as DVE takes for the scalar and the
    sum.
    """
    m = machine
    fixed = m.act_overhead_cycles + m.act_accumulate_cycles
    passes = (m.dve_two_input_cycles + 1) * m.act_ghz / m.dve_ghz  # in cycles of ACT
    short = ceil((m.act_min_cycles + fixed) / (1 + passes))
    return short if short <= m.act_min_cycles else ceil(fixed / passes)
