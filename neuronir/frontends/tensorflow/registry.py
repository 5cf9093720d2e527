"""Register the functions that build operators."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuronir.frontends.tensorflow.node import Op
    from neuronir.frontends.tensorflow.values import Value

Build = Callable[["Op"], "Value | Sequence[Value]"]


@dataclass(frozen=True)
class Operator:
    """How one operator is built.

    `outputs` are the names of several outputs, by which functions refer to them.
    """

    build: Build
    outputs: tuple[str, ...] = ()


OPERATORS: dict[str, Operator] = {}


def op(*names: str, outputs: str = "") -> Callable[[Build], Build]:
    """Register a function that builds these operators."""

    def register(build: Build) -> Build:
        for name in names:
            if name in OPERATORS:
                raise ValueError(f"{name} is registered twice")
            OPERATORS[name] = Operator(build, tuple(outputs.split()))
        return build

    return register


_DATA = "the shape of its result depends on data"
_QUANTISED = "int8-quantised models are not supported: export the model in floating point"
_TEXT = "strings are not computed with"
_STATE = "variables are not written: export the model for inference"
_HOST = "it belongs to the host program"

REFUSED: dict[str, str] = {
    name: reason
    for reason, names in {
        _DATA: "Where Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2 DynamicPartition "
        "NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4 "
        "NonMaxSuppressionV5 CombinedNonMaxSuppression SparseToDense SetDiff1d ListDiff",
        _QUANTISED: "QuantizeV2 Quantize Dequantize QuantizedConv2D QuantizedMatMul QuantizedRelu "
        "QuantizedAdd QuantizedMaxPool QuantizedAvgPool QuantizedBiasAdd QuantizedReshape "
        "QuantizedConcat QuantizedConcatV2 Requantize RequantizationRange QuantizeDown "
        "QuantizeDownAndShrinkRange UniformQuantize UniformDequantize UniformQuantizedDot "
        "UniformQuantizedConvolution UniformRequantize QuantizedMul QuantizedRelu6",
        _TEXT: "StringJoin StringSplit StringSplitV2 StringToNumber StringToHashBucketFast "
        "AsString DecodeJpeg DecodePng DecodeImage DecodeBase64 DecodeRaw EncodeBase64 Substr "
        "ParseExample ParseExampleV2 ParseSingleExample RegexReplace StaticRegexFullMatch "
        "StringFormat",
        _STATE: "Assign AssignAdd AssignSub AssignVariableOp AssignAddVariableOp "
        "AssignSubVariableOp ScatterUpdate ScatterAdd ResourceScatterUpdate ResourceScatterAdd "
        "ResourceApplyGradientDescent ResourceApplyAdam ResourceApplyMomentum ApplyAdam "
        "ApplyGradientDescent ApplyMomentum ResourceApplyKerasMomentum",
        _HOST: "PyFunc EagerPyFunc PyFuncStateless LookupTableFindV2 HashTableV2 IteratorGetNext "
        "QueueDequeueV2 ReadFile WriteFile",
    }.items()
    for name in names.split()
}
"""Operators that cannot be compiled, with reasons."""

WRITES = frozenset(name for name, reason in REFUSED.items() if reason == _STATE)


def why_not(name: str) -> str | None:
    """Return why an operator cannot be imported, or None if it can."""
    if name in OPERATORS:
        return None
    return REFUSED.get(name, "it is not supported")
