"""lower-hlo-to-nc: lower the hlo entry function to the virtual phase of nc."""

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.flops import note_flops
from neuronir.dialects.nc.machine import get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.lowering.function import lower_function
from neuronir.passes.lowering.layouts.demand import DEPTH


@dataclass(frozen=True)
class LowerHloToNcPass(ModulePass):
    """Lower hlo to nc instructions, choosing layouts on the way.

    The entry function, without calls and loops (hlo-inline, hlo-unroll-while), becomes the
    function `main` of an nc program in phase virtual. The pass chooses layouts, tiles dots and
    convolutions into matmuls, and puts constants into the weight stream. Stationary operands and
    the partition dimension of norms are those of hlo-assign-layouts; without its attributes, each
    op is decided locally, and rows are in the free dimension.

    Consecutive equal layers become one function that a loop calls; the addresses of constants and
    parameters depend on the loop variable. Large dots are blocked as hlo-choose-blocks decided;
    without its attribute, they are tiled like all values that do not fit in SBUF. If a block
    covers the whole contraction, a panel of columns stays in SBUF, the first rows begin while it
    is loaded, and DVE transposes a share of the other rows. Work that ACT and DVE can both execute
    is emitted for one of them (ACT for results in PSUM); nc-balance-evictions redistributes it.
    """

    name = "lower-hlo-to-nc"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )
    layers: int = field(
        default=2000,
        metadata={
            "help": (
                "smallest number of instructions that a function for equal layers must "
                "replace; 0: no such functions"
            )
        },
    )
    lookahead: int = field(
        default=DEPTH,
        metadata={"help": "number of ops downstream whose layouts influence the layout of a value"},
    )

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
        if self.lookahead < 1:
            raise NeuronError(
                "NIR_LOW007",
                f"lower-hlo-to-nc: layouts look at 1 op downstream or more, not {self.lookahead}",
                help="such as {lookahead=1}: one op downstream",
            )
        lowered = lower_function(main, get_machine(name), self.layers, self.lookahead)
        for key, value in lowered.attributes.items():
            op.attributes[key] = value
        for function in list(op.ops):
            function.detach()  # everything is lowered together, so nothing needs to be separated
        body = lowered.body.block
        for inner in list(body.ops):
            inner.detach()
            op.body.block.add_op(inner)
