"""Read the program of a binary, checked against the machine of its target."""

from neuronir.dialects.nc.instruction import Program
from neuronir.targets.encoding.encoding import Encoding
from neuronir.targets.neff.check import check_machine
from neuronir.targets.neff.reader import Neff, parse_neff
from neuronir.targets.registry import get_target


def program_of(neff: Neff, name: str) -> tuple[Program, Encoding]:
    """Return the program and the encoding of a NEFF, which messages call `name`.

    Raises a NeuronError if the machine does not hold what the program accesses.
    """
    check_machine(neff.program, get_target(neff.program.machine).machine, name)
    return neff.program, Encoding(neff.encoding, control_flow=neff.control_flow)


def program_of_bytes(data: bytes | memoryview, name: str) -> tuple[Program, Encoding]:
    """Return the program and the encoding of the bytes of a NEFF."""
    return program_of(parse_neff(data, name), name)
