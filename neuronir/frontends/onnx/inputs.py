"""Resolve all dimensions of the inputs of an ONNX graph."""

import onnx
from onnx import TensorProto, ValueInfoProto
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.dialects.support.dtypes import element_type
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.bindings import Bindings, example_shape
from neuronir.frontends.onnx.node import type_of

Dim = int | str | None
"""A size, a symbol, or unknown."""


def graph_inputs(graph: onnx.GraphProto) -> list[ValueInfoProto]:
    """Return the inputs that the user supplies: those without an initializer."""
    initialised = {t.name for t in graph.initializer}
    initialised |= {t.values.name for t in graph.sparse_initializer}
    return [value for value in graph.input if value.name not in initialised]


def _declared(value: ValueInfoProto) -> list[Dim] | None:
    """Return the declared dimensions, or None if the rank is unknown."""
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        named = {"sequence_type": "a sequence", "optional_type": "optional", "map_type": "a map"}
        what = named.get(kind or "", "of no type")
        raise NeuronError(
            "NIR_ONNX005", f"input '{value.name}' is {what}; only tensors are supported"
        )
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    dims: list[Dim] = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value"):
            dims.append(dim.dim_value if dim.dim_value >= 0 else None)
        else:
            dims.append(dim.dim_param or None)
    return dims


def input_types(graph: onnx.GraphProto, bindings: Bindings) -> dict[str, TensorType[Attribute]]:
    """Return the type of each input, with symbolic dimensions bound.

    Raises NIR_ONNX006 with all unbound names, NIR_ONNX007 for a binding that does not fit.
    """
    inputs = {value.name: value for value in graph_inputs(graph)}
    declared = {name: _declared(value) for name, value in inputs.items()}
    symbols = _symbols(declared, bindings)
    found: dict[str, TensorType[Attribute]] = {}
    unbound: list[str] = []
    example = ""
    for name, value in inputs.items():
        number = value.type.tensor_type.elem_type
        element = _element(name, number)
        _check_dtype(name, element, bindings)
        dims = _resolved(name, declared[name], symbols, bindings)
        if dims is None or any(not isinstance(d, int) for d in dims):
            shown = "unknown rank" if dims is None else "x".join(str(d or "?") for d in dims)
            unbound.append(f"'{name}' ({shown})")
            sizes = None if dims is None else [d if isinstance(d, int) else None for d in dims]
            example = example or example_shape(name, sizes)
            continue
        found[name] = tensor_type([int(d or 0) for d in dims], element)
    if unbound:
        raise NeuronError(
            "NIR_ONNX006",
            "the model has inputs of unknown shape: " + ", ".join(unbound),
            help=f"bind all of them, for example {example}, or by --io-config",
        )
    return found


def _element(name: str, number: int) -> Attribute:
    if number == TensorProto.STRING:
        raise NeuronError(
            "NIR_ONNX005", f"input '{name}' contains strings; only numbers are supported"
        )
    return type_of(number)


def _symbols(declared: dict[str, list[Dim] | None], bindings: Bindings) -> dict[str, int]:
    """Return the size of each symbolic dimension that a binding determines."""
    sizes: dict[str, int] = {}
    names = {d for dims in declared.values() for d in dims or () if isinstance(d, str)}
    for name, shape in bindings.shapes.items():
        if name not in declared:
            if name in names and len(shape) == 1:
                _settle(sizes, name, shape[0])
                continue
            known = ", ".join(f"'{n}'" for n in declared) or "none"
            raise NeuronError(
                "NIR_ONNX007", f"the model has no input '{name}'", help=f"its inputs: {known}"
            )
        dims = declared[name]
        if dims is None:
            continue
        fits = len(dims) == len(shape)
        if not fits or any(isinstance(d, int) and d != n for d, n in zip(dims, shape, strict=True)):
            shown = "x".join(str(d if d is not None else "?") for d in dims)
            raise NeuronError(
                "NIR_ONNX007",
                f"shape {'x'.join(map(str, shape))} does not fit input '{name}', which is {shown}",
            )
        for d, n in zip(dims, shape, strict=True):
            if isinstance(d, str):
                _settle(sizes, d, n)
    return sizes


def _settle(sizes: dict[str, int], symbol: str, size: int) -> None:
    if sizes.setdefault(symbol, size) != size:
        raise NeuronError(
            "NIR_ONNX007",
            f"the symbolic dimension '{symbol}' is bound to {sizes[symbol]} and to {size}",
        )


def _resolved(
    name: str, dims: list[Dim] | None, symbols: dict[str, int], bindings: Bindings
) -> list[Dim] | None:
    if name in bindings.shapes:
        return list(bindings.shapes[name])
    if dims is None:
        return None
    return [symbols.get(d, d) if isinstance(d, str) else d for d in dims]


def _check_dtype(name: str, element: Attribute, bindings: Bindings) -> None:
    given = bindings.dtypes.get(name)
    if given is None:
        return
    try:
        wanted = element_type(given)
    except (NeuronError, TypeError) as error:
        raise NeuronError("NIR_ONNX007", f"input '{name}': unknown type '{given}'") from error
    if wanted != element:
        raise NeuronError(
            "NIR_ONNX007", f"input '{name}' has type {element}, --io-config says '{given}'"
        )
