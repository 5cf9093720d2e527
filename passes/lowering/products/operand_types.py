"""Check the operand types of the tensor engine."""

from xdsl.ir import Operation

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name
from neuronir.passes.lowering.state import Lowering


def check_operands(state: Lowering, op: Operation, what: str) -> None:
    """Raise NCC_EVRF035 if an operand of `op`, a dot or convolution, has an unsupported type."""
    known = state.machine.matmul_dtypes
    for operand in op.operands:
        dtype = state.dtype(operand)
        if dtype.name not in known:
            raise NeuronError(
                "NCC_EVRF035",
                f"{source_name(op)}: {what} of {dtype.name.lower()} operands is not a type of the "
                f"tensor engine of {state.machine.name}",
                help="supported: " + ", ".join(sorted(known)).lower(),
            )
