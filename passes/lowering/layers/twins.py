"""Ops of equal layers that see the same around them: what is found out for one holds for all.

What users of a value want is looked for so many ops downstream, which may be in the layers that
follow; what is in the regions of ops does not matter to it. So the layers near the end, which see
what comes after them, are left out; and so is the first, which takes from elsewhere what the others
take from each other.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Operation, SSAValue

from neuronir.passes.lowering.layers.repetition import Repetition

NO_TWINS: Mapping[Operation, Operation] = MappingProxyType({})
"""Of ops none of which is known to be like another."""

_FIRST = 1
"""The layer whose ops stand for those of the layers after it."""


def twins(found: Sequence[Repetition], depth: int) -> dict[Operation, Operation]:
    """Of ops in layers, the op of an earlier layer that is like it, as are all ops up to `depth`
    downstream of both; ops that have none are missing."""
    out: dict[Operation, Operation] = {}
    for layers in found:
        behind = 1 + depth // _shortest(layers, depth)  # layers that users may be in
        for layer in layers.layers[_FIRST + 1 : -behind]:
            out.update(zip(layer, layers.layers[_FIRST], strict=True))
    return out


def _shortest(found: Repetition, most: int) -> int:
    """Ops on the shortest way through a layer, from what it takes to what it hands on; `most` where
    there is none."""
    ways: dict[SSAValue, int] = dict.fromkeys(found.carried[_FIRST - 1], 0)
    for op in found.layers[_FIRST]:
        before = [ways[v] for v in op.operands if v in ways]
        if before:
            ways.update(dict.fromkeys(op.results, min(before) + 1))
    return min((ways[v] for v in found.carried[_FIRST] if v in ways), default=most)
