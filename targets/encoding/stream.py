"""Encode and decode the instruction stream of an engine.

A file holds the streams of one engine: magic, encoding version, engine, then for each function its
number in the program's list of functions, its length in bytes and its items, RETURN last.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import (
    COUNTER,
    COUNTERS,
    REGISTER,
    Call,
    Instruction,
    Item,
    Loop,
)
from neuronir.dialects.nc.opcodes import BY_CODE, OPCODES
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.encoding.codec import DecodeError, Reader, write_uint
from neuronir.targets.encoding.fields import (
    ARGUMENTS,
    CALL,
    CONDITION_LOOP_BEGIN,
    COUNTED_LOOP_BEGIN,
    ENCODING_VERSION,
    LOOP_BEGIN,
    LOOP_END,
    MAX_LOOPS,
    OLDEST_VERSION,
    RETURN,
    Field,
    instruction_fields,
)

MAGIC = b"NIRI"


def encode_engine(
    engine: Engine, streams: Mapping[str, Sequence[Item]], functions: Sequence[str]
) -> bytes:
    """Return the file of `engine`: its streams by function name; `functions` numbers all
    functions.
    """
    number = {name: i for i, name in enumerate(functions)}
    out = bytearray(MAGIC)
    write_uint(out, ENCODING_VERSION)
    write_uint(out, engine)
    write_uint(out, len(streams))
    for name, items in streams.items():
        body = bytearray()
        _encode_items(body, items, engine, number, 0)
        body.append(RETURN)
        write_uint(out, number[name])
        write_uint(out, len(body))
        out += body
    return bytes(out)


def _encode_items(
    out: bytearray, items: Sequence[Item], engine: Engine, number: Mapping[str, int], depth: int
) -> None:
    for item in items:
        if isinstance(item, Instruction):
            encode_instruction(out, item, engine)
        elif isinstance(item, Loop):
            if depth >= MAX_LOOPS:
                raise NeuronError(
                    "NIR_ENC002", f"loops are nested more than {MAX_LOOPS} deep on {engine.name}"
                )
            if item.count < 0:
                out.append(LOOP_BEGIN)
                write_uint(out, item.trip_count)
            else:
                out.append(COUNTED_LOOP_BEGIN if item.again < 0 else CONDITION_LOOP_BEGIN)
                write_uint(out, item.count)
                if item.again >= 0:
                    write_uint(out, item.again)
                write_uint(out, item.counter)
            _encode_items(out, item.body, engine, number, depth + 1)
            out.append(LOOP_END)
        else:
            out.append(CALL)
            write_uint(out, number[item.function])
            ARGUMENTS.write(out, item.arguments)


def encode_instruction(out: bytearray, item: Instruction, engine: Engine) -> None:
    """Append one instruction; raises NeuronError NIR_ENC001 if a field does not fit."""
    spec = OPCODES.get(item.opcode)
    if spec is None:
        raise NeuronError("NIR_ENC001", f"unknown opcode '{item.opcode}'")
    runs = item.engine in spec.engines
    if item.stream is not engine or not runs or engine not in (spec.triggers or spec.engines):
        started = f", started by {item.trigger.name}," if item.engine.is_dma else ""
        raise NeuronError(
            "NIR_ENC003",
            f"'{item.opcode}' of {item.engine.name}{started} is in the stream of {engine.name}; "
            f"those of {', '.join(e.name for e in spec.triggers or spec.engines)} can execute it",
        )
    if len(item.dst) != len(spec.dst) or len(item.src) != len(spec.src):
        raise NeuronError("NIR_ENC001", f"'{item.opcode}' has the wrong number of operands")
    fields = instruction_fields(spec)
    present = 0
    values: list[tuple[Field, Any]] = []
    bit = 1
    for field in fields[2:-2]:
        value = _value(item, field)
        if value is not None:
            present |= bit
            values.append((field, value))
        elif field.required:
            raise NeuronError("NIR_ENC001", f"'{item.opcode}': operand '{field.name}' is absent")
        bit <<= 1
    out.append(spec.code)
    try:
        fields[0].codec.write(out, item.source)
        fields[1].codec.write(out, present)
        for field, value in values:
            field.codec.write(out, value)
        fields[-2].codec.write(out, item.waits)
        fields[-1].codec.write(out, item.updates)
    except ValueError as error:
        raise NeuronError("NIR_ENC001", f"'{item.opcode}' cannot be encoded: {error}") from error


def _value(item: Instruction, field: Field) -> Any:
    if field.part == "queue":
        return item.engine
    if field.part == "param":
        return item.params.get(field.name)
    return (item.dst if field.part == "dst" else item.src)[field.index]


def decode_engine(data: bytes, functions: Sequence[str]) -> tuple[Engine, dict[str, list[Item]]]:
    """Decode the result of `encode_engine`; raises DecodeError, which names the problem and its
    position.
    """
    reader = Reader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise DecodeError("no instruction stream (wrong magic)")
    version = reader.uint()
    if not OLDEST_VERSION <= version <= ENCODING_VERSION:
        raise DecodeError(
            f"instruction encoding version {version}, this program reads versions "
            f"{OLDEST_VERSION} to {ENCODING_VERSION}"
        )
    code = reader.uint()
    if code > max(Engine) or Engine(code).is_dma:
        raise reader.fail(f"unknown engine {code}")
    engine = Engine(code)
    streams: dict[str, list[Item]] = {}
    for _ in range(reader.uint()):
        index = reader.uint()
        if index >= len(functions):
            raise reader.fail(f"unknown function {index}")
        size = reader.uint()
        if size > len(data) - reader.at:
            raise reader.fail("instruction stream is truncated")
        body = Reader(data, reader.at, reader.at + size)
        if functions[index] in streams:
            raise reader.fail(f"function '{functions[index]}' occurs twice")
        streams[functions[index]] = _decode_items(body, engine, functions)
        reader.at += size
    if reader.at != len(data):
        raise reader.fail("bytes after the last function")
    return engine, streams


def _decode_items(reader: Reader, engine: Engine, functions: Sequence[str]) -> list[Item]:
    items: list[Item] = []
    outer: list[list[Item]] = []
    while True:
        code = reader.byte()
        if code == RETURN:
            break
        if code in (LOOP_BEGIN, COUNTED_LOOP_BEGIN, CONDITION_LOOP_BEGIN):
            if len(outer) >= MAX_LOOPS:
                raise reader.fail(f"loops are nested more than {MAX_LOOPS} deep")
            loop = _read_loop(reader, code)
            items.append(loop)
            outer.append(items)
            items = loop.body
        elif code == LOOP_END:
            if not outer:
                raise reader.fail("loop end without a loop")
            items = outer.pop()
        elif code == CALL:
            index = reader.uint()
            if index >= len(functions):
                raise reader.fail(f"call of unknown function {index}")
            items.append(Call(functions[index], ARGUMENTS.read(reader)))
        else:
            items.append(decode_instruction(reader, code, engine))
    if outer:
        raise reader.fail("loop without an end")
    if reader.at != reader.end:
        raise reader.fail("items after the return")
    return items


def _read_loop(reader: Reader, code: int) -> Loop:
    """Read the beginning of a loop."""
    if code == LOOP_BEGIN:
        return Loop(reader.uint(), [])
    count = reader.uint()
    again = reader.uint() if code == CONDITION_LOOP_BEGIN else -1
    counter = reader.uint()
    if max(count, again) >= COUNTER - REGISTER or counter >= COUNTERS:
        register = max(count, again)
        raise reader.fail(f"a loop takes its count from r{register} and counts in n{counter}")
    return Loop(0, [], count, counter, again)


def decode_instruction(reader: Reader, code: int, engine: Engine) -> Instruction:
    """Read the instruction whose code was just read."""
    spec = BY_CODE.get(code)
    if spec is None:
        raise reader.fail(f"unknown instruction code {code}")
    if engine not in (spec.triggers or spec.engines):
        raise reader.fail(f"'{spec.name}' cannot be in the stream of {engine.name}")
    fields = instruction_fields(spec)
    source: int = fields[0].codec.read(reader)
    present: int = fields[1].codec.read(reader)
    if present >> (len(fields) - 4):
        raise reader.fail(f"'{spec.name}' has fields that its opcode does not know")
    dst: list[Any] = []
    src: list[Any] = []
    params: dict[str, int | float] = {}
    queue: Engine = engine
    for field in fields[2:-2]:
        there = present & 1
        present >>= 1
        if not there and field.required:
            raise reader.fail(f"'{spec.name}': operand '{field.name}' is absent")
        value: Any = field.codec.read(reader) if there else None
        if field.part == "dst":
            dst.append(value)
        elif field.part == "src":
            src.append(value)
        elif field.part == "queue":
            queue = value
        elif value is not None:
            params[field.name] = value
    waits = fields[-2].codec.read(reader)
    updates = fields[-1].codec.read(reader)
    return Instruction(
        spec.name, queue, tuple(dst), tuple(src), params, waits, updates, source, engine
    )
