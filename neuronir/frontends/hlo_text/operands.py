"""Resolve the operands of an instruction, and reject unsupported opcodes."""

import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from lark import Token
from xdsl.ir import SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.hlo_text.opcodes import Opcode
from neuronir.frontends.hlo_text.shapes import parse_shape, split_top
from neuronir.frontends.hlo_text.source import Source

_PLAIN_OPERANDS = re.compile(r"\(\s*(?:%?[\w.\-]+(?:\s*,\s*%?[\w.\-]+)*+)?\s*\)")
_NAME = re.compile(r"%?([\w.\-]+)")
_COMMENT = re.compile(r"/\*.*?\*/", re.S)
_DYNAMIC = frozenset(("dynamic-reshape", "set-dimension-size"))
# XLA opcodes that the compiler does not support.
_UNSUPPORTED = frozenset(("ragged-dot", "ragged-all-to-all", "scaled-dot", "scan"))


def unknown_opcode(source: Source, name: str, opcode: Token) -> NoReturn:
    """Raise the error for an unknown or unsupported opcode."""
    if opcode in _DYNAMIC:
        source.fail(
            "NCC_EMOD025",
            f"instruction '{name}': {opcode} makes a dynamic shape, which is not supported",
            opcode,
            "compile with static shapes",
        )
    if opcode in _UNSUPPORTED:
        source.fail("NCC_EUOC002", f"instruction '{name}': unsupported operator {opcode}", opcode)
    source.fail("NIR_HLO003", f"instruction '{name}': unknown opcode '{opcode}'", opcode)


def plain_operands(text: str) -> list[str] | None:
    """Return the names between the parentheses, or None if there is other text."""
    return _NAME.findall(text) if _PLAIN_OPERANDS.fullmatch(text) else None


def read_operands(
    source: Source, name: str, spec: Opcode, tokens: Sequence[Token], values: Mapping[str, SSAValue]
) -> list[SSAValue]:
    """Return the values that an instruction names between its parentheses."""
    text = tokens[3]
    operands: list[SSAValue] = []
    plain = plain_operands(text)
    if plain is not None:
        for operand in plain:
            value = values.get(operand)
            if value is None:
                _unknown_operand(source, name, operand, text)
            operands.append(value)
    else:
        operands = _typed_operands(source, name, text, values)
    if spec.operands is not None and len(operands) != spec.operands:
        source.fail(
            "NIR_HLO010",
            f"instruction '{name}': {tokens[2]} takes {spec.operands} operands, "
            f"{len(operands)} given",
            text,
        )
    return operands


def _typed_operands(
    source: Source, name: str, text: Token, values: Mapping[str, SSAValue]
) -> list[SSAValue]:
    """Parse operands printed with shapes or with comments in between."""
    operands: list[SSAValue] = []
    for part in split_top(_COMMENT.sub(" ", text)[1:-1]):
        words = part.strip().rsplit(None, 1)
        match = _NAME.fullmatch(words[-1]) if words else None
        if match is None:
            source.fail("NIR_HLO001", f"malformed operand '{part.strip()}'", text)
        value = values.get(match[1])
        if value is None:
            _unknown_operand(source, name, match[1], text)
        if len(words) == 2:
            try:
                printed = parse_shape(words[0].strip())
            except NeuronError as error:
                source.fail(error.code, f"instruction '{name}': {error.message}", text, error.help)
            if printed.type != value.type:
                source.fail(
                    "NIR_HLO011",
                    f"instruction '{name}': operand '{match[1]}' is written with shape "
                    f"{words[0].strip()} but has type {value.type}",
                    text,
                    offset=_position(match[1], text),
                )
        operands.append(value)
    return operands


def _unknown_operand(source: Source, name: str, operand: str, text: Token) -> NoReturn:
    source.fail(
        "NIR_HLO004",
        f"instruction '{name}': operand '{operand}' is not defined before it is used",
        text,
        offset=_position(operand, text),
    )


def _position(operand: str, text: str) -> int:
    """Return the position of an operand's name."""
    found = re.search(rf"(?<![\w.\-]){re.escape(operand)}(?![\w.\-\[])", text)
    return found.start() if found else 0
