"""hlo-inline: replace calls and fusions by the ops of their bodies."""

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from neuronir.dialects.support.cloning import clone
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.dialects.support.walking import ops_of, walk
from neuronir.passes.hlo.bitcasts import lower_bitcasts
from neuronir.passes.hlo.support.walk import entry, functions
from neuronir.passes.statistics import record


def inline_block(block: Block, operands: list[SSAValue], anchor: Operation) -> SSAValue:
    """Clone the ops of a one-result body before `anchor` and return the value of its return."""
    mapping: dict[SSAValue, SSAValue] = dict(zip(block.args, operands, strict=True))
    target = anchor.parent
    last = block.last_op
    if target is None or last is None or len(last.operands) != 1:
        raise ValueError("a body with one returned value is needed")
    for op in ops_of(block):
        if op is last:
            break
        target.insert_op_before(clone(op, mapping), anchor)
    returned = last.operands[0]
    return mapping.get(returned, returned)


def move_block(block: Block, operands: list[SSAValue], anchor: Operation) -> SSAValue:
    """Inline a body without other users by moving its ops instead of copying them."""
    target, last = anchor.parent, block.last_op
    if target is None or last is None or len(last.operands) != 1:
        raise ValueError("a body with one returned value is needed")
    for argument, operand in zip(block.args, operands, strict=True):
        argument.replace_all_uses_with(operand)
    returned = last.operands[0]
    for op in tuple(block.ops):
        if op is not last:
            op.detach()
            target.insert_op_before(op, anchor)
    return returned


def _callee(op: Operation) -> str:
    callee = op.properties.get("callee")
    return callee.root_reference.data if isinstance(callee, SymbolRefAttr) else ""


def _callees_first(functions: dict[str, FuncOp]) -> list[str]:
    """Return the names of all functions, each after its callees; raises NIR_RECURSION for a cycle.

    The traversal is iterative, because some programs nest calls a thousand deep.
    """
    order: dict[str, None] = {}
    active: dict[str, Iterator[str]] = {}
    for first in functions:
        pending: str | None = first
        while pending is not None or active:
            if pending is not None and pending in active:
                names = list(active)
                chain = " -> ".join((*names[names.index(pending) :], pending))
                raise NeuronError(
                    "NIR_RECURSION", f"computations call each other in a circle: {chain}"
                )
            if pending is not None and pending not in order:
                calls = (op for op in walk(functions[pending]) if op.name == "hlo.call")
                active[pending] = iter([n for n in map(_callee, calls) if n in functions])
            if not active:
                break
            caller = next(reversed(active))
            pending = next(active[caller], None)
            if pending is None:
                del active[caller]
                order[caller] = None
    return list(order)


class _Inliner:
    def __init__(self, module: ModuleOp) -> None:
        self.functions = {f.sym_name.data: f for f in functions(module)}
        self.count = 0

    def run(self) -> None:
        """Inline all calls in all functions."""
        for name in _callees_first(self.functions):
            for block in self.functions[name].body.blocks:
                self.block(block)

    def block(self, block: Block) -> None:
        for op in tuple(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner)
            if op.name == "hlo.call":
                self.call(op)
            elif op.name == "hlo.fusion":
                body = op.regions[0].block
                self.finish(op, move_block(body, list(op.operands), op))

    def call(self, op: Operation) -> None:
        name = _callee(op)
        if name not in self.functions:
            raise NeuronError(
                "NIR_NO_CALLEE",
                f"hlo.call calls @{name}, which the module does not define",
                location=source_name(op) or None,
            )
        body = self.functions[name].body.block  # already without calls
        self.finish(op, inline_block(body, list(op.operands), op))

    def finish(self, op: Operation, value: SSAValue) -> None:
        op.results[0].replace_all_uses_with(value)
        op.detach()
        op.erase()
        self.count += 1


def referenced_symbols(module: ModuleOp) -> set[str]:
    """Return the names to which some op still refers."""
    names: set[str] = set()
    seen: set[int] = set()  # most attributes are shared
    for op in walk(module):
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if id(attribute) not in seen:
                seen.add(id(attribute))
                _collect(attribute, names)
    return names


def _collect(attribute: Attribute, names: set[str]) -> None:
    if isinstance(attribute, SymbolRefAttr):
        names.add(attribute.root_reference.data)
        return
    data = getattr(attribute, "data", None)
    if isinstance(data, tuple):
        for item in data:
            if isinstance(item, Attribute):
                _collect(item, names)


def drop_unused_functions(module: ModuleOp) -> int:
    """Erase the functions that are neither the entry nor referenced, and return their number."""
    main = entry(module)
    others = [function for function in functions(module) if function is not main]
    used = referenced_symbols(module) if others else set()
    count = 0
    for function in others:
        private = function.sym_visibility is not None and function.sym_visibility.data == "private"
        if not private or function.sym_name.data in used:
            continue
        function.detach()
        function.erase()
        count += 1
    return count


@dataclass(frozen=True)
class HloInlinePass(ModulePass):
    """Inline all calls and fusions, innermost first.

    Ops keep the location and metadata from the called computation. Private functions without
    callers are erased. Bitcasts between equal element types become transpose, reshape, transpose
    according to the layouts of the input, so that later passes need not preserve layouts.
    """

    name = "hlo-inline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        record(self.name, "bitcasts", lower_bitcasts(op))
        inliner = _Inliner(op)
        inliner.run()
        record(self.name, "calls", inliner.count)
        record(self.name, "functions-erased", drop_unused_functions(op))
