"""lower-tile-to-nc: lower the tiled level to the virtual phase of nc."""

from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp as HloFunc
from xdsl.passes import ModulePass

from neuronir.dialects.hlo.flops import note_flops
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.support.walk import leaves
from neuronir.passes.lowering.module import finished_module
from neuronir.passes.tile.fuse import machine_of
from neuronir.passes.tile.layouts.values import Values
from neuronir.passes.tile.lower import (
    binary,
    convert,
    convolution,
    dot,
    iota,
    loops,
    mask,
    memory,
    pieces,
    reduce,
    rows,
    scan,
    select,
    slices,
    unary,
    views,
)
from neuronir.passes.tile.lower.memory import arguments, in_hbm
from neuronir.passes.tile.lower.pieces import destination
from neuronir.passes.tile.lower.state import Hooks, Lower
from neuronir.passes.tile.lower.values import Held
from neuronir.passes.tile.lower.waiting import materialize
from neuronir.passes.tile.lower.whole import lower_whole
from neuronir.passes.tile.plugins import load_rules
from neuronir.passes.tile.special import special_values

RULES = (
    binary,
    convert,
    convolution,
    dot,
    iota,
    loops,
    mask,
    memory,
    pieces,
    reduce,
    rows,
    scan,
    select,
    slices,
    unary,
    views,
)
"""Modules that register their rules on import."""


@dataclass(frozen=True)
class LowerTileToNcPass(ModulePass):
    """Lower tiles with layouts to nc instructions, one rule for each op.

    Loops stay loops, slices become addresses that depend on the loop variable, and layout
    conversions become transfers, transposes and copies. Layouts are not changed.
    """

    name = "lower-tile-to-nc"
    target: str = field(
        default="", metadata={"help": "machine; default: the module attribute nc.machine"}
    )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        load_rules()
        machine = machine_of(op, self.target, self.name)
        main = next(
            (f for f in op.ops if isinstance(f, HloFunc) and f.sym_name.data == "main"), None
        )
        if main is None:
            raise NeuronError("NIR_LOW006", "the module has no function @main")
        note_flops(main)
        lowered = lower_function(main, machine)
        op.attributes.update(lowered.attributes)
        for function in list(op.ops):
            function.detach()
        for inner in list(lowered.body.block.ops):
            inner.detach()
            op.body.block.add_op(inner)


def lower_function(function: HloFunc, machine: Machine) -> ModuleOp:
    """Return the nc module (virtual phase) of a function of the tiled level."""
    state = Lower(machine, Hooks(destination, materialize, lower_whole))
    block = function.body.block
    last = block.last_op
    assert last is not None
    state.special = special_values(block)
    state.made_special = special_values(block, arguments=False)
    state.loads = Values(block, machine).loads()
    for i, ssa in enumerate(leaves(last)):
        state.results.setdefault(ssa, []).append(i)
    for i, argument in arguments(block):
        state.memory[argument] = in_hbm(
            state, f"arg{i}", "input", argument, index=i, source_name=_name(function, i)
        )
    for op in block.ops:
        state.lower(op)
    forms = {**state.memory, **{v: x.form for v, x in state.values.items() if isinstance(x, Held)}}
    held = ((value, form.buffer) for value, form in forms.items())
    return finished_module(state.emitter, state.constants, machine, held)


def _name(function: HloFunc, index: int) -> str:
    attrs = function.arg_attrs.data if function.arg_attrs else []
    given = attrs[index] if index < len(attrs) else None
    if isinstance(given, DictionaryAttr) and isinstance(given.data.get("hlo.name"), StringAttr):
        return cast(StringAttr, given.data["hlo.name"]).data
    return f"arg{index}"
