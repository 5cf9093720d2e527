"""Represent graphs and functions as tables of nodes: names, inputs, attributes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from neuronir.dialects.support.errors import NeuronError

Ref = tuple[str, int]
"""An output of a node: the node's name and the output's number."""


@dataclass(frozen=True, slots=True)
class Node:
    """One operator of a graph.

    `inputs` are the tensors that it reads, `control` the nodes that it waits for, and `attrs` its
    attributes as AttrValue messages.
    """

    name: str
    op: str
    inputs: tuple[Ref, ...]
    control: tuple[str, ...]
    attrs: Mapping[str, Any]


@dataclass(frozen=True)
class Function:
    """A function of the library: a table of nodes, and the ordered arguments and results."""

    name: str
    table: "Table"
    arguments: tuple[str, ...]
    results: tuple[Ref, ...]

    @cached_property
    def same(self) -> frozenset[int]:
        """Return the indices of results that are the argument with the same index."""
        found = zip(self.arguments, self.results, strict=False)
        return frozenset(
            i for i, (name, ref) in enumerate(found) if self.table.source(ref) == (name, 0)
        )


@dataclass
class Library:
    """The functions of a graph, each parsed on its first call."""

    protos: Mapping[str, Any]
    outputs_of: Mapping[str, Sequence[str]]
    _known: dict[str, Function] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.protos

    def get(self, name: str) -> Function:
        """Return the function of a name (NIR_TF002)."""
        if name not in self._known:
            if name not in self.protos:
                raise NeuronError("NIR_TF002", f"the library has no function '{name}'")
            self._known[name] = _function(self.protos[name], self.outputs_of)
        return self._known[name]


class Table:
    """The nodes of a graph or function by name, in order."""

    def __init__(self, nodes: Iterable[Node], what: str) -> None:
        self.what = what
        self.nodes: dict[str, Node] = {}
        for node in nodes:
            if node.name in self.nodes:
                raise NeuronError("NIR_TF002", f"{what} has two nodes named '{node.name}'")
            self.nodes[node.name] = node

    def __getitem__(self, name: str) -> Node:
        return self.nodes[name]

    def __contains__(self, name: str) -> bool:
        return name in self.nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes.values())

    def check(self) -> None:
        """Check that each input exists and that only loops (NextIteration) form cycles
        (NIR_TF002).
        """
        for node in self:
            for name in (*(name for name, _ in node.inputs), *node.control):
                if name not in self.nodes:
                    raise NeuronError(
                        "NIR_TF002",
                        f"node '{node.name}' ({node.op}) of {self.what} takes '{name}', "
                        "which does not exist",
                    )
        done: set[str] = set()
        for node in self:
            self._check_cycles(node.name, done)

    def _check_cycles(self, start: str, done: set[str]) -> None:
        if start in done:
            return
        path: dict[str, Iterator[str]] = {start: self._before(start)}
        while path:
            name = next(reversed(path))
            following = next((n for n in path[name] if n not in done), None)
            if following is None:
                done.add(name)
                del path[name]
            elif following in path:
                names = list(path)
                cycle = [*names[names.index(following) :], following]
                shown = " <- ".join(f"'{n}'" for n in cycle[:6]) + (" ..." if cycle[6:] else "")
                raise NeuronError("NIR_TF002", f"{self.what} has a cycle: {shown}")
            else:
                path[following] = self._before(following)

    def _before(self, name: str) -> Iterator[str]:
        """Return the nodes that must be computed before a node."""
        node = self.nodes[name]
        for source, _ in node.inputs:
            if node.op not in MERGES or self.nodes[source].op not in BACK_EDGES:
                yield source
        yield from node.control

    def source(self, ref: Ref) -> Ref:
        """Return the tensor at the start of a chain of Identity nodes."""
        while (node := self.nodes[ref[0]]).op == "Identity" and node.inputs:
            ref = node.inputs[0]
        return ref

    def reachable(self, names: Iterable[str], *, control: bool = True) -> list[Node]:
        """Return these nodes and all nodes on which they depend, in table order."""
        found: set[str] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                node = self.nodes[name]
                pending += [source for source, _ in node.inputs]
                pending += node.control if control else ()
        return [node for node in self if node.name in found]


MERGES = frozenset(("Merge", "RefMerge"))
BACK_EDGES = frozenset(("NextIteration", "RefNextIteration"))


def graph_table(proto: Any) -> Table:
    """Return the nodes of a GraphDef, checked."""
    table = Table((_node(n) for n in proto.node), "the graph")
    table.check()
    return table


def library(proto: Any, outputs_of: Mapping[str, Sequence[str]]) -> Library:
    """Return the functions of a GraphDef.

    `outputs_of` returns the output names of an operator with several outputs, by which functions
    refer to them.
    """
    return Library({f.signature.name: f for f in proto.library.function}, outputs_of)


def parse_ref(text: str) -> Ref:
    """Parse `name:1` or `name` as an output of a node; raises NIR_TF002 if the number is
    invalid.
    """
    name, colon, number = text.rpartition(":")
    if not colon:
        return text, 0
    if not number.isdecimal():
        raise NeuronError("NIR_TF002", f"'{text}' does not name a tensor: use NODE or NODE:NUMBER")
    return name, int(number)


def _node(proto: Any) -> Node:
    inputs, control = [], []
    for text in proto.input:
        if text.startswith("^"):
            control.append(text[1:])
        else:
            inputs.append(parse_ref(text))
    return Node(proto.name, proto.op, tuple(inputs), tuple(control), proto.attr)


def _function(proto: Any, outputs_of: Mapping[str, Sequence[str]]) -> Function:
    """Parse a FunctionDef: inputs are `argument` or `node:output name:number within that
    output`.
    """
    name = proto.signature.name
    arguments = tuple(a.name for a in proto.signature.input_arg)
    ops = {n.name: n.op for n in proto.node_def}

    def ref(text: str) -> Ref:
        source, _, rest = text.partition(":")
        if not rest:
            return source, 0
        output, _, number = rest.partition(":")
        names = outputs_of.get(ops.get(source, ""), ())
        first = names.index(output) if output in names else 0
        if not (number or "0").isdecimal():
            raise NeuronError("NIR_TF002", f"'{text}' in function '{name}' does not name a tensor")
        return source, first + int(number or 0)

    nodes = [Node(a, "_Arg", (), (), {}) for a in arguments]
    for one in proto.node_def:
        inputs = tuple(ref(text) for text in one.input if not text.startswith("^"))
        control = tuple(text[1:] for text in one.input if text.startswith("^"))
        nodes.append(Node(one.name, one.op, inputs, control, one.attr))
    table = Table(nodes, f"function '{name}'")
    table.check()
    results = []
    for argument in proto.signature.output_arg:
        text = proto.ret.get(argument.name)
        if text is None:
            raise NeuronError("NIR_TF002", f"function '{name}' does not return '{argument.name}'")
        results.append(ref(text))
        if results[-1][0] not in table:
            raise NeuronError(
                "NIR_TF002", f"function '{name}' returns '{text}', which does not exist"
            )
    return Function(name, table, arguments, tuple(results))
