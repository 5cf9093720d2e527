"""List the operators that can be compiled, for `list-operators`."""

from neuronir.passes.hlo.decompose import decompositions
from neuronir.passes.hlo.rules.collective import RULES as COLLECTIVES
from neuronir.passes.lowering.function import RULES

STRUCTURE = ("call", "conditional", "constant", "get_tuple_element", "parameter", "tuple", "while")
"""Structural ops: inlined, unrolled or folded before lowering."""

REPLACED = ("custom_call", *(name.removeprefix("hlo.") for name in COLLECTIVES))
"""Ops that canonicalisation replaces in some forms: custom calls with a known target, and
collectives whose groups have one device each.
"""

_PUBLISHED: dict[str, tuple[str, ...]] = {
    "AllGather": ("Allgather",),
    "AllReduce": ("Allreduce",),
    "And": ("And", "LogicalAnd"),
    "BatchNormGrad": ("Batchnormgrad",),
    "BatchNormInference": ("Batchnorminference",),
    "BatchNormTraining": ("Batchnorm",),
    "BitcastConvert": ("BitcastConvertType",),
    "Broadcast": ("Broadcast", "BroadcastInDim"),
    "Compare": ("Compare", "Eq", "Ge", "Gt", "Le", "Lt", "Ne"),
    "Constant": ("Constant", "ConstantLiteral"),
    "Convert": ("ConvertElementType",),
    "Cosine": ("Cos",),
    "CustomCall": ("Customcall",),
    "Divide": ("Div",),
    "Dot": ("Dot", "DotGeneral"),
    "Exponential": ("Exp",),
    "Maximum": ("Max",),
    "Minimum": ("Min",),
    "Multiply": ("Mul",),
    "Negate": ("Neg",),
    "Not": ("LogicalNot", "Not"),
    "Power": ("Pow",),
    "Reverse": ("Rev",),
    "Rng": ("RngNormal", "RngUniform"),
    "Sine": ("Sin",),
    "Subtract": ("Sub",),
    "Topk": ("TopK",),
}
"""Documented names of opcodes that differ from ours."""


def operator_names(framework: str) -> list[str]:
    """Return the names of a framework's operators that can be compiled, sorted.

    The spelling is that of the documentation of neuron-cc and neuronx-cc. For MXNet, the operators
    are those that neuron-cc compiled.
    """
    if framework.upper() == "ONNX":
        from neuronir.frontends.onnx.unsupported import importable

        return importable()
    if framework.upper() == "TENSORFLOW":
        from neuronir.frontends.tensorflow import operator_names as tensorflow_operators

        return tensorflow_operators()
    if framework.upper() == "PYTORCH":
        from neuronir.frontends.torch.model import operator_names as torch_operators

        return torch_operators()
    if framework.upper() == "MXNET":
        from neuronir.frontends.mxnet import OPERATORS

        return sorted(OPERATORS)
    return sorted(name for op in xla_operators() for name in _PUBLISHED.get(op, (op,)))


def xla_operators() -> list[str]:
    """Return the opcodes that can be compiled, as words in capitals (`DynamicSlice`), sorted.

    These are the opcodes with a lowering rule, those that are decomposed into such opcodes, and
    those that earlier passes remove, some of them only in some forms (`REPLACED`).
    """
    lowered = (name.removeprefix("hlo.") for name in RULES)
    names = {*lowered, *decompositions(), *STRUCTURE, *REPLACED} - {"composite"}
    return sorted("".join(map(str.capitalize, name.split("_"))) for name in names)
