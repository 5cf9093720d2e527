"""Types of MLIR text: tensors, tuples, tokens, and types of functions."""

import re
from functools import lru_cache

from xdsl.ir import Attribute

from neuronir.dialects.hlo.attributes import TokenType, tensor_type, tuple_type
from neuronir.dialects.support.dtypes import HLO_NAMES, from_hlo_name
from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text.shapes import MOST_ELEMENTS
from neuronir.frontends.stablehlo.reader import Reader
from neuronir.frontends.stablehlo.records import FunctionType

_TENSOR = re.compile(r"tensor<([^<>()]*+(?:<[^<>]*+>[^<>()]*+)*+)>")
_DIMENSIONS = re.compile(r"((?:(?:\d++|\?)x)*+)(.*)", re.S)
_TUPLE = re.compile(r"tuple<")
_TOKEN = re.compile(r"!(?:stablehlo|mhlo)\.token")
_OTHER = re.compile(r"(?:!?[a-z][\w.]*+(?:<[^<>]*+(?:<[^<>]*+>[^<>]*+)*+>)?)")
TOKEN = TokenType()


def _mlir_name(name: str) -> str:
    """Return the name in MLIR of an HLO element type."""
    if name == "pred":
        return "i1"
    if name[0] in "su" and name[1:].isdigit():
        return ("ui" if name[0] == "u" else "i") + name[1:]
    if name in ("c64", "c128"):
        return f"complex<f{int(name[1:]) // 2}>"
    return "f8" + name[2:].upper() if name.startswith("f8") else name


_ELEMENTS: dict[str, Attribute] = {_mlir_name(name): from_hlo_name(name) for name in HLO_NAMES}


def element_of(name: str) -> Attribute:
    """Return the element type of a name such as `f32`, `ui8`, `complex<f32>` (NCC_ESPP004)."""
    found = _ELEMENTS.get(name)
    if found is None:
        raise NeuronError(
            "NCC_ESPP004",
            f"data type '{name}' is not supported",
            help="supported element types: " + ", ".join(_ELEMENTS),
        )
    return found


@lru_cache(maxsize=1 << 14)
def _tensor(inner: str) -> Attribute:
    text, _, _encoding = inner.partition(",")  # bounds and sparsity are of dynamic shapes only
    match = _DIMENSIONS.fullmatch(text.replace(" ", ""))
    assert match is not None
    dims = match[1].split("x")[:-1]
    if "?" in dims or match[2].startswith("*x"):
        raise NeuronError(
            "NCC_EMOD025",
            f"dynamic shape tensor<{inner}> is not supported",
            help="every dimension must be a number: lower or export the function for static shapes",
        )
    sizes = [int(d) for d in dims]
    element = element_of(match[2])
    elements = 1
    for size in sizes:
        elements *= size or 1
    if elements > MOST_ELEMENTS:
        raise NeuronError("NIR_HLO002", f"shape tensor<{inner}> is too large")
    return tensor_type(sizes, element)


def optional_type(reader: Reader) -> Attribute | None:
    """Read a tensor, tuple or token type, if it is next."""
    start = reader.position
    match = reader.match(_TENSOR)
    if match is not None:
        try:
            return _tensor(match[1])
        except NeuronError as error:
            reader.refail(error, start)
    if reader.match(_TUPLE):
        parts: list[Attribute] = []
        while not reader.accept(">"):
            if parts:
                reader.expect(",")
            parts.append(read_type(reader))
        return tuple_type(parts)
    return TOKEN if reader.match(_TOKEN) else None


def read_type(reader: Reader) -> Attribute:
    """Read a type of a value; raises NCC_ESPP004 if StableHLO has no such type."""
    found = optional_type(reader)
    if found is not None:
        return found
    start = reader.position
    match = _OTHER.match(reader.text, start)
    if match is None or match[0].startswith("tensor"):
        reader.expected("a type such as `tensor<2x3xf32>`")
    reader.fail(
        f"a value cannot have type {match[0]}",
        start,
        code="NCC_ESPP004",
        help="values are tensors, tuples of tensors, or tokens",
    )


def read_types(reader: Reader) -> list[Attribute]:
    """Read `(T, T)`, or types without parentheses and separated by commas."""
    types: list[Attribute] = []
    if reader.accept("("):
        while not reader.accept(")"):
            if types:
                reader.expect(",")
            types.append(read_type(reader))
        return types
    types.append(read_type(reader))
    while reader.accept(","):
        types.append(read_type(reader))
    return types


def read_function_type(reader: Reader) -> FunctionType:
    """Read `(T, T) -> T` or `(T) -> (T, T)`."""
    inputs = read_types(reader)
    reader.expect("->")
    return FunctionType(inputs, read_results(reader))


def read_results(reader: Reader) -> list[Attribute]:
    """Read the types after an arrow: `(T, T)`, or one type."""
    return read_types(reader) if reader.at("(") else [read_type(reader)]


def skip_element_type(reader: Reader) -> None:
    """Read the type of a number, such as `: i64`, if there is one."""
    if reader.at(":") and not reader.at("::"):
        reader.expect(":")
        if optional_type(reader) is None and reader.match(_OTHER) is None:
            reader.expected("a type such as `i64`")
