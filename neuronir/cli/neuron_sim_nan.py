"""Report outputs with NaN."""

from argparse import Namespace
from collections.abc import Sequence

from neuronir.dialects.nc.instruction import Program
from neuronir.dialects.support.diagnostics import warning
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.targets.simulator.not_a_number import nan_outputs
from neuronir.targets.simulator.program_data import variables_of


def tell_nan(
    args: Namespace, program: Program, outputs: Sequence[Array], first: str | None = None
) -> None:
    """Warn of outputs with NaN, and record it for the status of the run (`args.ending`).

    With --check-nan, raises NIR_SIM035, which names `first`, the instruction that produced the
    first NaN.
    """
    names = [variable.name for variable in variables_of(program, "output")]
    found = nan_outputs(names, outputs)
    args.ending.nan = bool(found)
    if found and args.check_nan:
        made = "the inputs or constants have NaN" if first is None else f"made first by {first}"
        text = "; ".join(nan.text() for nan in found)
        raise NeuronError("NIR_SIM035", f"{text}\n  {made}")
    for nan in found:
        warning(f"{nan.text()}; --check-nan names the instruction that made the first one")
