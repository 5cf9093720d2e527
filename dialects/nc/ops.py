"""Define the base of nc instruction ops: access patterns as operands, parameters by opcode
table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache, partial
from importlib import import_module
from math import isfinite
from struct import Struct
from typing import ClassVar, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    NoneAttr,
    StringAttr,
    f64,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.traits import HasCanonicalizationPatternsTrait

from neuronir.dialects.nc.attributes import (
    Pattern,
    PatternAttr,
    UpdateAttr,
    WaitAttr,
    number_of,
    parse_defined,
    parse_pattern,
    parse_wait,
    print_pattern,
    print_wait,
)
from neuronir.dialects.nc.enums import Engine
from neuronir.dialects.nc.kinds import ANYWHERE
from neuronir.dialects.nc.opcodes import OPCODES, OpSpec
from neuronir.dialects.nc.verify import verify_instruction
from neuronir.dialects.support.identity import by_identity
from neuronir.dialects.support.ops import NeuronOp

FINITE = "nc.finite"
"""Marks an addition in which the program itself makes no infinities or NaN: PE may compute it as a
product with the identity.
"""

EARLY = "nc.early"
"""Marks a matmul that starts a sum of the next products while PE waits for their operands."""

OWN_QUEUE = "nc.own_queue"
"""Marks a transfer whose queue the program itself names: nc-assign-queues does not change it."""


@dataclass(frozen=True, slots=True)
class View:
    """An operand for building an instruction: a buffer and a pattern with its index values."""

    buffer: SSAValue
    start: int
    partitions: int
    free: tuple[tuple[int, int], ...]  # (stride, size) in elements, outermost first
    offset: int = 0
    indices: tuple[tuple[SSAValue, int], ...] = ()
    partition_stride: int = 0
    dtype: str = ""


_CANONICALIZATION = "neuronir.dialects.nc.canonicalization"
_INDEX = IndexType()
_ROWS = {f"nc.{name}": row for name, row in OPCODES.items()}
_SEGMENTS = Struct("<2i")


@by_identity
def _buffer_count(sizes: DenseArrayBase) -> int:
    count: int
    count, _ = _SEGMENTS.unpack(sizes.data.data)
    return count


def _param_values(row: OpSpec, params: DictionaryAttr) -> dict[str, int | float]:
    """Return parameters by name with defaults filled in, and enums as integers."""
    out: dict[str, int | float] = {}
    given = params.data
    for param in row.params:
        attr = given.get(param.name)
        if attr is None:
            if param.default is None:
                continue
            out[param.name] = param.default
        elif isinstance(attr, StringAttr):
            out[param.name] = cast(type[IntEnum], param.kind)[attr.data.upper()].value
        elif isinstance(attr, FloatAttr):
            out[param.name] = attr.value.data
        else:
            out[param.name] = cast(IntegerAttr, attr).value.data
    return out


def _decimal(value: float) -> str:
    """Return a decimal in MLIR's syntax that reads back as the same value."""
    short = f"{value:.6e}"
    if float(short) == value:
        return short
    mantissa, _, exponent = repr(value).partition("e")
    fraction = "" if "." in mantissa else ".0"
    return f"{mantissa}{fraction}e{exponent}" if exponent else f"{mantissa}{fraction}"


_VALUES = {name: by_identity(partial(_param_values, row)) for name, row in _ROWS.items()}


class _InstructionCanonicalization(HasCanonicalizationPatternsTrait):
    """The canonicalisation patterns of all instructions."""

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        """Return the patterns, whose module imports this one."""
        patterns: tuple[RewritePattern, ...] = import_module(_CANONICALIZATION).PATTERNS
        return patterns


class InstructionOp(NeuronOp):
    """An instruction in destination style over access patterns.

    `buffers` are the memrefs of the present operands, destinations first, in the order of the
    opcode's roles; `patterns` has one entry for each role (`none` if an optional operand is
    absent). `engine` is set from phase `ordered` on, `waits` and `updates` from phase
    `synchronised` on. The `engine` of a transfer is its DMA queue. `trigger` names the engine that
    starts it, if that is not the default.
    """

    buffers = var_operand_def(ANYWHERE)
    indices = var_operand_def(IndexType)
    patterns = prop_def(ArrayAttr)
    params = prop_def(DictionaryAttr)
    engine = opt_prop_def(StringAttr)
    trigger = opt_prop_def(StringAttr)
    waits = opt_prop_def(ArrayAttr)
    updates = opt_prop_def(ArrayAttr)
    registers = var_result_def(IndexType)
    traits = traits_def(_InstructionCanonicalization())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    JUDGED_BY_TYPES: ClassVar[bool] = True
    """Whether types and properties decide if an op without regions is right."""
    JUDGED_APART: ClassVar[frozenset[str]] = frozenset({"engine", "trigger", "waits", "updates"})
    """Properties that are valid or not whatever the others are, by their text or their class."""

    @classmethod
    def opcode(cls) -> str:
        """Return the name in the opcode table."""
        return cls.name.removeprefix("nc.")

    @property
    def spec(self) -> OpSpec:
        """Return the row of the opcode table."""
        return _ROWS[self.name]

    @property
    def buffer_count(self) -> int:
        """Return the number of operands that are buffers; the others are index values."""
        return _buffer_count(cast(DenseArrayBase, self.properties["operandSegmentSizes"]))

    def index_values(self) -> tuple[SSAValue, ...]:
        """Return the operands that are not buffers."""
        return tuple(self.operands)[self.buffer_count :]

    def roles(self) -> tuple[str, ...]:
        """Return operand roles, destinations first, without the marks of optional operands."""
        return tuple(r.rstrip("?") for r in self.spec.dst + self.spec.src)

    def views(self) -> tuple[View | None, ...]:
        """Return the operands by role, None if absent."""
        operands = tuple(self.operands)
        n = self.buffer_count
        out: list[View | None] = []
        next_buffer = 0
        for attr in self.patterns.data:
            if not isinstance(attr, PatternAttr):
                out.append(None)
                continue
            p = attr.data
            out.append(
                View(
                    operands[next_buffer],
                    p.start,
                    p.partitions,
                    p.free,
                    p.offset,
                    tuple((operands[n + i], c) for i, c in p.terms) if p.terms else (),
                    p.partition_stride,
                    p.dtype,
                )
            )
            next_buffer += 1
        return tuple(out)

    def dst_views(self) -> tuple[View | None, ...]:
        """Return the destinations by role."""
        return self.views()[: len(self.spec.dst)]

    def src_views(self) -> tuple[View | None, ...]:
        """Return the sources by role."""
        return self.views()[len(self.spec.dst) :]

    def param_values(self) -> dict[str, int | float]:
        """Return parameters by name with defaults filled in, and enums as integers."""
        return dict(_VALUES[self.name](cast(DictionaryAttr, self.properties["params"])))

    def verify_(self) -> None:
        verify_instruction(self, self.spec, self.buffer_count)

    @classmethod
    def parse(cls, parser: Parser) -> "InstructionOp":
        buffers: list[SSAValue] = []
        indices: list[SSAValue] = []
        patterns: list[Attribute] = []

        def operand() -> None:
            if parser.parse_optional_keyword("none") is not None:
                patterns.append(NoneAttr())
                return
            buffers.append(parse_defined(parser))
            parser.parse_punctuation("[")
            patterns.append(PatternAttr(parse_pattern(parser, indices)))
            parser.parse_punctuation("]")

        def wait() -> WaitAttr:
            return WaitAttr(parse_wait(parser, indices))

        def update() -> UpdateAttr:
            return UpdateAttr(UpdateAttr.parse_parameter(parser))

        def param() -> None:
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            params[name] = parser.parse_attribute()

        params: dict[str, Attribute] = {}
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand)
        parser.parse_punctuation("=")
        parser.parse_comma_separated_list(parser.Delimiter.PAREN, operand)
        parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, param)
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("on") is not None:
            properties["engine"] = StringAttr(parser.parse_identifier())
        if parser.parse_optional_keyword("by") is not None:
            trigger = parser.parse_identifier()
            if trigger != _ROWS[cls.name].trigger.name.lower() or not _ROWS[cls.name].triggers:
                properties["trigger"] = StringAttr(trigger)
        if parser.parse_optional_keyword("wait") is not None:
            waits = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, wait)
            properties["waits"] = ArrayAttr(waits)
        if parser.parse_optional_keyword("update") is not None:
            updates = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, update)
            properties["updates"] = ArrayAttr(updates)
        results: list[Attribute] = []
        if parser.parse_optional_punctuation("->") is not None:
            parser.parse_keyword("index")
            results = [_INDEX]
        attributes = parser.parse_optional_attr_dict_with_keyword()
        properties["patterns"] = ArrayAttr(patterns)
        properties["params"] = DictionaryAttr(params)
        return _create(
            cls, buffers, indices, properties, results, attributes.data if attributes else {}
        )

    def print(self, printer: Printer) -> None:
        n_dst = len(self.spec.dst)
        n = len(self.buffers)
        indices = self.operands[n:]
        buffers = iter(self.operands[:n])

        def operand(attr: Attribute) -> None:
            if not isinstance(attr, PatternAttr):
                printer.print_string("none")
                return
            printer.print_ssa_value(next(buffers))
            with printer.in_square_brackets():
                print_pattern(printer, attr.data, indices)

        def param(item: tuple[str, Attribute]) -> None:
            name, attr = item
            printer.print_string(f"{name} = ")
            if isinstance(attr, IntegerAttr) and attr.type == i64:
                printer.print_string(str(attr.value.data))
            elif isinstance(attr, FloatAttr) and attr.type == f64 and isfinite(attr.value.data):
                printer.print_string(_decimal(attr.value.data))
            else:
                printer.print_attribute(attr)

        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.patterns.data[:n_dst], operand)
        printer.print_string(" = ")
        with printer.in_parens():
            printer.print_list(self.patterns.data[n_dst:], operand)
        if self.params.data:
            printer.print_string(" ")
            with printer.in_braces():
                printer.print_list(self.params.data.items(), param)
        if self.engine is not None:
            printer.print_string(f" on {self.engine.data}")
        if self.trigger is not None:
            printer.print_string(f" by {self.trigger.data}")
        if self.waits is not None and self.waits.data:
            printer.print_string(" wait ")
            with printer.in_square_brackets():
                printer.print_list(
                    self.waits.data, lambda w: print_wait(printer, cast(WaitAttr, w).data, indices)
                )
        if self.updates is not None and self.updates.data:
            printer.print_string(" update ")
            with printer.in_square_brackets():
                printer.print_list(
                    self.updates.data, lambda u: cast(UpdateAttr, u).print_parameter(printer)
                )
        if self.results:
            printer.print_string(" -> index")
        printer.print_op_attributes(self.attributes, print_keyword=True)


def _create(
    cls: type[InstructionOp],
    buffers: Sequence[SSAValue],
    indices: Sequence[SSAValue],
    properties: dict[str, Attribute],
    results: Sequence[Attribute],
    attributes: Mapping[str, Attribute],
) -> InstructionOp:
    properties["operandSegmentSizes"] = segments_attr(len(buffers), len(indices))
    return cls.create(
        operands=[*buffers, *indices],
        properties=properties,
        result_types=results,
        attributes=dict(attributes),
    )


def build(
    cls: type[InstructionOp],
    dst: Sequence[View | None],
    src: Sequence[View | None],
    params: Mapping[str, int | float | IntEnum] | None = None,
    *,
    engine: Engine | None = None,
    location: LocationAttr | None = None,
    result: bool = False,
) -> InstructionOp:
    """Create an instruction from views; `params` are named as in the opcode table."""
    buffers: list[SSAValue] = []
    indices: list[SSAValue] = []
    patterns: list[Attribute] = []
    for view in (*dst, *src):
        if view is None:
            patterns.append(NoneAttr())
            continue
        buffers.append(view.buffer)
        terms = tuple((number_of(indices, value), c) for value, c in view.indices)
        patterns.append(
            PatternAttr(
                Pattern(
                    view.start,
                    view.partitions,
                    view.free,
                    view.offset,
                    terms,
                    view.partition_stride,
                    view.dtype,
                )
            )
        )
    properties: dict[str, Attribute] = {
        "patterns": ArrayAttr(patterns),
        "params": params_attr(cls.opcode(), params or {}),
    }
    if engine is not None:
        properties["engine"] = StringAttr(engine.name.lower())
    op = _create(cls, buffers, indices, properties, [_INDEX] if result else [], {})
    if location is not None:
        op.location = location
    return op


@lru_cache
def segments_attr(buffers: int, indices: int) -> DenseArrayBase[IntegerType]:
    """Return the property with the number of buffer operands and of index operands."""
    return DenseArrayBase.from_list(i32, [buffers, indices])


def params_attr(opcode: str, params: Mapping[str, int | float | IntEnum]) -> DictionaryAttr:
    """Return parameters as an attribute, in the order of the opcode table."""
    # compared by spelling, because 0.0 equals -0.0
    return _params_attr(opcode, tuple((name, repr(v), v) for name, v in params.items()))


@lru_cache(maxsize=1 << 12)
def _params_attr(
    opcode: str, params: Sequence[tuple[str, str, int | float | IntEnum]]
) -> DictionaryAttr:
    given = {name: value for name, _, value in params}
    out: dict[str, Attribute] = {}
    for param in OPCODES[opcode].params:
        if param.name not in given:
            continue
        value = given[param.name]
        if isinstance(param.kind, type):
            out[param.name] = StringAttr(param.kind(int(value)).name.lower())
        elif param.kind == "float":
            out[param.name] = FloatAttr(float(value), f64)
        else:
            out[param.name] = IntegerAttr(int(value), i64)
    return DictionaryAttr(out)
