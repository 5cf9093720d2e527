"""Compute the earliest availability of operands, without waiting for engines."""

from collections.abc import Iterable

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from neuronir.dialects.nc.attributes import PatternAttr
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.nc.ops import InstructionOp

_ENGINES = {engine.name.lower(): engine for engine in Engine}


def engine_of(op: InstructionOp) -> Engine:
    """Return the engine of an instruction; the default is the first engine of its row."""
    name = op.properties.get("engine")
    return _ENGINES[name.data] if isinstance(name, StringAttr) else op.spec.engines[0]


def operands_of(op: InstructionOp) -> tuple[tuple[SSAValue, ...], tuple[SSAValue, ...]]:
    """Return the buffers that an instruction writes, and those that it reads."""
    patterns = op.patterns.data[: len(op.spec.dst)]
    written = sum(isinstance(pattern, PatternAttr) for pattern in patterns)
    operands = tuple(op.operands)
    return operands[:written], operands[written : op.buffer_count]


class DataFlow:
    """For each buffer, the earliest time (ns) of the last written value, and the engine that wrote
    it.

    Values from memory are available at once, because they can be prefetched.
    """

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
        """Return when all of `read` are available to `engine`."""
        time = 0.0
        for value in read:
            if (found := self.known.get(value)) is not None:
                handed = 0.0 if found[1] is engine else self.semaphore
                time = max(time, found[0] + handed)
        return time

    def write(self, written: Iterable[SSAValue], time: float, engine: Engine) -> None:
        """Record results that are available at `time`."""
        for value in written:
            self.known[value] = time, engine

    def pass_on(self, op: InstructionOp, engine: Engine) -> None:
        """Record the results of an instruction by its latency, ignoring its issue time."""
        written, read = operands_of(op)
        if time := self.ready(read, engine):
            self.write(written, time + self.latency.get(engine, self.transfer), engine)
