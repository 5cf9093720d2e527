"""The error of a rule that fails where no check foresaw it."""

from xdsl.ir import Operation

from neuronir.dialects.support.location import source_name


class LoweringFault(Exception):
    """A rule failed in a way that no check foresaw: a fault of the compiler."""

    def __init__(self, op: Operation, error: Exception) -> None:
        text = f"{type(error).__name__} {error}".strip()
        super().__init__(f"lowering '{source_name(op)}' ({op.name}): {text}")
