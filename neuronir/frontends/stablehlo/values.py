"""Read attribute values of MLIR text as plain values."""

import re
from typing import Any

from xdsl.dialects.builtin import TensorType

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.stablehlo.dense import from_hexadecimal, from_list
from neuronir.frontends.stablehlo.reader import STRING, WORD, Reader
from neuronir.frontends.stablehlo.records import (
    ConvolutionNumbers,
    Dense,
    Dictionary,
    Resource,
    Symbol,
    Word,
)
from neuronir.frontends.stablehlo.types import (
    element_of,
    optional_type,
    read_function_type,
    read_type,
    skip_element_type,
)

_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]++|\d++(\.\d*+)?([eE][+-]?\d++)?)")
_ENUM = re.compile(r"#(?:stablehlo|chlo|mhlo)<\w+\s+(\w+)>")
_HASH = re.compile(r"#[\w$.\-]++")
_ARRAY = re.compile(r"array<\s*(?:i|f|ui|bf)\d++\s*:?([^<>]*+)>")
_NEXT_IS_FIELD = re.compile(r"<\s*(?:>|[A-Za-z_]\w*+\s*=)")
_TYPE_WORD = re.compile(r"(?:i|ui|f|bf)\d++\w*+|index")


def read_value(reader: Reader) -> Any:
    """Read an attribute: a number, string, list, `Dictionary`, `Dense`, `Word` or type."""
    first = reader.text[reader.position : reader.position + 1]
    if first == "[":
        return read_list(reader)
    if first == "#":
        return _hash(reader)
    if first == '"':
        text = reader.string()
        skip_element_type(reader)
        return text
    if first == "{":
        return read_dictionary(reader)
    if first == "@":
        return _symbol(reader)
    if first == "(":
        return read_function_type(reader)
    if first == "<":
        return _fields(reader)
    if first == "-" or first.isdigit():
        return _number(reader)
    return _word(reader)


def read_list(reader: Reader) -> list[Any]:
    """Read `[1, 2]`."""
    reader.expect("[")
    values: list[Any] = []
    while not reader.accept("]"):
        if values:
            reader.expect(",")
        values.append(read_value(reader))
    return values


def read_dictionary(reader: Reader) -> Dictionary:
    """Read `{name = value, unit}`."""
    found = Dictionary()
    reader.expect("{")
    while not reader.accept("}"):
        if found:
            reader.expect(",")
        name = reader.string() if reader.at('"') else reader.word("the name of an attribute")
        if reader.accept("="):
            start = reader.position
            found[name] = read_value(reader)
            found.texts[name] = reader.text[start : reader.position].rstrip()
        else:
            found[name] = True
    return found


def _symbol(reader: Reader) -> Symbol:
    name = reader.symbol()
    while reader.accept("::"):
        name = reader.symbol()
    return Symbol(name)


def _number(reader: Reader) -> int | float:
    match = reader.match(_NUMBER)
    if match is None:
        reader.expected("a number")
    skip_element_type(reader)
    if match[1] is not None or match[2] is not None:
        return float(match[0])
    return int(match[0], 16 if "x" in match[0] else 10)


def _word(reader: Reader) -> Any:
    if reader.text.startswith("dense", reader.position):
        found = optional_dense(reader)
        if found is not None:
            return found
    start = reader.position
    if match := reader.match(_ARRAY):
        try:
            return [_element(part.strip()) for part in match[1].split(",") if part.strip()]
        except ValueError:
            reader.fail("malformed array", start)
    type_ = optional_type(reader)
    if type_ is not None:
        return type_
    if reader.at("!"):
        return read_type(reader)
    word = reader.word("an attribute")
    if word in ("true", "false"):
        skip_element_type(reader)
        return word == "true"
    if word == "unit":
        return True
    if reader.at("<") and not _TYPE_WORD.fullmatch(word):  # affine_map<...> and others
        return Word(word + reader.nested())
    return Word(word)


def _element(text: str) -> int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else float(text)


def _hash(reader: Reader) -> Any:
    """Read an attribute of a dialect, or the alias of one."""
    if match := reader.match(_ENUM):
        return Word(match[1])
    match = reader.match(_HASH)
    if match is None:
        reader.expected("an attribute")
    if not reader.at("<"):
        return Word(match[0])
    if match[0] == "#stablehlo.conv":
        reader.expect("<")
        found = read_convolution_numbers(reader)
        reader.expect(">")
        return found
    if _NEXT_IS_FIELD.match(reader.text, reader.position):
        return _fields(reader)
    return Word(match[0] + reader.nested())


def _fields(reader: Reader) -> Dictionary | Word:
    """Read `<name = value, name = value>`."""
    if not _NEXT_IS_FIELD.match(reader.text, reader.position):
        return Word(reader.nested())
    found = Dictionary()
    reader.expect("<")
    while not reader.accept(">"):
        if found:
            reader.expect(",")
        name = reader.word("the name of a field")
        reader.expect("=")
        found[name] = read_value(reader)
    return found


def read_convolution_numbers(reader: Reader) -> ConvolutionNumbers:
    """Read `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

    def labels() -> list[str]:
        reader.expect("[")
        found: list[str] = []
        while not reader.accept("]"):
            if found:
                reader.expect(",")
            match = reader.match(_LABEL)
            found.append(match[0] if match else reader.expected("a label such as `b` or `0`"))
        return found

    lhs = labels()
    reader.expect("x")
    rhs = labels()
    reader.expect("->")
    return ConvolutionNumbers(lhs, rhs, labels())


_LABEL = re.compile(r"\w+|\?")


# --- constants


def optional_dense(reader: Reader) -> Dense | Resource | None:
    """Read `dense<...> : type` or `dense_resource<name> : type`, if it is next."""
    start = reader.position
    word = WORD.match(reader.text, start)
    if word is None or word[0] not in ("dense", "dense_resource"):
        return None
    reader.advance(word.end())
    reader.expect("<")
    if word[0] == "dense_resource":
        key = reader.string() if reader.at('"') else reader.word("the name of a resource")
        reader.expect(">")
        return Resource(key, _type_of_elements(reader), start)
    at = reader.position
    quoted = reader.match(STRING)
    if quoted is None:
        end = reader.text.find(">", at)
        if end < 0:
            reader.fail("unexpected end of the text: the constant is not closed", start)
        reader.advance(end)
    reader.expect(">")
    type_ = _type_of_elements(reader)
    assert isinstance(type_, TensorType)
    try:
        if quoted is not None:
            return Dense(from_hexadecimal(quoted[1], type_), type_)
        return Dense(from_list(reader.text[at:end], type_), type_)
    except NeuronError as error:
        reader.refail(error, start)


def _type_of_elements(reader: Reader) -> Any:
    reader.expect(":")
    start = reader.position
    if match := reader.match(_INDEX):  # layouts, which are not read
        dims = [int(d) for d in match[1].split("x")[:-1]]
        return TensorType(_INDEX_ELEMENT, dims)
    type_ = read_type(reader)
    if not isinstance(type_, TensorType):
        reader.fail("a constant is a tensor", start, code="NIR_HLO008")
    return type_


_INDEX = re.compile(r"tensor<((?:\d++x)*+)index>")
_INDEX_ELEMENT = element_of("i64")
