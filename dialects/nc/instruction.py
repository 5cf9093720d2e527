"""Define the record of an instruction, which nc ops and the decoder both produce.

Costs, semantics, footprints, race checks and the simulator take only these records, never IR.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.support.output import Buffer, Stream

ARGUMENT = 32
"""Symbols below this are loop levels of the function (0 is the outermost), from here on function
arguments (`ARGUMENT + i`), from `REGISTER` on registers of the engine's sequencer, from `COUNTER`
on the iterations that loops with a runtime count have completed in all their runs."""
REGISTER = 64
COUNTER = 320
COUNTERS = 64
"""No sequencer has more registers, and each counter takes one."""
ASSUMED_ITERATIONS = 4
"""Iterations with which a loop is estimated and checked whose trip count depends on data."""
MAX_SEMAPHORES = 1 << 16
"""No machine has more semaphores."""
SEMAPHORE_BITS = 32
"""A semaphore counts up from zero and does not wrap around (width assumed)."""
TRANSFER_PARTS = 16
"""A completed transfer adds to its semaphores in so many equal parts, one for each DMA engine."""


@dataclass(frozen=True, slots=True)
class Affine:
    """`const + sum(coefficient * symbol)`, in the unit of its owner."""

    const: int = 0
    terms: tuple[tuple[int, int], ...] = ()  # (symbol, coefficient)

    def at(self, env: Sequence[int]) -> int:
        """Return the value for the symbol values in `env`."""
        value = self.const
        for symbol, coefficient in self.terms:
            value += coefficient * env[symbol]
        return value

    def __add__(self, other: int) -> "Affine":
        return Affine(self.const + other, self.terms)


@dataclass(frozen=True, slots=True)
class AccessPattern:
    """The access of an operand: a rectangle of partitions by a strided pattern of elements.

    SBUF and PSUM: partitions `start .. start + partitions - 1`; `address` is the byte offset inside
    each partition. HBM: row `p` (of `partitions` rows) begins at byte `address + p *
    partition_stride`, where `address` counts from the start of HBM; `start` is 0. `free` lists up
    to four pairs (stride in elements, size), outermost first; a stride of 0 repeats.
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
        """Return the number of elements per partition."""
        n = 1
        for _, size in self.free:
            n *= size
        return n

    @property
    def bytes(self) -> int:
        """Return the bytes over all partitions, counting repeats."""
        return self.elements * self.partitions * self.dtype.size


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until semaphore `semaphore` has reached `value`."""

    semaphore: int
    value: Affine


@dataclass(frozen=True, slots=True)
class Update:
    """Add `amount` to the semaphore at completion (a DMA adds it in 16 unordered parts)."""

    semaphore: int
    amount: int = 1


@dataclass(slots=True)
class Instruction:
    """One instruction of a stream: `opcode` names a row of `opcodes.OPCODES`.

    `dst` and `src` follow the roles of that row; an absent optional operand is None. `params` holds
    the parameters of the row by name (ints for enums, floats for immediates). `source` is an index
    into the source map of the program. For a transfer, `engine` is its DMA queue, and `trigger` is
    the engine that starts it and whose stream contains it.
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
        """Return the engine whose stream contains the instruction."""
        return self.trigger if self.engine.is_dma else self.engine


@dataclass(slots=True)
class Loop:
    """A loop of `trip_count` iterations; the iteration number is the symbol of its nesting
    level.

    With a runtime count, register `count` holds the trip count when the loop begins (`trip_count`
    is 0), and each iteration adds 1 to counter `counter` at its end. With a condition, the loop is
    entered if register `count` is not 0, and another iteration follows if register `again` is not 0
    at the end of one. All three are numbers, not symbols.
    """

    trip_count: int
    body: list["Item"]
    count: int = -1
    counter: int = -1
    again: int = -1


@dataclass(slots=True)
class Call:
    """Run the stream of this engine in `function`; argument i becomes symbol ARGUMENT + i there."""

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
    """The origin of an instruction: the HLO instruction, the framework op, file and line."""

    name: str
    framework: str = ""
    file: str = ""
    line: int = 0
    opcode: str = ""  # name of the HLO instruction or composite
    flops: int = 0  # useful FLOPs of the HLO instruction (counted once)
    group: str = ""  # "a + b": the HLO instructions that were lowered together, if several


@dataclass(slots=True)
class Program:
    """A whole executable: streams[function][engine], in the order in which each engine runs them.

    Every engine starts with the function `entry`. `metadata` records how the program was built
    (compiler version, options, module name, precision), and never contains a path or a time.
    """

    machine: str
    entry: str
    streams: dict[str, dict[Engine, list[Item]]]
    variables: list[Variable]
    sources: list[Source]
    metadata: dict[str, str] = field(default_factory=dict)
    semaphores: int = 0
