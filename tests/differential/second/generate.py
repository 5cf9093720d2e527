"""One program for a seed: some instructions of all families, each reading what is there already."""

from collections.abc import Callable, Sequence

from tests.differential.second import (
    control,
    elementwise,
    indexed,
    joins,
    movement,
    nests,
    patterns,
    products,
    reductions,
    special,
)
from tests.differential.second.draw import Draw, Value
from tests.differential.second.program import Program
from tests.differential.shrink import Choices

Op = Callable[[Draw], Value]
FAMILIES: dict[str, Sequence[Op]] = {
    "movement": movement.OPS,
    "elementwise": elementwise.OPS,
    "products": products.OPS,
    "reductions": reductions.OPS,
    "indexed": indexed.OPS,
    "special": special.OPS,
    "control": control.OPS,
    "patterns": patterns.OPS,
}
_WEIGHTS = {
    "movement": 7,
    "elementwise": 7,
    "products": 4,
    "reductions": 4,
    "indexed": 3,
    "patterns": 2,
}
_BAG = [name for name in FAMILIES for _ in range(_WEIGHTS.get(name, 1))]
STEPS = (1, 2, 3, 4, 5, 6, 8)


def build(choices: Choices, seed: int) -> Program:
    """The program that `choices` make; `seed` decides the values of its parameters."""
    draw = Draw(choices, seed)
    for _ in range(draw.pick(STEPS)):
        family = FAMILIES[draw.pick(_BAG)]
        draw.pick(family)(draw)
    return draw.program()


def program(seed: int) -> Program:
    """The program of a seed."""
    return build(Choices(seed=seed), seed)


Build = Callable[[Choices, int], Program]
BUILDS: dict[str, Build] = {
    "all": build,
    "nests": nests.build_nests,
    "conditions": nests.build_conditions,
    "joins": joins.build_joins,
}
"""Kinds of programs: all families; loops, branches and updates in place; the same with loops that
end by conditions on their states; concatenations."""
