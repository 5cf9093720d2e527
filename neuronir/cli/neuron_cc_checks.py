"""Check a program for data races, slow transfers and unused inputs, as neuron-cc does."""

from collections import Counter
from collections.abc import Iterator

from neuronir.diagnostics.diagnostic import Diagnostic
from neuronir.dialects.nc.dma_cost import runs
from neuronir.dialects.nc.enums import Space
from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.items import instructions_of
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.errors import NeuronError
from neuronir.driver.pass_runner import RunFailure
from neuronir.targets.simulator.messages import origin
from neuronir.targets.simulator.races import check_races

_MANY = 256
"""Pieces of a transfer that are worth a warning: some microseconds of a DMA engine."""
_SHOWN = 5


def check_program(program: Program) -> None:
    """Walk the program and check that semaphores order all accesses; a data race is a fault of the
    compiler (RunFailure, internal)."""
    try:
        check_races(program)
    except NeuronError as error:
        found = Diagnostic("error", f"Internal ERROR: {error.message}", help=error.help)
        raise RunFailure(found, internal=True) from error


def warnings_of(program: Program, machine: Machine) -> Iterator[str]:
    """Yield warnings about a program for its user."""
    if not any(variable.kind == "input" for variable in program.variables):
        yield (
            "no result depends on an input. Please check that your model has non-constant "
            "computation that is dependent on the inputs listed in --io-config"
        )
    yield from _unaligned(program, machine)


def _unaligned(program: Program, machine: Machine) -> Iterator[str]:
    """Yield the operators with many transfers below the access granularity of HBM."""
    pieces: Counter[tuple[str, int]] = Counter()
    for streams in program.streams.values():
        for items in streams.values():
            for instruction in instructions_of(items):
                if instruction.opcode != "dma":
                    continue
                for ap in (*instruction.dst, *instruction.src):
                    if ap is None or ap.space != Space.HBM:
                        continue
                    count = runs(ap, machine.dma_max_descriptor_bytes)
                    size = ap.bytes // count
                    if count >= _MANY and size < machine.dma_burst_bytes:
                        pieces[origin(program.sources, instruction), size] += count
    found = sorted(pieces.items(), key=lambda entry: -entry[1])
    for (where, size), count in found[:_SHOWN]:
        yield (
            f"unaligned memory access: {where} moves {count} pieces of {size} bytes to or from "
            f"HBM, which moves {machine.dma_burst_bytes} bytes at once"
        )
    if len(found) > _SHOWN:
        yield f"unaligned memory access: {len(found) - _SHOWN} more operators"
