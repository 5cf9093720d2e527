"""Assign layouts: compute costs from the end backwards, then choose from the beginning, and repeat
once.

The second run uses the choices of the first one for the other operands of each op.
"""

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.walking import walk_in
from neuronir.dialects.tile.interface import unchanged_ops
from neuronir.dialects.tile.ops import EmptyOp
from neuronir.passes.tile.layouts.choice import Choice
from neuronir.passes.tile.layouts.copies import NoLayouts
from neuronir.passes.tile.layouts.costs import Costs
from neuronir.passes.tile.layouts.extras import extras
from neuronir.passes.tile.layouts.hbm_slices import read_slices
from neuronir.passes.tile.layouts.tables import Copies, Tables
from neuronir.passes.tile.layouts.values import Values
from neuronir.passes.tile.layouts.write import Writer
from neuronir.passes.tile.whole import MARK

TRIES = 3
"""Number of choices, of which the fastest is used."""


def assign_layouts(block: Block, machine: Machine) -> None:
    """Assign layouts to the values of a function.

    An array in SBUF whose tiles do not fit together in any layout is assembled in HBM.
    """
    read_slices(block, machine)
    given = {op for op in walk_in(block) if MARK in op.attributes}
    while True:
        try:
            tables = _chosen(block, machine)
        except NoLayouts as error:
            array = error.array.owner if error.array is not None else None
            if not isinstance(array, EmptyOp) or array.memory.data == "hbm":
                raise
            array.memory = StringAttr("hbm")
            for op in walk_in(block):
                if op not in given:
                    op.attributes.pop(MARK, None)
        else:
            Writer(tables).run()
            return


def _chosen(block: Block, machine: Machine) -> Tables:
    """Return the cost tables from which the fastest choice follows."""
    values = Values(block, machine)
    tables = Tables(values, Costs(machine, values.loads(), extras(values)))
    known: Copies = {}
    best: tuple[float, Copies] | None = None
    with unchanged_ops():
        for _ in range(TRIES):
            tables.fill(known)
            choice = Choice(tables)
            choice.run()
            if best is None or choice.total < best[0]:
                best = choice.total, known
            known = choice.copies()
        assert best is not None
        tables.fill(best[1])
    return tables
