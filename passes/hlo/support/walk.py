"""Walk hlo blocks: one forward pass that visits new ops, and removal of dead ops."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, Pure

from neuronir.dialects.support.walking import ops_of
from neuronir.passes.hlo.support.build import Emitter

Rule = Callable[[Operation, Emitter], SSAValue | None]
"""Replaces a single-result op: returns the new value (its ops made by the emitter), or None."""

PROGRAM_BLOCKS = ("func.func", "hlo.while", "hlo.conditional", "hlo.composite")
"""Ops with regions on whole arrays; the regions of other ops work on single elements."""

KEPT_OPS = frozenset(
    f"hlo.{name}"
    for name in (
        "infeed outfeed send send_done recv recv_done rng_get_and_update_state return"
    ).split()
)
"""Ops that stay even if no op reads their result."""


COMPOSITE = "hlo.composite"
"""The op whose region is skipped: its ops were simplified before they were outlined, and most are
never lowered. Only hlo-decompose rewrites them.
"""


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """Return the functions with a body."""
    for op in ops_of(module.body.block):
        if isinstance(op, FuncOp) and op.body.blocks.first is not None:
            yield op


def entry(module: ModuleOp) -> FuncOp | None:
    """Return the entry function: the one marked hlo.entry, else @main."""
    named = None
    for function in functions(module):
        if "hlo.entry" in function.attributes:
            return function
        if function.sym_name.data == "main":
            named = function
    return named


def has_effect(op: Operation) -> bool:
    """Return whether an op must stay although its results are unused."""
    if not op.name.startswith("hlo."):
        return op.has_trait(IsTerminator) or not op.has_trait(Pure)
    if op.name in KEPT_OPS:
        return True
    if op.name == COMPOSITE:
        return False
    if op.name == "hlo.custom_call":
        flag = op.properties.get("custom_call_has_side_effect")
        return flag is not None and "true" in str(flag)
    return bool(op.regions) and any(
        has_effect(inner)
        for region in op.regions
        for block in region.blocks
        for inner in ops_of(block)
        if inner.name != "hlo.return"
    )


def is_dead(op: Operation) -> bool:
    """Return whether an op can be erased: no result is used and it has no effect."""
    for result in op.results:
        if result.first_use is not None:
            return False
    return not has_effect(op)


def erase_dead(op: Operation) -> int:
    """Erase an op if it is dead, then operands that become dead; return the number of erased
    ops.
    """
    pending, count = [op], 0
    while pending:
        candidate = pending.pop()
        if candidate.parent is None or not is_dead(candidate):
            continue
        operands = list(candidate.operands)
        candidate.detach()
        candidate.erase()
        count += 1
        pending.extend(v.op for v in operands if isinstance(v, OpResult))
    return count


def replace(op: Operation, value: SSAValue) -> None:
    """Replace a single-result op by `value`, and erase it and operands that become dead."""
    op.results[0].replace_all_uses_with(value)
    operands = list(op.operands)
    op.detach()
    op.erase()
    for operand in operands:
        if isinstance(operand, OpResult) and operand.op.parent is not None:
            erase_dead(operand.op)


_PATIENCE = 10_000
"""Limit of consecutive rewrites, each of an op that a rewrite made."""


def rewrite_block(block: Block, rules: Mapping[str, Sequence[Rule]], *, inner: bool = True) -> int:
    """Apply rules (by op name) in one forward walk, inner regions first, new ops next.

    Returns the number of rewrites. Rules must make progress: each must lead to an op that no rule
    changes any more. With `inner=False` regions are skipped; those of composites always are.
    """
    count = 0
    patience = _PATIENCE
    op = block.first_op
    while op is not None:
        if is_dead(op):
            dead, op = op, op.next_op
            erase_dead(dead)
            continue
        if op.regions and inner and op.name != COMPOSITE:
            for region in op.regions:
                for body in region.blocks:
                    count += rewrite_block(body, rules)
        value = None
        mine = rules.get(op.name)
        if mine is not None:
            emitter = Emitter(op)
            for rule in mine:
                value = rule(op, emitter)
                if value is not None:
                    break
        following = op.next_op
        if value is None:
            patience = _PATIENCE
            op = following
            continue
        count += 1
        patience -= 1
        replace(op, value)
        # Rules that undo each other must not hang a compile. The current IR is correct, so
        # continue. New ops in regions do not matter.
        again = (new for new in emitter.created if new.parent is block and patience > 0)
        op = next(again, following)
    return count


def rewrite_module(module: ModuleOp, rules: Mapping[str, Sequence[Rule]]) -> int:
    """Apply `rewrite_block` to every function."""
    return sum(rewrite_block(block, rules) for f in functions(module) for block in f.body.blocks)


def blocks(module: ModuleOp, *, composites: bool = False) -> Iterator[Block]:
    """Yield every block of every function, inner ones before the block around them.

    Regions of composites are included on request.
    """
    for function in functions(module):
        for block in function.body.blocks:
            yield from blocks_of(block, composites)


def blocks_of(block: Block, composites: bool) -> Iterator[Block]:
    """Yield a block and every block inside, inner ones first."""
    for op in ops_of(block):
        if op.regions and (composites or op.name != COMPOSITE):
            for region in op.regions:
                for inner in region.blocks:
                    yield from blocks_of(inner, composites)
    yield block


def leaves(op: Operation) -> list[SSAValue]:
    """Return the arrays of a return or a tuple, in order."""
    out: list[SSAValue] = []
    for v in op.operands:
        if isinstance(v.owner, Operation) and v.owner.name == "hlo.tuple":
            out += leaves(v.owner)
        else:
            out.append(v)
    return out
