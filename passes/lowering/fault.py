"""What can go wrong in a rule: declared reasons that callers act on, and faults of the compiler."""

from xdsl.ir import Operation

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name


class NoLayout(NeuronError):
    """A value cannot be laid out as is wanted (NIR_LOW001); callers may try another layout."""

    def __init__(self, message: str) -> None:
        super().__init__("NIR_LOW001", message)


class LoweringFault(Exception):
    """A rule failed in a way that no check foresaw: a fault of the compiler."""

    def __init__(self, op: Operation, error: Exception) -> None:
        text = f"{type(error).__name__} {error}".strip()
        super().__init__(f"lowering '{source_name(op)}' ({op.name}): {text}")
