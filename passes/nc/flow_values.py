"""Describe the flow of values through a program: numbered computations, operands and steps."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from neuronir.dialects.nc.footprint import Shape
from neuronir.dialects.nc.instruction import AccessPattern
from neuronir.passes.nc.flow_contents import Painter
from neuronir.passes.nc.flow_memory import FlowMemory
from neuronir.passes.nc.listing import Node

COUNTS = "trip counts of loops"
"""The name of the loaded trip counts among the outputs of a flow."""
Key = tuple[int, ...]


_FORMS = 1 << 17
"""Limit of the numbered forms of access patterns; the memo keeps the patterns alive."""


@dataclass(slots=True)
class Names:
    """Numbers for what instructions compute, whatever they read; valid for any programs."""

    painter: Painter = field(default_factory=Painter)
    signatures: dict[tuple[object, ...], int] = field(default_factory=dict)
    forms: dict[int, tuple[AccessPattern, int]] = field(default_factory=dict)
    """By identity of the pattern: the pattern, and the number of what is not its address."""

    def signature(self, what: tuple[object, ...]) -> int:
        """Return a number for the computation of an instruction, or for a source of values."""
        return self.signatures.setdefault(what, len(self.signatures))

    def form(self, p: AccessPattern) -> int:
        """Return a number for everything about an access but its address."""
        found = self.forms.get(id(p))
        if found is None:
            if len(self.forms) >= _FORMS:
                self.forms.clear()
            what = ("form", p.space, p.dtype, p.start, p.partitions, p.free, p.partition_stride)
            found = self.forms[id(p)] = (p, self.signature(what))
        return found[1]


@dataclass(slots=True)
class Values:
    """Numbers for computations and their results, equal for equal ones of the compared programs."""

    names: Names = field(default_factory=Names)
    instructions: dict[Key, int] = field(default_factory=dict)
    gaps: dict[int, dict[int, dict[int, None]]] = field(default_factory=dict)
    """By signature and source: the areas that were unwritten when they were read."""

    def value(self, key: Key) -> int:
        """Return a number for an instruction and its operands."""
        return self.instructions.setdefault(key, len(self.instructions))


@dataclass(frozen=True, slots=True)
class Cut:
    """A loop of which only some iterations are visited.

    These are the iterations before `first`, and from `first + left_out` on. Each iteration covers
    `step` iterations of the original loop.
    """

    first: int
    left_out: int
    step: int = 1


@dataclass(slots=True)
class Flow:
    """The computation of a program: the final contents of its outputs by name, and the trip counts
    that it loaded (COUNTS).

    `stranger` is the first instruction that computes a value the other program did not compute.
    """

    outputs: dict[str, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    stranger: Node | None = None
    instances: int = 0


@dataclass(slots=True)
class Place:
    """An operand: its memory, and its region there (by number if it is fixed)."""

    memory: FlowMemory | None  # None if nothing ever writes it
    source: int  # in that case, the variable
    number: int
    start: int
    stop: int
    shape: Shape
    const: int
    terms: tuple[tuple[int, int], ...]
    near: "Place | None" = None  # with registers: the same place relative to their values
    registers: tuple[tuple[int, int], ...] = ()  # (symbol, coefficient)
    numbers: dict[int, int] = field(default_factory=dict)  # of regions, by address


@dataclass(slots=True)
class Step:
    """An instruction, prepared for repeated visits."""

    node: Node
    signature: int
    shift: Mapping[int, int]  # iterations by which it works ahead, by symbol
    reads: list[Place]
    writes: list[Place]
    registers: tuple[tuple[int, int, int], ...]  # (operand, symbol, coefficient)
    result: int  # the symbol of the register that it loads, else -1
    kind: int = 0
    rows: dict[int, tuple[tuple[int, int, int, int], ...]] = field(default_factory=dict)
    """For a load of an input, the rows that it reads, by address."""
