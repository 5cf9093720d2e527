"""The operators that `neuronx-cc list-operators` names: those that can be compiled."""

from neuronir.passes.hlo.decompose import decompositions
from neuronir.passes.lowering.function import RULES

_STRUCTURE = ("call", "conditional", "constant", "get_tuple_element", "parameter", "tuple", "while")
"""What holds a program together: inlined, unrolled or folded before the lowering."""


def operator_names(framework: str) -> list[str]:
    """The names of a framework's operators that can be compiled, sorted."""
    if framework.upper() == "ONNX":
        from neuronir.frontends.onnx.unsupported import importable

        return importable()
    if framework.upper() == "TENSORFLOW":
        from neuronir.frontends.tensorflow import operator_names as tensorflow_operators

        return tensorflow_operators()
    return xla_operators()


def xla_operators() -> list[str]:
    """Names as XlaBuilder spells them (`DynamicSlice`), sorted.

    They are the opcodes with a rule in the lowering, those with a decomposition into such, and what
    the passes before resolve.
    """
    lowered = (name.removeprefix("hlo.") for name in RULES)
    names = {*lowered, *decompositions(), *_STRUCTURE} - {"composite"}
    return sorted("".join(map(str.capitalize, name.split("_"))) for name in names)
