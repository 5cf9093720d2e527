"""Import TensorFlow 1's branches: Switch routes a tensor, and Merge takes the one that arrives.

Both branches are built, and Merge becomes a select by the predicate in which its inputs differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder, refuse
from neuronir.frontends.graph.broadcasting import broadcast_to
from neuronir.frontends.tensorflow.graph import BACK_EDGES, MERGES, Node, Ref, Table
from neuronir.frontends.tensorflow.values import TensorList, Value
from neuronir.passes.hlo.support.values import shape

SWITCHES = frozenset(("Switch", "RefSwitch"))

Live = frozenset[tuple[Ref, bool]]
"""The predicates, each with its value, under which a node runs."""


@dataclass(frozen=True)
class Merged:
    """A decomposed Merge: its predicate, and the input that arrives if it holds or not."""

    predicate: Ref
    on_true: int
    on_false: int


class Conditions:
    """Finds the predicates under which the nodes of a table run."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._live: dict[str, Live] = {}

    def merged(self, node: Node) -> Merged:
        """Return the selection of a Merge that does not belong to a loop."""
        if len(node.inputs) != 2 or any(
            self._table[name].op in BACK_EDGES for name, _ in node.inputs
        ):
            refuse("it merges other than the two ways of a condition")
        left, right = (self._of_ref(ref) for ref in node.inputs)
        found = [p for p, held in left if (p, not held) in right]
        if len(found) != 1:
            refuse("its inputs do not come from the two ways of one condition")
        on_true = 0 if (found[0], True) in left else 1
        return Merged(found[0], on_true, 1 - on_true)

    def needed(self, b: BlockBuilder, node: Node, values: Mapping[Ref, Value]) -> Sequence[Ref]:
        """Return the nodes that must be built before a Merge: the predicate first, then the
        branches.

        If the predicate is known, only the taken branch is built.
        """
        merged = self.merged(node)
        if merged.predicate not in values:
            return [merged.predicate]
        known = _known(b, values[merged.predicate])
        if known is None:
            return node.inputs
        return [node.inputs[merged.on_true if known else merged.on_false]]

    def build(self, b: BlockBuilder, node: Node, values: Mapping[Ref, Value]) -> list[Value]:
        """Return the merged value, and the index of the input that arrived."""
        merged = self.merged(node)
        predicate = values[merged.predicate]
        known = _known(b, predicate)
        if known is not None:
            taken = merged.on_true if known else merged.on_false
            return [values[node.inputs[taken]], b.constant(np.array(taken, np.int32))]
        if not isinstance(predicate, SSAValue):
            refuse("its predicate is not a tensor")
        ways = [values[node.inputs[i]] for i in (merged.on_true, merged.on_false)]
        index = b.select(
            b.reshape(predicate, ()), b.scalar(merged.on_true, i32), b.scalar(merged.on_false, i32)
        )
        return [choose(b, predicate, ways[0], ways[1]), index]

    def _of_ref(self, ref: Ref) -> Live:
        """Return the predicates under which an output arrives."""
        self._fill(ref[0])
        node, live = self._table[ref[0]], self._live[ref[0]]
        if node.op not in SWITCHES:
            return live
        if len(node.inputs) < 2:
            raise NeuronError("NIR_TF002", f"node '{node.name}' ({node.op}) lacks an input")
        predicate = self._table.source(node.inputs[1])
        # The Switch of a loop passes on the loop-carried values.
        if self._table[predicate[0]].op == "LoopCond":
            return live
        return live | {(predicate, ref[1] == 1)}

    def _fill(self, start: str) -> None:
        pending = [start]
        while pending:
            name = pending[-1]
            if name in self._live:
                pending.pop()
                continue
            node = self._table[name]
            refs = [
                ref
                for ref in node.inputs
                if node.op not in MERGES or self._table[ref[0]].op not in BACK_EDGES
            ]
            missing = [n for n in (*(r[0] for r in refs), *node.control) if n not in self._live]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            self._live[name] = self._of_node(node, refs)

    def _of_node(self, node: Node, refs: Sequence[Ref]) -> Live:
        lives = [self._of_ref(ref) for ref in refs]
        if node.op in MERGES and len(lives) == 2:
            # Predicates common to both branches also hold after them.
            return lives[0] & lives[1]
        result: Live = frozenset().union(*(self._live[name] for name in node.control))
        for live in lives:
            result = live if result <= live else result | live
        return result


def _known(b: BlockBuilder, predicate: Value) -> bool | None:
    array = b.known(predicate) if isinstance(predicate, SSAValue) else None
    return None if array is None or array.size != 1 else bool(array.reshape(()))


def choose(b: BlockBuilder, predicate: SSAValue, on_true: Value, on_false: Value) -> Value:
    """Select one of two values by a scalar predicate."""
    if isinstance(on_true, TensorList) and isinstance(on_false, TensorList):
        one, other = on_true.narrowed(on_false.dims), on_false.narrowed(on_true.dims)
        if one.count != other.count:
            refuse("lists of different length come together")
        stack = choose(b, predicate, one.filled(b), other.filled(b))
        assert isinstance(stack, SSAValue)
        return TensorList(one.element_type, one.dims, one.count, stack)
    if not isinstance(on_true, SSAValue) or not isinstance(on_false, SSAValue):
        if on_true == on_false:
            return on_true
        refuse("a merged value is not a tensor")
    if on_true.type != on_false.type:
        refuse(f"{on_true.type} and {on_false.type} come together: they must have one shape")
    everywhere = broadcast_to(b, b.reshape(predicate, ()), shape(on_true))
    return b.select(everywhere, on_true, on_false)
