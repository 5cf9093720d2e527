"""When operands could be there at the earliest, if nobody waited for an engine."""

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from neuronir.dialects.nc.attributes import PatternAttr
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp

_ENGINES = {engine.name.lower(): engine for engine in Engine}


def engine_of(op: InstructionOp) -> Engine:
    """The engine of an instruction; one without gets the first of its row."""
    name = op.properties.get("engine")
    return _ENGINES[name.data] if isinstance(name, StringAttr) else op.spec.engines[0]


def operands_of(op: InstructionOp) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """The buffers that an instruction writes, and those that it reads."""
    patterns = op.patterns.data[: len(op.spec.dst)]
    written = sum(isinstance(pattern, PatternAttr) for pattern in patterns)
    operands = tuple(op.operands)
    return operands[:written], operands[written : op.buffer_count]


class DataFlow:
    """Of each buffer the earliest time (ns) at which what was written last is there, and the engine
    that wrote it. What comes from memory is there at once: it can be loaded ahead."""

    def __init__(self, machine: Machine) -> None:
        self.semaphore = machine.semaphore_latency_ns
        self.latency = {
            Engine.PE: machine.pe_latency_cycles / machine.pe_ghz,
            Engine.POOL: machine.pool_latency_cycles / machine.pool_ghz
            if machine.has_pool
            else 0.0,
        }
        self.transfer = machine.dma_fixed_ns
        self.known: dict[SSAValue, tuple[float, Engine]] = {}

    def ready(self, read: Iterable[SSAValue], engine: Engine) -> float:
        """When `engine` could have all of `read`."""
        time = 0.0
        for value in read:
            if (found := self.known.get(value)) is not None:
                handed = 0.0 if found[1] is engine else self.semaphore
                time = max(time, found[0] + handed)
        return time

    def write(self, written: Iterable[SSAValue], time: float, engine: Engine) -> None:
        """Note results that are there at `time`."""
        for value in written:
            self.known[value] = time, engine

    def pass_on(self, op: InstructionOp, engine: Engine) -> None:
        """Note the results of an instruction whose own time does not matter beside its latency."""
        written, read = operands_of(op)
        if time := self.ready(read, engine):
            self.write(written, time + self.latency.get(engine, self.transfer), engine)
