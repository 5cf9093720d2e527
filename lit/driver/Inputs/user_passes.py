"""Passes for the tests of neuronx-cc --load --pass-after."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from neuronir.dialects.support.errors import NeuronError
from neuronir.passes import statistics


@dataclass(frozen=True)
class Count(ModulePass):
    """Count the calls in each phase."""

    name = "test-count"
    suffix: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Record the phase before, with the suffix."""
        phase = op.attributes["neuronir.phase"]
        assert isinstance(phase, StringAttr)
        statistics.record(self.name, f"{phase.data} {self.suffix}".strip())


class Refuse(ModulePass):
    """Refuse the input."""

    name = "test-refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise NeuronError("NIR_TEST", "refused")


class Break(ModulePass):
    """Remove the terminator from every function."""

    name = "test-break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.ops:
            last = function.regions[0].block.last_op
            assert last is not None
            last.detach()


PASSES = [Count, Refuse, Break]
