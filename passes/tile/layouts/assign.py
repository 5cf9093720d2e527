"""Assign layouts: costs from the end backwards, then choices from the beginning; twice.

The second run uses the choices of the first one for the other operands of each op.
"""

from xdsl.ir import Block

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.tile.interface import unchanged_ops
from neuronir.passes.tile.layouts.choice import Choice
from neuronir.passes.tile.layouts.costs import Costs
from neuronir.passes.tile.layouts.extras import extras
from neuronir.passes.tile.layouts.hbm_slices import read_slices
from neuronir.passes.tile.layouts.tables import Copies, Tables
from neuronir.passes.tile.layouts.values import Values
from neuronir.passes.tile.layouts.write import Writer

TRIES = 3
"""Number of choices, of which the fastest is used."""


def assign_layouts(block: Block, machine: Machine) -> None:
    """Assign layouts to the values of a function."""
    read_slices(block, machine)
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
    Writer(tables).run()
