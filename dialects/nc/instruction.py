"""The one record of an instruction, which nc ops yield and the decoder yields.

Costs, semantics, footprints, races and the simulator take only these records, never IR.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.support.output import Buffer, Stream

ARGUMENT = 32
"""Symbols below this are loop levels of the function (0 is the outermost), from here on function
arguments (`ARGUMENT + i`), from `REGISTER` on registers of the engine's sequencer."""
REGISTER = 64
MAX_SEMAPHORES = 1 << 16
"""No machine has more semaphores."""
SEMAPHORE_BITS = 32
"""A semaphore counts up from zero and does not wrap around (width assumed)."""
TRANSFER_PARTS = 16
"""A completed transfer adds to its semaphores in so many equal parts, one for each DMA engine."""


@dataclass(frozen=True, slots=True)
class Affine:
    """`const + sum(coefficient * symbol)`; the unit is given by its owner."""

    const: int = 0
    terms: tuple[tuple[int, int], ...] = ()  # (symbol, coefficient)

    def at(self, env: Sequence[int]) -> int:
        """Its value where `env[symbol]` is the value of each symbol."""
        value = self.const
        for symbol, coefficient in self.terms:
            value += coefficient * env[symbol]
        return value

    def __add__(self, other: int) -> "Affine":
        return Affine(self.const + other, self.terms)


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """What an operand touches: a rectangle of partitions by a strided pattern of elements.

    SBUF and PSUM: partitions `start .. start + partitions - 1`; `address` is the byte offset inside
    each partition. HBM: row `p` (of `partitions` rows) begins at byte
    `address + p * partition_stride`, where `address` counts from the start of HBM; `start` is 0.
    `free` lists (stride in elements, size), outermost first, at most four; a stride of 0 repeats.
    """

    space: Space
    dtype: DType
    address: Affine
    start: int
    partitions: int
    free: tuple[tuple[int, int], ...]
    partition_stride: int = 0  # bytes, HBM only

    @property
    def elements(self) -> int:
        """Elements per partition."""
        n = 1
        for _, size in self.free:
            n *= size
        return n

    @property
    def bytes(self) -> int:
        """Bytes over all partitions, repeats counted."""
        return self.elements * self.partitions * self.dtype.size


@dataclass(frozen=True, slots=True)
class Wait:
    """Do not start before semaphore `semaphore` has reached `value`."""

    semaphore: int
    value: Affine


@dataclass(frozen=True, slots=True)
class Update:
    """At completion add `amount` to the semaphore (a DMA adds it in 16 unordered parts)."""

    semaphore: int
    amount: int = 1


@dataclass(slots=True)
class Instruction:
    """One instruction in its place: `opcode` names a row of `opcodes.OPCODES`.

    `dst` and `src` follow the roles of that row; an absent optional operand is None. `params` holds
    the row's parameters by name (ints for enums, floats for immediates). `source` indexes the
    program's source map. The `engine` of a transfer is its DMA queue; `trigger` is the engine that
    starts it, in whose stream it has its place.
    """

    opcode: str
    engine: Engine
    dst: tuple[AccessPattern | None, ...]
    src: tuple[AccessPattern | None, ...]
    params: dict[str, int | float] = field(default_factory=dict)
    waits: tuple[Wait, ...] = ()
    updates: tuple[Update, ...] = ()
    source: int = 0
    trigger: Engine = Engine.SP

    @property
    def stream(self) -> Engine:
        """The engine in whose stream it has its place."""
        return self.trigger if self.engine.is_dma else self.engine


@dataclass(slots=True)
class Loop:
    """`trip_count` rounds of `body`; the round number is the symbol of its nesting level."""

    trip_count: int
    body: list["Item"]


@dataclass(slots=True)
class Call:
    """Run this engine's stream of `function`; argument i becomes symbol ARGUMENT + i there."""

    function: str
    arguments: tuple[Affine, ...]


Item = Instruction | Loop | Call


@dataclass(slots=True)
class Variable:
    """A region of HBM: kind is input, output, constant, scratch or spill.

    `address` and `size` are in bytes from the start of HBM. For inputs and outputs `shape`, `dtype`
    and `strides` (bytes, by logical dimension) say how an array maps to the buffer; `index` is the
    argument or result number and `name` the HLO name. A constant has its bytes in `data`.
    """

    name: str
    kind: str
    size: int
    address: int = 0
    shape: tuple[int, ...] = ()
    dtype: DType = DType.F32
    strides: tuple[int, ...] = ()
    index: int = -1
    data: Buffer | Stream | None = None


@dataclass(slots=True)
class Source:
    """Where an instruction comes from: the HLO instruction, the framework op, file and line."""

    name: str
    framework: str = ""
    file: str = ""
    line: int = 0
    opcode: str = ""  # of the HLO instruction or composite
    flops: int = 0  # useful FLOPs of the HLO instruction (counted once)
    group: str = ""  # "a + b": the HLO instructions that were lowered together, where several


@dataclass(slots=True)
class Program:
    """A whole executable: streams[function][engine], in the order in which each engine runs them.

    `entry` is the function that every engine starts with. `metadata` records what made it (compiler
    version, options, module name, precision) and never a path or a time.
    """

    machine: str
    entry: str
    streams: dict[str, dict[Engine, list[Item]]]
    variables: list[Variable]
    sources: list[Source]
    metadata: dict[str, str] = field(default_factory=dict)
    semaphores: int = 0
