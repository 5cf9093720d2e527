"""tile-fuse: groups of ops become loops over tiles."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.nc.machine import Machine, get_machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.passes.hlo.support.walk import erase_dead, functions
from neuronir.passes.statistics import record
from neuronir.passes.tile.fit import check_types
from neuronir.passes.tile.group import Group, is_source
from neuronir.passes.tile.grouping import Grouping
from neuronir.passes.tile.loops import Nest, Where
from neuronir.passes.tile.residency import may_stay, settle


@dataclass(frozen=True)
class TileFuse(ModulePass):
    """Group ops and work on each group tile by tile, in loops over axes that its values share.

    Neighbours form a group where that is estimated to be faster than one after the other. A group
    of which all values fit into SBUF has no loop. `target`: the machine, or else `nc.machine`
    says. `room`: of SBUF, what values of a group may take, in percent.
    """

    name = "tile-fuse"
    target: str = ""
    room: int = 80

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        machine = machine_of(op, self.target, self.name)
        for function in functions(op):
            check_types(function, machine)
            fuse_block(function.body.block, machine, self.room / 100)


def machine_of(module: ModuleOp, target: str, name: str) -> Machine:
    """The machine that a pass works for: its option, or what the module says."""
    attribute = module.attributes.get("nc.machine")
    chosen = target or (attribute.data if isinstance(attribute, StringAttr) else "")
    if not chosen:
        raise NeuronError("NIR_LOW006", f"{name} needs a target", help="use {target=trn1}")
    return get_machine(chosen)


def fuse_block(block: Block, machine: Machine, room: float = 0.8) -> None:
    """Write the ops of a block as groups, with their loops."""
    last = block.last_op
    assert last is not None
    write_groups(
        block,
        *settle(
            Grouping(block, machine, may_stay(block, machine) - frozenset(_leaves(last)), room)
        ),
    )


def write_groups(block: Block, groups: Sequence[Group], resident: frozenset[SSAValue]) -> None:
    """Write the ops of a block as these groups; `resident` values stay in SBUF between them."""
    last = block.last_op
    assert last is not None
    old = [op for op in block.ops if op is not last]
    mapping: dict[SSAValue, SSAValue] = {}
    for group in groups:
        where = Where(block, last)
        Nest(group, mapping, resident).write(where)
        record("tile-fuse", "groups")
        record("tile-fuse", "loops", len(group.loops))
    _finish(block, last, old, mapping)


def _leaves(last: Operation) -> list[SSAValue]:
    """What the function returns."""
    out: list[SSAValue] = []
    work = list(last.operands)
    while work:
        v = work.pop()
        if isinstance(v.owner, Operation) and v.owner.name == "hlo.tuple":
            work.extend(v.owner.operands)
        else:
            out.append(v)
    return out


def _finish(
    block: Block, last: Operation, old: list[Operation], mapping: dict[SSAValue, SSAValue]
) -> None:
    """Let what is left (views, tuples, the return) read the new values; drop the old ops."""

    def renewed(value: SSAValue) -> SSAValue:
        if value in mapping or isinstance(value, BlockArgument):
            return mapping.get(value, value)
        op = value.owner
        assert isinstance(op, Operation)
        copy = op.clone({v: renewed(v) for v in op.operands})
        block.insert_op_before(copy, last)
        mapping[value] = copy.results[0]
        return copy.results[0]

    for i, v in enumerate(last.operands):
        last.operands[i] = renewed(v)
    for op in reversed(old):
        if is_source(op):
            continue
        for r in op.results:
            if r in mapping:
                assert not any(use.operation not in old for use in r.uses)
        op.detach()
        op.erase(safe_erase=False)
    for op in list(block.ops):
        erase_dead(op)
