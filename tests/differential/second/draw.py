"""Choices of a program: element types, dimensions, operands; instructions are added here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tests.differential.second.inputs import draw_array
from tests.differential.second.program import Array, Instr, Program, Shape, literal
from tests.differential.shrink import Choices

T = TypeVar("T")

EDGES = (1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 63, 64, 65, 127, 128, 129, 511, 512, 513)
LONG = (*EDGES, 2047, 2048, 2049)
USUAL = tuple("f32 f32 f32 bf16 s32 f16 pred u8 s8 u32 s16 u16 f8e5m2 f8e4m3".split())
RARE = ("f8e4m3fn", "f8e3m4", "s64", "u64", "f64")
BUDGET = 24_000


@dataclass(frozen=True)
class Value:
    """A value that later instructions may read.

    `exact`: every correct execution computes these bits. `wild`: may hold NaN, infinities or
    numbers near the largest; `tiny`: may hold subnormals, which XLA's CPU backend flushes;
    `signed`: the sign of its zeros is defined.
    """

    name: str
    shape: Shape
    exact: bool = True
    wild: bool = False
    tiny: bool = False
    signed: bool = True

    @property
    def dtype(self) -> str:
        """The element type."""
        return self.shape.dtype

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.shape.dims

    @property
    def tame(self) -> bool:
        """Whether it holds ordinary numbers alone."""
        return not (self.wild or self.tiny)


class Draw:
    """A program in the making. The first of several options is always the simplest one."""

    def __init__(self, choices: Choices, seed: int) -> None:
        self.choices = choices
        self.seed = seed
        self.instrs: list[Instr] = []
        self.values: list[Value] = []
        self.inputs: dict[str, Array] = {}
        self.bound: set[str] = set()
        self._number = 0

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`."""
        found: T = self.choices(options)
        return found

    def chance(self, one_in: int) -> bool:
        """True once in `one_in` times."""
        return self.pick([False] * (one_in - 1) + [True])

    def among(self, low: int, high: int) -> int:
        """A number from `low` to `high`."""
        return self.pick(range(low, high + 1))

    def fresh(self, stem: str) -> str:
        """A name that no other value or computation has."""
        self._number += 1
        return f"{stem}{self._number}"

    def dims(self, rank: int, budget: int = BUDGET, sizes: Sequence[int] = LONG) -> tuple[int, ...]:
        """Dimensions whose product is within `budget`; once in a while one of them is 0."""
        found: list[int] = []
        left = budget
        for _ in range(rank):
            # Small sizes as often as those at the edges: most programs stay quick to compile.
            some = EDGES[:8] if self.pick([True, False]) else sizes
            size = self.pick([n for n in some if n <= left] or [1])
            found.append(size)
            left = max(left // size, 1)
        if rank and self.chance(150):
            found[self.among(0, rank - 1)] = 0
        turn = self.among(0, rank - 1) if rank else 0
        return tuple(found[turn:] + found[:turn])

    def rank(self, least: int = 0, most: int = 4) -> int:
        """A rank; two and three are the most frequent."""
        usual = [r for r in (2, 1, 3, 2, 3, 4, 0, 5) if least <= r <= most]
        return self.pick(usual or [least])

    def dtype(self, among: Sequence[str] = USUAL) -> str:
        """An element type; where all are allowed, a rare one once in a while."""
        if among is USUAL and self.chance(40):
            return self.pick(RARE)
        return self.pick(among)

    def permutation(self, count: int) -> tuple[int, ...]:
        """An order of `count` things; the first choice is the identity."""
        left = list(range(count))
        return tuple(left.pop(self.among(0, len(left) - 1)) for _ in range(count))

    def add(
        self,
        opcode: str,
        shape: Shape,
        operands: Sequence[Value] = (),
        attributes: str = "",
        *,
        rule: str = "",
        terms: int = 1,
        exact: bool | None = None,
        signed: bool = True,
        wild: bool | None = None,
        tiny: bool | None = None,
        computations: Sequence[str] = (),
    ) -> Value:
        """Append an instruction; what is not said of its value follows from the operands."""
        name = self.fresh("v")
        self.instrs.append(
            Instr(
                name,
                opcode,
                (shape,),
                tuple(v.name for v in operands),
                attributes,
                rule=rule,
                terms=terms,
                computations=tuple(computations),
            )
        )
        whole = not shape.floating and shape.dtype != "c64"
        same = all(v.exact for v in operands) if exact is None else exact
        value = Value(
            name,
            shape,
            same or whole,
            any(v.wild for v in operands) if wild is None else wild,
            any(v.tiny for v in operands) if tiny is None else tiny,
            signed and all(v.signed for v in operands),
        )
        self.values.append(value)
        return value

    def leaves(
        self,
        opcode: str,
        shapes: Sequence[Shape],
        operands: Sequence[Value],
        attributes: str = "",
        *,
        exact: bool = True,
        computations: Sequence[str] = (),
        packed: bool = False,
    ) -> list[Value]:
        """Append an instruction that makes a tuple, and the extraction of each leaf; `packed`:
        it takes its operands as one tuple."""
        name = self.fresh("t")
        names = tuple(v.name for v in operands)
        if packed:
            inside = self.fresh("t")
            self.instrs.append(Instr(inside, "tuple", tuple(v.shape for v in operands), names))
            names = (inside,)
        self.instrs.append(
            Instr(name, opcode, tuple(shapes), names, attributes, computations=tuple(computations))
        )
        exact = exact and all(v.exact for v in operands)
        found = []
        for i, shape in enumerate(shapes):
            leaf = self.fresh("v")
            self.instrs.append(
                Instr(leaf, "get-tuple-element", (shape,), (name,), f", index={i}", rule="move")
            )
            wild = any(v.wild for v in operands)
            tiny = any(v.tiny for v in operands)
            value = Value(leaf, shape, exact or not shape.floating, wild, tiny, False)
            self.values.append(value)
            found.append(value)
        return found

    def parameter(self, shape: Shape, domain: str = "") -> Value:
        """A parameter with values of a domain (inputs.py), drawn where none is named."""
        if not domain:
            domain = self.pick(("normal", "normal", "small", "wide", "special"))
        name = self.fresh("p")
        array = draw_array(np.random.default_rng([self.seed, len(self.inputs)]), shape, domain)
        wild, tiny = domain == "special" and shape.floating, domain == "subnormal"
        # A constant of a few elements in the text instead, once in a while.
        if shape.size <= 300 and shape.dtype != "c64" and not tiny and self.chance(8):
            text = literal(array)
            self.instrs.append(Instr(name, "constant", (shape,), literal=text))
        else:
            self.instrs.append(Instr(name, "parameter", (shape,)))
            self.inputs[name] = array
            if self.chance(4):
                self.bound.add(name)
        value = Value(name, shape, wild=wild, tiny=tiny)
        self.values.append(value)
        return value

    def constant(self, array: Array, dtype: str) -> Value:
        """A constant."""
        shape = Shape(dtype, array.shape)
        name = self.fresh("k")
        self.instrs.append(Instr(name, "constant", (shape,), literal=literal(array)))
        return Value(name, shape)

    def old(
        self,
        dtypes: Sequence[str],
        least: int = 0,
        most: int = 5,
        *,
        tame: bool = False,
        exact: bool = False,
        tiny: bool = False,
        size: int = BUDGET,
    ) -> Value | None:
        """A value that is there already, often; the newer the likelier."""
        fit = [
            v
            for v in self.values
            if v.dtype in dtypes
            and least <= len(v.dims) <= most
            and (v.tame or not tame)
            and (v.exact or not exact)
            and (tiny or not v.tiny)
            and v.shape.size <= size
        ]
        if not fit or self.chance(4):
            return None
        newest = fit[::-1]
        return self.pick(newest[:2] + newest[:6])

    def operand(
        self,
        dtypes: Sequence[str] = USUAL,
        least: int = 0,
        most: int = 4,
        *,
        tame: bool = False,
        exact: bool = False,
        tiny: bool = False,
        size: int = BUDGET,
        domain: str = "",
    ) -> Value:
        """An operand of any shape: a value that is there, or a parameter."""
        found = self.old(dtypes, least, most, tame=tame, exact=exact, tiny=tiny, size=size)
        if found is not None:
            return found
        shape = Shape(self.dtype(dtypes), self.dims(self.rank(least, most), size))
        domain = domain or (self.pick(("normal", "small", "wide")) if tame else "")
        if tiny and not domain and shape.dtype == "f32" and self.chance(12):
            domain = "subnormal"
        return self.parameter(shape, domain)

    def like(
        self, shape: Shape, *, tame: bool = False, exact: bool = False, domain: str = ""
    ) -> Value:
        """An operand of exactly this shape: there already, a broadcast, or a parameter."""
        fit = [
            v
            for v in self.values
            if v.shape == shape and (v.tame or not tame) and (v.exact or not exact) and not v.tiny
        ]
        if fit and not domain and self.pick([True, False, False]):
            return self.pick(fit[::-1])
        domain = domain or (self.pick(("normal", "small", "wide")) if tame else "")
        if not shape.dims or self.pick([True, True, False]):
            return self.parameter(shape, domain)
        kept = [i for i in range(len(shape.dims)) if self.pick([False, True])]
        small = self.parameter(Shape(shape.dtype, tuple(shape.dims[i] for i in kept)), domain)
        return self.broadcast(small, shape, kept)

    def broadcast(self, value: Value, shape: Shape, kept: Sequence[int]) -> Value:
        """Repeat `value`, whose dimension i becomes dimension `kept[i]`."""
        inside = ",".join(map(str, kept))
        return self.add("broadcast", shape, [value], f", dimensions={{{inside}}}", rule="move")

    def filled(self, number: float, shape: Shape) -> Value:
        """A constant repeated to a shape."""
        scalar = self.constant(np.asarray(number).astype(shape.numpy), shape.dtype)
        return self.broadcast(scalar, shape, ()) if shape.dims else scalar

    def program(self) -> Program:
        """The program so far; its results are the values that nothing reads, or some of them."""
        read = {name for instr in self.instrs for name in instr.operands}
        made = {i.name for i in self.instrs if i.opcode not in ("parameter", "constant")}
        ends = [v for v in self.values if v.name in made and v.name not in read]
        inner = [v for v in self.values if v.name in made and v.name in read]
        roots = [v.name for v in ends[-4:]]
        if inner and self.chance(3):
            roots.append(self.pick(inner).name)
        return Program(
            self.instrs,
            roots,
            self.inputs,
            {v.name for v in self.values if v.exact},
            {v.name for v in self.values if not v.signed} | self._transposed(),
            self.bound,
        ).live()

    def _transposed(self) -> set[str]:
        """What is computed from arguments that products take: the tensor engine may transpose them,
        which loses the signs of zeros (docs/numerics.md)."""
        taken: set[str] = set()
        for instr in reversed(self.instrs):
            if instr.opcode in ("dot", "convolution") or instr.name in taken:
                taken.update(instr.operands)
        found: set[str] = set()
        for instr in self.instrs:
            argument = instr.opcode == "parameter" and instr.name in taken
            if argument or not found.isdisjoint(instr.operands):
                found.add(instr.name)
        return found


def braces(numbers: Sequence[int]) -> str:
    """`{1,2}`, as attributes print lists."""
    return "{" + ",".join(map(str, numbers)) + "}"


def product(numbers: Sequence[int]) -> int:
    """The product of dimensions."""
    return math.prod(numbers)
