"""Computations that loops, branches and calls run: they read their parameter alone."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.differential.second.draw import Draw, Value
from tests.differential.second.inputs import draw_array
from tests.differential.second.program import Instr, Shape, literal

_LITERAL = 120
"""The most elements of a constant that is written element by element."""


class Inner(Draw):
    """A computation in the making, with a parameter whose leaves are its first values.

    Its new operands are constants instead of parameters, or scalars of its own as starts.
    """

    def __init__(self, outer: Draw, leaves: Sequence[Value]) -> None:
        super().__init__(outer.choices, outer.seed)
        self.outer = outer
        self.depth: int = getattr(outer, "depth", 0) + 1
        shapes = tuple(v.shape for v in leaves)
        name = self.fresh("t")
        self.instrs.append(Instr(name, "parameter", shapes, literal="0"))
        self.leaves_of_parameter: list[Value] = []
        for i, leaf in enumerate(leaves):
            value = replace(leaf, name=name, signed=False)
            if len(shapes) > 1:
                value = replace(value, name=self.fresh("v"))
                index = f", index={i}"
                self.instrs.append(
                    Instr(value.name, "get-tuple-element", (leaf.shape,), (name,), index)
                )
            self.values.append(value)
            self.leaves_of_parameter.append(value)

    def fresh(self, stem: str) -> str:
        """A name that nothing in the whole program has."""
        return self.outer.fresh(stem)

    def parameter(self, shape: Shape, domain: str = "") -> Value:
        """A value of this computation where one fits a start, else a constant."""
        if domain.startswith("index:"):
            fit = [v for v in self.values if v.shape == shape]
            if fit and not self.chance(3):
                return self.pick(fit)
        if shape.size > _LITERAL or shape.size == 0:
            return self.filled(self.pick((1, 0, 3)), shape)
        rng = np.random.default_rng([self.seed, len(self.instrs), shape.size])
        array = draw_array(rng, shape, domain or "normal")
        name = self.fresh("k")
        self.instrs.append(Instr(name, "constant", (shape,), literal=literal(array)))
        value = Value(name, shape)
        self.values.append(value)
        return value

    def texts(self, name: str, roots: Sequence[Value]) -> list[str]:
        """The computations that this one calls, then itself under `name`, with `roots` as its
        results."""
        called: list[str] = []
        for instr in self.instrs:
            called += [text for text in instr.computations if text not in called]
        shapes = tuple(v.shape for v in roots)
        opcode = "tuple" if len(roots) > 1 else "copy"
        root = Instr(self.fresh("r"), opcode, shapes, tuple(v.name for v in roots))
        lines = [f"  {instr.text()}" for instr in self.instrs]
        return [*called, "\n".join([f"{name} {{", *lines, f"  ROOT {root.text()}", "}"])]
