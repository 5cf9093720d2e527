"""Build an hlo module from the records of StableHLO text."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnitAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.dialects.func import ReturnOp as FuncReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from neuronir.dialects.support.errors import NeuronError
from neuronir.frontends.graph.block import BlockBuilder
from neuronir.frontends.stablehlo.context import Context, RegionBuilder
from neuronir.frontends.stablehlo.locations import Origins
from neuronir.frontends.stablehlo.operators import OPERATORS
from neuronir.frontends.stablehlo.reader import Reader
from neuronir.frontends.stablehlo.records import (
    Argument,
    Body,
    Function,
    Module,
    Statement,
)
from neuronir.frontends.stablehlo.scope import Scope

RETURNS = frozenset(("func.return", "stablehlo.return", "mhlo.return", "chlo.return", "sdy.return"))
_COUNTS = {"num_partitions": "num_partitions", "replica_count": "num_replicas"}
"""Attributes of the module in HLO text, and their names in StableHLO."""


class Importer(RegionBuilder):
    """Builds one module; `reader` shows errors in the text."""

    def __init__(self, record: Module, reader: Reader) -> None:
        self.record = record
        self.reader = reader
        self._origins = Origins(record.aliases)
        self._count = 0
        self._file = StringAttr(reader.filename)
        self._pending: list[Function] = []
        self._symbols: dict[str, str] = {}

    # --- module

    def module(self) -> ModuleOp:
        """Return the module, with the functions that the entry reaches."""
        entry = self._entry()
        self._symbols[entry.name] = "main"
        functions = [self._function(entry)]
        while self._pending:
            functions.append(self._function(self._pending.pop(0)))
        attributes: dict[str, Attribute] = {"hlo.module_name": StringAttr(self.record.name)}
        for ours, theirs in _COUNTS.items():
            count = self.record.attributes.get(f"mhlo.{theirs}", 1)
            if count != 1:
                attributes[f"hlo.{ours}"] = StringAttr(str(count))
        return ModuleOp(functions, attributes)

    def _entry(self) -> Function:
        """Return `@main`, or the only public function."""
        functions = self.record.functions
        if "main" in functions:
            return functions["main"]
        public = [f for f in functions.values() if f.is_public]
        if len(public) == 1:
            return public[0]
        if not public:
            self.reader.fail(
                "the module has no public function", len(self.reader.text), code="NIR_HLO006"
            )
        names = ", ".join(f"@{f.name}" for f in public)
        self.reader.fail(
            f"the module has {len(public)} public functions: {names}",
            public[1].position,
            code="NIR_HLO006",
            help="name the function to compile @main, or make the others private",
        )

    def symbol(self, name: str, op: Statement) -> tuple[str, Function]:
        """Return the symbol and record of a function that is called."""
        function = self.record.functions.get(name)
        if function is None:
            self.reader.fail(f"function @{name} is not defined", op.position, code="NIR_HLO004")
        if name not in self._symbols:
            self._symbols[name] = name
            self._pending.append(function)
        return self._symbols[name], function

    def _function(self, record: Function) -> FuncOp:
        symbol = self._symbols[record.name]
        block, scope = Block(), Scope()
        attributes = []
        names: set[str] = set()
        for argument in record.body.arguments:
            self._argument(argument, block, scope)
            attributes.append(self._described(argument, names))
        builder = BlockBuilder(block)
        results = self._statements(record.body, builder, scope)
        found = [value.type for value in results]
        if found != record.results:
            self.reader.fail(
                f"function @{record.name} returns ({_types(found)}) but is declared with "
                f"({_types(record.results)})",
                record.position,
                code="NIR_HLO011",
            )
        root = results[0] if len(results) == 1 else builder.tuple(results)
        block.add_op(FuncReturnOp.create(operands=[root]))
        function = FuncOp(
            symbol,
            ([argument.type for argument in block.args], [root.type]),
            Region(block),
            visibility=None if symbol == "main" else "private",
            arg_attrs=ArrayAttr(attributes),
        )
        if symbol == "main":
            function.attributes["hlo.entry"] = UnitAttr()
        function.attributes["hlo.name"] = StringAttr(record.name)
        function.location = self._location(record.name, record.position)
        return function

    def _described(self, argument: Argument, names: set[str]) -> DictionaryAttr:
        """Return the attributes of a parameter: its name in the framework, and its sharding."""
        name = self._origins.of(argument.location).name
        if not name or name in names:
            name = argument.name
        given, number = name, 0
        while name in names:
            number += 1
            name = f"{given}.{number}"
        names.add(name)
        described: dict[str, Attribute] = {"hlo.name": StringAttr(name)}
        sharding = argument.attributes.get("mhlo.sharding")
        if isinstance(sharding, str):
            described["hlo.sharding"] = StringAttr(sharding)
        return DictionaryAttr(described)

    # --- regions

    def region(self, body: Body, scope: Scope) -> Region:
        """Build an isolated region."""
        block, inner = Block(), Scope(scope)
        for argument in body.arguments:
            self._argument(argument, block, inner)
        return self.close(BlockBuilder(block), body, inner)

    def close(
        self, builder: BlockBuilder, body: Body, scope: Scope, more: Sequence[SSAValue] = ()
    ) -> Region:
        """Build the ops of a region on a block that has its arguments, and return the region.

        `more` values of the block are returned after those that the text returns.
        """
        results = [*self._statements(body, builder, scope), *more]
        return builder.finish(results[0] if len(results) == 1 else builder.tuple(results))

    def inlined(
        self, body: Body, operands: Sequence[SSAValue], b: BlockBuilder, scope: Scope
    ) -> list[SSAValue]:
        """Build the ops of a region in place of its op, and return what it returns."""
        inner = Scope(scope)
        for argument, value in zip(body.arguments, operands, strict=True):
            self._define(argument.name, value, inner, argument.position)
        return self._statements(body, b, inner)

    def _argument(self, argument: Argument, block: Block, scope: Scope) -> None:
        value = block.insert_arg(argument.type, len(block.args))
        name = self._origins.of(argument.location).name or argument.name
        value.location = self._location(name, argument.position)
        _hint(value, name)
        self._define(argument.name, value, scope, argument.position)

    def _define(self, name: str, value: SSAValue, scope: Scope, position: int) -> None:
        if name in scope.values:
            self.reader.fail(f"value '%{name}' is defined twice", position, code="NIR_HLO005")
        scope.values[name] = value

    def _statements(self, body: Body, b: BlockBuilder, scope: Scope) -> list[SSAValue]:
        """Build the ops of a block and return the values that it returns."""
        for op in body.statements:
            if op.name in RETURNS:
                if op is not body.statements[-1]:
                    self.reader.fail(f"ops follow {op.name}", op.position, code="NIR_HLO006")
                return [self.value(name, scope, op, b) for name in op.operands]
            self._statement(op, b, scope)
        self.reader.fail(
            "a function or region must end with a return", body.position, code="NIR_HLO006"
        )

    # --- ops

    def value(self, name: str, scope: Scope, op: Statement, b: BlockBuilder) -> SSAValue:
        """Return the value of a name; a constant from around the region is built again."""
        found = scope.values.get(name)
        if found is not None:
            return found
        constant = scope.constants.get(name)
        if constant is not None and scope.outer is not None:
            self._statement(constant, b, scope)
            return scope.values[name]
        if scope.is_outside(name):
            self.reader.fail(
                f"{op.name} uses value '%{name}', which is defined outside of its region",
                op.position,
                code="NIR_HLO004",
                help="only regions of stablehlo.while, if and case can use values around them",
            )
        self.reader.fail(
            f"{op.name} uses value '%{name}', which is not defined before it is used",
            op.position,
            code="NIR_HLO004",
        )

    def _statement(self, op: Statement, b: BlockBuilder, scope: Scope) -> None:
        build = OPERATORS.get(op.name)
        if build is None:
            text = f"{op.name} is not an op of functions"
            self.reader.fail(text, op.position, code="NIR_HLO006")
        operands = [self.value(name, scope, op, b) for name in op.operands]
        if op.operand_types is not None:
            found = [value.type for value in operands]
            if found != op.operand_types:
                self.reader.fail(
                    f"{op.name} is written with operands ({_types(op.operand_types)}) but they "
                    f"have types ({_types(found)})",
                    op.position,
                    code="NIR_HLO011",
                )
        name = self._place(op, b)
        context = Context(self, op, scope, b, operands)
        try:
            results = build(context)
        except NeuronError as error:
            if error.location is not None:
                raise
            self.reader.refail(error, op.position, f"{op.name}: ")
        if not op.results:
            return  # results that are not named have no readers
        if op.name.endswith(".constant"):
            scope.constants[op.results[0]] = op
        for result, value in zip(op.results, results, strict=True):
            self._define(result, value, scope, op.position)
            _hint(value, name)

    def _place(self, op: Statement, b: BlockBuilder) -> str:
        """Set the location and metadata of the following ops; return the instruction's name."""
        origin = self._origins.of(op.location)
        name = origin.instruction
        if not name:
            self._count += 1
            name = f"{origin.mnemonic or op.name.partition('.')[2]}.{self._count}"
        b.location = self._location(name, op.position)
        b.metadata = self._origins.metadata(origin)
        return name

    def _location(self, name: str, position: int) -> NameLoc:
        line, column = self.reader.line_and_column(position)
        place = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return NameLoc(StringAttr(name), place)


def _types(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


def _hint(value: SSAValue, name: str) -> None:
    try:
        value.name_hint = name.replace("-", "_")
    except ValueError:
        return
