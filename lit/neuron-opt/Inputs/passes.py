"""Passes that misbehave, for the tests of neuron-opt (loaded with --load)."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.passes import ModulePass

from neuronir.diagnostics.location import place_of
from neuronir.dialects.support.diagnostics import remark, warning
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes import statistics


class Crash(ModulePass):
    """Fails with a bug."""

    name = "test-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise RuntimeError("index out of thin air")


class Refuse(ModulePass):
    """Refuses the input with a coded error at the first function."""

    name = "test-refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        place = place_of(next(iter(op.ops)))
        raise NeuronError("NIR_TEST", "refused", location=place.location, help="do not ask")


class BreakIR(ModulePass):
    """Takes the terminator away from every function."""

    name = "test-break-ir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            last = function.regions[0].block.last_op
            assert last is not None
            last.detach()


class Talk(ModulePass):
    """Warns and remarks about every function, and counts them."""

    name = "test-talk"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            place = place_of(function)
            warning("a function", location=place.location)
            remark("looked at", location=place.location)
            statistics.record(self.name, "functions")


@dataclass(frozen=True)
class Mark(ModulePass):
    """Marks every function."""

    name = "test-mark"

    label: str = field(default="marked", metadata={"help": "the name of the attribute"})
    times: int = 1
    scale: float = 1.0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            function.attributes[self.label] = UnitAttr()


PASSES = [Crash, Refuse, BreakIR, Talk, Mark]
