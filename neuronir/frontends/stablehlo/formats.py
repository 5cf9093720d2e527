"""Parse the pretty form of ops, to the attribute names of the generic form.

Most ops have one form: items separated by commas, which are operands, words or `name = value`;
then attributes and types.

    stablehlo.pad %0, %1, low = [0, 1], high = [0, 1], interior = [0, 0] : (T, T) -> T
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import TensorType

from neuronir.dialects.hlo.attributes import tensor_type
from neuronir.frontends.stablehlo.reader import WORD, Reader
from neuronir.frontends.stablehlo.records import (
    Argument,
    Body,
    Dictionary,
    Statement,
    Symbol,
)
from neuronir.frontends.stablehlo.types import read_function_type, read_results, read_types
from neuronir.frontends.stablehlo.values import (
    optional_dense,
    read_convolution_numbers,
    read_dictionary,
    read_list,
    read_value,
)

Check = Callable[[str, int, Reader], None]
"""Raises an error for an op that is not known, by its name and position."""


class RegionReader(Reader, ABC):
    """A reader of ops with regions."""

    check: Check

    @abstractmethod
    def arguments(self) -> list[Argument]:
        """Read the arguments of a function or region, in parentheses."""

    @abstractmethod
    def body(self, arguments: list[Argument] | None = None) -> Body:
        """Read a region; its label may have its arguments."""


Format = Callable[[RegionReader, Statement], None]

_FORMAT = re.compile(r"e(\d+)m(\d+)")
_ALL_TYPES = frozenset(("stablehlo.optimization_barrier", "stablehlo.while"))
"""Ops for which types without an arrow are the types of all results."""
_WORDS = {
    "stablehlo.compare": ("comparison_direction", "compare_type"),
    "chlo.broadcast_compare": ("comparison_direction", "compare_type"),
}
_NAMES: dict[str, dict[str, str]] = {
    "broadcast": {"sizes": "broadcast_sizes"},
    "broadcast_in_dim": {"dims": "broadcast_dimensions"},
    "transpose": {"dims": "permutation"},
    "reverse": {"dims": "dimensions"},
    "concatenate": {"dim": "dimension"},
    "iota": {"dim": "iota_dimension"},
    "get_dimension_size": {"dim": "dimension"},
    "pad": {
        "low": "edge_padding_low",
        "high": "edge_padding_high",
        "interior": "interior_padding",
    },
    "dynamic_slice": {"sizes": "slice_sizes"},
    "fft": {"type": "fft_type", "length": "fft_length"},
    "rng": {"distribution": "rng_distribution"},
    "rng_bit_generator": {"algorithm": "rng_algorithm"},
    "dot": {"precision": "precision_config"},
    "dot_general": {"precision": "precision_config"},
}
"""The names of the generic form, by mnemonic and name of the pretty form."""
_WINDOW = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


def read_pretty(reader: RegionReader, op: Statement) -> None:
    """Parse what follows the name of an op, without the location."""
    _FORMATS.get(op.name, _default)(reader, op)


def _default(reader: RegionReader, op: Statement) -> None:
    parentheses = reader.accept("(")
    _items(reader, op, ")" if parentheses else None)
    if parentheses:
        reader.expect(")")
    _normalise(reader, op)
    _attributes_and_types(reader, op)


def _items(reader: RegionReader, op: Statement, end: str | None = None) -> None:
    """Parse operands, words and `name = value`, separated by commas."""
    words: list[str] = []
    names = _NAMES.get(op.name.partition(".")[2], {})
    while not (reader.at(":") or reader.at("{") or (end and reader.at(end))):
        if reader.at("%"):
            op.operands.append(reader.value())
        else:
            match = reader.match(WORD)
            if match is None:
                break
            if reader.accept("="):
                # The type after a number would be that of the op.
                value = reader.integer() if reader.at_integer() else read_value(reader)
                if isinstance(value, list) and reader.accept_word("x"):
                    value = (value, read_list(reader))
                op.attributes[names.get(match[0], match[0])] = value
            else:
                words.append(match[0])
        if not reader.accept(","):
            break
    meanings = _WORDS.get(op.name, ())
    if len(words) > len(meanings):
        reader.fail(f"unexpected `{words[-1]}` in {op.name}", op.position)
    op.attributes.update(zip(meanings, words, strict=False))


def _normalise(reader: RegionReader, op: Statement) -> None:
    if op.name == "stablehlo.dot_general":
        numbers = Dictionary()
        for kind in ("batching", "contracting"):
            pair = op.attributes.pop(f"{kind}_dims", ([], []))
            if not isinstance(pair, tuple):
                reader.fail(f"expected `{kind}_dims = [...] x [...]`", op.position)
            numbers[f"lhs_{kind}_dimensions"], numbers[f"rhs_{kind}_dimensions"] = pair
        op.attributes["dot_dimension_numbers"] = numbers
    elif op.name == "stablehlo.reduce_precision":
        match = _FORMAT.fullmatch(str(op.attributes.pop("format", "")))
        if match is None:
            reader.fail("expected `format = e5m10`", op.position)
        op.attributes["exponent_bits"] = int(match[1])
        op.attributes["mantissa_bits"] = int(match[2])


def _attributes(reader: RegionReader, op: Statement) -> None:
    if reader.at("{"):
        found = read_dictionary(reader)
        op.attributes.update(found)
        op.attributes.texts.update(found.texts)


def _attributes_and_types(reader: RegionReader, op: Statement) -> None:
    _attributes(reader, op)
    reader.expect(":")
    types = read_types(reader)
    if reader.accept("->"):
        op.operand_types, op.types = types, read_results(reader)
    else:
        op.types = types if op.name in _ALL_TYPES else types[-1:]


def _operands(reader: RegionReader, op: Statement) -> None:
    """Parse `(%a, %b)`."""
    reader.expect("(")
    while not reader.accept(")"):
        if op.operands:
            reader.expect(",")
        op.operands.append(reader.value())


# --- ops with forms of their own


def _return(reader: RegionReader, op: Statement) -> None:
    _attributes(reader, op)
    if not reader.at("%"):
        return
    op.operands.append(reader.value())
    while reader.accept(","):
        op.operands.append(reader.value())
    _attributes(reader, op)
    reader.expect(":")
    op.operand_types = read_types(reader)


def _constant(reader: RegionReader, op: Statement) -> None:
    _attributes(reader, op)
    value = optional_dense(reader)
    if value is None:
        reader.expected("a constant such as `dense<1.0> : tensor<2xf32>`")
    op.attributes["value"] = value
    op.types = [value.type]


def _call(reader: RegionReader, op: Statement) -> None:
    op.attributes["callee"] = Symbol(reader.symbol())
    _operands(reader, op)
    _attributes_and_types(reader, op)


def _custom_call(reader: RegionReader, op: Statement) -> None:
    op.attributes["call_target_name"] = reader.symbol()
    _operands(reader, op)
    _attributes_and_types(reader, op)


def _composite(reader: RegionReader, op: Statement) -> None:
    op.attributes["name"] = reader.string()
    _items(reader, op)
    _attributes_and_types(reader, op)


def _slice(reader: RegionReader, op: Statement) -> None:
    op.operands.append(reader.value())
    reader.expect("[")
    ranges: list[list[int]] = []
    while not reader.accept("]"):
        if ranges:
            reader.expect(",")
        numbers = [reader.integer()]
        while reader.accept(":"):
            numbers.append(reader.integer())
        if len(numbers) not in (2, 3):
            reader.expected("a range such as `0:4` or `0:4:2`")
        ranges.append(numbers)
    op.attributes["start_indices"] = [r[0] for r in ranges]
    op.attributes["limit_indices"] = [r[1] for r in ranges]
    op.attributes["strides"] = [r[2] if len(r) == 3 else 1 for r in ranges]
    _attributes_and_types(reader, op)


def _get_tuple_element(reader: RegionReader, op: Statement) -> None:
    op.operands.append(reader.value())
    reader.expect("[")
    op.attributes["index"] = reader.integer()
    reader.expect("]")
    _attributes_and_types(reader, op)


def _convolution(reader: RegionReader, op: Statement) -> None:
    _operands(reader, op)
    reader.expect_word("dim_numbers")
    reader.expect("=")
    op.attributes["dimension_numbers"] = read_convolution_numbers(reader)
    if reader.accept(","):
        reader.expect_word("window")
        reader.expect("=")
        at = reader.position
        for name, value in read_dictionary(reader).items():
            if name not in _WINDOW:
                reader.fail(f"unexpected `{name}` in a window", at)
            op.attributes[_WINDOW[name]] = value
    _attributes_and_types(reader, op)


def _while(reader: RegionReader, op: Statement) -> None:
    names: list[tuple[str, int]] = []
    reader.expect("(")
    while not reader.accept(")"):
        if names:
            reader.expect(",")
        position = reader.position
        names.append((reader.value(), position))
        reader.expect("=")
        op.operands.append(reader.value())
    if reader.accept(":"):
        op.types = read_types(reader)
    if len(op.types) != len(names):
        reader.fail(f"{len(names)} values of a loop have {len(op.types)} types", op.position)
    if reader.accept_word("attributes"):
        _attributes(reader, op)

    def arguments() -> list[Argument]:
        pairs = zip(names, op.types, strict=True)
        return [Argument(name, type_, at, Dictionary()) for (name, at), type_ in pairs]

    reader.expect_word("cond")
    op.bodies.append(reader.body(arguments()))
    reader.expect_word("do")
    op.bodies.append(reader.body(arguments()))


def _reduce(reader: RegionReader, op: Statement) -> None:
    """Parse `(%x init: %i), (%y init: %j) [applies op] across dimensions = [1] : types
    [reducer(%a: T, %x: T) (%b: U, %y: U) { ... }]`."""
    initial: list[str] = []
    while True:
        reader.expect("(")
        op.operands.append(reader.value())
        reader.expect_word("init")
        reader.expect(":")
        initial.append(reader.value())
        reader.expect(")")
        if not reader.accept(","):
            break
    op.operands += initial
    applied: tuple[str, int] | None = None
    if reader.accept_word("applies"):
        applied = (reader.word("the op that is applied"), reader.position)
        reader.check(applied[0], applied[1], reader)
    reader.expect_word("across")
    reader.expect_word("dimensions")
    reader.expect("=")
    op.attributes["dimensions"] = read_list(reader)
    _attributes_and_types(reader, op)
    if applied is not None:
        op.bodies.append(_applied(reader, op, *applied))
        return
    reader.expect_word("reducer")
    firsts: list[Argument] = []
    seconds: list[Argument] = []
    while reader.at("("):
        pair = reader.arguments()
        if len(pair) != 2:
            reader.fail("a reducer has two arguments for each operand", op.position)
        firsts.append(pair[0])
        seconds.append(pair[1])
    op.bodies.append(reader.body([*firsts, *seconds]))


def _applied(reader: RegionReader, op: Statement, name: str, position: int) -> Body:
    """Return the region that applies one op to its two arguments."""
    types = op.operand_types
    last = types[-1] if types else None
    if not isinstance(last, TensorType):
        reader.fail("expected the types of the operands", op.position)
    scalar: Any = tensor_type((), last.element_type)
    arguments = [Argument(n, scalar, position, Dictionary()) for n in ("lhs", "rhs")]
    applied = Statement(name, position, ["result"], ["lhs", "rhs"], types=[scalar])
    done = Statement("stablehlo.return", position, [], ["result"])
    return Body(arguments, [applied, done], position)


def _sharding_constraint(reader: RegionReader, op: Statement) -> None:
    op.operands.append(reader.value())
    reader.nested()
    _attributes_and_types(reader, op)


def _manual_computation(reader: RegionReader, op: Statement) -> None:
    """Parse `(%a) in_shardings=[...] out_shardings=[...] manual_axes={...} (%x: T) {...} : types`.

    The attributes are kept as text.
    """
    _operands(reader, op)
    for name in ("in_shardings", "out_shardings", "manual_axes"):
        reader.expect_word(name)
        reader.expect("=")
        op.attributes.texts[name] = reader.nested()
    op.bodies.append(reader.body(reader.arguments()))
    _attributes(reader, op)
    reader.expect(":")
    type_ = read_function_type(reader)
    op.operand_types, op.types = type_.inputs, type_.outputs


_FORMATS: dict[str, Format] = {
    **dict.fromkeys(
        ("func.return", "stablehlo.return", "mhlo.return", "chlo.return", "sdy.return"), _return
    ),
    "stablehlo.constant": _constant,
    "mhlo.constant": _constant,
    "func.call": _call,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.composite": _composite,
    "stablehlo.slice": _slice,
    "stablehlo.get_tuple_element": _get_tuple_element,
    "stablehlo.convolution": _convolution,
    "stablehlo.while": _while,
    "stablehlo.reduce": _reduce,
    "sdy.sharding_constraint": _sharding_constraint,
    "sdy.manual_computation": _manual_computation,
}
