"""Find ops of equal layers with equal surroundings, so that analyses can be reused.

The users of a value are examined for some ops downstream, which may be in the following layers; the
contents of regions do not matter. The last layers, which see the end of the program, are therefore
excluded. The first layer is excluded too, because its inputs do not come from a layer.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from xdsl.ir import Operation, SSAValue

from neuronir.passes.lowering.layers.repetition import Repetition

NO_TWINS: Mapping[Operation, Operation] = MappingProxyType({})
"""The map without twins."""

_FIRST = 1
"""The layer whose ops represent those of the following layers."""


def twins(found: Sequence[Repetition], depth: int) -> dict[Operation, Operation]:
    """Map ops in layers to an equal op of an earlier layer.

    All ops up to `depth` downstream of both are equal, too. Ops without such an op are missing.
    """
    out: dict[Operation, Operation] = {}
    for layers in found:
        behind = 1 + depth // _shortest(layers, depth)  # layers that may contain users
        for layer in layers.layers[_FIRST + 1 : -behind]:
            out.update(zip(layer, layers.layers[_FIRST], strict=True))
    return out


def _shortest(found: Repetition, most: int) -> int:
    """Return the number of ops on the shortest path through a layer; `most` if there is none."""
    ways: dict[SSAValue, int] = dict.fromkeys(found.carried[_FIRST - 1], 0)
    for op in found.layers[_FIRST]:
        before = [ways[v] for v in op.operands if v in ways]
        if before:
            ways.update(dict.fromkeys(op.results, min(before) + 1))
    return min((ways[v] for v in found.carried[_FIRST] if v in ways), default=most)
