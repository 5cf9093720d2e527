"""Create simulation errors: one message with the instruction, its operands and its source.

NIR_SIM001: a read of unwritten bytes, or an unwritten output. NIR_SIM002: an access outside its
memory. NIR_SIM003: a failure on data (an index outside its table). NIR_SIM004: deadlock.
NIR_SIM006: a malformed program or instruction. NIR_SIM008: inputs that do not fit. NIR_SIM009: a
violated rule of the machine (memories, partitions, banks, tiles, read-only variables). NIR_SIM010:
accumulation into PSUM that no matmul has started. NIR_SIM011: reuse of a stationary operand that is
not loaded. NIR_SIM020: a data race (on bytes or on a semaphore). NIR_SIM030: an nc module that
cannot be run.
"""

from collections.abc import Sequence

from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import AccessPattern, Instruction, Source
from neuronir.dialects.nc.opcodes import OPCODES
from neuronir.dialects.support.errors import NeuronError


def describe_pattern(ap: AccessPattern, address: int | None = None) -> str:
    """Print `f32@sbuf[0:128]+0x40 [1,512]`: type, memory, partitions, byte address, [stride,
    size]s.
    """
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
    """Print `pe matmul(dst=..., stationary=..., moving=...)`, with the values of symbols in
    addresses.
    """
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
    """Print the source of an instruction as `'dot.3' (model/layer/MatMul, model.py:12)`."""
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
    """Create a NeuronError about one instruction of a running program."""
    message = f"{text}\n  in {describe(instruction, env)}\n  from {origin(sources, instruction)}"
    return NeuronError(code, message, help=help)
