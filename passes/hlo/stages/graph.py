"""Represent the entry function as a row of units, between which a pipeline may be cut."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from neuronir.dialects.support.walking import ops_of, walk

_TIES = ("hlo.tuple", "func.return")


def outer_operands(op: Operation) -> Iterator[SSAValue]:
    """Return the values that an op reads, including those of its regions."""
    inside = set(walk(op)) if op.regions else {op}
    for one in walk(op) if op.regions else (op,):
        for value in one.operands:
            if isinstance(value, BlockArgument):
                if value.block.parent_op() not in inside:
                    yield value
            elif value.owner not in inside:
                yield value


@dataclass
class Graph:
    """The units of a function in demand order, and the values that each unit reads.

    Constants, values that depend only on constants, and broadcasts are not units. Each stage that
    reads them computes them itself (`copied`), so that no stage sends a value that is larger than
    its source. `reads[u]` are the results and arguments that unit u reads, through copied ops. A
    value is made by unit `made[value]` (-1: an argument) and read last by unit `last[value]`.
    `leaves` are the results of the program, which each stage gives to the host itself.

    Stages send arrays only. The elements of a tuple, such as the result of a loop, are therefore
    extracted directly after the unit that produces it.
    """

    block: Block
    units: list[Operation] = field(default_factory=list)
    copied: set[Operation] = field(default_factory=set)
    reads: list[tuple[SSAValue, ...]] = field(default_factory=list)
    made: dict[SSAValue, int] = field(default_factory=dict)
    last: dict[SSAValue, int] = field(default_factory=dict)
    leaves: list[SSAValue] = field(default_factory=list)

    @staticmethod
    def of(block: Block) -> "Graph":
        """Build the graph of the body of an entry function."""
        graph = Graph(block)
        constant: set[Operation] = set()
        for op in ops_of(block):
            if op.name in _TIES or not op.results:
                continue
            operands = list(outer_operands(op))
            follows = bool(operands) and all(value.owner in constant for value in operands)
            if follows or op.name in ("hlo.constant", "hlo.iota"):
                constant.add(op)
            if op in constant or op.name == "hlo.broadcast":
                graph.copied.add(op)
        graph.leaves = list(_leaves(block))
        graph.units = graph._ordered()
        graph.made = {argument: -1 for argument in block.args}
        for number, op in enumerate(graph.units):
            for result in op.results:
                graph.made[result] = number
        for value in graph.roots([v for v in graph.leaves if v.owner in graph.copied]):
            graph.last[value] = len(graph.units) - 1  # the last stage copies the rest
        for number, op in enumerate(graph.units):
            graph.reads.append(graph.roots(outer_operands(op)))
            for value in graph.reads[-1]:
                graph.last[value] = max(graph.last.get(value, -1), number)
        return graph

    def roots(self, values: Iterator[SSAValue] | Sequence[SSAValue]) -> tuple[SSAValue, ...]:
        """Return the results of units and the arguments from which values follow, each once."""
        found: dict[SSAValue, None] = {}
        seen: set[Operation] = set()
        pending = list(values)[::-1]
        while pending:
            value = pending.pop()
            owner = value.owner
            if not isinstance(owner, Operation) or owner not in self.copied:
                found.setdefault(value)
            elif owner not in seen:
                seen.add(owner)
                pending += list(outer_operands(owner))[::-1]
        return tuple(found)

    def _ordered(self) -> list[Operation]:
        """Move each unit as late as its first user allows.

        A value that only a later part of the program needs, such as a converted weight, is then not
        computed by the first stage.
        """
        order: list[Operation] = []
        done: set[Operation] = set()
        stack: list[tuple[Operation, bool]] = []
        for root in reversed(self.roots(self.leaves)):
            if isinstance(root.owner, Operation):
                stack.append((root.owner, False))
        while stack:
            op, ready = stack.pop()
            if op in done:
                continue
            if ready:
                made = [op, *_elements(op)]
                done.update(made)
                order += made
                continue
            stack.append((op, True))
            for value in reversed(self.roots(outer_operands(op))):
                if isinstance(value.owner, Operation) and value.owner not in done:
                    stack.append((value.owner, False))
        return order


def _elements(op: Operation) -> Iterator[Operation]:
    """Return the ops that take elements of the tuples that an op makes, also of nested ones."""
    for result in op.results:
        for user in (use.operation for use in result.uses):
            if user.name == "hlo.get_tuple_element" and user.parent is op.parent:
                yield user
                yield from _elements(user)


def _leaves(block: Block) -> Iterator[SSAValue]:
    """Return the arrays that the program returns, in order."""
    end = block.last_op
    assert isinstance(end, ReturnOp)
    pending = list(end.operands)[::-1]
    while pending:
        value = pending.pop()
        owner = value.owner
        if isinstance(owner, Operation) and owner.name == "hlo.tuple":
            pending += list(owner.operands)[::-1]
        else:
            yield value
