"""Import TensorFlow 1's loops: Enter, Merge, LoopCond, Switch, NextIteration, Exit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from xdsl.ir import SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.tensorflow.conditions import SWITCHES
from neuronir.frontends.tensorflow.graph import BACK_EDGES, MERGES, Node, Ref, Table
from neuronir.frontends.tensorflow.loops import static_loop
from neuronir.frontends.tensorflow.values import Value

ENTERS = frozenset(("Enter", "RefEnter"))
EXITS = frozenset(("Exit", "RefExit"))


class Scope(Protocol):
    """The interface to the importer: nodes as values in a builder's block."""

    b: BlockBuilder

    def inside(self, builder: BlockBuilder, bound: Mapping[Ref, Value]) -> "Scope":
        """Return the same nodes inside a loop, with the values of `bound` given."""

    def value(self, ref: Ref) -> Value:
        """Return the value of an output of a node."""

    def evaluate(self, refs: Sequence[Ref]) -> list[Value]:
        """Return the values of outputs of nodes."""


@dataclass(frozen=True)
class Carried:
    """A loop-carried value: the nodes where it starts, is merged, continues, returns and leaves."""

    enter: Node
    merge: Node
    switch: Node
    next: Node
    exits: tuple[Node, ...]


@dataclass(frozen=True)
class Loop:
    """The parts of one loop; `constants` enter and do not change."""

    carried: tuple[Carried, ...]
    constants: tuple[Node, ...]
    condition: Ref

    @property
    def outer_inputs(self) -> Sequence[Ref]:
        """The tensors that enter the loop."""
        return [e.inputs[0] for e in (*(c.enter for c in self.carried), *self.constants)]


class Frames:
    """The loops of a table, by frame name."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._loops: dict[str, Loop] = {}

    @cached_property
    def _users(self) -> dict[str, list[Node]]:
        users: dict[str, list[Node]] = {}
        for node in self._table:
            for name, _ in node.inputs:
                users.setdefault(name, []).append(node)
        return users

    @cached_property
    def _enters(self) -> dict[str, list[Node]]:
        frames: dict[str, list[Node]] = {}
        for node in self._table:
            if node.op in ENTERS:
                frames.setdefault(_frame_name(node), []).append(node)
        return frames

    def of_exit(self, node: Node) -> Loop:
        """Return the loop that an Exit leaves."""
        switch = self._source(node, 0, SWITCHES)
        merge = self._source(switch, 0, MERGES)
        enters = [self._table[n] for n, _ in merge.inputs if self._table[n].op in ENTERS]
        if not enters:
            raise _malformed(node, "nothing enters the loop that it leaves")
        name = _frame_name(enters[0])
        if name not in self._loops:
            self._loops[name] = self._loop(name)
        return self._loops[name]

    def _loop(self, name: str) -> Loop:
        carried: list[Carried] = []
        constants: list[Node] = []
        for enter in self._enters[name]:
            if not enter.inputs:
                raise _malformed(enter, "it has no input")
            merges = [u for u in self._users.get(enter.name, ()) if u.op in MERGES]
            if merges:
                carried.append(self._carried(enter, merges[0]))
            else:
                constants.append(enter)
        conditions = {c.switch.inputs[1] for c in carried}
        if len(conditions) != 1:
            raise _malformed(self._enters[name][0], f"frame '{name}' has no one condition")
        condition = self._table[conditions.pop()[0]]
        if condition.op != "LoopCond" or not condition.inputs:
            raise _malformed(condition, f"it decides about frame '{name}' but is no LoopCond")
        return Loop(tuple(carried), tuple(constants), condition.inputs[0])

    def _carried(self, enter: Node, merge: Node) -> Carried:
        back = [self._table[n] for n, _ in merge.inputs if self._table[n].op in BACK_EDGES]
        switches = [u for u in self._users.get(merge.name, ()) if u.op in SWITCHES]
        if len(back) != 1 or len(switches) != 1 or not back[0].inputs:
            raise _malformed(merge, "it merges other than what enters a loop and what comes back")
        if len(switches[0].inputs) != 2:
            raise _malformed(switches[0], "it must have two inputs")
        leaving = tuple(u for u in self._users.get(switches[0].name, ()) if u.op in EXITS)
        return Carried(enter, merge, switches[0], back[0], leaving)

    def _source(self, node: Node, index: int, kinds: frozenset[str]) -> Node:
        if len(node.inputs) <= index:
            raise _malformed(node, f"input {index} is missing")
        found = self._table[node.inputs[index][0]]
        if found.op not in kinds:
            raise _malformed(node, f"its input '{found.name}' is {found.op}")
        return found

    def loop(self, scope: Scope, leaving: Node) -> dict[Ref, Value]:
        """Build the loop that an Exit leaves; returns the values of all its Exits."""
        loop = self.of_exit(leaving)
        state = [scope.value(c.enter.inputs[0]) for c in loop.carried]
        constants = [scope.value(e.inputs[0]) for e in loop.constants]

        def inner(b: BlockBuilder, values: Sequence[Value], fixed: Sequence[Value]) -> Scope:
            bound: dict[Ref, Value] = {}
            for carried, value in zip(loop.carried, values, strict=True):
                bound[carried.merge.name, 0] = bound[carried.switch.name, 1] = value
            for enter, value in zip(loop.constants, fixed, strict=True):
                bound[enter.name, 0] = value
            return scope.inside(b, bound)

        def condition(b: BlockBuilder, values: Sequence[Value], fixed: Sequence[Value]) -> SSAValue:
            (found,) = inner(b, values, fixed).evaluate([loop.condition])
            if not isinstance(found, SSAValue):
                refuse("the condition of the loop is not a tensor")
            return found

        def body(
            b: BlockBuilder, values: Sequence[Value], fixed: Sequence[Value]
        ) -> Sequence[Value]:
            return inner(b, values, fixed).evaluate([c.next.inputs[0] for c in loop.carried])

        same = {
            i
            for i, c in enumerate(loop.carried)
            if self._table.source(c.next.inputs[0]) == (c.switch.name, 1)
        }
        results = static_loop(scope.b, state, constants, condition, body, same)
        return {
            (leave.name, 0): value
            for carried, value in zip(loop.carried, results, strict=True)
            for leave in carried.exits
        }


def _frame_name(node: Node) -> str:
    if "frame_name" not in node.attrs:
        raise _malformed(node, "attribute 'frame_name' is missing")
    return str(node.attrs["frame_name"].s.decode(errors="replace"))


def _malformed(node: Node, reason: str) -> NeuronError:
    return NeuronError("NIR_TF002", f"malformed loop: node '{node.name}' ({node.op}): {reason}")
