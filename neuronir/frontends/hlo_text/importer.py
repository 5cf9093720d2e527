"""Build an hlo module from the records of the text."""

import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from lark import Token
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    TupleType,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from neuronir.dialects.hlo.attributes import i64_attr
from neuronir.dialects.hlo.constants import ConstantOp, constant_value
from neuronir.dialects.hlo.control_flow import ReturnOp, TupleOp
from neuronir.dialects.support.errors import NeuronError
from neuronir.dialects.support.npz import Array
from neuronir.frontends.hlo_text.alike import Form, Instruction
from neuronir.frontends.hlo_text.attributes import malformed
from neuronir.frontends.hlo_text.literals import decode_literal
from neuronir.frontends.hlo_text.metadata import MetadataDecoder, StackFrames
from neuronir.frontends.hlo_text.opcodes import KEPT, OPCODES, Opcode
from neuronir.frontends.hlo_text.operands import read_operands, unknown_opcode
from neuronir.frontends.hlo_text.plans import Plan, plan_of
from neuronir.frontends.hlo_text.shapes import Shape, parse_shape, split_top
from neuronir.frontends.hlo_text.source import Source
from neuronir.frontends.hlo_text.syntax import Computation, HloText

_TRIP_COUNT = re.compile(r'"known_trip_count"\s*:\s*\{\s*"n"\s*:\s*"(\d+)"')


class Importer:
    """Builds one module."""

    def __init__(self, record: HloText, text: str, filename: str) -> None:
        self._record = record
        self._source = Source(text, filename)
        self._metadata = MetadataDecoder(StackFrames([str(t) for t in record.tables]))
        self._functions: dict[str, str] = {}
        self._pending: list[tuple[str, Computation]] = []
        self._open: list[str] = []
        self._plans: dict[Form, Plan | None] = {}
        self._computations: dict[str, Computation] = {}
        for computation in record.computations:
            if computation.name in self._computations:
                self._source.fail(
                    "NIR_HLO005",
                    f"computation '{computation.name}' is defined twice",
                    computation.token,
                )
            self._computations[computation.name] = computation

    # ---- module

    def module(self) -> ModuleOp:
        """Return the module of the text."""
        entries = [c for c in self._record.computations if c.is_entry]
        if len(entries) > 1:
            self._source.fail("NIR_HLO006", "more than one ENTRY computation", entries[1].token)
        # As in XLA, the last computation is the entry if none is marked.
        entry = entries[0] if entries else self._record.computations[-1]
        attributes: dict[str, Attribute] = {"hlo.module_name": StringAttr(self._record.name)}
        for token in self._record.attributes:
            name, value = _split_attribute(token)
            attributes[f"hlo.{name}"] = StringAttr(value)
        if self._record.tables:
            attributes["hlo.tables"] = StringAttr("\n".join(str(t) for t in self._record.tables))
        self._functions[entry.name] = "main"
        functions = [self._function("main", entry)]
        while self._pending:
            symbol, computation = self._pending.pop(0)
            functions.append(self._function(symbol, computation))
        return ModuleOp(functions, attributes)

    def _function(self, symbol: str, computation: Computation) -> FuncOp:
        block = Block()
        argument_attributes: list[DictionaryAttr] = []
        root = self._fill(computation, block, argument_attributes)
        block.add_op(FuncReturnOp.create(operands=[root]))
        function = FuncOp(
            symbol,
            ([argument.type for argument in block.args], [root.type]),
            Region(block),
            visibility=None if symbol == "main" else "private",
            arg_attrs=ArrayAttr(argument_attributes),
        )
        if symbol == "main":
            function.attributes["hlo.entry"] = UnitAttr()
        function.attributes["hlo.name"] = StringAttr(computation.name)
        function.location = self._source.location(computation.name, computation.token)
        for token in computation.attributes:
            name, value = _split_attribute(token)
            function.attributes[f"hlo.{name}"] = StringAttr(value)
        return function

    def _symbol(self, name: str, token: Token) -> SymbolRefAttr:
        """Return the function of a computation, building it on first use."""
        symbol = self._functions.get(name)
        if symbol is None:
            computation = self._lookup(name, token)
            symbol = name
            while symbol in self._functions.values():
                symbol += "_"
            self._functions[name] = symbol
            self._pending.append((symbol, computation))
        return SymbolRefAttr(symbol)

    def _lookup(self, name: str, token: Token) -> Computation:
        computation = self._computations.get(name)
        if computation is None:
            self._source.fail("NIR_HLO004", f"computation '{name}' is not defined", token)
        return computation

    def _region(self, name: str, token: Token) -> Region:
        """Build a new region from a computation."""
        computation = self._lookup(name, token)
        block = Block()
        root = self._fill(computation, block, None)
        block.add_op(ReturnOp.create(operands=[root]))
        return Region(block)

    # ---- computations

    def _fill(
        self, computation: Computation, block: Block, attributes: list[DictionaryAttr] | None
    ) -> SSAValue:
        """Append the instructions of a computation to a block and return the root value."""
        if computation.name in self._open:
            self._source.fail(
                "NIR_HLO006", f"computation '{computation.name}' calls itself", computation.token
            )
        if not computation.instructions:
            self._source.fail(
                "NIR_HLO006", f"computation '{computation.name}' is empty", computation.token
            )
        self._open.append(computation.name)
        values: dict[str, SSAValue] = {}
        self._parameters(computation, block, values, attributes)
        root: SSAValue | None = None
        rooted = False
        for instruction in computation.instructions:
            name = instruction.name
            if instruction.opcode == "parameter":
                value = values[name]
            elif name in values:
                self._twice(name, instruction)
            else:
                value = values[name] = self._instruction(instruction, values, block)
            if instruction.is_root:
                if rooted:
                    token = instruction.tokens[0]
                    self._source.fail("NIR_HLO006", "more than one ROOT in a computation", token)
                root, rooted = value, True
            elif not rooted:
                root = value
        self._open.pop()
        assert root is not None
        return root

    def _parameters(
        self,
        computation: Computation,
        block: Block,
        values: dict[str, SSAValue],
        attributes: list[DictionaryAttr] | None,
    ) -> None:
        """Create block arguments for the parameter instructions, in order of their numbers."""
        found: dict[int, tuple[str, list[Token]]] = {}
        for instruction in computation.instructions:
            if instruction.opcode != "parameter":
                continue
            name, tokens = instruction.name, instruction.tokens
            head, number = tokens[0], tokens[3][1:-1].strip()
            if not number.isdigit():
                self._source.fail("NIR_HLO007", f"malformed parameter number '{number}'", tokens[3])
            if int(number) in found:
                self._source.fail("NIR_HLO005", f"parameter {number} is defined twice", head)
            if name in values:
                self._twice(name, instruction)
            found[int(number)] = (name, tokens)
        for index in range(len(found)):
            if index not in found:
                self._source.fail(
                    "NIR_HLO006",
                    f"computation '{computation.name}' has {len(found)} parameters but none is "
                    f"parameter({index})",
                    computation.token,
                )
            name, tokens = found[index]
            shape = self._shape(name, tokens)
            argument = block.insert_arg(shape.type, index)
            argument.location = self._source.location(name, tokens[0])
            _hint(argument, name)
            values[name] = argument
            if attributes is not None:
                described: dict[str, Attribute] = {"hlo.name": StringAttr(name)}
                if shape.layout is not None:
                    described["hlo.layout"] = shape.layout
                for token in tokens[4:]:
                    key, text = _split_attribute(token)
                    if key == "metadata":
                        described["hlo.metadata"] = self._metadata.decode(text)
                    else:
                        described[f"hlo.{key.replace('-', '_')}"] = StringAttr(text)
                attributes.append(DictionaryAttr(described))

    # ---- instructions

    def _shape(self, name: str, tokens: list[Token]) -> Shape:
        try:
            return parse_shape(str(tokens[1]))
        except NeuronError as error:
            self._source.fail(
                error.code, f"instruction '{name}': {error.message}", tokens[1], error.help
            )

    def _twice(self, name: str, instruction: Instruction) -> NoReturn:
        token = instruction.tokens[0]
        self._source.fail("NIR_HLO005", f"instruction '{name}' is defined twice", token)

    def _instruction(
        self, instruction: Instruction, values: Mapping[str, SSAValue], block: Block
    ) -> SSAValue:
        """Build one instruction that is not a parameter."""
        plan = None if instruction.form is None else self._plans.get(instruction.form)
        if plan is not None:
            operands = plan.operands(instruction, values)
            if operands is not None:
                return self._planned(instruction, plan, operands, block)
        name, tokens = instruction.name, instruction.tokens
        opcode = tokens[2]
        spec = OPCODES.get(opcode)
        if spec is None:
            unknown_opcode(self._source, name, opcode)
        shape = self._shape(name, tokens)
        location = self._source.location(name, tokens[0])
        properties: dict[str, Attribute] = dict(spec.defaults)
        attributes: dict[str, Attribute] = {}
        computations: dict[str, list[str]] = {}
        for token in tokens[4:]:
            self._attribute(name, spec, token, properties, attributes, computations)
        if shape.layout is not None:
            attributes["hlo.layout"] = shape.layout
        if spec.op is ConstantOp:
            return self._constant(name, tokens, shape, location, attributes, block)
        operands = read_operands(self._source, name, spec, tokens, values)
        op = spec.op.create(
            operands=operands,
            result_types=[shape.type],
            properties=properties,
            attributes=attributes,
            regions=self._regions(name, spec, tokens, computations, properties),
            location=location,
        )
        missing = [p for p in _required(spec) if p not in properties]
        if missing:
            self._source.fail(
                "NIR_HLO007",
                f"instruction '{name}': {opcode} needs the attribute for {', '.join(missing)}",
                tokens[0],
            )
        block.add_op(op)
        _hint(op.results[0], name)
        if instruction.form is not None:
            self._plans[instruction.form] = plan_of(instruction, op)
        return op.results[0]

    def _planned(
        self, instruction: Instruction, plan: Plan, operands: list[SSAValue], block: Block
    ) -> SSAValue:
        """Build an instruction from an earlier one whose line is similar."""
        assert instruction.form is not None
        op = plan.op.create(
            operands=operands,
            result_types=plan.types,
            properties=plan.properties,
            attributes=plan.attributes,
            location=self._source.location_at(
                instruction.name, instruction.line, instruction.form.column
            ),
        )
        block.add_op(op)
        _hint(op.results[0], instruction.name)
        return op.results[0]

    def _attribute(
        self,
        instruction: str,
        spec: Opcode,
        token: Token,
        properties: dict[str, Attribute],
        attributes: dict[str, Attribute],
        computations: dict[str, list[str]],
    ) -> None:
        """Decode one `, name=value`."""
        decoded = spec.decoded.get(token)
        if decoded is not None:
            properties.update(decoded)
            return
        name, value = _split_attribute(token)
        decoder = spec.attributes.get(name)
        if decoder is not None:
            try:
                decoded = decoder(value)
            except (ValueError, IndexError):
                self._source.refail(malformed(name, value), instruction, token, token.index(name))
            spec.decoded[str(token)] = decoded
            properties.update(decoded)
        elif name == "metadata":
            attributes["metadata"] = self._metadata.decode(value)
        elif name in spec.regions or name in spec.callee or name in _BRANCHES:
            computations[name] = [n.strip().lstrip("%") for n in value.strip("{}").split(",")]
        elif name in KEPT:
            attributes[f"hlo.{name.replace('-', '_')}"] = StringAttr(value)
            if name == "backend_config" and (trips := _TRIP_COUNT.search(value)):
                if "trip_count" in spec.op.get_irdl_definition().properties:  # type: ignore[attr-defined]
                    properties["trip_count"] = i64_attr(int(trips[1]))
        else:
            self._source.fail(
                "NIR_HLO007",
                f"instruction '{instruction}': unexpected attribute '{name}'",
                token,
                offset=token.index(name),
            )

    def _regions(
        self,
        name: str,
        spec: Opcode,
        tokens: list[Token],
        computations: Mapping[str, Sequence[str]],
        properties: dict[str, Attribute],
    ) -> list[Region]:
        """Build regions from the named computations; a named function becomes the callee."""
        head = tokens[0]
        if tokens[2] == "conditional":
            names = [
                *computations.get("true_computation", ()),
                *computations.get("false_computation", ()),
                *computations.get("branch_computations", ()),
            ]
            return [self._region(n, head) for n in names]
        regions: list[Region] = []
        for attribute in spec.regions:
            names = list(computations.get(attribute, ()))
            if len(names) != 1:
                self._source.fail(
                    "NIR_HLO007",
                    f"instruction '{name}': {tokens[2]} needs {attribute}=<computation>",
                    head,
                )
            regions.append(self._region(names[0], head))
        for attribute in spec.callee:
            for called in computations.get(attribute, ()):
                if called:
                    properties["callee"] = self._symbol(called, head)
        return regions

    def _literal(self, text: str, type: TensorType[Attribute]) -> Array:
        """Return the array of the literal of a constant."""
        return decode_literal(text, type)

    def _constant(
        self,
        name: str,
        tokens: list[Token],
        shape: Shape,
        location: NameLoc,
        attributes: dict[str, Attribute],
        block: Block,
    ) -> SSAValue:
        def build(text: str, type: Attribute) -> Operation:
            if isinstance(type, TupleType):
                plain = text.strip()
                parts = split_top(plain[1:-1])
                if not plain.startswith("(") or len(parts) != len(type.types.data):
                    raise NeuronError("NIR_HLO008", f"literal does not fit {type}")
                leaves = [build(p, t) for p, t in zip(parts, type.types.data, strict=True)]
                made: Operation = TupleOp.create(
                    operands=[leaf.results[0] for leaf in leaves], result_types=[type]
                )
            elif isinstance(type, TensorType):
                array = self._literal(text, type)
                value = constant_value(array, type)
                made = ConstantOp.create(result_types=[type], properties={"value": value})
            else:
                raise NeuronError("NIR_HLO008", f"a constant cannot have type {type}")
            made.location = location
            block.add_op(made)
            return made

        try:
            op = build(tokens[3][1:-1], shape.type)
        except NeuronError as error:
            self._source.fail(
                error.code, f"instruction '{name}': {error.message}", tokens[3], error.help
            )
        op.attributes.update(attributes)
        _hint(op.results[0], name)
        return op.results[0]


_BRANCHES = frozenset(("true_computation", "false_computation", "branch_computations"))


def _split_attribute(token: str) -> tuple[str, str]:
    name, _, value = token[1:].partition("=")
    return name.strip(), value.strip()


def _required(spec: Opcode) -> tuple[str, ...]:
    """Check for properties that the op requires."""
    required = _REQUIRED.get(spec.op)
    if required is None:
        definition = spec.op.get_irdl_definition()  # type: ignore[attr-defined]
        required = tuple(
            name
            for name, prop in definition.properties.items()
            if type(prop).__name__ == "PropertyDef" and prop.default_value is None
        )
        _REQUIRED[spec.op] = required
    return required


_REQUIRED: dict[type[Operation], tuple[str, ...]] = {}


def _hint(value: SSAValue, name: str) -> None:
    """Set the name hint of a value to its HLO name, as far as MLIR allows."""
    try:  # cheap if the HLO name is a valid MLIR name, as it almost always is
        value.name_hint = name.replace("-", "_")
    except ValueError:
        return
