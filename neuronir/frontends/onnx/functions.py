"""Expand operators that are defined as functions, by the model or by ONNX."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto
from onnx.helper import make_tensor_type_proto, np_dtype_to_tensor_dtype
from xdsl.ir import SSAValue

from neuronir.dialects.support.dtypes import np_dtype
from neuronir.passes.hlo.support.values import element, shape

FunctionKey = tuple[str, str, str]
"""Domain, name and overload of a function of the model."""


def model_functions(model: onnx.ModelProto) -> dict[FunctionKey, FunctionProto]:
    """Return the functions that a model defines."""
    return {(f.domain, f.name, f.overload): f for f in model.functions}


def has_schema_function(name: str, domain: str, version: int) -> bool:
    """Return whether ONNX defines an operator by a function."""
    schema = _schema(name, domain, version)
    return schema is not None and (schema.has_function or schema.has_context_dependent_function)


def _schema(name: str, domain: str, version: int) -> Any:
    """Return the schema of an operator, or None (onnx's stubs omit functions)."""
    if not 0 < version < 1 << 31:
        return None
    try:
        return onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None


def schema_function(
    node: onnx.NodeProto, domain: str, version: int, operands: Sequence[SSAValue | None]
) -> FunctionProto | None:
    """Return ONNX's function body for a node, which may depend on the operand types."""
    schema = _schema(node.op_type, domain, version)
    if schema is None:
        return None
    body = FunctionProto()
    versions = [v for v in schema.function_opset_versions if v <= version]
    if schema.has_function and versions:
        body.ParseFromString(schema.get_function_with_opset_version(max(versions)))
        return body
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= version]
    if not schema.has_context_dependent_function or not versions:
        return None
    types = [_type_bytes(value) for value in operands]
    text = schema.get_context_dependent_function_with_opset_version(
        max(versions), node.SerializeToString(), types
    )
    if not text:
        return None
    body.ParseFromString(text)
    return body


def _type_bytes(value: SSAValue | None) -> bytes:
    if value is None:
        return b""
    number = np_dtype_to_tensor_dtype(np_dtype(element(value)))
    return bytes(make_tensor_type_proto(number, shape(value)).SerializeToString())


def defaults_of(
    function: FunctionProto, node: onnx.NodeProto, version: int
) -> list[AttributeProto]:
    """Return the defaults of omitted attributes: those of the function, else those of the
    schema.
    """
    given = {a.name for a in node.attribute}
    found = [a for a in function.attribute_proto if a.name not in given]
    schema = _schema(node.op_type, node.domain, version)
    if schema is not None:
        given |= {a.name for a in found}
        found += [
            a.default_value
            for name, a in schema.attributes.items()
            if name not in given and a.default_value.type != AttributeProto.UNDEFINED
        ]
    return found


def resolved(
    node: onnx.NodeProto, arguments: Mapping[str, AttributeProto]
) -> dict[str, AttributeProto]:
    """Return the attributes of a node in a function, with references replaced by those of the
    call.
    """
    found: dict[str, AttributeProto] = {}
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            found[attribute.name] = attribute
        elif attribute.ref_attr_name in arguments:
            copy = AttributeProto()
            copy.CopyFrom(arguments[attribute.ref_attr_name])
            copy.name = attribute.name
            found[attribute.name] = copy
    return found
