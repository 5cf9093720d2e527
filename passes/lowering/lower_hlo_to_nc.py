"""The pass that lowers the hlo entry function to the virtual phase of nc."""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.flops import note_flops
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.choices import Choices
from neuronir.passes.lowering.function import lower_function
from neuronir.passes.lowering.layouts.demand import DEPTH


@dataclass(frozen=True)
class LowerHloToNc(ModulePass):
    """Lower hlo to nc.

    The entry function, without calls and loops (hlo-inline, hlo-unroll-while), becomes the `main`
    function of an nc program at the virtual phase: layouts are chosen, dots and convolutions become
    tiles of matmuls, constants go into the weight stream. Which operand of a product is stationary,
    and which normalisations have their rows along partitions, is what hlo-assign-layouts has noted;
    where it has not, each product is decided on by itself, and rows lie on the free axis.
    `lookahead`: how many ops downstream users are looked at for the layout of a value. The target
    is the option, or else the module attribute `nc.machine`. Equal layers that follow each other
    become one function that a loop calls, in which the addresses of constants and parameters move
    with the round, if that replaces at least `layers` instructions in all (0: none do). Large
    products of two matrices go block by block, as hlo-choose-blocks has noted; where it has not,
    they go tile by tile as all that does not fit into SBUF. Where all of the contraction is one
    block, a panel of columns stays in SBUF: the first rows begin with some of its columns while it
    is loaded, and DVE transposes a share of the other rows. The statistics say with what a product
    begins, and how many of its transposes are DVE's.
    What both ACT and DVE can do is written for one of them, results in PSUM for ACT:
    nc-balance-evictions divides it.
    """

    name = "lower-hlo-to-nc"
    target: str = ""
    layers: int = 2000
    lookahead: int = DEPTH

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        attr = op.attributes.get("nc.machine")
        name = self.target or (attr.data if isinstance(attr, StringAttr) else "")
        if not name:
            raise NeuronError(
                "NIR_LOW006", "lower-hlo-to-nc needs a target", help="use {target=trn1}"
            )
        main = next(
            (f for f in op.ops if isinstance(f, FuncOp) and f.sym_name.data == "main"), None
        )
        if main is None:
            raise NeuronError("NIR_LOW006", "the module has no function @main")
        note_flops(main)
        choices = Choices.parse(self.lookahead)
        lowered = lower_function(main, get_machine(name), self.layers, choices)
        for key, value in lowered.attributes.items():
            op.attributes[key] = value
        for function in list(op.ops):
            function.detach()  # all of it goes together, so nothing has to be taken apart
        body = lowered.body.block
        for inner in list(body.ops):
            inner.detach()
            op.body.block.add_op(inner)
