"""Find the repeated layers of a program: equal parts of a block, each of which feeds the next.

Only structure counts, never names. Ops are numbered by their behaviour (properties, types,
regions). The distance at which these numbers repeat is the length of a layer, and layers are split
where the fewest values cross. The layers are then compared op by op through their operands, from
the last layer backwards, so that ops in between do not matter. Constants, parameters, and views of
them belong to their readers; layers may differ in these values.
"""

from collections import Counter, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from neuronir.passes.lowering.layouts.types import is_empty

LEAVES = frozenset(
    f"hlo.{name}" for name in "constant iota broadcast reshape transpose slice".split()
)
"""Constants and parameters, and views of them."""

_IGNORED = ("metadata", "hlo.name", "sharding", "frontend_attributes", "backend_config")
"""Attributes that record where an op came from, not what it does."""

_PERIODS = 6  # candidate distances: those at which most ops repeat
_ALIKE = 8  # limit of equal ops in a layer (such as those of strands) for an op to count
_CUTS = 8
_SHORTEST = 4  # limit of ops of a layer
LEAST_LAYERS = 3


@dataclass(frozen=True, eq=False)
class Repetition:
    """Layers: the ops of each, and the values that it passes to the next, both in one order.

    `inputs` are the corresponding values for the first layer. `outside` are values that every layer
    reads. `leaves` maps (op, operand number) of operands from constants or parameters to the value
    in each layer.
    """

    layers: list[list[Operation]]
    carried: list[list[SSAValue]]
    inputs: list[SSAValue]
    outside: list[SSAValue]
    leaves: dict[tuple[int, int], list[SSAValue]]

    def rest(self) -> "Repetition | None":
        """Return all layers but the first; None if too few remain."""
        if len(self.layers) <= LEAST_LAYERS:
            return None
        leaves = {slot: values[1:] for slot, values in self.leaves.items()}
        inputs = self.carried[0]
        return Repetition(self.layers[1:], self.carried[1:], inputs, self.outside, leaves)

    @cached_property
    def last(self) -> Operation:
        """Return the op after which all layers are complete."""
        block = self.layers[-1][0].parent
        assert block is not None
        mine = set(self.layers[-1])
        return next(op for op in reversed(list(block.ops)) if op in mine)


class _Numbers:
    """Numbers equal ops, while the ops do not change.

    With `outside`, the contents of their regions do not matter.
    """

    def __init__(self, outside: bool = False) -> None:
        self.outside = outside
        self.keys: dict[Hashable, int] = {}
        self.known: dict[Hashable, int] = {}  # by identity of attributes: most are shared

    def number(self, key: Hashable) -> int:
        return self.keys.setdefault(key, len(self.keys))

    def type(self, type_: Attribute) -> int:
        known = self.known.get(id(type_))
        if known is None:
            known = self.known[id(type_)] = self.number(type_)
        return known

    def of(self, op: Operation) -> int:
        """Return the number of an op of the block, ignoring its operands."""
        if self.outside or not op.regions:
            return self._what(op)
        regions = [self._inside(block, {}) for region in op.regions for block in region.blocks]
        if None in regions:  # it reads values around it, so it equals no other op
            return self.number(("alone", id(op)))
        return self.number((self._what(op), *regions))

    def _what(self, op: Operation) -> int:
        """Return a number for the behaviour of an op, ignoring its operands and regions."""
        given, types = op.properties, [r.type for r in op.results]
        if op.attributes:
            marks = {k: v for k, v in op.attributes.items() if k not in _IGNORED}
            given = {**given, **marks} if marks else given
        counts = len(op._operands), len(types)
        same = (op.name, *counts, *given, *map(id, given.values()), *map(id, types))
        known = self.known.get(same)
        if known is None:
            key = (op.name, *counts, *sorted(given.items(), key=lambda item: item[0]), *types)
            known = self.known[same] = self.number(key)
        return known

    def _inside(self, block: Block, names: dict[SSAValue, int]) -> int | None:
        """Return the number of a block with its contents; None if it reads values around it."""
        for argument in block.args:
            names[argument] = len(names)
        out: list[Hashable] = [tuple([self.type(a.type) for a in block.args])]
        for op in block.ops:
            operands = [names.get(v) for v in op._operands]
            if None in operands:
                return None
            out.append(self._what(op))
            out += operands
            for region in op.regions:
                inner = [self._inside(b, names) for b in region.blocks]
                if None in inner:
                    return None
                out.append(tuple(inner))
            for result in op.results:
                names[result] = len(names)
        return self.number(tuple(out))


class _Finder:
    def __init__(self, block: Block, outside: bool) -> None:
        self.numbers = _Numbers(outside)
        self.leaf: dict[SSAValue, int] = {
            arg: self.numbers.number(("parameter", self.numbers.type(arg.type)))
            for arg in block.args
        }
        self.ops: list[Operation] = []
        tokens: list[int] = []
        self.position = {op: i for i, op in enumerate(block.ops)}
        for op in block.ops:
            if op is block.last_op:
                break
            if not self._is_leaf(op):
                self.ops.append(op)
                tokens.append(self.numbers.of(op))
        self.tokens = np.array(tokens, np.int64)
        self.token = dict(zip(self.ops, tokens, strict=True))
        self.place = {op: i for i, op in enumerate(self.ops)}

    def _is_leaf(self, op: Operation) -> bool:
        if op.name not in LEAVES or any(v not in self.leaf for v in op._operands):
            return False
        if op.name == "hlo.constant":
            key: Hashable = ("constant", self.numbers.type(op.results[0].type))
        else:
            key = (self.numbers.of(op), tuple([self.leaf[v] for v in op._operands]))
        self.leaf[op.results[0]] = self.numbers.number(key)
        return True

    def find(self, low: int, high: int) -> list[Repetition]:
        """Return the repetitions among the ops low to high, the longest first."""
        for period, first, end in self._runs(low, high):
            found = self._best(period, first, end)
            if found is not None:
                places = [self.place[op] for layer in found.layers for op in layer]
                before, after = min(places), max(places) + 1
                return [*self.find(low, before), found, *self.find(after, high)]
        return []

    def _runs(self, low: int, high: int) -> list[tuple[int, int, int]]:
        """Return (period, first op, end) of repeating ranges, the longest first."""
        tokens = self.tokens[low:high]
        places: dict[int, deque[int]] = {}
        distances: Counter[int] = Counter()
        for i, token in enumerate(tokens.tolist()):
            earlier = places.setdefault(token, deque(maxlen=_ALIKE))
            for place in earlier:
                distances[i - place] += 1
            earlier.append(i)
        out: list[tuple[int, int, int]] = []
        likely = [d for d, _ in distances.most_common(_PERIODS) if d >= _SHORTEST]
        for period in likely:
            equal = np.concatenate(([False], tokens[:-period] == tokens[period:], [False]))
            edges = np.flatnonzero(equal[1:] != equal[:-1])
            begins, ends = edges[::2], edges[1::2]
            longest = int(np.argmax(ends - begins)) if begins.size else -1
            if longest >= 0 and ends[longest] - begins[longest] >= period:
                first, end = int(begins[longest]), int(ends[longest]) + period
                out.append((period, low + first, low + end))
        return sorted(out, key=lambda r: (-(r[2] - r[1] - r[0]), r[0]))

    def _best(self, period: int, first: int, end: int) -> Repetition | None:
        """Return the layers of a range, split where the fewest values cross."""
        cuts = [c for c in range(end - period + 1, end + 1) if c - 2 * period >= first]
        crossing = {c: self._crossing(c - period, period) for c in cuts}
        counts = Counter(self.tokens.tolist())
        layer = Counter(self.tokens[end - period : end].tolist())
        most = min(counts[token] // n for token, n in layer.items())  # each has its own ops
        best: Repetition | None = None
        ranked = sorted((c for c in cuts if crossing[c]), key=lambda c: (len(crossing[c]), -c))
        for cut in ranked[:_CUTS]:
            if best is not None:
                if len(best.layers) == most or len(crossing[cut]) > len(best.inputs):
                    break
            found = self._layers(cut, period, crossing[cut])
            if found is not None and (best is None or len(found.layers) > len(best.layers)):
                best = found
        return best

    def _crossing(self, cut: int, period: int) -> list[SSAValue]:
        """Return the results of the layer ending at `cut` that the next one reads."""
        return [
            value
            for op in self.ops[cut - period : cut]
            for value in op.results
            if any(cut <= self.place.get(u.operation, -1) < cut + period for u in value.uses)
        ]

    def _layers(self, end: int, period: int, inputs: list[SSAValue]) -> Repetition | None:
        """Return the layers, the last of which ends at `end` and reads `inputs` from the previous
        one.
        """
        last = self.ops[end - period : end]
        outputs: list[SSAValue] = []
        for value in inputs:
            assert isinstance(value, OpResult)
            outputs.append(self.ops[self.place[value.op] + period].results[value.index])
        matched = [_Match(self, last, inputs, inputs, outputs, outputs)]
        if not matched[0].run():
            return None
        taken = set(last)
        while True:
            match = _Match(self, last, inputs, [], outputs, matched[0].inputs)
            if not match.run() or taken & match.set:
                break
            taken |= match.set
            matched.insert(0, match)
        return self._checked(matched)

    def _checked(self, matched: list["_Match"]) -> Repetition | None:
        """Return the layers whose results are only read by the next one, or after the last one."""
        if matched and not self._closed(matched[-1], None):
            matched = matched[:-1]
        for i in range(len(matched) - 2, -1, -1):
            if not self._closed(matched[i], matched[i + 1]):
                matched = matched[i + 1 :]
                break
        if len(matched) < LEAST_LAYERS:
            return None
        if not self._closed(matched[-1], None):
            return None
        leaves = {slot: [m.leaves[slot] for m in matched] for slot in matched[-1].leaves}
        return Repetition(
            [m.ops for m in matched],
            [m.outputs for m in matched],
            matched[0].inputs,
            list(matched[-1].outside),
            leaves,
        )

    def _closed(self, match: "_Match", following: "_Match | None") -> bool:
        """Return whether only a layer itself and the next one read its results."""
        mine, handed = match.set, set(match.outputs)
        end = max(self.position[op] for op in match.ops)
        for op in match.ops:
            for value in op.results:
                for use in value.uses:
                    user = use.operation
                    if user in mine:
                        continue
                    if value not in handed:
                        return False
                    if following is not None and user not in following.set:
                        return False
                    if following is None and self.position.get(user, end) < end:
                        return False
        return True


class _Match:
    """Compares a layer with the last one, from its results back to its inputs.

    `own` are the inputs if they are already known.
    """

    def __init__(
        self,
        finder: _Finder,
        last: Sequence[Operation],
        inputs: Sequence[SSAValue],
        own: Sequence[SSAValue],
        outputs: Sequence[SSAValue],
        own_outputs: Sequence[SSAValue],
    ) -> None:
        self.finder = finder
        self.last = last
        self.number = {op: i for i, op in enumerate(last)}
        self.slot = {value: i for i, value in enumerate(inputs)}
        self.taken: list[SSAValue | None] = list(own) or [None] * len(inputs)
        self.pairs = list(zip(outputs, own_outputs, strict=True))
        self.outputs = list(own_outputs)
        self.found: dict[Operation, Operation] = {}
        self.leaves: dict[tuple[int, int], SSAValue] = {}
        self.outside: dict[SSAValue, None] = {}

    @cached_property
    def ops(self) -> list[Operation]:
        """Return the ops of the layer, in the order of the last layer's ops."""
        return [self.found[op] for op in self.last]

    @cached_property
    def set(self) -> set[Operation]:
        """Return the ops of the layer."""
        return set(self.ops)

    @property
    def inputs(self) -> list[SSAValue]:
        """Return the inputs of the layer."""
        return [v for v in self.taken if v is not None]

    def run(self) -> bool:
        """Return whether the layer equals the last one."""
        waiting = list(self.pairs)
        number, token = self.number, self.finder.token
        while waiting:
            theirs, mine = waiting.pop()
            if not isinstance(theirs, OpResult) or not isinstance(mine, OpResult):
                return False
            op, copy = theirs.op, mine.op
            if op not in number or theirs.index != mine.index:
                return False
            known = self.found.get(op)
            if known is not None:
                if known is not copy:
                    return False
                continue
            if token.get(copy) != token[op]:
                return False
            self.found[op] = copy
            for slot, (a, b) in enumerate(zip(op._operands, copy._operands, strict=True)):
                if isinstance(a, OpResult) and a.op in number:
                    waiting.append((a, b))
                elif not self._border(number[op], slot, a, b):
                    return False
        full = len(self.found) == len(self.last) == len(set(self.found.values()))
        return full and None not in self.taken

    def _border(self, number: int, slot: int, a: SSAValue, b: SSAValue) -> bool:
        """Handle an operand from outside the layer."""
        if a in self.slot:
            taken = self.taken[self.slot[a]]
            if taken is None:
                taken = self.taken[self.slot[a]] = b
            return taken is b and a.type == b.type
        leaf = self.finder.leaf
        if a in leaf:
            self.leaves[number, slot] = b
            return leaf.get(b) == leaf[a]
        self.outside[a] = None
        return a is b


def find_repetitions(block: Block, outside: bool = False) -> list[Repetition]:
    """Return the repeated layers of a block, in block order; each is repeated at least three times.

    With `outside`, the regions of their ops may differ. Layers that pass on arrays without elements
    are excluded, because there is nothing to compute.
    """
    finder = _Finder(block, outside)
    found = finder.find(0, len(finder.ops))
    return [r for r in found if not any(map(is_empty, (*r.inputs, *r.outside, *r.carried[0])))]
