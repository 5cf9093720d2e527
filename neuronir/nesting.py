"""Run a pass on each function by itself: `func.func(PASS)` in a pipeline.

xDSL's passes take a module. A function is moved into a module of its own while the pass runs.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from neuronir.dialects.support.errors import NeuronError


@dataclass(frozen=True)
class FunctionPass(ModulePass):
    """Run the pass `inner` on each function of the module, without the other functions.

    A function is not visible to the pass while it runs on another one, as in mlir-opt. Attributes
    of the module are visible, and changes of them are kept. Functions without a body are skipped.
    """

    inner: ModulePass
    name = FuncOp.name

    def __post_init__(self) -> None:
        # Dumps, timings and messages name the pass that runs.
        object.__setattr__(self, "name", self.inner.name)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pass on each function; raises NIR_NESTING if it adds or removes a function."""
        for function in [one for one in op.ops if isinstance(one, FuncOp) and one.body.blocks]:
            self._apply_to(ctx, function, op)

    def _apply_to(self, ctx: Context, function: FuncOp, module: ModuleOp) -> None:
        following = function.next_op
        function.detach()
        # Nothing in its module calls it, but a private function must not be removed for that.
        visibility, function.sym_visibility = function.sym_visibility, None
        alone = ModuleOp([function], dict(module.attributes))
        alone.location = module.location
        try:
            self.inner.apply(ctx, alone)
        finally:
            changed = list(alone.ops) != [function]
            function.sym_visibility = visibility
            if function.parent is alone.body.block:
                function.detach()
                if following is None:
                    module.body.block.add_op(function)
                else:
                    module.body.block.insert_op_before(function, following)
            module.attributes.update(alone.attributes)
        if changed:
            raise NeuronError(
                "NIR_NESTING",
                f"pass '{self.name}' adds or removes functions and cannot run on '{FuncOp.name}'",
                help=f"run it on the module: builtin.module({self.name})",
            )
