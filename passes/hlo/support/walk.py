"""Walking hlo blocks: one forward pass that visits what it creates, and removal of dead ops."""

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
"""Whose regions hold ops on whole arrays; others say what is done with single elements."""

KEPT_OPS = frozenset(
    f"hlo.{name}"
    for name in (
        "infeed outfeed send send_done recv recv_done rng_get_and_update_state return"
    ).split()
)
"""Ops that stay although nobody reads their result."""


COMPOSITE = "hlo.composite"
"""The op whose region is left alone: its ops were simplified before they were wrapped, and most are
never lowered. hlo-decompose alone rewrites them."""


def functions(module: ModuleOp) -> Iterator[FuncOp]:
    """The functions with a body."""
    for op in ops_of(module.body.block):
        if isinstance(op, FuncOp) and op.body.blocks.first is not None:
            yield op


def entry(module: ModuleOp) -> FuncOp | None:
    """The function that the program starts in: the one marked hlo.entry, else @main."""
    named = None
    for function in functions(module):
        if "hlo.entry" in function.attributes:
            return function
        if function.sym_name.data == "main":
            named = function
    return named


def has_effect(op: Operation) -> bool:
    """Whether an op has to stay although its results are unused."""
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
    """Whether an op can go: no result is used and it has no effect."""
    for result in op.results:
        if result.first_use is not None:
            return False
    return not has_effect(op)


def erase_dead(op: Operation) -> int:
    """Erase an op if it is dead, then the ops that only it kept alive; returns how many went."""
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
    """Let users of a single-result op read `value`; erase the op and what it alone kept alive."""
    op.results[0].replace_all_uses_with(value)
    operands = list(op.operands)
    op.detach()
    op.erase()
    for operand in operands:
        if isinstance(operand, OpResult) and operand.op.parent is not None:
            erase_dead(operand.op)


_PATIENCE = 10_000
"""Rewrites in a row, each of an op that a rewrite made, before the walk moves on."""


def rewrite_block(block: Block, rules: Mapping[str, Sequence[Rule]], *, inner: bool = True) -> int:
    """Apply rules (by op name) in one forward walk, inner regions first, created ops next.

    Returns the number of rewrites. Rules have to make progress: each must lead to an op that no
    rule changes any more. With `inner=False` the regions of ops are left alone, those of composites
    always.
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
        # Rules that undo each other must not hang a compile: what is there is correct, so go on.
        # What a rule has put into a region is not in the way.
        again = (new for new in emitter.created if new.parent is block and patience > 0)
        op = next(again, following)
    return count


def rewrite_module(module: ModuleOp, rules: Mapping[str, Sequence[Rule]]) -> int:
    """`rewrite_block` over every function."""
    return sum(rewrite_block(block, rules) for f in functions(module) for block in f.body.blocks)


def blocks(module: ModuleOp, *, composites: bool = False) -> Iterator[Block]:
    """Every block of every function, inner ones before the block that holds them; those of
    composites only if asked for."""
    for function in functions(module):
        for block in function.body.blocks:
            yield from blocks_of(block, composites)


def blocks_of(block: Block, composites: bool) -> Iterator[Block]:
    """A block and every block inside, inner ones before the block that holds them."""
    for op in ops_of(block):
        if op.regions and (composites or op.name != COMPOSITE):
            for region in op.regions:
                for inner in region.blocks:
                    yield from blocks_of(inner, composites)
    yield block
