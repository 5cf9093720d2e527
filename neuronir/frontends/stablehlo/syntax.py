"""Parse StableHLO text to records: modules, functions, regions, and ops in the generic form."""

import re

from xdsl.ir import Attribute

from neuronir.frontends.stablehlo.formats import Check, RegionReader, read_pretty
from neuronir.frontends.stablehlo.locations import optional_location
from neuronir.frontends.stablehlo.meshes import axes_of
from neuronir.frontends.stablehlo.reader import STRING
from neuronir.frontends.stablehlo.records import (
    Argument,
    Body,
    Dictionary,
    Function,
    FunctionType,
    Module,
    Statement,
)
from neuronir.frontends.stablehlo.types import read_function_type, read_type
from neuronir.frontends.stablehlo.values import read_dictionary, read_value

_ALIAS = re.compile(r"([#!][\w$.\-]++)\s*=\s*")
_LABEL = re.compile(r"\^[\w$.\-]++")
_OPERATION = re.compile(r'["%A-Za-z_]')


class Syntax(RegionReader):
    """Parses one file."""

    def __init__(self, text: str, filename: str, check: Check) -> None:
        super().__init__(text, filename)
        self.check = check
        self.module_record = Module("main", Dictionary(), {}, {}, {})

    # --- module

    def module(self) -> Module:
        """Parse the whole text."""
        record = self.module_record
        while self.position < len(self.text):
            if self.at("#") or self.at("!"):
                self._alias()
            elif self.accept("{-#"):
                self._file_metadata()
            elif self.accept_word("module") or self.accept_word("builtin.module"):
                record.name = self.optional_symbol() or record.name
                if self.accept_word("attributes"):
                    record.attributes = read_dictionary(self)
                self.expect("{")
                while not self.accept("}"):
                    self._module_item()
                optional_location(self)
            else:
                self._module_item()
        return record

    def _alias(self) -> None:
        match = self.match(_ALIAS)
        if match is None:
            self.expected("the definition of an alias such as `#loc1 = loc(...)`")
        if self.at_word("loc"):
            self.module_record.aliases[match[1]] = optional_location(self)
        else:
            read_value(self)

    def _file_metadata(self) -> None:
        """Parse `{-# dialect_resources: { builtin: { name: "0x..." } } #-}`."""
        while not self.accept("#-}"):
            section = self.word("a section such as `dialect_resources`")
            self.expect(":")
            if section != "dialect_resources":
                self.nested()
            else:
                self.expect("{")
                while not self.accept("}"):
                    self.word("a dialect")
                    self.expect(":")
                    self._resources()
                    self.accept(",")
            self.accept(",")

    def _resources(self) -> None:
        self.expect("{")
        while not self.accept("}"):
            name = self.string() if self.at('"') else self.word("the name of a resource")
            self.expect(":")
            match = self.match(STRING)
            if match is None:
                self.expected("the bytes of a resource as a string")
            self.module_record.resources[name] = match.span(1)
            self.accept(",")

    def _module_item(self) -> None:
        start = self.position
        if self.accept_word("func.func"):
            self._function(start)
        elif self.accept_word("sdy.mesh"):
            name = self.symbol()
            self.expect("=")
            self.module_record.meshes[name] = axes_of(self.nested())
            if self.at("{"):
                read_dictionary(self)
            optional_location(self)
        elif self.at('"'):
            self._generic_item(self.statement())
        elif self.position >= len(self.text):
            self.expected("`}` at the end of the module")
        else:
            self.expected("a function such as `func.func @main(...)`")

    def _generic_item(self, op: Statement) -> None:
        if op.name == "builtin.module":
            properties = op.attributes
            self.module_record.name = properties.get("sym_name", self.module_record.name)
            self.module_record.attributes = properties
            for body in op.bodies:
                for inner in body.statements:
                    self._generic_item(inner)
        elif op.name == "func.func":
            type_ = op.attributes.get("function_type")
            if not isinstance(type_, FunctionType) or len(op.bodies) != 1:
                self.fail("a function needs a type and a body", op.position)
            arguments = op.attributes.get("arg_attrs", [])
            for argument, given in zip(op.bodies[0].arguments, arguments, strict=False):
                argument.attributes = given
            public = op.attributes.get("sym_visibility", "public") == "public"
            name = str(op.attributes.get("sym_name", ""))
            body = op.bodies[0]
            self._add(Function(name, public, body, type_.outputs, op.position, op.location))
        elif op.name == "sdy.mesh":
            name = str(op.attributes.get("sym_name", ""))
            self.module_record.meshes[name] = axes_of(op.attributes.texts.get("mesh", ""))
        else:
            self.fail(f"'{op.name}' is not supported outside of functions", op.position)

    # --- functions

    def _function(self, start: int) -> None:
        public = True
        if self.accept_word("private"):
            public = False
        elif not self.accept_word("public"):
            self.accept_word("nested")
        name = self.symbol()
        arguments = self.arguments()
        results: list[Attribute] = []
        if self.accept("->"):
            results = self._results()
        if self.accept_word("attributes"):
            read_dictionary(self)
        if not self.at("{"):
            self.fail(f"function @{name} has no body", start)
        body = self.body(arguments)
        self._add(Function(name, public, body, results, start, optional_location(self)))

    def _add(self, function: Function) -> None:
        if function.name in self.module_record.functions:
            text = f"function @{function.name} is defined twice"
            self.fail(text, function.position, code="NIR_HLO005")
        self.module_record.functions[function.name] = function

    def arguments(self) -> list[Argument]:
        """Parse `(%arg0: type {attributes} loc(...), ...)`."""
        self.expect("(")
        found: list[Argument] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            position = self.position
            name = self.value()
            self.expect(":")
            type_ = read_type(self)
            attributes = read_dictionary(self) if self.at("{") else Dictionary()
            found.append(Argument(name, type_, position, attributes, optional_location(self)))
        return found

    def _results(self) -> list[Attribute]:
        if not self.accept("("):
            return [read_type(self)]
        found: list[Attribute] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            found.append(read_type(self))
            if self.at("{"):
                read_dictionary(self)
        return found

    # --- regions and ops

    def body(self, arguments: list[Argument] | None = None) -> Body:
        """Parse `{ ^bb0(%arg: type): ops }`."""
        record = Body(arguments or [], [], self.position)
        self.expect("{")
        if self.match(_LABEL):
            if self.at("("):
                record.arguments = self.arguments()
            self.expect(":")
        while not self.accept("}"):
            if self.at("^"):
                self.fail(
                    "control flow between blocks is not supported",
                    help="use stablehlo.while, stablehlo.if and stablehlo.case",
                )
            record.statements.append(self.statement())
        return record

    def statement(self) -> Statement:
        """Parse an op, in the pretty or the generic form."""
        if not _OPERATION.match(self.text, self.position):
            self.expected("an op or `}`")
        results: list[str] = []
        while self.at("%"):
            name = self.value()
            results.append(name)
            if self.accept(":"):
                results += [f"{name}#{i}" for i in range(1, self.integer())]
            if not self.accept(","):
                self.expect("=")
                break
        position = self.position
        if self.at('"'):
            record = Statement(self.string(), position, results)
            self.check(record.name, position, self)
            self._generic(record)
        else:
            record = Statement(self.word("the name of an op"), position, results)
            record.name = _SHORT.get(record.name, record.name)
            self.check(record.name, position, self)
            read_pretty(self, record)
        record.location = optional_location(self)
        if len(results) not in (0, len(record.types)):
            self.fail(
                f"{record.name} has {len(record.types)} results, {len(results)} are named", position
            )
        return record

    def _generic(self, record: Statement) -> None:
        """Parse `(%a, %b) <{properties}> ({regions}) {attributes} : (types) -> types`."""
        self.expect("(")
        while not self.accept(")"):
            if record.operands:
                self.expect(",")
            record.operands.append(self.value())
        if self.accept("<"):
            record.attributes = read_dictionary(self)
            self.expect(">")
        if self.accept("("):
            while not self.accept(")"):
                if record.bodies:
                    self.expect(",")
                record.bodies.append(self.body())
        if self.at("{"):
            more = read_dictionary(self)
            record.attributes.update(more)
            record.attributes.texts.update(more.texts)
        self.expect(":")
        type_ = read_function_type(self)
        record.operand_types, record.types = type_.inputs, type_.outputs


_SHORT = {"return": "func.return", "call": "func.call"}
