"""Shorten a block by the middle layers of its repetitions, which equal their neighbours.

This speeds up analyses that visit ops in program order, such as memory estimates.
"""

from collections.abc import Sequence

from xdsl.ir import Block, Operation, SSAValue

from neuronir.passes.lowering.layers.repetition import LEAVES, Repetition


def shortened(
    block: Block, found: Sequence[Repetition]
) -> tuple[list[Operation], dict[SSAValue, SSAValue]]:
    """Return the ops of a block with only the first, second and last layers, and a value map.

    The map replaces the last layer's inputs from the previous layer by those from the second.
    Layers that are mixed with other ops, or ordered differently, are left as they are.
    """
    ops = [op for op in block.ops if op is not block.last_op]
    place = {op: i for i, op in enumerate(ops)}
    gone: set[Operation] = set()
    names: dict[SSAValue, SSAValue] = {}
    for layers in found:
        if _in_a_row(layers.layers[1:-1], ops, place):
            gone.update(op for layer in layers.layers[2:-1] for op in layer)
            names.update(zip(layers.carried[-2], layers.carried[1], strict=True))
    return [op for op in ops if op not in gone] if gone else ops, names


def _in_a_row(
    layers: Sequence[Sequence[Operation]], ops: Sequence[Operation], place: dict[Operation, int]
) -> bool:
    """Return whether only leaves separate the layers, and all have one order."""
    places = [[place[op] for op in layer] for layer in layers]
    first, end = min(places[0]), max(places[-1]) + 1
    mine = {op for layer in layers for op in layer}
    return (
        len({tuple(p - min(mine) for p in mine) for mine in places}) == 1
        and all(max(a) < min(b) for a, b in zip(places, places[1:], strict=False))
        and all(op in mine or op.name in LEAVES for op in ops[first:end])
    )
