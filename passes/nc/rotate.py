"""nc-rotate: move the beginning of the iterations of a loop to the end of the previous ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.structure import FuncOp, VariableOp
from neuronir.passes.nc.bodies import bodies_in_place
from neuronir.passes.nc.layer_order import (
    ORDERED,
    Body,
    fitting,
    listed,
    ordered_body,
    plain_order,
    stream_loops,
)
from neuronir.passes.nc.listing import functions, machine_of, require_phase, variables
from neuronir.passes.nc.liveness import SBUF_HELP, usable_sbuf
from neuronir.passes.nc.order_block import WINDOW, WINDOW_HELP
from neuronir.passes.nc.peel import peel
from neuronir.passes.nc.prefetch_plan import LEAST_ROUNDS
from neuronir.passes.nc.rewrite import write_order
from neuronir.passes.nc.rotation import beginning, rotate_loop
from neuronir.passes.statistics import record


@dataclass(frozen=True)
class NcRotatePass(ModulePass):
    """Move the beginning of an iteration to the end of the previous one, in loops over layers.

    Work that an iteration can do before its weights arrive, such as a normalisation, then overlaps
    the products that complete its operands. For iteration 0 the work is done before the loop, and
    the last iteration, which does none for a next one, is peeled.

    A loop is rotated if it has a weight stream (`nc.alloc "stream"` in its body), if its iterations
    are estimated to be shorter, and if SBUF has room for nc-prefetch. The body of a loop that could
    be rotated is left in the order that was estimated to be faster (`nc.ordered`). Until
    nc-prefetch has run, `nc.ahead` marks work for the next iteration, and `nc.tail` the peeled
    iteration.
    """

    name = "nc-rotate"
    window: int = field(default=WINDOW, metadata={"help": WINDOW_HELP})
    sbuf: int = field(default=0, metadata={"help": SBUF_HELP})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rotate loops of every function."""
        require_phase(op, self.name, "virtual")
        machine, kinds = machine_of(op), variables(op)
        capacity = usable_sbuf(machine, self.sbuf)
        with bodies_in_place(op):
            for func in functions(op):
                for loop in stream_loops(func):
                    self._loop(func, loop, kinds, machine, capacity)

    def _loop(
        self,
        func: FuncOp,
        op: scf.ForOp,
        kinds: Mapping[str, VariableOp],
        machine: Machine,
        capacity: int,
    ) -> None:
        """Rotate a loop if that is profitable, and order its body if it could be rotated."""
        listing, loop = listed(func, kinds, op)
        if loop.trip_count < LEAST_ROUNDS or any(n.record is None for n in loop.body):
            return
        chosen = beginning(listing, loop)
        if not chosen:
            return
        plain = plain_order(self.name, listing, loop, machine, self.window)
        rotation = rotate_loop(listing, loop, chosen)
        turned = listed(func, kinds, op)
        body = ordered_body(self.name, *turned, machine, self.window)
        saved = plain.time - body.time
        if isfinite(saved) and saved > 0:
            fit = fitting(self.name, *turned, machine, self.window, capacity, body)
            if fit is not None:
                record(self.name, "ns saved per iteration by rotation", round(saved))
                rotation.keep()
                _write(op, fit.body)
                peel(op)
                return
        rotation.undo()
        fit = fitting(self.name, listing, loop, machine, self.window, capacity, plain)
        if fit is not None:
            _write(op, fit.body)


def _write(loop: scf.ForOp, body: Body) -> None:
    write_order(loop.body.block, body.order)
    loop.attributes[ORDERED] = UnitAttr()
