"""Define errors of lowering rules: reasons that callers handle, and compiler bugs."""

from xdsl.ir import Operation

from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.location import source_name


class NoLayout(NeuronError):
    """Raised if a value cannot have a requested layout (NIR_LOW001); callers may try another
    one.
    """

    def __init__(self, message: str) -> None:
        super().__init__("NIR_LOW001", message)


class LoweringFault(Exception):
    """Raised if a rule failed in an unforeseen way: a compiler bug."""

    def __init__(self, op: Operation, error: Exception) -> None:
        text = f"{type(error).__name__} {error}".strip()
        super().__init__(f"lowering '{source_name(op)}' ({op.name}): {text}")
