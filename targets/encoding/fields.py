"""Define the fields of every instruction, from the opcode table.

An instruction is one byte of code, then its fields in the order of `instruction_fields`. The
encoder, decoder and disassembler use this list.
"""

from dataclasses import dataclass
from functools import cache

from neuronir.dialects.nc.enums import DType, Engine, Space
from neuronir.dialects.nc.instruction import (
    ARGUMENT,
    COUNTER,
    COUNTERS,
    REGISTER,
    AccessPattern,
    Affine,
    Update,
    Wait,
)
from neuronir.dialects.nc.opcodes import OpSpec, Param
from neuronir.targets.encoding.codec import (
    BOOL,
    FLOAT,
    SINT,
    UINT,
    AnyCodec,
    Codec,
    Reader,
    enum_codec,
    tuple_codec,
    write_sint,
    write_uint,
)

ENCODING_VERSION = 4
"""Version of everything in targets/encoding; a reader rejects later ones."""
OLDEST_VERSION = 2
"""The oldest version that a reader accepts: later ones only have more kinds of loops."""

LOOP_BEGIN = 0xF0
LOOP_END = 0xF1
CALL = 0xF2
RETURN = 0xF3
COUNTED_LOOP_BEGIN = 0xF4
CONDITION_LOOP_BEGIN = 0xF5

MAX_SYMBOL = COUNTER + COUNTERS
MAX_TERMS = 64
MAX_WAITS = 256
MAX_ARGUMENTS = REGISTER - ARGUMENT
MAX_LOOPS = ARGUMENT


def symbol_name(symbol: int) -> str:
    """Print `i0` for a loop level, `a0` for a function argument, `r0` for a register, `n0` for a
    counter of iterations.
    """
    if symbol < ARGUMENT:
        return f"i{symbol}"
    if symbol < REGISTER:
        return f"a{symbol - ARGUMENT}"
    if symbol < COUNTER:
        return f"r{symbol - REGISTER}"
    return f"n{symbol - COUNTER}"


def _write_affine(out: bytearray, value: Affine) -> None:
    if len(value.terms) > MAX_TERMS:
        raise ValueError(f"{len(value.terms)} terms, at most {MAX_TERMS} are possible")
    write_sint(out, value.const)
    write_uint(out, len(value.terms))
    for symbol, coefficient in value.terms:
        if not 0 <= symbol < MAX_SYMBOL:
            raise ValueError(f"symbol {symbol} is out of range")
        write_uint(out, symbol)
        write_sint(out, coefficient)


def _read_affine(reader: Reader) -> Affine:
    const = reader.sint()
    count = reader.uint()
    if count == 0:
        return Affine(const)
    if count > MAX_TERMS:
        raise reader.fail(f"{count} terms, at most {MAX_TERMS} are possible")
    terms = []
    for _ in range(count):
        symbol = reader.uint()
        if symbol >= MAX_SYMBOL:
            raise reader.fail(f"symbol {symbol} is out of range")
        terms.append((symbol, reader.sint()))
    return Affine(const, tuple(terms))


def show_affine(value: Affine) -> str:
    """Print `64 + 512*i0`."""
    terms = [f"{c}*{symbol_name(s)}" for s, c in value.terms]
    return " + ".join([str(value.const), *terms] if value.const or not terms else terms)


AFFINE: Codec[Affine] = Codec(_write_affine, _read_affine, show_affine)


def _write_free(out: bytearray, value: tuple[int, int]) -> None:
    write_sint(out, value[0])
    write_uint(out, value[1])


def _read_free(reader: Reader) -> tuple[int, int]:
    return reader.sint(), reader.uint()


_FREE: Codec[tuple[tuple[int, int], ...]] = tuple_codec(
    Codec(_write_free, _read_free, lambda dim: f"{dim[1]}:{dim[0]}"), 4
)
_SPACE = enum_codec(Space)
_DTYPE = enum_codec(DType)
_SPACES = {int(s): s for s in Space}
_DTYPES = {int(d): d for d in DType}


def _write_pattern(out: bytearray, value: AccessPattern) -> None:
    _SPACE.write(out, value.space)
    _DTYPE.write(out, value.dtype)
    _write_affine(out, value.address)
    write_uint(out, value.start)
    write_uint(out, value.partitions)
    _FREE.write(out, value.free)
    write_sint(out, value.partition_stride)


def _read_pattern(reader: Reader) -> AccessPattern:
    space = _SPACES[_SPACE.read(reader)]
    dtype = _DTYPES[_DTYPE.read(reader)]
    address = _read_affine(reader)
    start, partitions = reader.uint(), reader.uint()
    free = _FREE.read(reader)
    return AccessPattern(space, dtype, address, start, partitions, free, reader.sint())


def show_pattern(value: AccessPattern) -> str:
    """Print `sbuf[0:128 | 512:1 | 64 + 512*i0] bf16`: partitions, size:stride, byte address,
    type.
    """
    partitions = f"{value.start}:{value.partitions}"
    if value.space is Space.HBM:
        partitions = f"{value.partitions}*{value.partition_stride}B"
    return (
        f"{value.space.name.lower()}[{partitions} | {_FREE.show(value.free)} | "
        f"{show_affine(value.address)}] {value.dtype.name.lower()}"
    )


PATTERN: Codec[AccessPattern] = Codec(_write_pattern, _read_pattern, show_pattern)


def _write_wait(out: bytearray, value: Wait) -> None:
    write_uint(out, value.semaphore)
    _write_affine(out, value.value)


def _read_wait(reader: Reader) -> Wait:
    return Wait(reader.uint(), _read_affine(reader))


def _write_update(out: bytearray, value: Update) -> None:
    write_uint(out, value.semaphore)
    write_sint(out, value.amount)


def _read_update(reader: Reader) -> Update:
    return Update(reader.uint(), reader.sint())


WAITS: Codec[tuple[Wait, ...]] = tuple_codec(
    Codec(_write_wait, _read_wait, lambda w: f"s{w.semaphore} >= {show_affine(w.value)}"),
    MAX_WAITS,
)
UPDATES: Codec[tuple[Update, ...]] = tuple_codec(
    Codec(_write_update, _read_update, lambda u: f"s{u.semaphore} += {u.amount}"), MAX_WAITS
)


def _write_queue(out: bytearray, value: Engine) -> None:
    if not value.is_dma:
        raise ValueError(f"{value.name} is not a DMA queue")
    write_uint(out, value - Engine.DMA0)


def _read_queue(reader: Reader) -> Engine:
    number = reader.uint()
    if number > max(Engine) - Engine.DMA0:
        raise reader.fail(f"unknown DMA queue {number}")
    return Engine(Engine.DMA0 + number)


QUEUE: Codec[Engine] = Codec(_write_queue, _read_queue, lambda queue: queue.name.lower())
ARGUMENTS: Codec[tuple[Affine, ...]] = tuple_codec(AFFINE, MAX_ARGUMENTS)


@dataclass(frozen=True, slots=True)
class Field:
    """One field: `part` is "source", "queue", "dst", "src", "param", "waits" or "updates".

    `index` is the position among the operands of its part. `required` is false for optional
    operands and for parameters with a default; the presence mask says whether these are present.
    """

    name: str
    part: str
    codec: AnyCodec
    index: int = 0
    required: bool = True


_PARAM_CODECS: dict[str, AnyCodec] = {"int": SINT, "float": FLOAT, "bool": BOOL}


def _param_codec(param: Param) -> AnyCodec:
    if isinstance(param.kind, type):
        return enum_codec(param.kind)
    return _PARAM_CODECS[param.kind]


@cache
def instruction_fields(spec: OpSpec) -> tuple[Field, ...]:
    """Return the fields of an opcode: source, presence mask, operands, parameters, waits, updates.

    For a transfer the DMA queue precedes the operands. Bit i of the presence mask refers to the
    i-th of the fields between it and the waits.
    """
    operands = [
        Field(role.rstrip("?"), part, PATTERN, i, not role.endswith("?"))
        for part, roles in (("dst", spec.dst), ("src", spec.src))
        for i, role in enumerate(roles)
    ]
    params = [Field(p.name, "param", _param_codec(p), required=False) for p in spec.params]
    queue = [Field("queue", "queue", QUEUE)] if spec.engines[0].is_dma else []
    return (
        Field("source", "source", UINT),
        Field("present", "present", UINT),
        *queue,
        *operands,
        *params,
        Field("waits", "waits", WAITS),
        Field("updates", "updates", UPDATES),
    )
