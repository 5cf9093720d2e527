"""Simulation errors: one message with the instruction, its operands and where it comes from.

NIR_SIM001 reads what nothing has written (or leaves an output unwritten); 002 touches bytes
outside its memory; 003 data make it fail (an index outside its table); 004 deadlock; 006 a
malformed program or instruction; 008 inputs that do not fit; 009 against a rule of the machine
(memories, partitions, banks, tiles, read-only variables); 010 accumulates into PSUM that no matmul
has started; 011 reuses another stationary than is loaded; 020 data race (for bytes or for a
semaphore); 030 an nc module that cannot be run.
"""

from collections.abc import Sequence

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import AccessPattern, Instruction, Source
from neuronir.dialects.nc.opcodes import OPCODES
from neuronir.dialects.support.errors import NeuronError


def describe_pattern(ap: AccessPattern, address: int | None = None) -> str:
    """`f32@sbuf[0:128]+0x40 [1,512]`: type, memory, partitions, byte address, [stride, size]s."""
    where = ap.address.const if address is None else address
    text = f"{ap.dtype.name.lower()}@{ap.space.name.lower()}"
    if ap.space == Space.HBM:
        text += f"+{where:#x}"
        if ap.partitions > 1:
            text += f" {ap.partitions} rows of stride {ap.partition_stride}"
    else:
        text += f"[{ap.start}:{ap.start + ap.partitions}]+{where:#x}"
    return text + " " + " ".join(f"[{stride},{size}]" for stride, size in ap.free)


def describe(instruction: Instruction, env: Sequence[int] | None = None) -> str:
    """`pe matmul(dst=..., stationary=..., moving=...)`, addresses by the values of symbols."""
    spec = OPCODES.get(instruction.opcode)
    roles = spec.dst + spec.src if spec else ()
    operands = []
    for i, ap in enumerate((*instruction.dst, *instruction.src)):
        if ap is not None:
            role = roles[i].rstrip("?") if i < len(roles) else f"operand{i}"
            address = ap.address.at(env) if env is not None else None
            operands.append(f"{role}={describe_pattern(ap, address)}")
    return f"{instruction.engine.name.lower()} {instruction.opcode}({', '.join(operands)})"


def origin(sources: Sequence[Source], instruction: Instruction) -> str:
    """Where an instruction comes from, as `'dot.3' (model/layer/MatMul, model.py:12)`."""
    if not 0 <= instruction.source < len(sources):
        return "an unknown op"
    source = sources[instruction.source]
    details = [source.framework] if source.framework else []
    if source.file:
        details.append(f"{source.file}:{source.line}")
    return f"'{source.name}'" + (f" ({', '.join(details)})" if details else "")


def simulation_error(
    code: str,
    text: str,
    instruction: Instruction,
    sources: Sequence[Source],
    env: Sequence[int] | None = None,
    help: str | None = None,
) -> NeuronError:
    """A NeuronError about one instruction of a running program."""
    message = f"{text}\n  in {describe(instruction, env)}\n  from {origin(sources, instruction)}"
    return NeuronError(code, message, help=help)
