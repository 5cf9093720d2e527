"""Define the interface of instruction encodings."""

from dataclasses import dataclass

from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.instruction import (
    COUNTER,
    REGISTER,
    Call,
    Instruction,
    Item,
    Loop,
    Program,
)
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.encoding.codec import DecodeError
from neuronir.targets.encoding.fields import ENCODING_VERSION
from neuronir.targets.encoding.flatten import flatten
from neuronir.targets.encoding.stream import decode_engine, encode_engine

MAX_INSTRUCTIONS = 5_000_000
SHARED = "neuronir"
"""The format of instruction files that all targets can use (docs/neff.md)."""


@dataclass(frozen=True)
class Encoding:
    """An instruction encoding: its name, and whether streams may hold loops, calls, registers.

    A target with its own file format overrides `encode` and `decode`, and names the `format`.
    """

    name: str
    control_flow: bool
    max_instructions: int = MAX_INSTRUCTIONS
    version: int = ENCODING_VERSION
    format: str = SHARED

    def legalise(self, program: Program) -> Program:
        """Return `program` in a form that the machine can run: unrolled if there is no control
        flow.

        Raises NCC_EBVF030 if it has too many instructions.
        """
        if not self.control_flow:
            return flatten(program, self.max_instructions)
        count = sum(
            count_instructions(items)
            for engines in program.streams.values()
            for items in engines.values()
        )
        if count > self.max_instructions:
            raise NeuronError(
                "NCC_EBVF030",
                f"the program has {count} instructions, at most {self.max_instructions} are "
                "possible",
                help="use a smaller model or model parallelism",
            )
        return program

    def encode(self, program: Program) -> dict[Engine, bytes]:
        """Return the instruction file of each engine that has a stream; takes a legalised
        program.
        """
        functions = list(program.streams)
        engines = sorted({e for streams in program.streams.values() for e in streams})
        return {
            engine: encode_engine(
                engine,
                {n: s[engine] for n, s in program.streams.items() if engine in s},
                functions,
            )
            for engine in engines
        }

    def decode(
        self, files: dict[Engine, bytes], functions: list[str]
    ) -> dict[str, dict[Engine, list[Item]]]:
        """Return the streams that `encode` wrote, by function; raises DecodeError if a file is
        malformed.
        """
        return decode_streams(files, functions)


def decode_streams(
    files: dict[Engine, bytes], functions: list[str]
) -> dict[str, dict[Engine, list[Item]]]:
    """Return the streams of all engines; raises DecodeError if a file is malformed."""
    streams: dict[str, dict[Engine, list[Item]]] = {name: {} for name in functions}
    for expected, data in files.items():
        engine, decoded = decode_engine(data, functions)
        if engine is not expected:
            raise DecodeError(f"the file of {expected.name} holds a stream of {engine.name}")
        for name, items in decoded.items():
            streams[name][engine] = items
    return streams


def encoding_for(machine: Machine) -> Encoding:
    """Return the encoding that follows from a machine."""
    return Encoding(machine.name, machine.has_control_flow)


def count_instructions(items: list[Item]) -> int:
    """Return the number of stored instructions, with the body of a loop counted once."""
    count = 0
    for item in items:
        count += count_instructions(item.body) if isinstance(item, Loop) else 1
    return count


def check_registers(program: Program, machine: Machine) -> None:
    """Raise NIR_ENC005 if a stream uses more registers than the machine has."""
    for name, engines in program.streams.items():
        for engine, items in engines.items():
            used = _registers(items) + _counters(items)
            if used > machine.registers:
                raise NeuronError(
                    "NIR_ENC005",
                    f"{engine.name} uses {used} registers in '{name}', {machine.name} has "
                    f"{machine.registers}",
                    help="fewer dynamic indices may be live at once",
                )


def _registers(items: list[Item]) -> int:
    used = 0
    for item in items:
        if isinstance(item, Loop):
            used = max(used, _registers(item.body), item.count + 1, item.again + 1)
            continue
        if isinstance(item, Call):
            affines = list(item.arguments)
        else:
            affines = [p.address for p in (*item.dst, *item.src) if p is not None]
            if isinstance(item, Instruction) and item.opcode == "register_load":
                used = max(used, int(item.params["register"]) + 1)
        for affine in affines:
            used = max([used, *(s - REGISTER + 1 for s, _ in affine.terms if s < COUNTER)])
    return used


def _counters(items: list[Item]) -> int:
    """Return one more than the largest counter of iterations; each takes a register."""
    loops = [item for item in items if isinstance(item, Loop)]
    return max((max(loop.counter + 1, _counters(loop.body)) for loop in loops), default=0)
