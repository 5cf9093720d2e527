"""A pass that orders wrongly, for the tests of nc-verify-order (loaded with --load)."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from neuronir.dialects.nc.ops import InstructionOp


@dataclass(frozen=True)
class Exchange(ModulePass):
    """Let two instructions of main change places, or remove the one of two that are the same."""

    name = "test-exchange"
    a: int = 0
    b: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Do it."""
        block = next(f for f in op.ops if f.name == "nc.func").regions[0].block
        ops = list(block.ops)
        places = [i for i, o in enumerate(ops) if isinstance(o, InstructionOp)]
        i, j = places[self.a], places[self.b]
        if i == j:
            ops[i].detach()
            return
        ops[i], ops[j] = ops[j], ops[i]
        for o in ops:
            o.detach()
        block.add_ops(ops)


PASSES = [Exchange]
