"""Convert neuron-sim's arrays: inputs by argument number, outputs by result number."""

from collections.abc import Mapping

from neuronir.dialects.nc.instruction import Program, Variable
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array, unpack


def variables_of(program: Program, kind: str) -> list[Variable]:
    """Return the variables of a kind by argument or result number."""
    return sorted((v for v in program.variables if v.kind == kind), key=lambda v: v.index)


def choose_inputs(program: Program, entries: Mapping[str, Array], path: str) -> list[Array]:
    """Return the arrays of a file that the program reads, in the order of its inputs.

    An input is found as `argN` or under its HLO name. Arguments that were bound at compile time are
    ignored. Raises NIR_SIM030 for a missing input, NIR_SIM031 for one beyond the last.
    """
    arrays = []
    for variable in variables_of(program, "input"):
        names = [f"arg{variable.index}", variable.name]
        found = next((name for name in names if name in entries), None)
        if found is None:
            raise NeuronError(
                "NIR_SIM030",
                f"{path} lacks {names[0]} ('{variable.name}', {variable.dtype.name.lower()}"
                f"{list(variable.shape)})",
                help="arguments are named arg0, arg1 ... in the order of the entry's parameters",
            )
        arrays.append(unpack(entries, found))
    count = program.metadata.get("arguments", "")
    if count.isdecimal():
        for name in entries:
            if name.startswith("arg") and name[3:].isdecimal() and int(name[3:]) >= int(count):
                raise NeuronError(
                    "NIR_SIM031", f"{path} has {name}, the program takes {count} arguments"
                )
    return arrays


def named_outputs(program: Program, arrays: list[Array]) -> dict[str, Array]:
    """Name results as in an npz file."""
    return {
        f"out{variable.index}": array
        for variable, array in zip(variables_of(program, "output"), arrays, strict=True)
    }
