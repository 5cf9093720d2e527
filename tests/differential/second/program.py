"""A program as a list of instructions, printed as HLO text; inputs and weights beside it."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_NAMES = {
    "pred": np.bool_,
    "s8": np.int8,
    "s16": np.int16,
    "s32": np.int32,
    "s64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e3m4": ml_dtypes.float8_e3m4,
    "c64": np.complex64,
}
DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(kind) for name, kind in _NAMES.items()}
FLOATS = ("f32", "bf16", "f16", "f8e5m2", "f8e4m3", "f8e4m3fn", "f8e3m4", "f64")
INTEGERS = ("s32", "u32", "s8", "u8", "s16", "u16", "s64", "u64")


@dataclass(frozen=True)
class Shape:
    """An element type by its HLO name, and dimensions."""

    dtype: str
    dims: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dims))}]"

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.dims)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The element type of arrays."""
        return DTYPES[self.dtype]

    @property
    def floating(self) -> bool:
        """Whether the elements are floats."""
        return self.dtype in FLOATS


@dataclass(frozen=True)
class Instr:
    """One instruction of the entry computation.

    `shapes` has one element, or the leaves of a tuple. `rule` says how errors pass through it, and
    `terms` how many elements it combines into one (errors.py).
    """

    name: str
    opcode: str
    shapes: tuple[Shape, ...]
    operands: tuple[str, ...] = ()
    attributes: str = ""
    literal: str = ""
    rule: str = ""
    terms: int = 1
    computations: tuple[str, ...] = ()

    @property
    def shape(self) -> Shape:
        """The shape of an instruction that is no tuple."""
        (shape,) = self.shapes
        return shape

    def text(self) -> str:
        """The instruction as a line of HLO text."""
        shown = str(self.shapes[0])
        if len(self.shapes) > 1:
            shown = f"({', '.join(map(str, self.shapes))})"
        inside = self.literal or ", ".join(self.operands)
        return f"{self.name} = {shown} {self.opcode}({inside}){self.attributes}"


@dataclass
class Program:
    """Instructions in order, the results, and the values of parameters by name.

    `exact` are the values that every correct execution computes bit for bit, `unsigned` those among
    them whose zeros have no defined sign. `bound` are parameters given as weights.
    """

    instrs: list[Instr]
    roots: list[str]
    inputs: dict[str, Array]
    exact: set[str] = field(default_factory=set)
    unsigned: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters, by number."""
        return [i.name for i in self.instrs if i.opcode == "parameter"]

    def arguments(self) -> list[Array]:
        """The values of all parameters."""
        return [self.inputs[name] for name in self.parameters]

    def weights(self) -> dict[str, Array]:
        """The bound parameters, named as the driver wants them."""
        return {
            f"arg{i}": self.inputs[name]
            for i, name in enumerate(self.parameters)
            if name in self.bound
        }

    def text(self, roots: Sequence[str] | None = None, extra: Iterable[Instr] = ()) -> str:
        """HLO text; `roots` in place of the program's own, `extra` instructions at the end."""
        instrs = [*self.instrs, *extra]
        shapes = {i.name: i.shapes for i in instrs}
        found: list[str] = []
        for instr in instrs:
            found += [c for c in instr.computations if c not in found]
        lines = ["HloModule second", ""]
        for text in found:
            lines += [text, ""]
        lines.append("ENTRY main {")
        number = 0
        for instr in instrs:
            if instr.opcode == "parameter":
                instr = replace(instr, literal=str(number))
                number += 1
            lines.append(f"  {instr.text()}")
        chosen = self.roots if roots is None else roots
        types = ", ".join(str(shapes[name][0]) for name in chosen)
        lines += [f"  ROOT result = ({types}) tuple({', '.join(chosen)})", "}", ""]
        return "\n".join(lines)

    def live(self) -> "Program":
        """The program without what its results do not need."""
        wanted = set(self.roots)
        for instr in reversed(self.instrs):
            if instr.name in wanted:
                wanted.update(instr.operands)
        kept = [i for i in self.instrs if i.name in wanted]
        inputs = {n: a for n, a in self.inputs.items() if n in wanted}
        return replace(self, instrs=kept, inputs=inputs, bound=self.bound & wanted)


def array_of(text: str, shape: Shape) -> Array:
    """The array that `literal` wrote."""
    for ours, theirs in (("{", "["), ("}", "]"), ("nan", "NaN"), ("inf", "Infinity")):
        text = text.replace(ours, theirs)
    listed = json.loads(text)
    # numpy takes a list with numbers on both sides of 2^63 for floats.
    found = np.array(listed, object if shape.numpy == np.uint64 else None)
    return found.astype(shape.numpy).reshape(shape.dims)


def literal(array: Array) -> str:
    """An array as an HLO literal."""
    if array.ndim == 0:
        if array.dtype == np.bool_:
            return "true" if array else "false"
        if array.dtype.kind in "iu":
            return str(int(array))
        value = float(array)
        return "nan" if np.isnan(value) else repr(value)
    return "{" + ", ".join(literal(np.asarray(part)) for part in array) + "}"
