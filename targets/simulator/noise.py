"""Judge the precision of a program's results by their sensitivity to rounding.

The program is run again with its roundings perturbed at random (semantics/rounding.py). The
differences between the outputs of these runs and the plain run are samples of the program's
rounding noise. They reflect cancellation in sums and damping by residuals, which a bound derived
from the program alone cannot (docs/numerics.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.nc.machine import Machine
from neuronir.dialects.support.compare import Report
from neuronir.dialects.support.compare_noise import compare_with_noise
from neuronir.dialects.support.errors import NeuronError
from neuronir.targets.simulator.functional import Options, run

Array = NDArray[Any]
RUNS = 4
"""Perturbed runs of a program whose outputs all have many elements."""
MORE_RUNS = 12
"""Perturbed runs if an output has few elements: its noise is a mean over few samples."""
FEW_ELEMENTS = 64


def perturbed_outputs(
    program: Program,
    inputs: Sequence[Array],
    machine: Machine,
    outputs: Sequence[Array],
    options: Options | None = None,
) -> list[list[Array]]:
    """Return the outputs of some runs of `program` with perturbed roundings.

    `inputs` are by argument number. `outputs` are those of the plain run, which determine the
    number of runs. The result is empty if a perturbed run fails, for example because the program
    relies on two equal roundings: its noise then cannot be measured this way.
    """
    few = any(output.size < FEW_ELEMENTS for output in outputs)
    found = []
    for seed in range(MORE_RUNS if few else RUNS):
        chosen = replace(options or Options(), perturb=seed, races=False)
        try:
            found.append(run(program, inputs, machine, chosen).outputs)
        except NeuronError:
            return []
    return found


def judge_precision(
    program: Program,
    inputs: Sequence[Array],
    machine: Machine,
    outputs: Sequence[Array],
    reference: Mapping[str, Array],
    options: Options | None = None,
) -> Report:
    """Compare the outputs of a run with those of a reference in full precision.

    If fp32 arithmetic explains the difference, nothing else is run. Otherwise the rounding noise on
    these inputs is measured, which takes several further runs of the program.
    """
    report = compare_with_noise(outputs, reference, [])
    if report.ok:
        return report
    perturbed = perturbed_outputs(program, inputs, machine, outputs, options)
    return compare_with_noise(outputs, reference, perturbed)
