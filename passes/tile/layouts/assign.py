"""Assign layouts: compute costs from the end backwards, then choose from the beginning, and repeat
once.

The second run uses the choices of the first one for the other operands of each op.
"""

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.unchanged import unchanged_ops
from neuronir.dialects.support.walking import walk_in
from neuronir.dialects.tile.ops import EmptyOp
from neuronir.passes.tile.layouts.choice import Choice
from neuronir.passes.tile.layouts.copies import NoLayouts
from neuronir.passes.tile.layouts.costs import Costs
from neuronir.passes.tile.layouts.extras import extras
from neuronir.passes.tile.layouts.hbm_slices import read_slices
from neuronir.passes.tile.layouts.sliced_results import store_sliced
from neuronir.passes.tile.layouts.tables import Copies, Filled, Tables
from neuronir.passes.tile.layouts.values import Values
from neuronir.passes.tile.layouts.write import Writer
from neuronir.passes.tile.whole import MARK

TRIES = 3
"""Number of choices, of which the fastest is used."""


def assign_layouts(block: Block, machine: Machine) -> None:
    """Assign layouts to the values of a function.

    An array in SBUF whose tiles do not fit together in any layout is assembled in HBM, and so are
    the arrays of other layers that equal it.
    """
    read_slices(block, machine)
    store_sliced(block, machine)
    given = {op for op in walk_in(block) if MARK in op.attributes}
    while True:
        values = Values(block, machine)
        try:
            tables = _chosen(values)
        except NoLayouts as error:
            array = error.array.owner if error.array is not None else None
            if not isinstance(array, EmptyOp) or array.memory.data == "hbm":
                raise
            for other in _equal(array, values):
                other.memory = StringAttr("hbm")
            for op in walk_in(block):
                if op not in given:
                    op.attributes.pop(MARK, None)
        else:
            Writer(tables).run()
            return


def _equal(array: EmptyOp, values: Values) -> list[EmptyOp]:
    """Return the arrays of the same type into which the same kinds of ops insert the same tiles."""

    def tiles(op: EmptyOp) -> list[tuple[object, ...]]:
        inserts = values.inserts.get(op.tensor, ())
        return [(o.source.type, o.static_offsets, _name(o.source)) for o in inserts]

    arrays = (
        op for op in values.ops if isinstance(op, EmptyOp) and op.tensor.type == array.tensor.type
    )
    wanted = tiles(array)
    return [op for op in arrays if op is array or tiles(op) == wanted]


def _name(value: SSAValue) -> str:
    return value.owner.name if isinstance(value.owner, Operation) else ""


def _chosen(values: Values) -> Tables:
    """Return the cost tables from which the fastest choice follows."""
    tables = Tables(values, Costs(values.machine, values.loads(), extras(values)))
    known: Copies = {}
    best: tuple[float, Filled] | None = None
    with unchanged_ops(), values.remembered():
        for _ in range(TRIES):
            tables.fill(known)
            choice = Choice(tables)
            choice.run()
            if best is None or choice.total < best[0]:
                best = choice.total, tables.filled
            chosen = choice.copies()
            if chosen == known:
                break
            known = chosen
    assert best is not None
    tables.filled = best[1]
    return tables
